// What the agents work on: the same bytes on every machine.
import fs from 'node:fs';
import path from 'node:path';
import { png } from '../fixture.mjs';

const day = new Date('2026-03-04T05:06:07Z');
const names = ['accounts', 'basket', 'catalogue', 'checkout', 'courier', 'discounts', 'export', 'feeds', 'gateway', 'invoices', 'journal', 'keys', 'labels', 'mailer', 'notices', 'orders', 'payments', 'quotes', 'returns', 'search', 'taxes', 'users', 'vouchers', 'warehouse'];

const config = (name, i) => `# ${name}
service: ${name}
owner: team-${'abcdef'[i % 6]}
listen:
  address: 0.0.0.0
  port: ${8400 + i}
limits:
  requests_per_second: ${50 + 10 * (i % 7)}
  body_bytes: ${1 << (16 + (i % 4))}
database:
  host: db-${i % 3}.internal
  pool: ${4 + (i % 9)}
`;

const log = (lines) =>
  Array.from({ length: lines }, (_, i) => {
    const at = new Date(Date.UTC(2026, 2, 4, 0, 0, i)).toISOString();
    const id = `req-${(0x5f3759 + i * 7919).toString(16)}`;
    if (i === 2611) return `${at} ERROR payments ${id} charge refused by acquirer code=91 retry=no`;
    if (i === lines - 40) return `${at} ERROR warehouse ${id} stock row locked by job=reindex-${4417}`;
    return `${at} INFO ${names[i % names.length]} ${id} handled in ${(i * 37) % 211} ms`;
  }).join('\n') + '\n';

const orders = (count) =>
  JSON.stringify(
    Array.from({ length: count }, (_, i) => ({
      order_id: 730000 + i * 3,
      customer: `customer-${(i * 31) % 97}`,
      status: ['paid', 'sent', 'open', 'returned'][(i * 7) % 4],
      total_cents: 1999 + ((i * 7919) % 90000),
      lines: Array.from({ length: 1 + (i % 4) }, (_, k) => ({ sku: `SKU-${1000 + ((i * 13 + k * 7) % 400)}`, quantity: 1 + (k % 3) })),
      note: i % 5 ? '' : 'Leave the parcel with the neighbour, please ring twice before.',
    })),
    null,
    1,
  ) + '\n';

// batch is one file of the archive: rows, and their sum at the end.
const batch = (i, rows) => {
  let sum = 0;
  const lines = Array.from({ length: rows }, (_, k) => {
    const cents = 1000 + ((i * 7919 + k * 104729) % 90000);
    sum += cents;
    return `${810000 + i * 1000 + k};customer-${(i + k * 31) % 97};${cents}`;
  });
  return `number;customer;cents\n${lines.join('\n')}\nsum;${rows};${sum}\n`;
};
export const dayOf = (i) => new Date(Date.UTC(2024, 10, 1 + i)).toISOString().slice(0, 10);

// project lays the tree that the filesystem server serves.
export function project(dir) {
  fs.rmSync(dir, { recursive: true, force: true });
  const put = (name, data) => {
    const file = path.join(dir, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, data);
    fs.utimesSync(file, day, day);
  };
  names.forEach((name, i) => {
    put(`services/${name}/config.yaml`, config(name, i));
    put(`services/${name}/README.md`, `# ${name}\n\nOn call: ${'adfkmr'[i % 6]}-rota. Runbook: docs/runbooks/${name}.md\n`);
    for (let f = 0; f < 9; f++) put(`services/${name}/src/part_${f}.go`, `package ${name}\n\n// part ${f}\n`);
    put(`docs/runbooks/${name}.md`, `# Runbook of ${name}\n\n${Array.from({ length: 30 }, (_, k) => `${k + 1}. Check step ${k + 1} of ${name}: look at the dashboard, then at the queue, then ask the rota.`).join('\n')}\n\nEscalate to: lead-${(i * 5) % 11}@example.org\n`);
  });
  put('services/quotes/src/quotes_rounding.go', 'package quotes\n\n// roundTo is what amounts are rounded to.\nconst roundTo = 4375\n');
  for (let i = 0; i < 400; i++) put(`archive/${dayOf(i)}-batch-${i}.csv`, batch(i, i === 113 ? 3000 : i === 390 ? 1400 : 3 + (i % 5)));
  put('logs/app.log', log(6000));
  put('data/orders.json', orders(300));
  put('pictures/floor-plan.png', png(70, 9));
  put('pictures/sign.png', png(40, 2));
}

// graph is what the memory server is filled with before an agent starts.
export function graph() {
  const entities = Array.from({ length: 160 }, (_, i) => ({
    type: 'entity',
    name: i % 2 ? `service-${names[i % names.length]}-${i}` : `person-${i}`,
    entityType: i % 2 ? 'service' : 'person',
    observations: Array.from({ length: 1 + (i % 4) }, (_, k) =>
      i % 2 ? `Observation ${k}: ${names[i % names.length]} was deployed in week ${(i + k) % 52} and behaved as the dashboards say it should.` : `Observation ${k}: met in week ${(i * 3 + k) % 52}; prefers messages to calls, works from ${['Oslo', 'Porto', 'Turin', 'Ghent'][i % 4]}.`,
    ),
  }));
  const relations = entities.flatMap((e, i) => (i % 2 ? [{ type: 'relation', from: entities[(i * 5 + 1) % 160 & ~1].name, to: e.name, relationType: 'owns' }] : []));
  return [...entities, ...relations].map((x) => JSON.stringify(x)).join('\n') + '\n';
}

// Tasks on PostgreSQL's server (npm @modelcontextprotocol/server-postgres, its dist/index.js in
// SPILLWAY_PEER_POSTGRES), over the database of SPILLWAY_TEST_POSTGRES, in a schema that is made anew.
import { execFileSync } from 'node:child_process';

const needs = 'SPILLWAY_PEER_POSTGRES names its index.js, SPILLWAY_TEST_POSTGRES a database';
const setup = `
DROP SCHEMA IF EXISTS agents CASCADE; CREATE SCHEMA agents;
CREATE TABLE agents.customers AS SELECT g AS id, 'customer ' || g AS name, 'c' || g || '@example.org' AS mail, (ARRAY['Oslo','Porto','Turin','Ghent'])[1 + g % 4] AS town FROM generate_series(1, 200) g;
CREATE TABLE agents.bookings AS SELECT g AS id, 1 + (g * 37) % 200 AS customer_id, 1000 + (g * 7919) % 50000 AS cents, timestamp '2026-01-01' + g * interval '3 hours' AS at, CASE WHEN g % 11 = 0 THEN 'disputed' ELSE 'settled' END AS state, repeat('note ', 6) AS remark FROM generate_series(1, 450) g;
CREATE TABLE agents.letters AS SELECT g AS id, 'letter ' || g AS title, (SELECT string_agg('Paragraph ' || p || ' of letter ' || g || ' says that all is as it was.', E'\\n' ORDER BY p) FROM generate_series(1, 60) p) || E'\\nReference L-' || (70000 + g * 13) AS body FROM generate_series(1, 24) g;`;

// uri is what psql and the server both take of a database that is named by host, user and dbname.
const uri = (dsn) => {
  if (/^postgres/.test(dsn)) return dsn;
  const { host, user, dbname } = Object.fromEntries(dsn.split(' ').map((part) => part.split('=')));
  return `postgresql://${user}@${encodeURIComponent(host)}/${dbname}`;
};

const world = () => {
  const { SPILLWAY_PEER_POSTGRES: index, SPILLWAY_TEST_POSTGRES: url } = process.env;
  if (!index || !url) return undefined;
  execFileSync('psql', ['-q', '-v', 'ON_ERROR_STOP=1', '-d', url, '-c', setup], { stdio: ['ignore', 'ignore', 'ignore'] });
  return { argv: [process.execPath, index, uri(url)], env: {} };
};

export const postgres = [
  {
    name: 'postgres-dispute', server: 'postgres', world, needs,
    task: () => 'In schema agents: which disputed booking was the largest, and how can its customer be reached?',
    script: async (a) => {
      const columns = await a.call('query', { sql: "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'agents'" });
      await a.find(columns, /"customer_id"/, {});
      const rows = await a.call('query', { sql: "SELECT * FROM agents.bookings WHERE state = 'disputed' ORDER BY cents DESC" });
      const customer = await a.find(rows, /"customer_id":\s*(\d+)/, { rows: '1' });
      const booking = await a.find(rows, /"id":\s*(\d+)/, { rows: '1' });
      const one = await a.call('query', { sql: `SELECT * FROM agents.customers WHERE id = ${customer}` });
      return [booking, await a.find(one, /c\d+@example\.org/, {})];
    },
  },
  {
    name: 'postgres-row', server: 'postgres', world, needs,
    task: () => 'List all bookings of schema agents by id. What did booking 321 cost, and in which state is it?',
    script: async (a) => {
      const rows = await a.call('query', { sql: 'SELECT * FROM agents.bookings ORDER BY id' });
      const row = await a.find(rows, /"id":\s*321,[^}]*/, { rows: '321' });
      return [/"cents":\s*(\d+)/.exec(row)[1], /"state":\s*"(\w+)"/.exec(row)[1]];
    },
  },
  {
    name: 'postgres-letters', server: 'postgres', world, needs,
    task: () => 'Read the letters of schema agents. Which reference has letter 17?',
    script: async (a) => {
      const letters = await a.call('query', { sql: 'SELECT * FROM agents.letters ORDER BY id' });
      return [await a.find(letters, /"id":\s*17,[^}]*Reference (L-\d+)/, { rows: '17' })];
    },
  },
];

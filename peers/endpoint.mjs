// One endpoint with many servers behind it, under a TypeScript client, compared with each server by itself.
//
//   node endpoint.mjs --client 1|2 --site FILE
//
// FILE is JSON: {through: {url, token} | {argv, env}, roots, own, servers: [{name, argv | url, env, calls: [{tool, args}],
// clashes, hides, interactive}]}. clashes are the tools whose names another server has, too (true: all); hides those that a
// server has for some clients only, and not where it is shared. Every server is asked directly first, by the same client;
// then all of them through the endpoint, at once.
import fs from 'node:fs';
import { parseArgs } from 'node:util';
import { connect, outcome } from './eitherclient.mjs';
import { check, comment, difference, finish } from './tap.mjs';

const { values: flags } = parseArgs({ options: { client: { type: 'string' }, site: { type: 'string' } } });
const site = JSON.parse(fs.readFileSync(flags.site, 'utf8'));
const roots = site.roots ?? [];
const open = (target) => connect(flags.client, target, { roots });
const own = (server) => (tool) => (server.clashes === true || server.clashes?.includes(tool) ? `${server.name}_${tool}` : tool);

// What each server says by itself.
const direct = {};
for (const server of site.servers) {
  const peer = await open(server);
  try {
    const tools = (await peer.list()).map((tool) => tool.name);
    const answers = [];
    for (const call of server.calls) answers.push(await outcome(() => peer.call(call.tool, call.args)));
    direct[server.name] = { tools, answers };
  } finally {
    await peer.close();
  }
}

const peer = await open(site.through);
try {
  const first = await peer.list();
  const names = first.map((tool) => tool.name);
  check('RED-41 no name is there twice', new Set(names).size === names.length, names.join());
  const hidden = (server, tool) => !site.own && server.hides?.includes(tool);
  const want = site.servers.flatMap((server) => direct[server.name].tools.filter((tool) => !hidden(server, tool)).map(own(server)));
  const lacks = want.filter((name) => !names.includes(name));
  check('all tools of all servers are there', lacks.length === 0, `lacks ${lacks}; has ${names}`);
  const more = names.filter((name) => !want.includes(name) && name !== 'reducer_expand');
  check('and no others but our own', more.length === 0, more.join());
  const order = want.filter((name) => names.includes(name));
  check('in the order of the servers', JSON.stringify(names.filter((name) => want.includes(name))) === JSON.stringify(order), names.join());
  const again = await peer.list();
  check('K43 the list is the same the next time', JSON.stringify(first) === JSON.stringify(again), difference(JSON.stringify(first), JSON.stringify(again)));

  // Every call of every server at once, five times over.
  const calls = Array.from({ length: 5 }, () =>
    site.servers.flatMap((server) => server.calls.map((call, i) => ({ server, call, want: direct[server.name].answers[i] }))),
  ).flat();
  const got = await Promise.all(calls.map(({ server, call }) => outcome(() => peer.call(own(server)(call.tool), call.args))));
  const cuts = [];
  for (const server of site.servers) {
    const wrong = [];
    let n = 0;
    calls.forEach((c, i) => {
      if (c.server !== server) return;
      n++;
      const cut = got[i].result?._meta?.['io.github.spillway-mcp/cut'];
      if (cut) return cuts.push({ cut, want: c.want, result: got[i].result });
      if (got[i].text !== c.want.text) wrong.push(`${c.call.tool}: ${difference(c.want.text, got[i].text)}`);
    });
    check(`${server.name}: ${n} calls at once give what the server gives by itself`, wrong.length === 0, wrong.slice(0, 3).join('\n'));
  }
  comment(`${calls.length} calls at once, of which ${cuts.length} were cut`);
  check('something was cut', cuts.length > 0);
  let back = 0;
  const lost = [];
  for (const { cut, want, result } of cuts.slice(0, 12)) {
    const original = await whole(peer, cut.ref);
    if (sameData(original, want.result)) back++;
    else lost.push(`${cut.ref}: ${difference(JSON.stringify(want.result), original)} shown ${JSON.stringify(result).slice(0, 200)}`);
  }
  check(`expand gives the original back`, lost.length === 0 && back > 0, lost.slice(0, 2).join('\n'));

  for (const server of site.servers.filter((s) => s.interactive)) await interact(peer, server);
  // What comes for a cancelled call, and what a server of the client's own says of nobody's call.
  const known = /unknown message ID: .*-31007|progress notification for an unknown token/;
  const faults = peer.faults.filter((text) => !known.test(text));
  check('the client complains of nothing else', faults.length === 0, faults.slice(0, 3).join('\n'));
} finally {
  await peer.close();
}
finish();

// whole puts the pages of an expanded text together.
async function whole(peer, ref) {
  const { result, text } = await outcome(() => peer.call('reducer_expand', { ref }));
  if (!result) return text;
  return result.content.map((block) => block.text).join('');
}

// sameData tells whether the expanded text is the beginning, or all, of the first text of the original.
function sameData(expanded, result) {
  const text = result?.content?.find((block) => block.type === 'text')?.text ?? '';
  return text.length > 0 && expanded.includes(text.slice(0, 1000));
}

// interact does what a session of its own with a server can: progress, cancellation, questions, changes of lists.
async function interact(peer, server) {
  const name = own(server);
  const long = (duration, stepCount, options) => peer.call(name('trigger-long-running-operation'), { duration, steps: stepCount }, options);
  const steps = [];
  const abort = new AbortController();
  const cancelled = outcome(() => long(30, 30, { signal: abort.signal, onprogress: () => abort.abort('enough') }));
  const done = await outcome(() => long(0.6, 3, { onprogress: (p) => steps.push(p.progress) }));
  check(`${server.name}: a long call reports its own progress`, !done.error && steps.length >= 2 && steps.every((s, i) => s === i + 1), `${steps} ${done.text}`);
  const { error } = await cancelled;
  check(`K65 ${server.name}: a cancelled call ends`, error !== undefined, 'it was answered');
  const sum = await outcome(() => peer.call(name('get-sum'), { a: 2, b: 3 }));
  check(`K65 ${server.name}: others go on`, sum.text.includes('5'), sum.text);

  peer.elicit.push({ action: 'accept', content: { name: 'Zoë', integer: 5 } });
  const elicited = await outcome(() => peer.call(name('trigger-elicitation-request'), {}));
  check(`${server.name}: a server's elicitation reaches the client, and its answer the server`, elicited.text.includes('Zoë'), elicited.text);
  const sampled = await outcome(() => peer.call(name('trigger-sampling-request'), { prompt: 'hello', maxTokens: 10 }));
  check(`${server.name}: so does sampling`, sampled.text.includes('sampled by the client'), sampled.text);
  const rooted = await outcome(() => peer.call(name('get-roots-list'), {}));
  check(`${server.name}: and roots`, roots.every((dir) => rooted.text.includes(dir)), rooted.text);
}

// Many calls in flight on one session, half of them cancelled.
//
//   node flight.mjs --work DIR [--spillway BINARY]
//
// Exactly the cancelled ones end as cancelled, every other one gets its own answer and its own progress,
// and no answer of a cancelled call arrives later. Without --spillway it shows that the server does so.
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { open, progressOf } from './client.mjs';
import { environment, servers } from './servers.mjs';
import { check, finish } from './tap.mjs';

const { values: flags } = parseArgs({ options: { work: { type: 'string' }, spillway: { type: 'string' } } });
const work = path.resolve(flags.work);
fs.mkdirSync(work, { recursive: true });
const server = servers.everything.argv(work);
const argv = flags.spillway ? [flags.spillway, 'run', '--server', 'everything', '--', ...server] : server;
const peer = await open(argv, { env: environment('everything', work) });
const count = 60;
try {
  await peer.client.listTools();
  const calls = Array.from({ length: count }, (_, i) => {
    const abort = i % 2 ? new AbortController() : undefined;
    const done = peer.client.callTool(
      { name: 'trigger-long-running-operation', arguments: { duration: 1.2, steps: 2 + (i % 5) } },
      undefined,
      { signal: abort?.signal, onprogress: () => {} },
    );
    return { i, id: peer.sent, abort, done: done.then((result) => ({ result }), (error) => ({ error })) };
  });
  const echoes = Array.from({ length: count }, (_, i) => peer.client.callTool({ name: 'echo', arguments: { message: `number ${i}` } }));
  const answers = await Promise.all(echoes);
  check('K65 quick calls overtake the slow ones, each with its own answer', answers.every((a, i) => a.content[0].text === `Echo: number ${i}`));
  for (const call of calls) call.abort?.abort(`enough of ${call.i}`);
  const ends = await Promise.all(calls.map((call) => call.done));
  const wrong = (want) => calls.filter((call, n) => Boolean(call.abort) === want && Boolean(ends[n].error) !== want).map((call) => call.i);
  check('K65 every cancelled call ends', wrong(true).length === 0, wrong(true));
  check('K65 no other call does', wrong(false).length === 0, wrong(false));
  const steps = (call) => progressOf(peer, call.id).map((p) => p.progress).join();
  const short = calls.filter((call) => !call.abort && steps(call) !== Array.from({ length: 2 + (call.i % 5) }, (_, k) => k + 1).join());
  check('K65 each call that went on got its own progress', short.length === 0, short.map((call) => `${call.i}: ${steps(call)}`));
  await new Promise((resolve) => setTimeout(resolve, 1500)); // the cancelled ones would have ended by now
  const late = calls.filter((call) => call.abort && peer.raw.has(call.id));
  check('K65 no answer of a cancelled call arrives', late.length === 0, late.map((call) => call.id));
  check('K65 the session lives', (await peer.client.callTool({ name: 'get-sum', arguments: { a: 1, b: 2 } })).content[0].text.includes('3'));
} finally {
  await peer.close();
}
finish();

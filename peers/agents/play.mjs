// Plays the agents' tasks through `spillway run` with recording on, and lays the recordings with what each
// declares into a directory. Lines of the ledger are added to the file LEDGER, which is ledger.jsonl in DIR.
//
//   node agents/play.mjs --spillway BINARY --rules FILE --out DIR [--ledger LEDGER] [--work DIR] [--task NAME]...
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { check, finish } from '../tap.mjs';
import { work } from './agent.mjs';
import { tasks } from './tasks.mjs';

const { values: flags } = parseArgs({
  options: { spillway: { type: 'string' }, rules: { type: 'string' }, out: { type: 'string' }, ledger: { type: 'string' }, work: { type: 'string', default: '/tmp/spillway-agents' }, task: { type: 'string', multiple: true } },
});
const out = path.resolve(flags.out);
const ledger = path.resolve(flags.ledger ?? path.join(out, 'ledger.jsonl'));
fs.mkdirSync(out, { recursive: true });

for (const task of tasks) {
  if (flags.task && !flags.task.includes(task.name)) continue;
  const dir = path.resolve(flags.work);
  fs.rmSync(dir, { recursive: true, force: true });
  fs.mkdirSync(dir, { recursive: true });
  const world = await task.world(dir);
  if (!world) {
    check(`${task.name} # SKIP its server is not here: ${task.needs}`, true);
    continue;
  }
  const config = path.join(dir, 'spillway.yaml');
  fs.writeFileSync(config, JSON.stringify({ record: { path: path.join(dir, 'record') }, ledger: { path: ledger, estimator: 'o200k_base' }, stash: { path: path.join(dir, 'stash') } }));
  const home = path.join(dir, 'home');
  const env = { PATH: process.env.PATH, HOME: home, TZ: 'UTC', ...world.env };
  for (const key of ['CONFIG', 'STATE', 'DATA', 'CACHE']) env[`XDG_${key}_HOME`] = path.join(home, key.toLowerCase());
  const argv = [flags.spillway, 'run', '--server', task.server, '-c', config, '--rules', path.resolve(flags.rules), '--', ...world.argv];
  let fault;
  let answer;
  try {
    answer = await work(argv, { env, roots: world.roots }, (agent) => task.script(agent, dir));
  } catch (error) {
    fault = error;
  } finally {
    await world.close?.();
  }
  check(`${task.name}: the agent finishes`, !fault, fault?.message);
  const [file] = fs.readdirSync(path.join(dir, 'record')).filter((name) => name.endsWith('.jsonl.zst'));
  fs.copyFileSync(path.join(dir, 'record', file), path.join(out, `${task.name}.jsonl.zst`));
  const declared = { task: task.task(dir), final_answer: answer ?? [], ...task.declares };
  fs.writeFileSync(path.join(out, `${task.name}.expect.json`), JSON.stringify(declared, null, 2) + '\n');
}
finish();

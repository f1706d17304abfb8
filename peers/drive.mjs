// Plays every tool of a server directly and through `spillway run`, and compares.
//
//   node drive.mjs --work DIR --server NAME [--spillway BINARY --rules SET,SET...]
//
// Without --spillway the direct run is played twice: then every difference is the server's own.
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { sameCalls, sameLists, sameTools } from './compare.mjs';
import { expandsBack } from './expand.mjs';
import { play } from './record.mjs';
import { rulesets } from './rulesets.mjs';
import { servers } from './servers.mjs';
import { check, comment, finish } from './tap.mjs';

const { values: flags } = parseArgs({
  options: { work: { type: 'string' }, server: { type: 'string' }, spillway: { type: 'string' }, rules: { type: 'string', default: 'default' } },
});
const work = path.resolve(flags.work);
const server = flags.server;
fs.mkdirSync(work, { recursive: true });
const argv = servers[server].argv(work);

const direct = await play(server, argv, work);
for (const tool of servers[server].partial ? [] : direct.tools) {
  check(`${server}: ${tool.name} is called`, direct.calls.some((c) => c.call.tool === tool.name && !c.error && !c.result.isError));
}

if (!flags.spillway) {
  const again = await play(server, argv, work);
  sameLists(`${server} twice`, direct, again);
  sameCalls(`${server} twice`, direct, again, () => ({ pass: true }));
} else {
  for (const set of flags.rules.split(',')) {
    const { file, rule } = rulesets[set];
    const name = `${server} under ${set}`;
    const ruleOf = (tool) => rule(server, tool);
    const front = [flags.spillway, 'run', '--server', server, ...(file ? ['--rules', file] : []), '--', ...argv];
    await play(server, front, work, async (peer, through) => {
      sameLists(name, direct, through);
      sameTools(name, direct, through, ruleOf);
      const cuts = sameCalls(name, direct, through, ruleOf);
      comment(`${name}: ${cuts.length} of ${direct.calls.length} results were cut`);
      for (const cut of cuts) await expandsBack(peer, cut);
    });
  }
}
finish();

// K13: a file of 5,000 lines is read and cut; what the model saw is written back.
//
//   node guard.mjs --work DIR --spillway BINARY
//
// The write that carries the marker of the cut must be refused before the server sees it, naming the
// ref; the same text with a ref that nobody was given must pass.
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { cutOf } from './compare.mjs';
import { open } from './client.mjs';
import { environment, servers } from './servers.mjs';
import { check, finish } from './tap.mjs';

const { values: flags } = parseArgs({ options: { work: { type: 'string' }, spillway: { type: 'string' } } });
const work = path.resolve(flags.work);
fs.mkdirSync(work, { recursive: true });
const spec = servers.filesystem;
spec.reset(work);
const file = path.join(work, 'files', 'lines.txt');
const before = fs.readFileSync(file, 'utf8');

const peer = await open([flags.spillway, 'run', '--server', 'filesystem', '--', ...spec.argv(work)], {
  env: environment('filesystem', work),
  roots: spec.roots(work),
});
const call = async (name, args) => {
  try {
    return await peer.client.callTool({ name, arguments: args });
  } catch (error) {
    return { isError: true, content: [{ type: 'text', text: error.message }] };
  }
};
try {
  await peer.client.listTools();
  const read = await call('read_text_file', { path: file });
  const ref = cutOf(read)?.ref;
  check('K13 reading 5,000 lines is cut, with a ref', /^r_[0-9a-f]{12}$/.test(ref ?? ''), JSON.stringify(read).slice(0, 300));
  const seen = read.content.map((block) => block.text).join('\n');
  const marker = seen.split('\n').find((line) => line.includes('…') && line.includes(ref));
  check('K13 a marker line stands where the text was cut', marker !== undefined, seen.slice(-300));

  for (const [what, args] of [
    ['write_file', { path: file, content: seen }],
    ['write_file to a new file', { path: file + '.copy', content: seen }],
    ['edit_file', { path: file, edits: [{ oldText: 'line 1 of 5000', newText: seen }] }],
  ]) {
    const refused = await call(what.split(' ')[0], args);
    check(`K13 ${what} with what the model saw is refused`, refused.isError === true, JSON.stringify(refused).slice(0, 300));
    const text = JSON.stringify(refused.content);
    check(`K13 the refusal of ${what} names the ref and the way to the whole`, text.includes(ref) && text.includes('reducer_expand'), text.slice(0, 400));
  }
  check('K13 the file is as it was', fs.readFileSync(file, 'utf8') === before);
  check('K13 no new file came to be', !fs.existsSync(file + '.copy'));

  const foreign = seen.replaceAll(ref, 'r_0123456789ab');
  const passed = await call('write_file', { path: file, content: foreign });
  check('K13 the same text with a foreign ref passes', !passed.isError && fs.readFileSync(file, 'utf8') === foreign, JSON.stringify(passed).slice(0, 300));
  const plain = await call('write_file', { path: file, content: `a note that mentions ${ref} without a marker\n` });
  check('K13 the bare ref in a text is no marker', !plain.isError, JSON.stringify(plain).slice(0, 300));
} finally {
  await peer.close();
}
finish();

// The settings that change what a client is shown, with the filesystem server behind.
//
//   node settings.mjs --work DIR --spillway BINARY
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { cutOf, expandTool } from './compare.mjs';
import { open } from './client.mjs';
import { environment, servers } from './servers.mjs';
import { check, finish } from './tap.mjs';

const { values: flags } = parseArgs({ options: { work: { type: 'string' }, spillway: { type: 'string' } } });
const work = path.resolve(flags.work);
fs.mkdirSync(work, { recursive: true });
const spec = servers.filesystem;
spec.reset(work);
const at = (name) => path.join(work, 'files', name);
const lines = { name: 'read_text_file', arguments: { path: at('lines.txt') } };

// session starts Spillway with a configuration and rules, in a home of its own, and ends it after use.
async function session(name, config, rules, use) {
  const home = path.join(work, name);
  fs.mkdirSync(home, { recursive: true });
  const env = { ...environment('filesystem', work), HOME: home };
  for (const key of ['CONFIG', 'STATE', 'DATA', 'CACHE']) env[`XDG_${key}_HOME`] = path.join(home, key.toLowerCase());
  const files = { config: path.join(home, 'spillway.yaml'), rules: path.join(home, 'rules.yaml') };
  fs.writeFileSync(files.config, config);
  fs.writeFileSync(files.rules, rules);
  const peer = await open([flags.spillway, 'run', '--server', 'filesystem', '-c', files.config, '--rules', files.rules, '--', ...spec.argv(work)], { env, roots: spec.roots(work) });
  const command = (...args) => execFileSync(flags.spillway, args, { env: { ...process.env, ...env, NODE_OPTIONS: '' }, encoding: 'utf8' });
  try {
    await use(peer, { ...files, home, command });
  } finally {
    await peer.close();
  }
  return { home, command };
}

const text = (result) => result.content.filter((b) => b.type === 'text').map((b) => b.text).join('\n');
const names = async (peer) => (await peer.client.listTools()).tools.map((tool) => tool.name);

await session('off', 'expand: off\n', 'default: {max_bytes: 2k}\n', async (peer, { config, command }) => {
  check('K36 RED-19 expand: off lists no expand tool', !(await names(peer)).includes(expandTool));
  const result = await peer.client.callTool(lines);
  const shown = JSON.stringify([result.content, result.structuredContent]);
  check('K36 RED-19 the note says what was cut', /5,?000/.test(text(result).split('\n')[0]), text(result).slice(0, 200));
  check('K36 RED-19 it names no tool', !shown.includes(expandTool));
  check('K36 RED-19 it prints no ref', !/r_[0-9a-f]{12}/.test(shown) && !cutOf(result)?.ref, shown.slice(0, 300));
  const stash = JSON.parse(command('stash', 'list', '--json', '-c', config));
  check('K36 RED-19 nothing is stashed', stash.length === 0, JSON.stringify(stash));
});

await session('link', 'resource_link: on\n', 'default: {max_bytes: 2k}\n', async (peer) => {
  await peer.client.listTools();
  check('RED-20 the resources capability is declared for a server that has none', peer.client.getServerCapabilities().resources !== undefined);
  const result = await peer.client.callTool(lines);
  const link = result.content.find((block) => block.type === 'resource_link');
  check('RED-20 the strict client takes the resource_link, which has a name and the ref', Boolean(link?.name) && link.uri.includes(cutOf(result).ref), JSON.stringify(link));
  const read = await peer.client.readResource({ uri: link?.uri ?? '' });
  check('RED-20 resources/read of it answers with the original, or its first part', read.contents[0].text.includes('line 1 of 5000'), JSON.stringify(read).slice(0, 300));
  const { resources } = await peer.client.listResources();
  check('RED-20 refs are not to be browsed', resources.length === 0, JSON.stringify(resources));
  const unknown = await peer.client.readResource({ uri: link.uri.replace(/r_[0-9a-f]{12}/, 'r_000000000000') }).then(() => 'an answer', (error) => error.message);
  check('RED-23 another ref is unknown', unknown.includes('unknown ref'), unknown);
  const small = await peer.client.callTool({ name: 'read_text_file', arguments: { path: at('hello.txt') } });
  check('RED-20 a result that was not cut gets no link', small.content.length === 1);
});

await session(
  'names',
  '',
  `default: {max_bytes: 2k}
filesystem:
  read_text_file: {rename: read, description: "Reads a text file.", max_bytes: 1k}
  write_file: {hide: true}
`,
  async (peer) => {
    const { tools } = await peer.client.listTools();
    const read = tools.find((tool) => tool.name === 'read');
    check('RED-41 rename and description are listed', read?.description === 'Reads a text file.' && !tools.some((t) => t.name === 'read_text_file'), JSON.stringify(tools.map((t) => t.name)));
    check('RED-41 a hidden tool is not listed', !tools.some((tool) => tool.name === 'write_file'));
    const result = await peer.client.callTool({ ...lines, name: 'read' });
    check('RED-41 the renamed tool works under its own rule, and the strict client takes its result', cutOf(result) && Buffer.byteLength(text(result)) <= 1000, text(result).length);
  },
);

await session('reload', '', 'default: {max_bytes: 2k}\n', async (peer, { rules }) => {
  let told = 0;
  let wake = () => {};
  peer.client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
    told++;
    wake();
  });
  const change = async (content) => {
    const woken = new Promise((resolve) => (wake = resolve));
    const late = new Promise((resolve) => setTimeout(resolve, 15_000, 'late').unref());
    fs.writeFileSync(rules + '.new', content);
    fs.renameSync(rules + '.new', rules); // as editors do
    return (await Promise.race([woken, late])) !== 'late';
  };
  const size = async () => Buffer.byteLength(text(await peer.client.callTool(lines)));
  await peer.client.listTools();
  const before = await size();
  check('K45 RED-51 a changed rules file is announced', await change('default: {max_bytes: 1k}\n'));
  const between = await size();
  check('RED-51 until the client lists again, the rules it was shown hold', between === before, `${before} and ${between}`);
  await peer.client.listTools();
  const after = await size();
  check('RED-51 then the new rules do', after <= 1000, after);
  fs.writeFileSync(rules, 'default: {max_bytes: 1k, keep: "items[*"}\n');
  await new Promise((resolve) => setTimeout(resolve, 1000)); // a broken file says nothing: there is nothing to wait for
  await peer.client.listTools();
  check('K45 a broken file leaves the last good rules in force', (await size()) === after);
  check('K45 RED-51 a mended file is announced', await change('default: {max_bytes: 3k}\n'));
  await peer.client.listTools();
  const last = await size();
  check('RED-51 and holds after a listing', last > 2000 && last <= 3000, last);
  check('K45 one notification a change', told === 2, told);
});

{
  const { home, command } = await session('ledger', 'ledger: {path: ledger.jsonl}\n', 'default: {max_bytes: 2k}\n', async (peer) => {
    await peer.client.listTools();
    const cut = await peer.client.callTool(lines);
    await peer.client.callTool({ name: 'read_text_file', arguments: { path: at('hello.txt') } });
    await peer.client.callTool({ name: 'read_text_file', arguments: { path: at('absent.txt') } });
    await peer.client.callTool({ name: expandTool, arguments: { ref: cutOf(cut).ref, lines: '2000' } });
  });
  const file = [path.join(home, 'ledger.jsonl'), path.join(work, 'ledger.jsonl'), 'ledger.jsonl'].find((name) => fs.existsSync(name));
  const ledger = file ? fs.readFileSync(file, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line)) : [];
  const of = (event) => ledger.filter((line) => line.event === event);
  check('RED-45 one line a call, by its kind', of('call').length === 2 && of('error').length === 1 && of('expand').length === 1, JSON.stringify(ledger.map((line) => line.event)));
  const call = of('call').sort((a, b) => b.bytes_in - a.bytes_in)[0]; // written after the answer: the order is open
  check('RED-45 the bytes are those of the text views', call?.bytes_in === fs.statSync(at('lines.txt')).size && call.bytes_out <= 2000, JSON.stringify(call));
  check('RED-45 never a payload or an argument', !JSON.stringify(ledger).includes('lines.txt') && !JSON.stringify(ledger).includes('quick brown'));
  const stats = JSON.parse(command('stats', '--json', file));
  const { all } = stats;
  check('K71 stats counts them: three calls, one of them an error, one reduced and then expanded', all.calls === 3 && all.errors === 1 && all.reduced === 1 && all.expands === 1 && all.expand_rate === 1, JSON.stringify(all).slice(0, 500));
  const { bytes_in, bytes_out, bytes_expanded, bytes_definitions, net_saved } = all.text;
  check('K71 RED-47 what is saved is net of everything', net_saved === bytes_in - bytes_out - bytes_expanded - bytes_definitions && bytes_expanded > 0 && bytes_definitions > 0, JSON.stringify(all.text));
}
finish();

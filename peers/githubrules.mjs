// The reviewed rules on GitHub's MCP server, as the strict client sees them.
//
//   node githubrules.mjs --work DIR --spillway BINARY --rules FILE
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { open } from './client.mjs';
import { cutOf, sameCalls, sameLists, sameTools } from './compare.mjs';
import { expandsBack } from './expand.mjs';
import { github, reset } from './github.mjs';
import { label, play } from './record.mjs';
import { environment } from './servers.mjs';
import { check, comment, finish } from './tap.mjs';

const { values: flags } = parseArgs({ options: { work: { type: 'string' }, spillway: { type: 'string' }, rules: { type: 'string' } } });
const work = path.resolve(flags.work);
fs.mkdirSync(work, { recursive: true });
const argv = github.argv();

// What each rule leaves of a row, or of the whole where there are no rows; text where it is no JSON. Every
// other call has to arrive byte for byte.
const left = {
  search_code: 'repository,path,fragments',
  search_issues: 'id,number,title,state,user,labels,comments,updated_at,url',
  search_pull_requests: 'number,title,state,merged_at,user,labels,comments,updated_at,url',
  search_repositories: 'full_name,description,stars,language,default_branch,updated_at',
  'search_repositories (whole)': 'full_name,description,stars,language,default_branch,updated_at',
  search_commits: 'repository,sha,message,author,date',
  list_issues: 'number,title,state,user,labels,comments,updated_at',
  'list_issues (labelled)': 'number,title,state,user,labels,comments,updated_at',
  'issue_read (get_comments)': 'user,created_at,body',
  'issue_read (get_sub_issues)': 'id,number,title,state,url',
  list_pull_requests: 'number,title,state,draft,user,labels,head,base,updated_at',
  'pull_request_read (get_diff)': undefined,
  'pull_request_read (get_files)': 'filename,status,additions,deletions',
  'pull_request_read (get_status)': '_spillway,total_count,state,sha,statuses',
  'pull_request_read (get_check_runs)': 'name,status,conclusion,url',
  'pull_request_read (get_commits)': 'sha,message,author,date',
  'pull_request_read (get_reviews)': 'user,state,submitted_at,body',
  'pull_request_read (get_comments)': 'user,created_at,body',
  'get_file_contents (large)': undefined,
  'get_file_contents (folder)': 'type,path,size,sha',
  list_commits: 'sha,message,author,date',
  list_releases: 'tag_name,name,published_at,prerelease',
  get_latest_release: '_spillway,tag_name,name,published_at,prerelease,target_commitish,url,body,assets',
  get_release_by_tag: '_spillway,tag_name,name,published_at,prerelease,target_commitish,url,body,assets',
};
const confirmed = { sub_issue_write: 'id,url,name,number,status_code,data_size,continuation_token', add_reply_to_pull_request_comment: 'id,url,html_url,status_code,data_size,continuation_token' };

const keys = (value) => Object.keys(value ?? {}).join();
const textOf = (result) => result.content.map((block) => block.text ?? block.resource?.text ?? '').join('');
const parsed = (result) => JSON.parse(result.content[0].text);
const bytes = (result) => Buffer.byteLength(textOf(result), 'utf8');

const direct = await play('github', argv, work);
const front = (...args) => [flags.spillway, 'run', '--server', 'github', ...args, '--', ...argv];
await play('github', front('--rules', flags.rules), work, async (peer, through) => {
  const name = 'reviewed';
  sameLists(name, direct, through);
  sameTools(name, direct, through, (tool) => (tool in confirmed ? { write: 'update' } : { max_bytes: 20_000 }));

  // The writes that are confirmed are no cuts: they have checks of their own.
  const plain = (record) => ({ ...record, calls: record.calls.filter(({ call }) => !(call.tool in confirmed)) });
  const cuts = sameCalls(name, plain(direct), plain(through), () => ({ max_bytes: 20_000 }));
  const labels = cuts.map(({ call }) => label(call));
  check('the rules cut what they should, and nothing else', [...labels].sort().join('; ') === Object.keys(left).sort().join('; '), labels.join('; '));
  for (const cut of cuts) {
    const what = label(cut.call);
    const note = cut.through.content[0].text;
    check(`K14 ${what}: every selected path is in some row, and the projection applies`, !/No row has|was not applied/.test(note), note.slice(0, 600));
    if (left[what]) {
      const shown = parsed(cut.through);
      check(`RED-06 ${what}: what its own rule keeps`, keys(shown.rows?.[0] ?? shown) === left[what], keys(shown.rows?.[0] ?? shown));
      const all = parsed(cut.direct);
      const rows = all.items ?? all.issues ?? all.check_runs ?? all;
      if (shown.rows) check(`${what}: a page is not cut to fewer rows`, shown.rows.length === rows.length, `${shown.rows.length} of ${rows.length}`);
    }
    comment(`${what}: ${bytes(cut.direct)} bytes, ${bytes(cut.through)} left`);
    await expandsBack(peer, cut);
  }

  for (const [tool, want] of Object.entries(confirmed)) {
    const at = direct.calls.findIndex(({ call }) => call.tool === tool);
    const [full, got] = [direct.calls[at].result, through.calls[at].result];
    check(`RED-30 ${tool} is confirmed`, keys(parsed(got)) === want, textOf(got));
    check(`RED-32 ${tool}: data_size is that of the echo`, parsed(got).data_size === Buffer.byteLength(JSON.stringify(parsed(full))), textOf(got));
    await expandsBack(peer, { title: tool, direct: full, through: got, cut: { ref: parsed(got).continuation_token }, rule: {} });
    comment(`${tool}: ${bytes(full)} bytes, ${bytes(got)} left`);
  }
});

// verify gives the echo inline and does not reach the server, which writes down all that it is sent.
await reset();
const log = path.join(work, 'server.log');
const peer = await open([...front('--rules', flags.rules), '--enable-command-logging', '--log-file', log], { env: environment('github', work) });
const call = (name, args) => peer.client.callTool({ name, arguments: { owner: 'acme', repo: 'portal', ...args } });
await peer.client.listTools();
const full = await call('sub_issue_write', { method: 'add', issue_number: 417, sub_issue_id: 2_200_000_418, verify: true });
check('RED-33 verify gives the whole echo', parsed(full).number === 417 && parsed(full).user.login && !cutOf(full), textOf(full));
const sent = fs.readFileSync(log, 'utf8');
check('RED-33 verify does not reach the server', sent.includes('sub_issue_write') && !sent.includes('verify'), sent.slice(-2000));

// A file that was read in part is not written back in part (RED-49).
const where = { path: 'CHANGELOG.md', branch: 'main' };
const read = await call('get_file_contents', { path: where.path });
const text = read.content.at(-1).resource?.text ?? read.content.at(-1).text;
const sha = /\(SHA: ([0-9a-f]{40})\)/.exec(textOf(read))[1];
const writes = fs.readFileSync(log, 'utf8').split('create_or_update_file').length;
const refused = await call('create_or_update_file', { ...where, content: text, message: 'Put it back', sha });
check('RED-49 what was read in part is not written back', refused.isError && textOf(refused).includes(cutOf(read).ref), textOf(refused));
check('RED-49 and does not reach the server', fs.readFileSync(log, 'utf8').split('create_or_update_file').length === writes);
await peer.close();

// issue_write switches on method, and a list of rules can tell its writes apart. What it answers is an id and
// an address: a confirmation would be longer, so the answer passes. That is why no reviewed rule is about it.
await reset();
const rules = path.join(work, 'issue_write.json');
fs.writeFileSync(rules, JSON.stringify({ default: { max_bytes: '20k' }, github: { issue_write: ['create', 'update'].map((method) => ({ when: `method == '${method}'`, write: method })) } }));
const own = await open(front('--rules', rules), { env: environment('github', work) });
const { tools } = await own.client.listTools();
check('RED-33 issue_write under when lists verify, once', tools.filter((tool) => tool.inputSchema.properties?.verify).map((tool) => tool.name).join() === 'issue_write');
for (const write of github.calls().filter(({ tool }) => tool === 'issue_write')) {
  const before = direct.calls.find(({ call }) => label(call) === label(write)).result;
  const got = await own.client.callTool({ name: 'issue_write', arguments: write.args });
  check(`RED-05 ${label(write)}: an answer that is shorter than its confirmation passes`, textOf(got) === textOf(before), textOf(got));
  const { id, url } = parsed(got);
  check(`${label(write)}: it is an id and an address`, keys(parsed(got)) === 'id,url' && /^\d+$/.test(id) && url.startsWith('https://'), textOf(got));
}
await own.close();
finish();

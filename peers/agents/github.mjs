// Tasks on GitHub's server (npm @modelcontextprotocol/server-github, its dist/index.js in SPILLWAY_PEER_GITHUB),
// over an API of our own.
import { fileURLToPath } from 'node:url';

const needs = 'SPILLWAY_PEER_GITHUB names its index.js';
const world = () =>
  process.env.SPILLWAY_PEER_GITHUB && {
    argv: [process.execPath, '--import', fileURLToPath(new URL('./fakeapi.mjs', import.meta.url)), process.env.SPILLWAY_PEER_GITHUB],
    env: { GITHUB_PERSONAL_ACCESS_TOKEN: 'none' },
  };

export const github = [
  {
    name: 'github-caller', server: 'github', world, needs,
    task: () => 'Where in the infra repositories of acme is deprecatedCharge still called? Name the first file, and the amount that it charges.',
    script: async (a) => {
      const hits = await a.call('search_code', { q: 'deprecatedCharge org:acme', per_page: 30 });
      const repo = await a.find(hits, /acme\/(infra-\d+)/, { fields: ['repository'] });
      const step = Number(repo.split('-')[1]);
      const path = await a.find(hits, new RegExp(`src/charge/step_${step}\\.ts`), { fields: ['path'] });
      const file = await a.call('get_file_contents', { owner: 'acme', repo, path });
      return [repo, path, await a.find(file, /step_\d+\.ts', \d+/, {})];
    },
  },
  {
    name: 'github-issue', server: 'github', world, needs,
    task: () => 'Find the issue of acme/portal-1 about a crash with an empty basket, tell on it in which build it was seen first, and name the issue.',
    declares: { expect_state: [{ name: 'after', query: 'comments == `1`' }] },
    script: async (a) => {
      const hits = await a.call('search_issues', { q: 'repo:acme/portal-1 crash' });
      const number = Number(await a.find(hits, /"number":\s*(\d+),\s*"title":\s*"Crash when/, { query: "items[?contains(title, 'Crash')].{number: number, title: title}" }));
      const issue = await a.call('get_issue', { owner: 'acme', repo: 'portal-1', issue_number: number });
      const build = await a.find(issue, /first in build (\d+)/, { query: 'body' });
      await a.call('add_issue_comment', { owner: 'acme', repo: 'portal-1', issue_number: number, body: `Seen first in build ${build}.` });
      await a.state('after', 'get_issue', { owner: 'acme', repo: 'portal-1', issue_number: number });
      return [String(number), build];
    },
  },
];

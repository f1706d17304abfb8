// Tasks on GitHub's own MCP server, over the API of internal/githubfake: see ../github.mjs for what has to run.
import { env, github as server, here, reset } from '../github.mjs';

const needs = 'SPILLWAY_PEER_GITHUB names its binary, SPILLWAY_PEER_GITHUB_HOST its API';
const world = async () => {
  if (!here) return undefined;
  await reset();
  return { argv: server.argv(), env };
};
const portal = { owner: 'acme', repo: 'portal' };

export const github = [
  {
    name: 'github-caller', server: 'github', world, needs,
    task: () => 'Some of acme\'s services still call deprecatedCharge. In which file does service-09 do so, in which function, and with which timeout?',
    script: async (a) => {
      const hits = await a.call('search_code', { query: 'deprecatedCharge org:acme' });
      const path = await a.find(hits, /"repository":"acme\/service-09","path":"(src\/[^"]+)"/, { query: "items[?repository=='acme/service-09'].{repository: repository, path: path}" });
      const file = await a.call('get_file_contents', { owner: 'acme', repo: 'service-09', path });
      const timeout = await a.find(file, /return deprecatedCharge\(order, total, \{ timeout_ms: (\d+) /, {});
      const [name] = file.slice(0, file.indexOf('return deprecatedCharge')).split('export function ').at(-1).split('(');
      return [path, name, timeout];
    },
  },
  {
    name: 'github-triage', server: 'github', world, needs,
    task: () => 'Find the open issue of acme/portal about a crash with an empty basket. From its comments tell in which build it was seen first and which commit brought it, and do with the issue what they ask for.',
    declares: { expect_state: [{ name: 'after', query: "contains(labels, 'regression') && contains(labels, 'bug') && assignees == ['tomasz-w'] && comments == `25`" }] },
    script: async (a) => {
      const hits = await a.call('search_issues', { query: 'crash basket is:open', ...portal });
      const number = Number(await a.find(hits, /"number":(\d+),"title":"[^"]*crash/i, { query: "items[?contains(lower(title), 'crash')].{number: number, title: title}" }));
      const issue = await a.call('issue_read', { method: 'get', ...portal, issue_number: number });
      const kept = await a.find(issue, /"labels":\["(\w+)"/, { query: 'labels' });
      const comments = await a.call('issue_read', { method: 'get_comments', ...portal, issue_number: number });
      const build = await a.find(comments, /seen first in build (\d+)/, { query: "[?contains(body, 'seen first')].body" });
      const commit = await a.find(comments, /came in with ([0-9a-f]{40})/, { query: "[?contains(body, 'came in with')].body" });
      const [, who, label] = /([\w-]+) knows that code, please assign it there and label it (\w+)/.exec(comments);
      await a.call('issue_write', { method: 'update', ...portal, issue_number: number, labels: [kept, label], assignees: [who] });
      await a.call('add_issue_comment', { ...portal, issue_number: number, body: `Seen first in build ${build}; it came with ${commit}.` });
      await a.state('after', 'issue_read', { method: 'get', ...portal, issue_number: number });
      return [String(number), build, commit];
    },
  },
  {
    name: 'github-release', server: 'github', world, needs,
    task: () => 'Which release of acme/portal was the first with the fix of issue #417? Name it, the pull request that made the fix, who merged it, and what the Windows build for arm64 is called.',
    script: async (a) => {
      // The list has no notes: what each release says is asked for once, by what it has to name.
      const list = await a.call('list_releases', portal);
      const tag = await a.find(list, /"(v[\d.]+)\\*"[^}]*fixes #417\b/, { query: "[?contains(body, '#417')].{tag_name: tag_name, body: body}" });
      const release = await a.call('get_release_by_tag', { ...portal, tag });
      const pull = await a.find(release, /fixes #417 by @[\w-]+ in \S+\/pull\/(\d+)/, { query: 'body' });
      const build = await a.find(release, /portal_[\d.]+_windows_arm64\.tar\.gz/, { query: 'assets[*].name' });
      const merged = await a.call('pull_request_read', { method: 'get', ...portal, pullNumber: Number(pull) });
      return [tag, pull, await a.find(merged, /"merged_by":"([\w-]+)"/, { query: 'merged_by' }), build];
    },
  },
  {
    name: 'github-review', server: 'github', world, needs,
    task: () => 'There is an open pull request in acme/portal that retries payments. Which check fails, and which remark of the review is open about money? Answer it: the key of the first try will be kept. Then name the four files that are changed most, and the first line that is added to the file with the remark.',
    declares: { expect_state: [{ name: 'answered', query: "length(review_threads[?contains(comments[-1].body, 'key of the first try will be kept')]) == `1`" }] },
    script: async (a) => {
      const list = await a.call('list_pull_requests', { ...portal, state: 'open' });
      const number = Number(await a.find(list, /"number":(\d+),"title":"Retry a payment/, { query: "[?contains(title, 'payment')].{number: number, title: title}" }));
      const on = { ...portal, pullNumber: number };
      const runs = await a.call('pull_request_read', { method: 'get_check_runs', ...on });
      const failing = await a.find(runs, /"name":"([^"]+)","status":"completed","conclusion":"failure"/, { query: "check_runs[?conclusion=='failure'].{name: name, status: status, conclusion: conclusion}" });
      const threads = await a.call('pull_request_read', { method: 'get_review_comments', ...on });
      const [, file, remark] = /pays twice\."[^}]*?"path":"([^"]+)"[^}]*?#discussion_r(\d+)"/.exec(threads);
      await a.call('add_reply_to_pull_request_comment', { ...on, commentId: Number(remark), body: 'Right: the key of the first try will be kept.' });
      // The list of files has no patches: that of one file is asked for by its row.
      const shown = await a.call('pull_request_read', { method: 'get_files', ...on });
      const files = [...shown.matchAll(/"filename":"([^"]+)","status":"modified","additions":(\d+),"deletions":(\d+)/g)].map(([, name, more, less]) => ({ name, changed: Number(more) + Number(less) }));
      const row = files.findIndex(({ name }) => name === file) + 1;
      const line = await a.find(shown, /\\n\+ *(const \w+ = [^;]+;)/, { rows: String(row), fields: ['filename', 'patch'] });
      const most = files.toSorted((x, y) => y.changed - x.changed).slice(0, 4);
      await a.state('answered', 'pull_request_read', { method: 'get_review_comments', ...on });
      return [failing, ...most.map(({ name }) => name), line];
    },
  },
  {
    name: 'github-oldest', server: 'github', world, needs,
    task: () => 'Which is the oldest open bug of acme/portal, who reported it, and on which build?',
    script: async (a) => {
      const bugs = { ...portal, state: 'OPEN', labels: ['bug'] };
      let page = await a.call('list_issues', bugs);
      while (/"hasNextPage":true/.test(page)) page = await a.call('list_issues', { ...bugs, after: await a.find(page, /"endCursor":"([^"]+)"/, { query: 'pageInfo.endCursor' }) });
      const number = [...page.matchAll(/"number":(\d+)/g)].at(-1)[1];
      const issue = await a.call('issue_read', { method: 'get', ...portal, issue_number: Number(number) });
      return [number, await a.find(issue, /"login":"([\w-]+)"/, { query: 'user.login' }), await a.find(issue, /build \| (\d+)/, { query: 'body' })];
    },
  },
  {
    name: 'github-umbrella', server: 'github', world, needs,
    task: () => 'Put the two oldest open issues of acme/portal about a wrong total in the checkout below issue #417, and tell what they are called.',
    declares: { expect_state: [{ name: 'below', query: "length(@) == `2` && length([?contains(title, 'Wrong total')]) == `2`" }] },
    script: async (a) => {
      const hits = await a.call('search_issues', { query: 'wrong total checkout is:open sort:created-asc', ...portal });
      const two = [...hits.matchAll(/"id":(\d+),"number":(\d+),"title":"(Wrong total in the checkout[^"]*)"/g)].slice(0, 2);
      for (const [, id] of two) await a.call('sub_issue_write', { method: 'add', ...portal, issue_number: 417, sub_issue_id: Number(id) });
      const below = await a.call('issue_read', { method: 'get_sub_issues', ...portal, issue_number: 417 });
      const titles = [...below.matchAll(/"number":(\d+),"title":"([^"]+)"/g)];
      await a.state('below', 'issue_read', { method: 'get_sub_issues', ...portal, issue_number: 417 });
      return titles.flatMap(([, number, title]) => [number, title]);
    },
  },
  {
    name: 'github-blame', server: 'github', world, needs,
    task: () => 'A commit of acme/portal took a delivery notice from the first line of the basket. Which one, by whom, and which files did it touch? What had its author done just before?',
    script: async (a) => {
      const hits = await a.call('search_commits', { query: 'repo:acme/portal basket' });
      const [, sha, by] = /"sha":"([0-9a-f]{40})","message":"Take the delivery notice[^"]*","author":"([\w-]+)"/.exec(hits);
      const commit = await a.call('get_commit', { ...portal, sha });
      const files = [...commit.matchAll(/"filename":"([^"]+)"/g)].map((m) => m[1]);
      const list = await a.call('list_commits', { ...portal, author: by });
      const theirs = [...list.matchAll(/"sha":"([0-9a-f]{40})"/g)].map((m) => m[1]);
      return [sha, by, ...files, theirs[theirs.indexOf(sha) + 1]];
    },
  },
  {
    name: 'github-merged', server: 'github', world, needs,
    task: () => 'Find the merged pull request of acme/portal about the first line of an empty basket. Who approved it, who commented on it last, which is its last commit, did its previews come up, and which four files does its diff begin with? What is the last line of the diff?',
    script: async (a) => {
      const hits = await a.call('search_pull_requests', { query: 'first line is:merged', ...portal });
      const number = Number(await a.find(hits, /"number":(\d+),"title":"[^"]*empty basket/, { query: "items[?contains(title, 'basket')].{number: number, title: title}" }));
      const on = { ...portal, pullNumber: number };
      const reviews = await a.call('pull_request_read', { method: 'get_reviews', ...on });
      const approved = await a.find(reviews, /"user":"([\w-]+)","state":"APPROVED"/, { query: "[?state=='APPROVED'].{user: user.login, state: state}" });
      const comments = await a.call('pull_request_read', { method: 'get_comments', ...on });
      const last = [...comments.matchAll(/"user":"([\w-]+)"/g)].at(-1)[1];
      const commits = await a.call('pull_request_read', { method: 'get_commits', ...on });
      const sha = [...commits.matchAll(/"sha":"([0-9a-f]{40})"/g)].at(-1)[1];
      const status = await a.call('pull_request_read', { method: 'get_status', ...on });
      const up = await a.find(status, /"state":"(success|failure)","sha"/, { query: '{state: state, sha: sha}' });
      const diff = await a.call('pull_request_read', { method: 'get_diff', ...on });
      const files = [...diff.matchAll(/^\+\+\+ b\/(.+)$/gm)].slice(0, 4).map((m) => m[1]);
      const line = await a.find(diff, /^([+-] *const \w+ = .*;)/, { lines: '-1' });
      return [String(number), approved, last, sha, up, ...files, line];
    },
  },
  {
    name: 'github-start', server: 'github', world, needs,
    task: () => 'Which service of acme has the most stars, and which file of its src/charge/ is the largest? And how large is the Linux build for amd64 of the latest release of acme/portal?',
    script: async (a) => {
      const hits = await a.call('search_repositories', { query: 'org:acme service', sort: 'stars', perPage: 50 });
      const repos = [...hits.matchAll(/"full_name":"acme\/([\w-]+)"[^}]*?"stars":(\d+)/g)].map(([, name, stars]) => ({ name, stars: Number(stars) }));
      const { name } = repos.toSorted((x, y) => y.stars - x.stars)[0];
      const folder = await a.call('get_file_contents', { owner: 'acme', repo: name, path: 'src/charge/' });
      const files = [...folder.matchAll(/"path":"([^"]+)","size":(\d+)/g)].map(([, path, size]) => ({ path, size: Number(size) }));
      const { path } = files.toSorted((x, y) => y.size - x.size)[0];
      const release = await a.call('get_latest_release', portal);
      const [, build, size] = /"name":"([^"]+linux_amd64\.tar\.gz)","size":(\d+)/.exec(release);
      return [name, path, build, size];
    },
  },
];

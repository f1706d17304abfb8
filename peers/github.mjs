// GitHub's MCP server over the API of internal/githubfake: SPILLWAY_PEER_GITHUB names its binary,
// SPILLWAY_PEER_GITHUB_HOST the API's address, which has to be on port 80: the server takes no other.
const { SPILLWAY_PEER_GITHUB: binary, SPILLWAY_PEER_GITHUB_HOST: host } = process.env;

export const here = Boolean(binary && host);
export const env = { GITHUB_HOST: host, GITHUB_PERSONAL_ACCESS_TOKEN: 'none' };

// reset forgets what was written to the API.
export async function reset() {
  const { status } = await fetch(`${host}/reset`, { method: 'POST' });
  if (status !== 204) throw new Error(`POST ${host}/reset: ${status}`);
}

const portal = { owner: 'acme', repo: 'portal' };
const read = (tool, method, rest, label = method) => ({ tool, args: { method, ...portal, ...rest }, label });

// calls touch what the API can answer; the reads come before the writes.
const calls = () => [
  { tool: 'get_me', args: {} },
  { tool: 'search_code', args: { query: 'deprecatedCharge org:acme' } },
  { tool: 'search_code', args: { query: 'noSuchFunction org:acme' }, label: 'none' },
  { tool: 'search_issues', args: { query: 'crash is:open', ...portal } },
  { tool: 'search_pull_requests', args: { query: 'narrow', ...portal } },
  { tool: 'search_repositories', args: { query: 'org:acme service' } },
  { tool: 'search_repositories', args: { query: 'org:acme service', minimal_output: false }, label: 'whole' },
  { tool: 'search_users', args: { query: 'ines' } },
  { tool: 'search_commits', args: { query: 'repo:acme/portal basket' } },
  { tool: 'list_issues', args: { ...portal, state: 'OPEN' } },
  { tool: 'list_issues', args: { ...portal, labels: ['bug'], perPage: 5 }, label: 'labelled' },
  ...['get', 'get_comments', 'get_labels'].map((method) => read('issue_read', method, { issue_number: 417 })),
  read('issue_read', 'get', { issue_number: 1 }, 'absent'),
  { tool: 'list_pull_requests', args: { ...portal, state: 'all' } },
  ...['get', 'get_diff', 'get_status', 'get_files', 'get_commits', 'get_review_comments', 'get_reviews', 'get_comments', 'get_check_runs'].map((method) =>
    read('pull_request_read', method, { pullNumber: 612 }),
  ),
  { tool: 'get_file_contents', args: { owner: 'acme', repo: 'service-07', path: 'src/charge/step_0.ts' }, label: 'small' },
  { tool: 'get_file_contents', args: { ...portal, path: 'CHANGELOG.md' }, label: 'large' },
  { tool: 'get_file_contents', args: { ...portal, path: 'src/basket/' }, label: 'folder' },
  { tool: 'list_commits', args: portal },
  { tool: 'get_commit', args: { ...portal, sha: 'main' } },
  { tool: 'list_branches', args: portal },
  { tool: 'list_tags', args: portal },
  { tool: 'list_releases', args: portal },
  { tool: 'get_latest_release', args: portal },
  { tool: 'get_release_by_tag', args: { ...portal, tag: 'v2.12.0' } },
  { tool: 'get_label', args: { ...portal, name: 'bug' } },

  read('issue_write', 'create', { title: 'The button is grey', body: 'It was blue.', labels: ['bug'] }),
  read('issue_write', 'update', { issue_number: 417, labels: ['bug', 'regression'], assignees: ['tomasz-w'], state: 'closed', state_reason: 'completed' }),
  { tool: 'add_issue_comment', args: { ...portal, issue_number: 417, body: 'Seen first in build 8117.' } },
  read('sub_issue_write', 'add', { issue_number: 417, sub_issue_id: 2_200_000_418 }),
  read('issue_read', 'get_sub_issues', { issue_number: 417 }),
  { tool: 'add_reply_to_pull_request_comment', args: { ...portal, pullNumber: 612, commentId: 1_810_006_124, body: 'It keeps the key of the first try now.' } },
  { tool: 'create_or_update_file', args: { ...portal, path: 'docs/new.md', content: '# New\n', message: 'Add a page', branch: 'main' } },
  { tool: 'create_branch', args: { ...portal, branch: 'topic/new' } },
  { tool: 'create_pull_request', args: { ...portal, title: 'Add a page', head: 'topic/new', base: 'main', body: 'Nobody has it yet.' } },
  { tool: 'update_pull_request', args: { ...portal, pullNumber: 612, title: 'Retry a payment, once' } },
  { tool: 'merge_pull_request', args: { ...portal, pullNumber: 614 } },
];

export const github = {
  argv: () => [binary, 'stdio'],
  env: () => env,
  roots: () => [],
  reset,
  calls,
  partial: true, // the API answers for some of its tools
};

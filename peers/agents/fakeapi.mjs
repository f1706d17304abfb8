// Loaded into GitHub's server with --import: answers its requests to api.github.com in the form of the REST
// API, from fixed data, so that no network and no token is needed.
const api = 'https://api.github.com';
const links = ['forks', 'keys', 'collaborators', 'teams', 'hooks', 'issue_events', 'events', 'assignees', 'branches', 'tags', 'blobs', 'git_tags', 'git_refs', 'trees', 'statuses', 'languages', 'stargazers', 'contributors', 'subscribers', 'subscription', 'commits', 'git_commits', 'comments', 'issue_comment', 'contents', 'compare', 'merges', 'archive', 'downloads', 'issues', 'pulls', 'milestones', 'notifications', 'labels', 'releases', 'deployments'];
const of = ['followers', 'following', 'gists', 'starred', 'subscriptions', 'organizations', 'repos', 'events', 'received_events'];
const sha = (n) => Array.from({ length: 5 }, (_, k) => ((n * 2654435761 + k * 40503 + 12345) >>> 0).toString(16).padStart(8, '0')).join('');

const user = (login, id) => ({
  login, id, node_id: `MDQ6VXNlcg${id}`, avatar_url: `https://avatars.githubusercontent.com/u/${id}?v=4`, gravatar_id: '', url: `${api}/users/${login}`, html_url: `https://github.com/${login}`,
  ...Object.fromEntries(of.map((name) => [`${name}_url`, `${api}/users/${login}/${name}`])), type: 'User', site_admin: false,
});
const repository = (i) => {
  const full_name = `acme/${['billing', 'portal', 'worker', 'mobile', 'infra'][i % 5]}-${i}`;
  return {
    id: 9100000 + i, node_id: `R_kgDO${i}`, name: full_name.slice(5), full_name, private: false, owner: user('acme', 77), html_url: `https://github.com/${full_name}`,
    description: `Part ${i} of what Acme sells`, fork: false, url: `${api}/repos/${full_name}`,
    ...Object.fromEntries(links.map((name) => [`${name}_url`, `${api}/repos/${full_name}/${name}{/x}`])),
  };
};
const hit = (i) => {
  const path = `src/charge/step_${i}.ts`;
  const repo = repository(i);
  return { name: `step_${i}.ts`, path, sha: sha(i), url: `${api}/repositories/${repo.id}/contents/${path}?ref=${sha(i + 1)}`, git_url: `${api}/repositories/${repo.id}/git/blobs/${sha(i)}`, html_url: `${repo.html_url}/blob/${sha(i + 1)}/${path}`, repository: repo, score: 1 };
};
const issue = (i) => ({
  url: `${api}/repos/acme/portal-1/issues/${400 + i}`, repository_url: `${api}/repos/acme/portal-1`, labels_url: `${api}/repos/acme/portal-1/issues/${400 + i}/labels{/name}`, comments_url: `${api}/repos/acme/portal-1/issues/${400 + i}/comments`, events_url: `${api}/repos/acme/portal-1/issues/${400 + i}/events`,
  html_url: `https://github.com/acme/portal-1/issues/${400 + i}`, id: 2200000000 + i, node_id: `I_kwDO${i}`, number: 400 + i, title: i === 17 ? 'Crash when the basket is empty' : `Layout is off on page ${i}`, user: user(`reporter${i % 4}`, 500 + (i % 4)),
  labels: [{ id: 31, node_id: 'LA_31', url: `${api}/repos/acme/portal-1/labels/bug`, name: 'bug', color: 'd73a4a', default: true, description: 'Something is not working' }],
  state: 'open', locked: false, assignee: null, assignees: [], milestone: null, comments: i % 3, created_at: '2026-02-01T08:00:00Z', updated_at: '2026-02-03T08:00:00Z', closed_at: null, author_association: 'NONE',
  body: `Steps:\n1. open page ${i}\n2. look\n\n${'The longer story of what was seen, on which device and when. '.repeat(8)}\nSeen first in build ${8100 + i}.`, score: 1,
});

const comments = [];
const routes = [
  [/^\/search\/code/, () => ({ total_count: 412, incomplete_results: false, items: Array.from({ length: 30 }, (_, i) => hit(i)) })],
  [/^\/search\/issues/, () => ({ total_count: 25, incomplete_results: false, items: Array.from({ length: 25 }, (_, i) => issue(i)) })],
  [/^\/repos\/[^/]+\/[^/]+\/contents\/(.*?)(\?|$)/, (m) => ({ type: 'file', encoding: 'base64', size: 90, name: m[1].split('/').pop(), path: m[1], content: Buffer.from(`export function step() {\n  return deprecatedCharge('${m[1]}', 30);\n}\n`).toString('base64'), sha: sha(5), url: `${api}${m[0]}`, git_url: api, html_url: 'https://github.com', download_url: 'https://raw.githubusercontent.com', _links: { self: `${api}${m[0]}`, git: api, html: 'https://github.com' } })],
  [/^\/repos\/.*\/issues\/(\d+)\/comments/, (m, body) => { comments.push(body.body); return { id: 3300, body: body.body, user: user('spillway', 9), issue_url: `${api}/repos/acme/portal-1/issues/${m[1]}`, html_url: `https://github.com/acme/portal-1/issues/${m[1]}#issuecomment-3300`, created_at: '2026-03-04T05:06:07Z', updated_at: '2026-03-04T05:06:07Z' }; }],
  [/^\/repos\/.*\/issues\/(\d+)/, (m) => ({ ...issue(Number(m[1]) - 400), comments: comments.length })],
];

globalThis.fetch = async (url, options = {}) => {
  const rest = String(url).slice(api.length);
  for (const [pattern, answer] of routes) {
    const m = String(url).startsWith(api) && pattern.exec(rest);
    if (m) return new Response(JSON.stringify(answer(m, options.body && JSON.parse(options.body))), { headers: { 'content-type': 'application/json' } });
  }
  return new Response(JSON.stringify({ message: 'Not Found' }), { status: 404, headers: { 'content-type': 'application/json' } });
};

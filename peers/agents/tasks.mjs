// The tasks of the scripted agents. Each needs evidence from results: an agent finds its next step, and its
// answer, in what it was shown.
import path from 'node:path';
import { github } from './github.mjs';
import { listings } from './listings.mjs';
import { more } from './more.mjs';
import { everything, files, filesystem, memory } from './places.mjs';
import { postgres } from './postgres.mjs';

export const tasks = [
  {
    name: 'files-port', server: 'filesystem', world: filesystem,
    task: (dir) => `Which service under ${files(dir)} listens on port 8416, who owns it, and whom does its runbook escalate to?`,
    script: async (a, dir) => {
      const found = await a.call('search_files', { path: files(dir), pattern: '**/config.yaml' });
      const paths = found.split('\n').filter((line) => line.endsWith('config.yaml'));
      const configs = await a.call('read_multiple_files', { paths });
      const service = await a.find(configs, /service: (\w+)\nowner: [\w-]+\nlisten:\n +address: \S+\n +port: 8416/, { query: '@' });
      const config = await a.call('read_text_file', { path: paths.find((p) => p.includes(`/${service}/`)) });
      const owner = await a.find(config, /owner: (\S+)/, {});
      const readme = await a.call('read_text_file', { path: path.join(files(dir), 'services', service, 'README.md') });
      const runbook = await a.find(readme, /docs\/runbooks\/\w+\.md/, {});
      const lead = await a.find(await a.call('read_text_file', { path: path.join(files(dir), runbook) }), /Escalate to: (\S+)/, {});
      return [service, owner, lead];
    },
  },
  {
    name: 'files-incident', server: 'filesystem', world: filesystem,
    task: (dir) => `What is the latest error in ${files(dir)}/logs/app.log, in which service, and what locked the row?`,
    script: async (a, dir) => {
      const log = await a.call('read_text_file', { path: path.join(files(dir), 'logs/app.log') });
      const line = await a.find(log, /ERROR (?!payments).*/, { lines: '-200' });
      const [, service, request, job] = /ERROR (\w+) (\S+) .*job=(\S+)/.exec(line);
      const runbook = await a.call('read_text_file', { path: path.join(files(dir), `docs/runbooks/${service}.md`) });
      return [service, request, job, await a.find(runbook, /Escalate to: (\S+)/, {})];
    },
  },
  {
    name: 'files-middle', server: 'filesystem', world: filesystem,
    task: (dir) => `Which request in ${files(dir)}/logs/app.log was refused by the acquirer, and with which code? It was about 00:43.`,
    script: async (a, dir) => {
      const log = await a.call('read_text_file', { path: path.join(files(dir), 'logs/app.log') });
      const line = await a.find(log, /ERROR payments .*/, { lines: '2550-2650' });
      const [, request, code] = /payments (\S+) .*code=(\d+)/.exec(line);
      return [request, `code=${code}`];
    },
  },
  {
    name: 'files-orders', server: 'filesystem', world: filesystem,
    task: (dir) => `Write the numbers of the first three open orders of ${files(dir)}/data/orders.json to ${files(dir)}/data/open.txt.`,
    declares: { expect_state: [{ name: 'written', query: "contains(@, '730006')" }] },
    script: async (a, dir) => {
      const orders = await a.call('read_text_file', { path: path.join(files(dir), 'data/orders.json') });
      const open = [...orders.matchAll(/"order_id": (\d+),\s+"customer": "[^"]+",\s+"status": "open"/g)].slice(0, 3).map((m) => m[1]);
      await a.call('write_file', { path: path.join(files(dir), 'data/open.txt'), content: open.join('\n') + '\n' });
      await a.state('written', 'read_text_file', { path: path.join(files(dir), 'data/open.txt') });
      return open;
    },
  },
  {
    name: 'files-picture', server: 'filesystem', world: filesystem,
    task: (dir) => `Look at the pictures in ${files(dir)}/pictures and say which one is larger.`,
    script: async (a, dir) => {
      const list = await a.call('list_directory_with_sizes', { path: path.join(files(dir), 'pictures') });
      const names = [...list.matchAll(/\[FILE\] (\S+)/g)].map((m) => m[1]);
      for (const name of names) await a.call('read_media_file', { path: path.join(files(dir), 'pictures', name) });
      const info = await a.call('get_file_info', { path: path.join(files(dir), 'pictures', names[0]) });
      return [names[0], await a.find(info, /size: (\d+)/, {})];
    },
  },
  {
    name: 'memory-owner', server: 'memory', world: memory,
    task: () => 'Which person owns the service service-checkout-3, where do they work from, and what else do they own?',
    script: async (a) => {
      const all = await a.call('read_graph');
      const owner = await a.find(all, /"from":\s*"(person-\d+)",\s*"to":\s*"service-checkout-3"/, { query: "relations[?to=='service-checkout-3']" });
      const person = await a.call('open_nodes', { names: [owner] });
      const town = await a.find(person, /works from (\w+)/, {});
      return [owner, town];
    },
  },
  {
    name: 'memory-note', server: 'memory', world: memory,
    task: () => 'Add to every service of the warehouse the observation "Moves to the new rack in week 12".',
    declares: { expect_state: [{ name: 'after', query: "length(entities[?contains(observations, 'Moves to the new rack in week 12')]) > `2`" }] },
    script: async (a) => {
      const hits = await a.call('search_nodes', { query: 'warehouse' });
      const names = [...new Set([...hits.matchAll(/"name":\s*"(service-warehouse-\d+)"/g)].map((m) => m[1]))];
      if (names.length < 3) throw new Error(`only ${names.length} services were shown`);
      await a.call('add_observations', { observations: names.map((entityName) => ({ entityName, contents: ['Moves to the new rack in week 12'] })) });
      await a.state('after', 'search_nodes', { query: 'new rack' });
      return names;
    },
  },
  {
    name: 'everything-weather', server: 'everything', world: everything,
    task: () => 'Which of New York, Chicago and Los Angeles is warmest, and what is 17 more than its temperature?',
    script: async (a) => {
      const degrees = {};
      for (const location of ['New York', 'Chicago', 'Los Angeles']) {
        const text = await a.call('get-structured-content', { location });
        degrees[location] = Number(await a.find(text, /"temperature":\s*(-?\d+)/, {}));
      }
      const [place, most] = Object.entries(degrees).sort((x, y) => y[1] - x[1])[0];
      return [place, await a.find(await a.call('get-sum', { a: most, b: 17 }), /is (\d+)/, {})];
    },
  },
  {
    name: 'everything-mistakes', server: 'everything', world: everything,
    task: () => 'Sum 4 and 5; you may get the arguments wrong first.',
    script: async (a) => {
      await a.call('get-sum', { a: 'four', b: 5 });
      await a.call('get-sum', { x: 4, y: 5 });
      const sum = await a.call('get-sum', { a: 4, b: 5 });
      return [await a.find(sum, /is (\d+)/, {})];
    },
  },
  ...listings,
  ...more,
  ...github,
  ...postgres,
];

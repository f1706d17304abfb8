// Tasks on the files server that begin with a listing longer than its cap.
import path from 'node:path';
import { files, filesystem } from './places.mjs';
import { dayOf } from './world.mjs';

export const listings = [
  {
    name: 'files-tree', server: 'filesystem', world: filesystem,
    task: (dir) => `Which service under ${files(dir)} has a source file about rounding, and to what does it round?`,
    script: async (a, dir) => {
      const tree = await a.call('directory_tree', { path: path.join(files(dir), 'services') });
      const name = await a.find(tree, /\w+_rounding\.go/, { query: "[].children[].children[?contains(name, 'rounding')].name[]" });
      const service = name.split('_')[0];
      const source = await a.call('read_text_file', { path: path.join(files(dir), 'services', service, 'src', name) });
      return [service, await a.find(source, /roundTo = (\d+)/, {})];
    },
  },
  {
    name: 'files-archive', server: 'filesystem', world: filesystem,
    task: (dir) => `What is the sum of the batch of ${dayOf(390)} in ${files(dir)}/archive?`,
    script: async (a, dir) => {
      const list = await a.call('list_directory', { path: path.join(files(dir), 'archive') });
      const name = await a.find(list, new RegExp(`${dayOf(390)}-batch-\\d+\\.csv`), { lines: '380-400' });
      const batch = await a.call('read_file', { path: path.join(files(dir), 'archive', name) });
      return [await a.find(batch, /sum;\d+;(\d+)/, { lines: '-5' })];
    },
  },
  {
    name: 'files-largest', server: 'filesystem', world: filesystem,
    task: (dir) => `Which file of ${files(dir)}/archive is the largest, and of which customer is its last row?`,
    script: async (a, dir) => {
      const list = await a.call('list_directory_with_sizes', { path: path.join(files(dir), 'archive'), sortBy: 'size' });
      const name = await a.find(list, /\[FILE\] (\S+\.csv)/, {});
      const batch = await a.call('read_text_file', { path: path.join(files(dir), 'archive', name) });
      return [name, await a.find(batch, /\d+;(customer-\d+);\d+\nsum;/, { lines: '-5' })];
    },
  },
  {
    name: 'files-runbooks', server: 'filesystem', world: filesystem,
    task: (dir) => `Read the runbooks in ${files(dir)}/docs/runbooks. To whom do those of basket and users escalate?`,
    script: async (a, dir) => {
      const folder = path.join(files(dir), 'docs/runbooks');
      const list = await a.call('list_directory', { path: folder });
      const paths = [...list.matchAll(/\[FILE\] (\S+)/g)].map((m) => path.join(folder, m[1]));
      const all = await a.call('read_multiple_files', { paths });
      const leads = [];
      for (const name of ['basket', 'users']) {
        const inAll = new RegExp(`# Runbook of ${name}\\n[^#]*Escalate to: (\\S+)`).exec(all);
        // What was cut is asked for by itself: a reader of files has the path at hand.
        leads.push(inAll ? inAll[1] : await a.find(await a.call('read_text_file', { path: path.join(folder, `${name}.md`) }), /Escalate to: (\S+)/, {}));
      }
      return leads;
    },
  },
  {
    name: 'files-sources', server: 'filesystem', world: filesystem,
    task: (dir) => `Find the Go sources under ${files(dir)}, then those of vouchers, and read the first line of the last one.`,
    script: async (a, dir) => {
      await a.call('search_files', { path: files(dir), pattern: '**/*.go' });
      const own = await a.call('search_files', { path: path.join(files(dir), 'services/vouchers'), pattern: '**/*.go' });
      const last = own.split('\n').filter((line) => line.endsWith('.go')).at(-1);
      const source = await a.call('read_text_file', { path: last });
      return [path.basename(last), await a.find(source, /package vouchers/, {})];
    },
  },
  {
    name: 'files-tail', server: 'filesystem', world: filesystem,
    task: (dir) => `Which service was the first in ${files(dir)}/logs/app.log to handle a request, and how many milliseconds did the last but 300 take?`,
    script: async (a, dir) => {
      const log = path.join(files(dir), 'logs/app.log');
      const all = await a.call('read_text_file', { path: log });
      const first = await a.find(all, /INFO (\w+) (req-\w+)/, {});
      // The end that was shown is not long enough: the same again, with a range of the server's own.
      const tail = await a.call('read_text_file', { path: log, tail: 301 });
      const line = await a.find(tail, /(?:^|\n)(\S+ INFO \w+ req-\w+ handled in \d+ ms)/, {});
      return [first, /req-\w+/.exec(line)[0]];
    },
  },
];

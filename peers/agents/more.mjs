// Tasks on memory and everything that need what a rule drops, or pass it on unread.
import { everything, memory } from './places.mjs';

export const more = [
  {
    // A loss: the rule drops observations, and the task needs them all.
    name: 'memory-towns', server: 'memory', world: memory,
    task: () => 'Read the whole graph. How many people work from Turin, and in which week was the last of them met?',
    script: async (a) => {
      const graph = await a.call('read_graph');
      const ref = /\br_[0-9a-f]{12}\b/.exec(graph)[0];
      let all = '';
      for (let from = 1; from <= 160; from += 40) all += await a.call('reducer_expand', { ref, rows: `${from}-${from + 39}` });
      const people = [...all.matchAll(/"(person-\d+)"[^\]]*?met in week (\d+)[^\]]*?works from Turin/g)];
      if (people.length === 0) throw new Error(`nobody in\n${all.slice(0, 600)}`);
      return [people.at(-1)[1], `met in week ${people.at(-1)[2]}`];
    },
  },
  {
    name: 'memory-deployed', server: 'memory', world: memory,
    task: () => 'Search the graph for deployed services. Which is the last one, and who owns it?',
    script: async (a) => {
      const hits = await a.call('search_nodes', { query: 'deployed' });
      const last = await a.find(hits, /"(service-\w+-159)"/, { query: 'entities[-1].name' });
      const owner = await a.call('open_nodes', { names: [last] });
      return [last, await a.find(owner, /"from":\s*"(person-\d+)"/, {})];
    },
  },
  {
    name: 'memory-people', server: 'memory', world: memory,
    task: () => 'Open person-0 to person-158, the even ones. In which week was person-150 met?',
    script: async (a) => {
      const names = Array.from({ length: 80 }, (_, i) => `person-${i * 2}`);
      const people = await a.call('open_nodes', { names });
      return [await a.find(people, /"person-150"[^\]]*?(met in week \d+)/, { query: "entities[?name=='person-150']" })];
    },
  },
  {
    name: 'everything-pictures', server: 'everything', world: everything,
    task: () => 'Get the tiny image, pack the text "plan B" as plan.gz, refer to the blob resource 3, and name both URIs.',
    script: async (a) => {
      await a.call('get-tiny-image');
      const text = `plan B ${Array.from({ length: 900 }, (_, i) => (i * 7919) % 9973).join(' ')}`;
      const packed = await a.call('gzip-file-as-resource', { name: 'plan.gz', data: `data:text/plain;base64,${Buffer.from(text).toString('base64')}`, outputType: 'resource' });
      const reference = await a.call('get-resource-reference', { resourceType: 'Blob', resourceId: 3 });
      const uri = /demo:\/\/resource\/[^\s"'`]+/;
      return [await a.find(packed, uri, { block: 1 }), await a.find(reference, uri, {})];
    },
  },
];

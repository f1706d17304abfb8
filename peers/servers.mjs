// The three reference servers, and for each the calls that touch every tool they list; and GitHub's.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { build, numbered } from './fixture.mjs';
import { github } from './github.mjs';

const require = createRequire(import.meta.url);
const steady = fileURLToPath(new URL('./steady.mjs', import.meta.url));
const entry = (name) => path.join(path.dirname(require.resolve(`@modelcontextprotocol/${name}/package.json`)), 'dist', 'index.js');

// each server: argv(work), env(work), reset(work) before a run, calls(work).
// partial: not every tool is called. A call is {tool, args, label?, elicit?: answers, task?: true, progress?: true}.
export const servers = {
  filesystem: {
    argv: (work) => [process.execPath, entry('server-filesystem'), path.join(work, 'files')],
    env: () => ({}),
    roots: (work) => [path.join(work, 'files')],
    reset: (work) => build(path.join(work, 'files')),
    calls: filesystem,
  },
  memory: {
    argv: () => [process.execPath, entry('server-memory')],
    env: (work) => ({ MEMORY_FILE_PATH: path.join(work, 'memory.jsonl') }),
    roots: () => [],
    reset: (work) => fs.rmSync(path.join(work, 'memory.jsonl'), { force: true }),
    calls: memory,
  },
  everything: {
    argv: () => [process.execPath, entry('server-everything'), 'stdio'],
    env: () => ({}),
    roots: () => ['/tmp/one', '/tmp/two'],
    reset: () => {},
    calls: everything,
  },
  github,
};

// environment is what both the direct server and the one behind Spillway are started with.
export function environment(server, work) {
  return {
    ...servers[server].env(work),
    NODE_OPTIONS: `--import=${steady}`,
    // A home of its own: neither the user's rules nor the user's stash take part.
    HOME: path.join(work, 'home'),
    XDG_CONFIG_HOME: path.join(work, 'home', 'config'),
    XDG_STATE_HOME: path.join(work, 'home', 'state'),
    XDG_DATA_HOME: path.join(work, 'home', 'data'),
    XDG_CACHE_HOME: path.join(work, 'home', 'cache'),
    TZ: 'UTC',
  };
}

function filesystem(work) {
  const at = (name) => path.join(work, 'files', name);
  const read = ['empty.txt', 'hello.txt', 'lines.txt', 'big.txt', 'one-line.txt', 'unicode.txt', 'records.json', 'small.json', 'rows.ndjson', 'note.txt'];
  return [
    { tool: 'list_allowed_directories', args: {} },
    ...read.map((name) => ({ tool: 'read_text_file', args: { path: at(name) }, label: name })),
    ...['hello.txt', 'lines.txt', 'records.json'].map((name) => ({ tool: 'read_file', args: { path: at(name) }, label: name })),
    { tool: 'read_text_file', args: { path: at('lines.txt'), head: 20 }, label: 'head' },
    { tool: 'read_text_file', args: { path: at('lines.txt'), tail: 300 }, label: 'tail' },
    { tool: 'read_text_file', args: { path: at('absent.txt') }, label: 'absent' },
    { tool: 'read_text_file', args: { path: '/etc/passwd' }, label: 'outside' },
    ...['picture.png', 'photo.jpg', 'sound.wav', 'data.bin'].map((name) => ({ tool: 'read_media_file', args: { path: at(name) }, label: name })),
    { tool: 'read_multiple_files', args: { paths: ['hello.txt', 'absent.txt', 'records.json', 'lines.txt'].map(at) } },
    { tool: 'list_directory', args: { path: at('.') }, label: 'small' },
    { tool: 'list_directory', args: { path: at('many') }, label: 'many' },
    { tool: 'list_directory', args: { path: at('hollow') }, label: 'hollow' },
    { tool: 'list_directory_with_sizes', args: { path: at('many') }, label: 'by name' },
    { tool: 'list_directory_with_sizes', args: { path: at('.'), sortBy: 'size' }, label: 'by size' },
    { tool: 'directory_tree', args: { path: at('.') }, label: 'all' },
    { tool: 'directory_tree', args: { path: at('tree/package-3') }, label: 'one' },
    { tool: 'directory_tree', args: { path: at('.'), excludePatterns: ['many', '*.go'] }, label: 'some' },
    { tool: 'search_files', args: { path: at('.'), pattern: '**/*.go' }, label: 'many' },
    { tool: 'search_files', args: { path: at('.'), pattern: 'nothing-is-called-so' }, label: 'none' },
    { tool: 'get_file_info', args: { path: at('big.txt') } },
    { tool: 'create_directory', args: { path: at('new/inner') } },
    { tool: 'write_file', args: { path: at('new/inner/written.txt'), content: numbered(3000) } },
    { tool: 'edit_file', args: { path: at('edit-me.txt'), edits: [{ oldText: 'line 7 of 40', newText: 'line seven' }], dryRun: true }, label: 'dry' },
    { tool: 'edit_file', args: { path: at('edit-me.txt'), edits: numbered(40).split('\n').slice(0, 40).map((oldText) => ({ oldText: oldText + '\n', newText: oldText.toUpperCase() + '\n' })) }, label: 'all lines' },
    { tool: 'move_file', args: { source: at('new/inner/written.txt'), destination: at('new/moved.txt') } },
    { tool: 'read_text_file', args: { path: at('new/moved.txt') }, label: 'what was written' },
  ];
}

function memory() {
  const entities = Array.from({ length: 220 }, (_, i) => ({
    name: `entity-${i}`,
    entityType: i % 2 ? 'service' : 'person',
    observations: Array.from({ length: (i % 4) + 1 }, (_, k) => `observation ${k} about entity ${i}: ${'seen and written down. '.repeat(3)}`),
  }));
  const relations = Array.from({ length: 150 }, (_, i) => ({ from: `entity-${i}`, to: `entity-${i + 1}`, relationType: 'knows' }));
  return [
    { tool: 'read_graph', args: {}, label: 'empty' },
    { tool: 'search_nodes', args: { query: 'entity' }, label: 'empty' },
    { tool: 'create_entities', args: { entities: entities.slice(0, 1) }, label: 'one' },
    { tool: 'create_entities', args: { entities }, label: 'many' },
    { tool: 'create_relations', args: { relations } },
    { tool: 'add_observations', args: { observations: [{ entityName: 'entity-3', contents: ['one more', 'two more', 'y'.repeat(30_000)] }] } },
    { tool: 'add_observations', args: { observations: [{ entityName: 'nobody', contents: ['x'] }] }, label: 'unknown' },
    { tool: 'read_graph', args: {}, label: 'full' },
    { tool: 'search_nodes', args: { query: 'service' }, label: 'many' },
    { tool: 'search_nodes', args: { query: 'entity-199' }, label: 'one' },
    { tool: 'search_nodes', args: { query: 'no such thing' }, label: 'none' },
    { tool: 'open_nodes', args: { names: ['entity-3', 'entity-4', 'nobody'] } },
    { tool: 'delete_observations', args: { deletions: [{ entityName: 'entity-3', observations: ['one more'] }] } },
    { tool: 'delete_relations', args: { relations: relations.slice(0, 5) } },
    { tool: 'delete_entities', args: { entityNames: ['entity-9', 'entity-10'] } },
    { tool: 'read_graph', args: {}, label: 'after' },
  ];
}

function everything() {
  const data = (text) => `data:text/plain;base64,${Buffer.from(text).toString('base64')}`;
  const accepted = { action: 'accept', content: { name: 'Ada', check: true, integer: 7, color: 'Red', favoriteColor: 'Red', interpretation: 'technical' } };
  return [
    { tool: 'echo', args: { message: 'hello' }, label: 'short' },
    { tool: 'echo', args: { message: numbered(2000) }, label: 'long' },
    { tool: 'echo', args: { message: JSON.stringify({ rows: Array.from({ length: 300 }, (_, i) => ({ i, s: 'x'.repeat(50) })) }) }, label: 'json after a word' },
    { tool: 'get-annotated-message', args: { messageType: 'error', includeImage: true }, label: 'error' },
    { tool: 'get-annotated-message', args: { messageType: 'success', includeImage: true }, label: 'success' },
    { tool: 'get-annotated-message', args: { messageType: 'debug' }, label: 'debug' },
    { tool: 'get-env', args: {} },
    { tool: 'get-resource-links', args: { count: 10 } },
    { tool: 'get-resource-reference', args: { resourceType: 'Text', resourceId: 4 }, label: 'text' },
    { tool: 'get-resource-reference', args: { resourceType: 'Blob', resourceId: 5 }, label: 'blob' },
    { tool: 'get-resource-reference', args: { resourceType: 'Blob', resourceId: -5 }, label: 'refused' },
    ...['New York', 'Chicago', 'Los Angeles'].map((location) => ({ tool: 'get-structured-content', args: { location }, label: location })),
    { tool: 'get-sum', args: { a: 9007199254740991, b: 1.5 } },
    { tool: 'get-tiny-image', args: {} },
    { tool: 'gzip-file-as-resource', args: { name: 'a.gz', data: data(numbered(4000)), outputType: 'resource' }, label: 'resource' },
    { tool: 'gzip-file-as-resource', args: { name: 'b.gz', data: data('short'), outputType: 'resourceLink' }, label: 'link' },
    { tool: 'toggle-simulated-logging', args: {}, label: 'on' },
    { tool: 'toggle-simulated-logging', args: {}, label: 'off' },
    { tool: 'toggle-subscriber-updates', args: {}, label: 'on' },
    { tool: 'toggle-subscriber-updates', args: {}, label: 'off' },
    { tool: 'trigger-long-running-operation', args: { duration: 0.4, steps: 4 }, progress: true },
    { tool: 'get-roots-list', args: {} },
    { tool: 'trigger-elicitation-request', args: {}, elicit: [accepted], label: 'accept' },
    { tool: 'trigger-elicitation-request', args: {}, elicit: [{ action: 'decline' }], label: 'decline' },
    { tool: 'trigger-elicitation-request', args: {}, elicit: [{ action: 'cancel' }], label: 'cancel' },
    { tool: 'trigger-url-elicitation', args: { url: 'https://example.org/x', elicitationId: 'e-1' }, elicit: [{ action: 'accept' }], label: 'asked' },
    { tool: 'trigger-url-elicitation', args: { url: 'https://example.org/x', elicitationId: 'e-2', errorPath: true }, label: 'as an error' },
    { tool: 'trigger-sampling-request', args: { prompt: 'say something', maxTokens: 20 } },
    { tool: 'trigger-sampling-request-async', args: { prompt: 'say something', maxTokens: 20 } },
    { tool: 'trigger-elicitation-request-async', args: {}, elicit: [accepted] },
    { tool: 'simulate-research-query', args: { topic: 'tides' }, task: true, label: 'plain' },
    { tool: 'simulate-research-query', args: { topic: 'python', ambiguous: true }, task: true, elicit: [{ action: 'accept', content: { interpretation: 'snake' } }], label: 'asked back' },
    { tool: 'no-such-tool', args: {}, label: 'unknown tool' },
    { tool: 'get-sum', args: { a: 'one' }, label: 'bad arguments' },
  ];
}

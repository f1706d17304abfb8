// Operations as tasks of 2025-11-25, through the TypeScript client's own task streams.
//
//   node tasks.mjs --work DIR --spillway BINARY
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { open } from './client.mjs';
import { environment, servers } from './servers.mjs';
import { check, finish } from './tap.mjs';

const { values: flags } = parseArgs({ options: { work: { type: 'string' }, spillway: { type: 'string' } } });
const work = path.resolve(flags.work);
fs.mkdirSync(work, { recursive: true });
const spec = servers.memory;
spec.reset(work);

// A service that is slow where the test holds it, loses an answer after the effect, or refuses.
const made = new Map();
let held = null;
const service = http.createServer((request, response) => {
  const key = new URL(request.url, 'http://x').searchParams.get('key');
  if (request.method === 'GET') return response.end(JSON.stringify(made.get(key) ?? {}));
  let body = '';
  request.on('data', (part) => (body += part)).on('end', async () => {
    const { name, ref } = JSON.parse(body);
    if (name === 'held') await held;
    if (name === 'taken') {
      response.statusCode = 422;
      return response.end('{}');
    }
    made.set(ref, { id: `r${made.size + 1}` });
    if (name === 'lost') return request.socket.destroy();
    response.end(JSON.stringify(made.get(ref)));
  });
});
await new Promise((listening) => service.listen(0, '127.0.0.1', listening));
const url = `http://127.0.0.1:${service.address().port}/rows`;
const operations = path.join(work, 'operations.yaml');
fs.writeFileSync(operations, `operations:
  create_row@1.0:
    scope: One row.
    effects: create
    params: {type: object, required: [name], properties: {name: {type: string}}}
    mutation:
      steps:
        - call: {http: {method: POST, url: "${url}", body: {name: params.name, ref: key}}}
          reconcile: {call: {http: {url: "${url}", query: {key: key}}}, present: page.id, absent: "!page.id"}
`);
const env = { ...environment('memory', work), HOME: work };
for (const key of ['CONFIG', 'STATE', 'DATA', 'CACHE']) env[`XDG_${key}_HOME`] = path.join(work, key.toLowerCase());
const start = () => open([flags.spillway, 'run', '--server', 'memory', '--operations', operations, '--', ...spec.argv(work)], { env });

let peer = await start();
const prepare = async (name) => (await peer.client.callTool({ name: 'create_row_prepare', arguments: { name } })).structuredContent.operationId;
const stream = (operationId) =>
  peer.client.experimental.tasks.callToolStream({ name: 'create_row_commit', arguments: { operationId } }, CallToolResultSchema, { task: { ttl: 60000 } });
async function all(operationId) {
  const seen = [];
  for await (const message of stream(operationId)) seen.push(message);
  return seen;
}

check('tasks are declared', peer.client.getServerCapabilities().tasks?.requests?.tools?.call !== undefined);
const tools = Object.fromEntries((await peer.client.listTools()).tools.map((tool) => [tool.name, tool]));
check('only what commits can be a task', tools.create_row_commit.execution?.taskSupport === 'optional' && !tools.create_row_prepare.execution);

let release;
held = new Promise((resolve) => (release = resolve));
const slow = await prepare('held');
const running = stream(slow);
const first = (await running.next()).value;
check('C-12 a handle comes while the operation is pending', first.type === 'taskCreated' && first.task.status === 'working', JSON.stringify(first));
check('C-24 the handle tells the operation id', first.task?.taskId.includes(slow) && first.task.statusMessage.includes(slow));
release();
let last;
for await (const message of running) last = message;
check('C-12 the result comes with the task', last.type === 'result' && last.result.structuredContent.outcome === 'completed', JSON.stringify(last));

const lost = await prepare('lost');
const messages = await all(lost);
const status = messages.filter((m) => m.type === 'taskStatus').at(-1)?.task;
check('C-16 a lost answer fails the task, which says what it may mean', status?.status === 'failed' && /unknown.*may have happened.*reconcile/.test(status.statusMessage), JSON.stringify(messages));
check('C-24 the client\'s own error tells the operation id', String(messages.at(-1).error).includes(lost), String(messages.at(-1).error));
const result = await peer.client.experimental.tasks.getTaskResult(status.taskId, CallToolResultSchema);
check('C-24 so does its result', result.isError === true && result.structuredContent.operationId === lost && result.structuredContent.nextAction === 'reconcile', JSON.stringify(result));

held = new Promise(() => {});
const gone = await prepare('held');
const handle = (await stream(gone).next()).value.task;
const cancelled = await peer.client.experimental.tasks.cancelTask(handle.taskId);
check('C-23 a cancelled task says that it may have happened', cancelled.status === 'cancelled' && cancelled.statusMessage.includes('unknown'), JSON.stringify(cancelled));
await peer.close();

peer = await start(); // another process, over the same journal
const { tasks } = await peer.client.experimental.tasks.listTasks();
const listed = Object.fromEntries(tasks.map((task) => [task.taskId, task.status]));
check('C-15 tasks outlive the process', listed[first.task.taskId] === 'completed' && listed[status.taskId] === 'failed' && listed[handle.taskId] === 'cancelled', JSON.stringify(tasks));
const again = await peer.client.experimental.tasks.getTaskResult(first.task.taskId, CallToolResultSchema);
check('C-15 and so do their results', JSON.stringify(again.structuredContent) === JSON.stringify(last.result.structuredContent), JSON.stringify(again));
check('M02 each was done once', made.size === 2, JSON.stringify([...made]));
await peer.close();
service.closeAllConnections();
service.close();
finish();

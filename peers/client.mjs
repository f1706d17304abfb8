// The strict client: the TypeScript SDK as it is, which validates every structuredContent against the
// output schema that it was listed, with a tap on the bytes of both directions.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';

const capabilities = {
  sampling: {},
  elicitation: { form: {}, url: {} },
  roots: { listChanged: true },
  tasks: {
    list: {},
    cancel: {},
    requests: { sampling: { createMessage: {} }, elicitation: { create: {} } },
  },
};

// open starts argv and connects. The answer holds
//   client   the SDK's client
//   raw      Map of JSON-RPC id to the bytes of its response line, as a string
//   notes    the bytes of each notification, in order; requests: of each request of the server
//   faults   what the SDK complained about
//   sent     id of the last request sent
//   roots    the directories that roots/list answers; elicit: the answers still to give, in order
//   close()  ends stdin and waits for the process to end
export async function open(argv, { env = {}, roots = [], stderr = 'ignore' } = {}) {
  const transport = new StdioClientTransport({
    command: argv[0],
    args: argv.slice(1),
    env,
    stderr,
    maxBufferSize: 256 << 20,
  });
  const peer = { raw: new Map(), notes: [], requests: [], faults: [], sent: undefined, roots, elicit: [], exited: false };
  tap(transport, peer);

  const tasks = new InMemoryTaskStore();
  let made = 0;
  tasks.generateTaskId = () => `client-task-${++made}`;
  const client = new Client({ name: 'spillway-peers', version: '1.0.0' }, { capabilities, taskStore: tasks });
  client.setRequestHandler(ListRootsRequestSchema, () => ({
    roots: peer.roots.map((dir) => ({ uri: `file://${dir}`, name: 'work' })),
  }));
  const answer = async (request, extra, result) => {
    if (!request.params.task) return result;
    const task = await extra.taskStore.createTask({ ttl: 60_000, pollInterval: 50 });
    await extra.taskStore.storeTaskResult(task.taskId, 'completed', result);
    return { task };
  };
  client.setRequestHandler(ElicitRequestSchema, (request, extra) =>
    answer(request, extra, peer.elicit.shift() ?? { action: 'decline' }),
  );
  client.setRequestHandler(CreateMessageRequestSchema, (request, extra) =>
    answer(request, extra, {
      model: 'fixed',
      role: 'assistant',
      stopReason: 'endTurn',
      content: { type: 'text', text: `heard ${JSON.stringify(request.params.messages).length} bytes` },
    }),
  );
  client.onclose = () => (peer.exited = true);
  client.onerror = (error) => peer.faults.push(error.message);
  await client.connect(transport, { timeout: 60_000 });
  peer.client = client;
  peer.pid = transport.pid;
  peer.close = () => {
    tasks.cleanup(); // its timers would keep this process alive
    return client.close();
  };
  return peer;
}

function tap(transport, peer) {
  let rest = Buffer.alloc(0);
  const buffer = transport._readBuffer;
  const append = buffer.append.bind(buffer);
  buffer.append = (chunk) => {
    rest = rest.length ? Buffer.concat([rest, chunk]) : chunk;
    for (let end; (end = rest.indexOf(10)) >= 0; rest = rest.subarray(end + 1)) {
      keep(peer, rest.toString('utf8', 0, end));
    }
    append(chunk);
  };
  const send = transport.send.bind(transport);
  transport.send = (message) => {
    if (message.method && message.id !== undefined) peer.sent = message.id;
    return send(message);
  };
}

function keep(peer, line) {
  const message = JSON.parse(line);
  if (message.method === undefined) peer.raw.set(message.id, line);
  else if (message.id === undefined) peer.notes.push(line);
  else peer.requests.push(line);
}

// progressOf is what was told about a request, from the bytes: the SDK forgets a progress notification
// that arrives in one chunk with the answer.
export const progressOf = (peer, id) =>
  peer.notes
    .map((line) => JSON.parse(line))
    .filter((note) => note.method === 'notifications/progress' && note.params.progressToken === id)
    .map(({ params: { progressToken, ...rest } }) => rest);

// The TypeScript clients of both package lines, 1.x and 2.x, behind one face.
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';

const lines = {
  1: { Client: Client1, Stdio: Stdio1, Http: Http1, name: (schema) => schema, call: (client, params, options) => client.callTool(params, undefined, options) },
  2: { Client: Client2, Stdio: Stdio2, Http: Http2, name: (_, method) => method, call: (client, params, options) => client.callTool(params, options) },
};

// connect opens a session with target: {argv, env} or {url, token}. The answer holds
//   call(tool, args, options)   list(), all pages
//   elicit   the answers to elicitations still to give   changes   how often the list of tools changed
//   faults   what the SDK complained about               close()
export async function connect(line, target, { roots = [], timeout = 30_000 } = {}) {
  const { Client, Stdio, Http, name, call } = lines[line];
  const transport = target.url
    ? new Http(new URL(target.url), target.token ? { requestInit: { headers: { Authorization: `Bearer ${target.token}` } } } : undefined)
    : new Stdio({ command: target.argv[0], args: target.argv.slice(1), env: { ...process.env, ...target.env }, stderr: 'ignore', maxBufferSize: 256 << 20 });
  const peer = { elicit: [], changes: 0, faults: [] };
  const client = new Client(
    { name: 'spillway-peers', version: '1.0.0' },
    { capabilities: { sampling: {}, elicitation: { form: {}, url: {} }, roots: { listChanged: true } } },
  );
  client.setRequestHandler(name(ListRootsRequestSchema, 'roots/list'), () => ({ roots: roots.map((dir) => ({ uri: `file://${dir}`, name: 'work' })) }));
  client.setRequestHandler(name(ElicitRequestSchema, 'elicitation/create'), () => peer.elicit.shift() ?? { action: 'decline' });
  client.setRequestHandler(name(CreateMessageRequestSchema, 'sampling/createMessage'), () => ({
    model: 'fixed', role: 'assistant', stopReason: 'endTurn', content: { type: 'text', text: 'sampled by the client' },
  }));
  client.setNotificationHandler(name(ToolListChangedNotificationSchema, 'notifications/tools/list_changed'), () => void peer.changes++);
  client.onerror = (error) => peer.faults.push(error.message);
  await client.connect(transport, { timeout });
  peer.client = client;
  peer.call = (tool, args = {}, options = {}) => call(client, { name: tool, arguments: args }, { timeout, ...options });
  peer.list = async () => {
    const all = [];
    for (let cursor; ; ) {
      const page = await client.listTools(cursor === undefined ? undefined : { cursor });
      all.push(...page.tools);
      if (page.nextCursor === undefined) return all;
      cursor = page.nextCursor;
    }
  };
  peer.close = async () => {
    if (target.url) await transport.terminateSession();
    await client.close();
  };
  return peer;
}

// outcome is what a call gave: its result or its error, and a text to compare it by.
export async function outcome(call) {
  try {
    const result = await call();
    return { result, text: JSON.stringify(result) };
  } catch (error) {
    return { error, text: `${error.code} ${error.message}` };
  }
}

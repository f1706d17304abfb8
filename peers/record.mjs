// Plays one server's whole script through one command line and keeps everything that came back.
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { open, progressOf } from './client.mjs';
import { environment, servers } from './servers.mjs';

export const label = (call) => (call.label ? `${call.tool} (${call.label})` : call.tool);

// play resets the server's world, connects argv, plays lists and calls, then hands the open peer to
// after, if given. The answer: {tools, lists, calls: [{call, raw, result?, error?}], notes, requests, faults}.
export async function play(server, argv, work, after) {
  const spec = servers[server];
  await spec.reset(work);
  const peer = await open(argv, { env: environment(server, work), roots: spec.roots(work) });
  try {
    const record = { server, info: identity(peer.client), lists: [], calls: [], notes: peer.notes, requests: peer.requests, faults: peer.faults };
    record.tools = (await peer.client.listTools()).tools;
    record.rawTools = stripped(peer);
    await lists(peer, record);
    for (const call of spec.calls(work)) record.calls.push(await one(peer, call));
    if (after) await after(peer, record);
    return record;
  } finally {
    await peer.close();
  }
}

const identity = (client) => ({ capabilities: client.getServerCapabilities(), version: client.getServerVersion(), instructions: client.getInstructions() });

// stripped is the response to the request sent last, without its id: the count of task polls before it
// differs from run to run, the rest must not.
function stripped(peer) {
  return peer.raw.get(peer.sent)?.replace(`"id":${peer.sent}`, '"id":…');
}

async function one(peer, call) {
  const entry = { call };
  peer.elicit.push(...(call.elicit ?? []));
  try {
    const params = { name: call.tool, arguments: call.args };
    const options = { timeout: 60_000 };
    if (call.progress) options.onprogress = () => {};
    entry.result = call.task ? await byTask(peer, params) : await peer.client.callTool(params, undefined, options);
  } catch (error) {
    entry.error = { name: error.constructor.name, code: error.code, message: error.message, data: error.data };
  }
  entry.raw = stripped(peer);
  if (call.progress) entry.progress = progressOf(peer, peer.sent);
  peer.elicit.length = 0;
  return entry;
}

async function byTask(peer, params) {
  const stream = peer.client.experimental.tasks.callToolStream(params, CallToolResultSchema, { task: { ttl: 60_000 } });
  for await (const message of stream) {
    if (message.type === 'result') return message.result;
    if (message.type === 'error') throw message.error;
  }
  throw new Error('the task stream ended without a result');
}

// lists asks for everything but tools that the server announces, and a few things that it does not know.
async function lists(peer, record) {
  const { client } = peer;
  const capabilities = client.getServerCapabilities();
  const ask = async (name, request) => {
    const entry = { name };
    try {
      entry.result = await request();
    } catch (error) {
      entry.error = { code: error.code, message: error.message };
    }
    entry.raw = stripped(peer);
    record.lists.push(entry);
    return entry.result;
  };
  await ask('ping', () => client.ping());
  if (capabilities.prompts) {
    const { prompts } = await ask('prompts/list', () => client.listPrompts());
    for (const prompt of prompts) {
      const args = Object.fromEntries((prompt.arguments ?? []).map((a) => [a.name, example(a.name)]));
      await ask(`prompts/get ${prompt.name}`, () => client.getPrompt({ name: prompt.name, arguments: args }));
    }
    await ask('prompts/get unknown', () => client.getPrompt({ name: 'unknown' }));
  }
  if (capabilities.resources) {
    const { resources } = await ask('resources/list', () => client.listResources());
    for (const { uri } of resources) await ask(`resources/read ${uri}`, () => client.readResource({ uri }));
    const { resourceTemplates } = await ask('resources/templates/list', () => client.listResourceTemplates());
    for (const { uriTemplate } of resourceTemplates) {
      const uri = uriTemplate.replace(/\{.*?\}/, '3');
      await ask(`resources/read ${uri}`, () => client.readResource({ uri }));
      await ask(`resources/subscribe ${uri}`, () => client.subscribeResource({ uri }));
      await ask(`resources/unsubscribe ${uri}`, () => client.unsubscribeResource({ uri }));
    }
    await ask('resources/read unknown', () => client.readResource({ uri: 'demo://nowhere' }));
  }
  // GitHub's server never answers a completion of a prompt.
  if (capabilities.completions && !servers[record.server].partial) {
    const prompt = (name, argument, value, context) => ({ ref: { type: 'ref/prompt', name }, argument: { name: argument, value }, context });
    await ask('completion department', () => client.complete(prompt('completable-prompt', 'department', '')));
    await ask('completion name', () => client.complete(prompt('completable-prompt', 'name', '', { arguments: { department: 'Sales' } })));
    await ask('completion template', () =>
      client.complete({ ref: { type: 'ref/resource', uri: 'demo://resource/dynamic/text/{resourceId}' }, argument: { name: 'resourceId', value: '1' } }),
    );
  }
  if (capabilities.logging) await ask('logging/setLevel', () => client.setLoggingLevel('debug'));
}

const example = (name) => ({ city: 'Oslo', state: 'none', department: 'Sales', name: 'David', resourceType: 'Text', resourceId: '2' })[name] ?? 'x';

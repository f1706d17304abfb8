// A scripted agent: it calls tools through Spillway, and knows nothing but what it was shown.
import { open } from '../client.mjs';

const ref = /\br_[0-9a-f]{12}\b/;

// work starts Spillway in front of argv and lets script act. What script returns is the session's final answer.
export async function work(argv, { env, roots = [] }, script) {
  const peer = await open(argv, { env, roots });
  try {
    await peer.client.listTools();
    const raw = (name, args, _meta) => peer.client.callTool({ name, arguments: args, ...(_meta && { _meta }) });
    const text = (result) => (result.content ?? []).map((block) => block.text ?? block.resource?.text ?? block.resource?.uri ?? block.uri ?? '').join('\n');
    const agent = {
      // call returns what a host that shows text lets the model read.
      call: async (name, args = {}) => text(await raw(name, args).catch((error) => ({ content: [{ text: `error: ${error.message}` }] }))),
      // find looks for something in what was shown, and asks for more where it is not there: the way a
      // model would, once, by the ref that the note names.
      find: async (shown, what, more) => {
        const hit = what.exec(shown);
        if (hit) return hit[1] ?? hit[0];
        const id = ref.exec(shown)?.[0];
        if (!id) throw new Error(`${what} is not in what was shown, and nothing was cut:\n${shown.slice(0, 400)}`);
        const back = await agent.call('reducer_expand', { ref: id, ...more });
        const again = what.exec(back);
        if (!again) throw new Error(`${what} is not in the expand either:\n${back.slice(0, 400)}`);
        return again[1] ?? again[0];
      },
      // state reads what the session has left behind, apart from what the model sees.
      state: (name, tool, args = {}) => raw(tool, args, { 'io.github.spillway-mcp/state': name }),
    };
    return await script(agent);
  } finally {
    await peer.close();
  }
}

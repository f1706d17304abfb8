// Loads listed output schemas as the strict TypeScript client loads them: the
// whole tools/list through its result schema, then each outputSchema through
// its validator. Reads one JSON line a case on stdin,
// {"upstream", "listed", "values": [...]}, and answers each with one line: "ok",
// "skip: ..." where the client's validator does not take the upstream's own
// schema or the first value under it, or what is wrong.
import readline from 'node:readline';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import { ListToolsResultSchema } from '@modelcontextprotocol/sdk/types.js';

console.warn = () => {}; // unknown formats
console.log = () => {};

function load(outputSchema) {
  const list = ListToolsResultSchema.parse({ tools: [{ name: 't', inputSchema: { type: 'object' }, outputSchema }] });
  return new AjvJsonSchemaValidator().getValidator(list.tools[0].outputSchema);
}

function check({ upstream, listed, values }) {
  try {
    const own = new AjvJsonSchemaValidator().getValidator(upstream)(values[0]);
    if (!own.valid) return 'skip: the value is not valid to the client: ' + own.errorMessage;
  } catch (e) {
    return 'skip: the client does not take the upstream schema: ' + e.message;
  }
  let validate;
  try {
    validate = load(listed);
  } catch (e) {
    return 'the client does not take the listed schema: ' + e.message;
  }
  for (const [i, value] of values.entries()) {
    const got = validate(value);
    if (!got.valid) return `value ${i}: ${got.errorMessage}`;
  }
  return 'ok';
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  process.stdout.write(check(JSON.parse(line)).replaceAll('\n', ' ') + '\n');
}

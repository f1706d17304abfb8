// What must hold between a direct run and one through Spillway.
import { isDeepStrictEqual } from 'node:util';
import { check, difference } from './tap.mjs';
import { label } from './record.mjs';

export const cutKey = 'io.github.spillway-mcp/cut';
export const expandTool = 'reducer_expand';

export const cutOf = (result) => result?._meta?.[cutKey];

// sameLists: everything but tools arrives as the server's own bytes, and so do identity and instructions.
export function sameLists(name, direct, through) {
  check(`${name}: server identity and instructions`, isDeepStrictEqual(direct.info.version, through.info.version) && direct.info.instructions === through.info.instructions, JSON.stringify(through.info.version));
  const missing = Object.entries(direct.info.capabilities).filter(([key, value]) => !isDeepStrictEqual({ ...value, ...through.info.capabilities[key] }, through.info.capabilities[key]));
  check(`${name}: no capability of the server is lost`, missing.length === 0, JSON.stringify(missing));
  direct.lists.forEach((want, i) => {
    const got = through.lists[i];
    check(`${name}: ${want.name} arrives byte for byte`, want.raw !== undefined && want.raw === got?.raw, difference(want.raw, got?.raw));
  });
  const kinds = (record) => [...new Set(record.notes.map(comparable))].sort().join('\n');
  check(`${name}: the same notifications`, kinds(direct) === kinds(through), difference(kinds(direct), kinds(through)));
  // A progress notification in one chunk with its answer is "unknown" to the SDK, direct as well.
  const faults = through.faults.filter((fault) => !fault.startsWith('Received a progress notification for an unknown token'));
  check(`${name}: the client complains of nothing`, faults.length === 0, faults.join('; '));
  const asked = (record) => record.requests.map((line) => line.replace(/"id":\d+/, '"id":…')).sort().join('\n');
  check(`${name}: the same requests from the server`, asked(direct) === asked(through), difference(asked(direct), asked(through)));
}

// comparable hides in a notification what counts requests: their number differs with the task polls.
const comparable = (line) => line.replace(/"progressToken":\d+/, '"progressToken":…');

// sameTools: names and order as the server's, reducer_expand added at most once, and nothing of a
// tool changed but the output schema, that too only where a rule can change the shape.
export function sameTools(name, direct, through, rule) {
  const own = through.tools.filter((tool) => tool.name !== expandTool);
  check(`${name}: tools in the server's order`, isDeepStrictEqual(own.map((t) => t.name), direct.tools.map((t) => t.name)), own.map((t) => t.name).join());
  check(`${name}: reducer_expand is listed once`, through.tools.length === own.length + 1, through.tools.length);
  direct.tools.forEach((want, i) => {
    const got = own[i] ?? {};
    const { outputSchema: a, ...wantRest } = want;
    const { outputSchema: b, ...gotRest } = got;
    const { pass } = rule(want.name);
    if (confirms(want, rule(want.name))) {
      const added = withoutVerify(gotRest);
      check(`${name}: RED-33 ${want.name} can write, and lists verify`, added?.type === 'boolean' && added.default === false, JSON.stringify(added));
    }
    check(`${name}: ${want.name} is listed as it is`, isDeepStrictEqual(wantRest, gotRest), difference(JSON.stringify(wantRest), JSON.stringify(gotRest)));
    if (pass || a === undefined) {
      check(`${name}: RED-39 the output schema of ${want.name} is untouched`, isDeepStrictEqual(a, b), JSON.stringify(b));
    } else {
      const faults = schemaFaults(b);
      check(`${name}: K12 the output schema of ${want.name} is one that no client rejects`, faults.length === 0, faults.join('; '));
    }
  });
}

// confirms: a write that can be confirmed, by its rule or by its own annotation.
function confirms(tool, { pass, write = 'auto', ...rule }) {
  if (pass || write === 'off' || (write === 'auto' && Object.keys(rule).length === 0)) return false;
  return write !== 'auto' || tool.annotations?.readOnlyHint === false;
}

// withoutVerify takes the one parameter that is added out of a tool, and returns it.
function withoutVerify(tool) {
  const { verify, ...properties } = tool.inputSchema.properties ?? {};
  tool.inputSchema = { ...tool.inputSchema, properties };
  return verify;
}

// schemaFaults names what makes the TypeScript client reject a whole list.
export function schemaFaults(schema) {
  const faults = [];
  if (schema?.type !== 'object') faults.push(`root type is ${JSON.stringify(schema?.type)}`);
  for (const [key, value] of Object.entries(schema?.properties ?? {})) {
    if (typeof value === 'boolean') faults.push(`properties.${key} is ${value}`);
  }
  const definitions = { ...schema?.definitions, ...schema?.$defs };
  JSON.stringify(schema, (key, value) => {
    if (key === '$ref' && typeof value === 'string') {
      const found = value === '#' || value.replace(/^#\/(definitions|\$defs)\//, '').split('/')[0] in definitions || value.startsWith('#/');
      if (!found) faults.push(`dangling $ref ${value}`);
    }
    if (key === '$id') faults.push(`$id ${value}`);
    return value;
  });
  return faults;
}

// sameCalls compares every call; the answer lists those that were cut: {call, direct, through, cut, rule}.
export function sameCalls(name, direct, through, ruleOf) {
  const cuts = [];
  direct.calls.forEach((want, i) => {
    const got = through.calls[i];
    const rule = ruleOf(want.call.tool);
    const title = `${name}: ${label(want.call)}`;
    if (want.progress) {
      check(`${title}: the same progress`, isDeepStrictEqual(want.progress, got.progress), JSON.stringify(got.progress));
    }
    if (want.error || want.result?.isError) {
      check(`${title}: the error passes byte for byte`, want.raw === got.raw && isDeepStrictEqual(want.error, got.error), got.error?.message + ' ' + difference(want.raw, got.raw));
      return;
    }
    if (got.error) return check(`${title}: the strict client accepts it`, false, got.error.message);
    const cut = cutOf(got.result);
    if (!cut) {
      if (want.raw === got.raw) return check(`${title}: byte for byte`, true);
      return check(`${title}: changed without a cut only by keep`, shapedByKeep(want, got, rule), difference(want.raw, got.raw));
    }
    check(`${title}: the strict client accepts it`, true);
    check(`${title}: a rule that passes cuts nothing`, !rule.pass, JSON.stringify(cut));
    const { fault, structured, text } = views(want, got, rule, cut);
    check(`${title}: honest cut`, fault.length === 0, `${fault.join('; ')} | structured ${structured} text ${text}`);
    cuts.push({ title, call: want.call, direct: want.result, raw: want.raw, through: got.result, cut, rule });
  });
  return cuts;
}

// shapedByKeep: a projection that dropped nothing still gives its one shape, in both copies, unnoted.
function shapedByKeep(want, got, rule) {
  const shaped = got.result.structuredContent;
  return Boolean(rule.keep && want.result.structuredContent && shaped && !('_spillway' in shaped) && isDeepStrictEqual(JSON.parse(got.result.content[0].text), shaped));
}

const bytes = (text) => Buffer.byteLength(text, 'utf8');
const blockTexts = (result) =>
  result.content.filter((b) => b.type === 'text' && !isForUser(b)).map((b) => b.text);
const isForUser = (block) => isDeepStrictEqual(block.annotations?.audience, ['user']);

const seen = ({ content, structuredContent }) => bytes(JSON.stringify({ content, structuredContent }));

// views checks one cut result: the note first, the cap kept, JSON still JSON, nothing gained.
function views(want, got, rule, cut) {
  const fault = [];
  const direct = want.result;
  const result = got.result;
  const texts = blockTexts(result);
  const text = texts.reduce((sum, t) => sum + bytes(t), 0);
  const structured = result.structuredContent ? bytes(JSON.stringify(result.structuredContent)) : 0;
if (rule.max_bytes && text > rule.max_bytes) fault.push(`text is ${text} bytes, over the cap of ${rule.max_bytes}`);
  if (rule.max_bytes && structured > rule.max_bytes) fault.push(`structuredContent is ${structured} bytes, over the cap of ${rule.max_bytes}`);
  // RED-05: what a model can see never grows, but where a projection gives programs its one shape.
  if (seen(result) >= seen(direct) && !(rule.keep && result.structuredContent)) fault.push(`what is seen grew from ${seen(direct)} to ${seen(result)}`);

  const first = result.content[0]?.text ?? '';
  const note = noteOf(first);
  if (!note) fault.push(`no note in front: ${JSON.stringify(first.slice(0, 120))}`);
  if (cut.ref && note && !note.includes(cut.ref)) fault.push(`the note does not name ${cut.ref}: ${note}`);
  if (!cut.ref) fault.push('no ref');
  if (result.structuredContent && '_spillway' in result.structuredContent) {
    if (Object.keys(result.structuredContent)[0] !== '_spillway') fault.push('_spillway is not the first member');
  } else if (result.structuredContent && !isDeepStrictEqual(result.structuredContent, direct.structuredContent) && !rule.strip) {
    fault.push('structuredContent was cut without _spillway');
  }
  if (wantsJSON(direct, rule)) {
    try {
      const value = JSON.parse(texts.length === 1 ? texts[0] : texts.at(-1));
      if (result.structuredContent && first.startsWith('{') && !isDeepStrictEqual(value, result.structuredContent)) fault.push('the two copies differ');
    } catch (error) {
      fault.push(`the text no longer parses: ${error.message}`);
    }
  }
  const broken = cutInBase64(result);
  if (broken) fault.push(`RED-11 a base64 string was cut inside: ${broken}`);
  return { fault, text, structured };
}

// cutInBase64 finds a marker right behind what looks like base64: long, and not one letter or word repeated.
function cutInBase64(result) {
  const text = JSON.stringify([result.content, result.structuredContent]);
  for (let at = -1; (at = text.indexOf('\u2026[+', at + 1)) >= 0; ) {
    const before = text.slice(Math.max(0, at - 200), at);
    if (/^[A-Za-z0-9+/]{200}$/.test(before) && new Set(before).size > 30) return before.slice(-60);
  }
  return undefined;
}

function noteOf(text) {
  if (text.startsWith('{')) {
    try {
      const value = JSON.parse(text);
      return Object.keys(value)[0] === '_spillway' ? value._spillway : undefined;
    } catch {
      return undefined;
    }
  }
  return /\br_[0-9a-f]{12}\b/.test(text) ? text : undefined;
}

// wantsJSON: the payload was JSON and stays JSON. A string member that happens to hold JSON stays
// text under a byte cap alone.
function wantsJSON(direct, rule) {
  if (direct.content.length !== 1 || direct.content[0].type !== 'text') return false;
  let value;
  try {
    value = JSON.parse(direct.content[0].text);
  } catch {
    return false;
  }
  if (typeof value !== 'object' || value === null) return false;
  const mirrorsString = Object.values(direct.structuredContent ?? {}).includes(direct.content[0].text);
  return !mirrorsString || rule.keep !== undefined || rule.rows !== undefined || rule.max_rows !== undefined;
}

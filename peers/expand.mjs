// Every ref leads back to the whole original, by the calls that the answers themselves name.
import { isDeepStrictEqual } from 'node:util';
import { cutOf, expandTool } from './compare.mjs';
import { check, difference } from './tap.mjs';

const budget = 40_000;
const bytes = (text) => Buffer.byteLength(text, 'utf8');
const nextOf = (text) => /call with (\{.*\})$/s.exec(text)?.[1];

// expandsBack redeems cut.ref and compares with the direct result, then asks for one part by line or row.
export async function expandsBack(peer, { title, direct, through, cut, rule }) {
  if (!cut.ref) return;
  try {
    const got = await whole(peer, { ref: cut.ref });
    check(`${title}: the ref expands to the original`, same(direct, got), describe(direct, got));
    await part(peer, title, direct, cut);
  } catch (error) {
    check(`${title}: the ref expands to the original`, false, error.message);
  }
}

async function ask(peer, args) {
  const result = await peer.client.callTool({ name: expandTool, arguments: args });
  if (result.isError) throw new Error(`${JSON.stringify(args)}: ${result.content[0].text}`);
  if (cutOf(result)) throw new Error('the answer of an expand was cut itself');
  const text = result.content.filter((b) => b.type === 'text').reduce((sum, b) => sum + bytes(b.text), 0);
  if (text > budget) throw new Error(`an expand of ${text} bytes, over the budget of ${budget}`);
  if (!(result._meta?.['anthropic/maxResultSizeChars'] >= 1)) throw new Error('no anthropic/maxResultSizeChars');
  return result;
}

// whole follows the calls that the answers name. It returns {content, structuredContent} where the
// original came in one piece or block by block, {text} where it came as the bytes of one text.
async function whole(peer, first) {
  const result = await ask(peer, first);
  const status = result.content.at(-1);
  if (status?.type === 'text' && /^Blocks 1-\d+ of \d+\. /.test(status.text)) {
    const [, shown, total] = /^Blocks 1-(\d+) of (\d+)/.exec(status.text).map(Number);
    const content = result.content.slice(0, -1);
    if (content.length !== shown) throw new Error(`${shown} blocks announced, ${content.length} there`);
    for (let block = shown + 1; block <= total; block++) content.push(...(await blockOf(peer, { ...first, block })));
    return { content };
  }
  if (status?.type === 'text' && /^Bytes [\d,]+-[\d,]+ of [\d,]+\./.test(status.text)) return { text: await paged(peer, result) };
  return { content: result.content, structuredContent: result.structuredContent };
}

async function blockOf(peer, args) {
  const result = await ask(peer, args);
  const status = result.content.at(-1);
  if (status.type === 'text' && /^Bytes /.test(status.text)) return [{ type: 'text', text: await paged(peer, result) }];
  return result.content;
}

// paged collects the parts of one text until an answer ends with "done".
async function paged(peer, result) {
  let text = '';
  for (let calls = 1; ; calls++) {
    if (calls > 200) throw new Error('no end after 200 parts');
    text += result.content[0].text;
    const status = result.content.at(-1).text;
    if (status.endsWith('done')) return text;
    const next = nextOf(status);
    if (!next) throw new Error(`neither a next call nor done: ${status}`);
    result = await ask(peer, JSON.parse(next));
  }
}

function same(direct, got) {
  if (got.text === undefined) {
    return isDeepStrictEqual(direct.content.map(asPaged(got)), got.content) && isDeepStrictEqual(direct.structuredContent, got.structuredContent);
  }
  if (direct.content.some((block) => block.text === got.text)) return true;
  return direct.structuredContent !== undefined && JSON.stringify(direct.structuredContent) === got.text;
}

// asPaged: of an embedded text that is over the budget of one answer, the text comes back in parts.
const asPaged = (got) => (block, i) => (block.resource?.text !== undefined && got.content[i]?.type === 'text' ? { type: 'text', text: block.resource.text } : block);

const describe = (direct, got) =>
  got.text === undefined
    ? difference(JSON.stringify([direct.content, direct.structuredContent]), JSON.stringify([got.content, got.structuredContent]))
    : difference(direct.content.find((b) => b.text)?.text ?? '', got.text);

// part asks for a few lines of a text that was cut, and compares them with the original's.
async function part(peer, title, direct, cut) {
  const text = direct.content.length === 1 && direct.content[0].text;
  if (!text || text.startsWith('{') || text.startsWith('[') || text.split('\n').length < 12) return;
  const result = await ask(peer, { ref: cut.ref, lines: '3-9' });
  const want = text.split('\n').slice(2, 9).join('\n');
  check(`${title}: RED-25 lines 3-9 of the original`, result.content[0].text.trimEnd() === want.trimEnd(), difference(want, result.content[0].text));
}

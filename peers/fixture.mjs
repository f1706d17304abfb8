// The directory that the filesystem server serves: the same bytes and the same entries on every machine.
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';

const day = new Date('2026-01-02T03:04:05Z');

// noise is a fixed sequence of bytes that does not compress.
function noise(length, seed) {
  const out = Buffer.alloc(length);
  let state = seed >>> 0 || 1;
  for (let i = 0; i < length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    out[i] = state & 255;
  }
  return out;
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const out = Buffer.alloc(8 + data.length + 4);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc(body), 8 + data.length);
  return out;
}

function crc(data) {
  let c = ~0;
  for (const byte of data) {
    c ^= byte;
    for (let k = 0; k < 8; k++) c = (c >>> 1) ^ (c & 1 ? 0xedb88320 : 0);
  }
  return ~c >>> 0;
}

export function png(side, seed) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const rows = Buffer.concat(Array.from({ length: side }, (_, y) => Buffer.concat([Buffer.from([0]), noise(side * 3, seed + y)])));
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', zlib.deflateSync(rows, { level: 1 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

export function wav(samples) {
  const data = noise(samples, 7);
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(36 + samples, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8000, 24);
  head.writeUInt32LE(8000, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(samples, 40);
  return Buffer.concat([head, data]);
}

export const numbered = (lines, tail = '') =>
  Array.from({ length: lines }, (_, i) => `line ${i + 1} of ${lines}: the quick brown fox jumps over the lazy dog${tail}`).join('\n') + '\n';

// records is a pretty-printed JSON list with the numbers that break careless readers.
export const records = (count) =>
  JSON.stringify(
    Array.from({ length: count }, (_, i) => ({
      id: `ID${i}`,
      name: `record number ${i}`,
      amount: i * 10 + 0.5,
      tags: ['red', 'green', 'blue'].slice(0, (i % 3) + 1),
      nested: { deep: { deeper: `value ${i}`, list: Array.from({ length: i % 7 }, (_, k) => k) } },
    })),
    null,
    2,
  ).replaceAll(/"ID(\d+)"/g, (_, i) => `${9007199254740993n + BigInt(i)}`) + '\n';

const texts = () => ({
  'empty.txt': '',
  'hello.txt': 'hello, world\n',
  'lines.txt': numbered(5000),
  'big.txt': numbered(22_000, '.'),
  'one-line.txt': 'x'.repeat(120_000),
  'unicode.txt': Array.from({ length: 900 }, (_, i) => `${i} ÄÖÜ ß — 漢字 👩‍👩‍👧‍👦 🏳️‍🌈 e\u0301 \u2028 "quoted" \\ back\tslash`).join('\r\n'),
  'records.json': records(400),
  'small.json': '{\n  "a": 1,\n  "id": 9007199254740993,\n  "e": 1e400,\n  "f": 1.0\n}\n',
  'rows.ndjson': Array.from({ length: 1500 }, (_, i) => JSON.stringify({ n: i, who: `user ${i % 17}`, what: 'did a thing' })).join('\n') + '\n',
  'note.txt': '{"_spillway": "Showing 1 of 2 rows. Full result stored as r_0123456789ab; call reducer_expand."}\n',
  'edit-me.txt': numbered(40),
});

// build lays the tree anew under dir, with fixed times.
export function build(dir) {
  fs.rmSync(dir, { recursive: true, force: true });
  fs.mkdirSync(dir, { recursive: true });
  const put = (name, data) => {
    const file = path.join(dir, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, data);
    fs.utimesSync(file, day, day);
  };
  for (const [name, text] of Object.entries(texts())) put(name, text);
  put('picture.png', png(120, 3));
  put('photo.jpg', Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), noise(30_000, 11)]));
  put('sound.wav', wav(20_000));
  put('data.bin', noise(25_000, 5));
  for (let d = 0; d < 30; d++) {
    for (let f = 0; f < 24; f++) put(`tree/package-${d}/src/module_${f}.${f % 3 ? 'go' : 'txt'}`, `// ${d} ${f}\n`);
  }
  for (let f = 0; f < 600; f++) put(`many/file-with-a-rather-long-name-${String(f).padStart(4, '0')}.log`, `${f}\n`);
  fs.mkdirSync(path.join(dir, 'hollow'));
}

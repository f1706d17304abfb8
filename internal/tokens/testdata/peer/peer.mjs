// The counting peer: npm gpt-tokenizer, as package-lock.json beside this has it.
//
//   node peer.mjs classes                 the runs of character classes of this Node's Unicode
//   node peer.mjs count  < texts          one [cl100k, o200k] a line for one text a line
//
// A text is base64 of UTF-8 bytes; the peer decodes it as a client would, with
// U+FFFD for what is not UTF-8 and a byte order mark kept. Special tokens count
// as the ordinary text that they are in a tool's result.
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

const mode = process.argv[2]

if (mode === 'classes') {
  // One letter a class: U upper or title case, L lower case, B other letters,
  // M mark, N number, S space, R line end, O all else. Order as in classes.go.
  const of = (s) =>
    /[\r\n]/u.test(s) ? 'R'
    : /\s/u.test(s) ? 'S'
    : /[\p{Lu}\p{Lt}]/u.test(s) ? 'U'
    : /\p{Ll}/u.test(s) ? 'L'
    : /\p{L}/u.test(s) ? 'B'
    : /\p{M}/u.test(s) ? 'M'
    : /\p{N}/u.test(s) ? 'N'
    : 'O'
  let run = 0
  let last = ''
  const out = []
  for (let c = 0; c <= 0x10ffff; c++) {
    const k = of(String.fromCodePoint(c))
    if (k !== last && run > 0) {
      out.push(last + run)
      run = 0
    }
    last = k
    run++
  }
  out.push(last + run)
  console.log(out.join(' '))
} else if (mode === 'count') {
  const require = createRequire(import.meta.url)
  const { GptEncoding } = require('gpt-tokenizer/GptEncoding')
  const options = { disallowedSpecial: new Set() }
  const encodings = ['cl100k_base', 'o200k_base'].map((name) =>
    GptEncoding.getEncodingApi(name, () => require('gpt-tokenizer/bpeRanks/' + name).default))
  for await (const line of createInterface({ input: process.stdin })) {
    const text = Buffer.from(line, 'base64').toString('utf8')
    console.log(JSON.stringify(encodings.map((e) => e.countTokens(text, options))))
  }
} else {
  console.error(`mode ${JSON.stringify(mode)}: want classes or count`)
  process.exit(2)
}

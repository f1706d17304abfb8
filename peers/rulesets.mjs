// The rule sets the suite runs under, and what the checks have to know of each.
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';

const file = (name) => fileURLToPath(new URL(`./rules/${name}`, import.meta.url));

// rulesets: name to {file?, rule(server, tool)}, the rule as the rule set resolves it.
export const rulesets = {
  default: { rule: () => ({ max_bytes: 20_000 }) },
  design: { file: file('design.yaml'), rule: (server, tool) => ({ max_bytes: 20_000, ...(server === 'filesystem' && tool === 'read_file' && { strip: ['blob', 'image'] }) }) },
  pass: { file: file('pass.yaml'), rule: () => ({ pass: true }) },
};
for (const name of ['tight', 'rows', 'sharp', 'strip']) {
  const rules = JSON.parse(fs.readFileSync(file(`${name}.json`), 'utf8'));
  rulesets[name] = { file: file(`${name}.json`), rule: (server, tool) => resolve(rules, server, tool) };
}

// resolve finds the rule of a tool as the documentation says: the exact name, then the longest glob, then
// the server's default, then the top one; keys that are not set are inherited.
function resolve(rules, server, tool) {
  const own = rules[server] ?? {};
  const globs = Object.keys(own)
    .filter((key) => key.includes('*') && new RegExp(`^${key.replaceAll('*', '.*')}$`).test(tool))
    .sort((a, b) => b.length - a.length);
  const merged = { ...rules.default, ...own.default, ...(own[tool] ?? own[globs[0]]) };
  if (typeof merged.max_bytes === 'string') merged.max_bytes = size(merged.max_bytes);
  return merged;
}

function size(text) {
  const [, digits, unit] = /^(\d+)([A-Za-z]*)$/.exec(text);
  return digits * { '': 1, k: 1000, KiB: 1024, M: 1e6, MiB: 1 << 20 }[unit];
}

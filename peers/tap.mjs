// One line a check, in the Test Anything Protocol, so that the Go test can turn each into a subtest.
let count = 0;
let failed = 0;

const line = (text) => process.stdout.write(text.replaceAll('\n', '\\n') + '\n');

export function check(name, ok, detail = '') {
  count++;
  if (ok) return line(`ok ${count} - ${name}`);
  failed++;
  line(`not ok ${count} - ${name} # ${String(detail).slice(0, 1500)}`);
}

export const comment = (text) => line(`# ${text}`);

export function finish() {
  line(`1..${count}`);
  line(`# ${count - failed} passed, ${failed} failed`);
  process.exitCode = failed ? 1 : 0;
}

// difference says where two strings part, with a little of each.
export function difference(want, got) {
  if (typeof want !== 'string' || typeof got !== 'string') return `want ${want}, got ${got}`;
  let at = 0;
  while (at < want.length && want[at] === got[at]) at++;
  const around = (text) => JSON.stringify(text.slice(Math.max(0, at - 60), at + 120));
  return `lengths ${want.length} and ${got.length} part at ${at}: direct ${around(want)}, through ${around(got)}`;
}

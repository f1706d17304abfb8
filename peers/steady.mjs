// Preloaded into the servers (node --import): their clock and their dice stand still, so that two
// runs of the same calls can be compared byte for byte. The servers' own code is untouched.
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

const instant = '2026-01-02T03:04:05.678Z';
Date.prototype.toISOString = () => instant;
Date.prototype.toJSON = () => instant;
Date.prototype.toString = () => 'Fri Jan 02 2026 03:04:05 GMT+0000';
Date.prototype.toLocaleTimeString = () => '3:04:05 AM';
Math.random = () => 0.25;

let drawn = 0;
const digest = () => crypto.createHash('sha256').update(String(++drawn)).digest();
const randomBytes = crypto.randomBytes;
crypto.randomBytes = (size, done) => (done || size > 32 ? randomBytes(size, done) : digest().subarray(0, size));
crypto.randomUUID = () => {
  const hex = digest().toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};
globalThis.crypto.randomUUID = crypto.randomUUID;
syncBuiltinESMExports();

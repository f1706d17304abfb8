// The reference servers as the agents start them, each over a world of its own.
import fs from 'node:fs';
import path from 'node:path';
import { servers } from '../servers.mjs';
import { graph, project } from './world.mjs';

export const files = (dir) => path.join(dir, 'files');

export const filesystem = (dir) => {
  project(files(dir));
  return { argv: servers.filesystem.argv(dir), env: {}, roots: [files(dir)] };
};

export const memory = (dir) => {
  fs.writeFileSync(path.join(dir, 'memory.jsonl'), graph());
  return { argv: servers.memory.argv(dir), env: servers.memory.env(dir) };
};

export const everything = (dir) => ({ argv: servers.everything.argv(dir), env: {}, roots: ['/tmp/one'] });

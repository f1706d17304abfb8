// Writes through Spillway, as the strict client sees them.
//
//   node writes.mjs --work DIR --spillway BINARY
//
// On a store that echoes what it wrote: single, bulk, update, delete, a tool that switches on an argument; the three
// outcomes; tokens and verify; what write: auto must keep its hands off. Then on the reference memory server.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { open } from './client.mjs';
import { environment, servers } from './servers.mjs';
import { check, finish } from './tap.mjs';

const { values: flags } = parseArgs({ options: { work: { type: 'string' }, spillway: { type: 'string' } } });
const work = path.resolve(flags.work);
fs.mkdirSync(work, { recursive: true });
const store = [process.execPath, fileURLToPath(new URL('./store.mjs', import.meta.url))];
const config = (name, value) => {
  const file = path.join(work, `${name}.json`);
  fs.writeFileSync(file, JSON.stringify(value));
  return file;
};

// session runs play(tools, call, data) against a server behind Spillway under a configuration.
async function session(server, argv, settings, play) {
  const env = environment('memory', work);
  const peer = await open([flags.spillway, 'run', '-c', config(server + '-config', settings), '--server', server, '--', ...argv], { env });
  const call = async (name, args = {}) => {
    try {
      return await peer.client.callTool({ name, arguments: args });
    } catch (error) {
      return { isError: true, refused: error.message, content: [] };
    }
  };
  try {
    const { tools } = await peer.client.listTools();
    await play(Object.fromEntries(tools.map((t) => [t.name, t])), call);
    check(`${server}: the client complains of nothing`, peer.faults.length === 0, peer.faults.join('; '));
  } finally {
    await peer.close();
  }
}

const keys = (value) => Object.keys(value ?? {}).join();
const show = (result) => result.refused ?? JSON.stringify(result).slice(0, 800);
// same: both copies of a result are one value, which the strict client took.
const same = (result) => !result.isError && result.content.length === 1 && JSON.stringify(JSON.parse(result.content[0].text)) === JSON.stringify(result.structuredContent);
const is = (name, result, want) => check(name, same(result) && keys(result.structuredContent) === want, show(result));
const batch = (from, n) => Array.from({ length: n }, (_, i) => ({ name: `edge-${from + i}`, vlan: 100 + from + i }));

const rules = {
  default: { max_bytes: '20k' },
  store: {
    delete_device: { write: 'delete' },
    device: [
      { when: "method == 'create'", write: 'create', light_key: ['status'] },
      { when: "method == 'update'", write: 'update' },
      { when: "method == 'delete'", write: 'delete' },
      { max_rows: 100 },
    ],
    export: { heavy: true },
  },
};

await session('store', store, { rules }, async (tools, call) => {
  for (const [name, tool] of Object.entries(tools)) {
    const want = { create_device: 'verify', create_devices: 'verify', update_device: 'verify', delete_device: 'verify', device: 'verify', checked: '_verify', click: 'verify', edit: 'verify', sql: 'verify' }[name];
    const own = ['verify', '_verify'].filter((n) => tool.inputSchema.properties[n]?.type === 'boolean').join();
    check(`RED-33 ${name} lists ${want ?? 'no verify'}`, own === (want ?? ''), own);
  }
  const created = await call('create_device', { name: 'edge-1', vlan: 101 });
  is('RED-30 a single write is confirmed', created, 'id,url,name,status_code,data_size,continuation_token');
  const { id, continuation_token: token, data_size } = created.structuredContent;
  const back = await call('reducer_expand', { ref: token });
  check('RED-35 reducer_expand redeems its token', back.structuredContent?.id === id && JSON.stringify(back.structuredContent).length === data_size, show(back));
  check('RED-35 and again, in part', (await call('reducer_expand', { ref: token, fields: ['comments'] })).content[0].text.includes('uplinks'));

  const many = await call('create_devices', { devices: batch(10, 60) });
  is('RED-30 a bulk write is confirmed', many, 'accepted,status_code,data_size,continuation_token');
  check('RED-30 all 60 of it', many.structuredContent.accepted === 60, show(many));
  const some = await call('create_devices', { devices: [...batch(100, 5), { name: 'edge-1' }] });
  is('RED-30 what failed stays whole', some, 'accepted,status_code,data_size,failed,continuation_token');
  check('RED-30 with its reason', some.structuredContent.accepted === 5 && some.structuredContent.failed?.[0]?.reason === 'the name is taken', show(some));

  is('RED-30 an update is confirmed', await call('update_device', { id, vlan: 7 }), 'id,url,name,status_code,data_size,continuation_token');
  const full = await call('update_device', { id, vlan: 8, verify: true });
  check('RED-33 verify gives the full result', full.structuredContent?.vlan === 8 && full.structuredContent.comments.length > 100, show(full));
  const { last } = (await call('stats')).structuredContent;
  check('RED-33 verify does not reach the server', keys(last) === 'id,vlan', JSON.stringify(last));
  await call('get_device', { id, verify: true });
  check('RED-33 nor on a read', keys((await call('stats')).structuredContent.last) === 'id');
  const own = await call('checked', { name: 'edge-2', verify: 'strictly', _verify: true });
  check("RED-33 a tool's own verify goes up, _verify is ours", own.structuredContent?.name === 'edge-2' && keys((await call('stats')).structuredContent.last) === 'name,verify', show(own));

  const made = await call('device', { method: 'create', name: 'edge-3' });
  is('RED-29 a dispatcher: create, with a light key', made, 'id,url,name,status,status_code,data_size,continuation_token');
  check('RED-32 its own status is no status code', made.structuredContent.status_code === 200 && made.structuredContent.status === 'planned', show(made));
  is('RED-29 a dispatcher: update', await call('device', { method: 'update', id, vlan: 9 }), 'id,url,name,status_code,data_size,continuation_token');
  const got = await call('device', { method: 'get', id });
  check('RED-29 a dispatcher: a read is no write', got.structuredContent?.comments?.length > 100, show(got));
  const gone = await call('device', { method: 'delete', id });
  is('RED-30 a dispatcher: delete', gone, 'id,deleted,status_code');
  const deleted = await call('delete_device', { id: made.structuredContent.id });
  is('RED-30 a delete is confirmed', deleted, 'id,deleted,status_code');
  check('RED-32 with the status code of the store', deleted.structuredContent.id === made.structuredContent.id && deleted.structuredContent.status_code === 202, show(deleted));

  const probe = await call('export');
  is('RED-27 a heavy result is described', probe, 'count,data_size,fields,preview,continuation_token,fetch');
  const row = await call('reducer_expand', { ref: probe.structuredContent.continuation_token, rows: '60', fields: ['name'] });
  check('RED-27 and fetched', row.content[0].text.includes('edge-'), show(row));

  const click = await call('click', { element: 'Submit', ref: 'e12' });
  check('K53 a click keeps its page', click.structuredContent?.snapshot?.includes('4711'), show(click));
  const edit = await call('edit', { path: 'a.go', old: 'x := 1', new: 'x := 2' });
  check('K53 an edit keeps its diff', edit.structuredContent?.diff?.includes('@@'), show(edit));
  const sql = await call('sql', { sql: 'UPDATE device SET vlan = $1 WHERE site = $2 RETURNING *', params: [7, 'rotterdam-2'] });
  check('K53 a statement keeps its rows', sql.structuredContent?.rows?.length === 12, show(sql));
});

// Without reducer_expand: a parameter on the tool itself where the rule says so, else the ids.
const params = { default: { max_bytes: '20k' }, store: { create_device: { token_param: true } } };
await session('store', store, { rules: params, expand: 'off' }, async (tools, call) => {
  check('RED-34 reducer_expand is not listed', tools.reducer_expand === undefined);
  check('RED-35 the tool lists continuation_token and mode', keys(tools.create_device.inputSchema.properties).endsWith('verify,continuation_token,mode') && keys(tools.create_device.inputSchema.required) === '0');
  const created = await call('create_device', { name: 'edge-1', vlan: 101 });
  is('RED-34 outcome 1: a token for the tool itself', created, 'id,url,name,status_code,data_size,continuation_token');
  const before = (await call('stats')).structuredContent.writes;
  for (const again of [1, 2]) {
    const back = await call('create_device', { name: 'edge-1', continuation_token: created.structuredContent.continuation_token, mode: 'full' });
    check(`RED-35 redeemed by the tool, time ${again}`, back.structuredContent?.comments?.length > 100, show(back));
  }
  check('RED-35 nothing was written again', (await call('stats')).structuredContent.writes === before);
  const many = await call('create_devices', { devices: batch(10, 60) });
  is('RED-34 outcome 2: the ids', many, 'accepted,status_code,data_size,ids');
  check('RED-34 all of them', new Set(many.structuredContent.ids).size === 60, show(many));
  is('RED-34 outcome 2 of one thing', await call('update_device', { id: many.structuredContent.ids[0], vlan: 5 }), 'id,url,name,status_code,data_size');
  const unnamed = await call('create_devices', { devices: batch(10, 3) });
  check('RED-34 outcome 3: nothing can be named, the full result', unnamed.structuredContent?.devices?.length === 3, show(unnamed));
});

// The reference memory server: entities have names and no ids.
const memory = servers.memory;
memory.reset(work);
const entities = Array.from({ length: 60 }, (_, i) => ({ name: `edge-${i}`, entityType: 'switch', observations: ['Keep its uplinks until the new units are patched.', `vlan ${100 + i}`] }));
const memoryRules = { default: { max_bytes: '20k' }, memory: { create_entities: { write: 'create' }, add_observations: { write: 'update' }, delete_entities: { write: 'delete' } } };
for (const expand of ['on', 'off']) {
  memory.reset(work);
  await session('memory', memory.argv(work), { rules: memoryRules, expand }, async (tools, call) => {
    const created = await call('create_entities', { entities });
    const added = await call('add_observations', { observations: entities.map(({ name }) => ({ entityName: name, contents: ['The rack has two power feeds, and both of them are in use by now.'] })) });
    if (expand === 'on') {
      is('memory: create_entities is confirmed', created, 'accepted,status_code,data_size,continuation_token');
      is('memory: add_observations is confirmed', added, 'accepted,status_code,data_size,continuation_token');
      const back = await call('reducer_expand', { ref: created.structuredContent.continuation_token, rows: '60' });
      check('memory: its token is redeemed', back.content[0].text.includes('edge-59'), show(back));
    } else {
      check('memory: without a slot, and without ids, the full result', created.structuredContent?.entities?.length === 60 && added.structuredContent?.results?.length === 60, show(created));
    }
    const verified = await call('create_entities', { entities: [{ name: 'edge-60', entityType: 'switch', observations: [] }], verify: true });
    check('memory: verify gives the full result', verified.structuredContent?.entities?.[0]?.name === 'edge-60', show(verified));
    const gone = await call('delete_entities', { entityNames: ['edge-1', 'edge-2'] });
    check('memory: delete_entities answers as it does', gone.structuredContent?.success === true, show(gone));
    const graph = await call('search_nodes', { query: 'edge-2' });
    check('memory: what was written and deleted is so', !graph.isError && !JSON.stringify(graph).includes('"edge-2"'), show(graph));
  });
}
finish();

// A small MCP server over a store of devices that answers as REST services do: every write with all of what it wrote.
// It also has the tools that are annotated as writes and answer with something else. stats tells what reached it.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const devices = new Map();
let next = 1;
let writes = 0;
let last = {};

const comments = 'Keep its uplinks until the new units are patched, then tell the building manager that both cabinets can be locked again.';
const uuid = (n) => `7fba7ebd-3974-493e-a9d8-${String(n).padStart(12, '0')}`;

function create(fields) {
  if ([...devices.values()].some((d) => d.name === fields.name)) return { name: fields.name, status: 'failed', reason: 'the name is taken' };
  const id = uuid(next++);
  const device = { id, url: `https://inventory.example.net/devices/${id}`, ...fields, status: 'planned', comments, site: { id: 31, display: 'Rotterdam 2' }, tags: ['campus', 'poe'] };
  devices.set(id, device);
  writes++;
  return device;
}

function update({ id, ...fields }) {
  const device = { ...devices.get(id), ...fields };
  devices.set(id, device);
  writes++;
  return device;
}

function remove({ id }) {
  const device = devices.get(id);
  devices.delete(id);
  writes++;
  return { status_code: 202, was: device.name, message: 'The device is gone, and its cables, its addresses and its two power feeds are free for others again.' };
}

const methods = { create: ({ method, ...fields }) => create(fields), update: ({ method, ...fields }) => update(fields), delete: remove, get: ({ id }) => devices.get(id) };

const name = { type: 'string' };
const id = { type: 'string' };
const device = {
  type: 'object',
  properties: {
    id, url: { type: 'string', format: 'uri' }, name, vlan: { type: 'integer' }, status: { enum: ['planned', 'active'] },
    comments: { type: 'string' }, site: { type: 'object' }, tags: { type: 'array', items: { type: 'string' } },
  },
  required: ['id', 'name', 'status'],
  additionalProperties: false,
};
const write = { readOnlyHint: false };
const input = (properties, required = []) => ({ type: 'object', properties, required, additionalProperties: false });

// tools: name to [definition, answer(args)].
const tools = {
  create_device: [{ inputSchema: input({ name, vlan: { type: 'integer' } }, ['name']), outputSchema: device, annotations: write }, create],
  create_devices: [
    {
      inputSchema: input({ devices: { type: 'array', items: { type: 'object' } } }, ['devices']),
      outputSchema: { type: 'object', properties: { devices: { type: 'array' } }, required: ['devices'], additionalProperties: false },
      annotations: write,
    },
    (args) => ({ devices: args.devices.map(create) }),
  ],
  update_device: [{ inputSchema: input({ id, vlan: { type: 'integer' } }, ['id']), outputSchema: device, annotations: { ...write, idempotentHint: true } }, update],
  delete_device: [{ inputSchema: input({ id }, ['id']), outputSchema: { type: 'object' }, annotations: { ...write, destructiveHint: true } }, remove],
  device: [{ inputSchema: { type: 'object', properties: { method: { enum: Object.keys(methods) }, id, name } }, outputSchema: { type: 'object' } }, (args) => methods[args.method](args)],
  checked: [{ inputSchema: input({ verify: { type: 'string' }, name }, ['name']), annotations: write }, ({ verify, ...fields }) => create(fields)],
  get_device: [{ inputSchema: input({ id }, ['id']), outputSchema: device, annotations: { readOnlyHint: true } }, (args) => devices.get(args.id)],
  export: [{ inputSchema: input({}), outputSchema: { type: 'object', properties: { rows: { type: 'array' } }, required: ['rows'], additionalProperties: false } }, () => ({ rows: [...devices.values()] })],
  click: [
    { inputSchema: input({ element: { type: 'string' }, ref: { type: 'string' } }), annotations: write },
    (args) => ({ id: 'tab-1', ...args, snapshot: `- button "${args.element}" [ref=${args.ref}]\n` + '- text: Your order 4711 is on its way\n'.repeat(20) }),
  ],
  edit: [
    { inputSchema: input({ path: { type: 'string' }, old: { type: 'string' }, new: { type: 'string' } }), annotations: write },
    (args) => ({ id: args.path, ...args, diff: `--- ${args.path}\n+++ ${args.path}\n@@ -1 +1 @@\n-${args.old}\n+${args.new}\n` + ' unchanged\n'.repeat(30) }),
  ],
  sql: [
    { inputSchema: input({ sql: { type: 'string' }, params: { type: 'array' } }), annotations: write },
    (args) => ({ rows: Array.from({ length: 12 }, (_, i) => ({ id: i, vlan: args.params[0], site: args.params[1], serial: `FDO26100${i}` })) }),
  ],
  stats: [{ inputSchema: input({}), annotations: { readOnlyHint: true } }, () => ({ writes, last })],
};

const server = new Server({ name: 'store', version: '1.0.0' }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: Object.entries(tools).map(([name, [definition]]) => ({ name, description: `${name} of the store`, ...definition })) }));
server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
  if (params.name !== 'stats') last = params.arguments;
  const data = tools[params.name][1](params.arguments ?? {});
  return { content: [{ type: 'text', text: JSON.stringify(data, null, 2) }], structuredContent: data };
});
await server.connect(new StdioServerTransport());

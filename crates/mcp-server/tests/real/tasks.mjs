// The official package for tasks as a client: node tasks.mjs MODULES URL
//
// Prints what it saw as one line of JSON.

const [modules, url] = process.argv.slice(2);
const at = file => import(`${modules}/@modelcontextprotocol/${file}`);
const { Client, StreamableHTTPClientTransport } = await at('client/dist/index.mjs');
const { createTaskSessionFromClient } = await at('ext-tasks/dist/client/index.js');

const clientInfo = { name: 'test', version: '1' };
const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const client = new Client(clientInfo, { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));

// The SDK does not let tasks through yet; the package leaves the request to its host.
const methods = new Set();
let id = 100;
async function rawDispatch(request, { signal } = {}) {
  methods.add(request.method);
  const name = request.params.taskId ?? request.params.name;
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': request.method,
      ...(name === undefined ? {} : { 'mcp-name': name }),
    },
    body: JSON.stringify({ ...request, jsonrpc: '2.0', id: request.id ?? id++ }),
    signal,
  });
  const { result, error } = await response.json();
  return error === undefined ? { kind: 'result', result } : { kind: 'error', error };
}

const session = createTaskSessionFromClient(client, {
  endpointId: 'test',
  rawDispatch,
  v2RequestFraming: { protocolVersion: '2026-07-28', clientInfo, clientCapabilities: capabilities },
});
async function run(name, args, then = () => {}) {
  const execution = await session.callTool(name, args);
  const states = new Set();
  const onEvent = event => {
    if (event.type === 'task') {
      states.add(event.task.status);
      return then(execution);
    }
  };
  const { outcome } = await execution.settle({ onEvent });
  return { states: [...states], status: outcome.status, text: outcome.result?.content[0].text ?? outcome.error?.message };
}
const seen = {
  slow: await run('slow_compute', { seconds: 2, label: 'slow' }),
  quick: await run('slow_compute', { seconds: 0, label: 'quick' }),
  failing: await run('failing_job', {}),
  broken: await run('protocol_error_job', {}),
  cancelled: await run('slow_compute', { seconds: 600, label: 'never' }, execution => execution.cancel()),
};
seen.methods = [...methods].sort();
console.log(JSON.stringify(seen));
await session.close();
await client.close();

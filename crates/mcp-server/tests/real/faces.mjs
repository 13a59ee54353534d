// The official TypeScript SDK at several faces at once: node faces.mjs MODULES auto|legacy|2026-07-28 URL
//
// Searches at `?tools=search`, and calls what two profiles show. Prints what it saw as one line of JSON.

const [modules, mode, url] = process.argv.slice(2);
const { Client, StreamableHTTPClientTransport } = await import(`${modules}/@modelcontextprotocol/client/dist/index.mjs`);

const modes = { auto: { mode: 'auto' }, legacy: { mode: 'legacy' }, '2026-07-28': { mode: { pin: '2026-07-28' } } };
async function connect(face) {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: modes[mode] });
  await client.connect(new StreamableHTTPClientTransport(new URL(url + face)));
  return client;
}

const names = async client => (await client.listTools()).tools.map(tool => tool.name);
async function call(client, name, args) {
  try {
    const result = await client.callTool({ name, arguments: args });
    return [result.isError ? 'failed' : 'ok', result.content[0].text];
  } catch (error) {
    return ['error', String(error)];
  }
}

const [search, one, two] = [await connect('?tools=search'), await connect('/one'), await connect('/two')];
const simple = { name: 'test_simple_text' };
const found = await call(search, 'tool_search', { query: 'a simple text' });
const seen = {
  search: await names(search),
  found: JSON.parse(found[1]).tools[0].name,
  called: await call(search, 'tool_call', simple),
  refused: await call(search, 'tool_call_read_only', simple),
  looked: await call(search, 'tool_call_read_only', { name: 'echo', arguments: { text: 'hi' } }),
  one: await names(one),
  two: await names(two),
  'one said': await call(one, 'parrot', {}),
  'one hides': (await call(one, 'echo', { text: 'hi' }))[0],
  'two called': await call(two, 'tool_call', { name: 'echo', arguments: { text: 'hi' } }),
  'two hides': (await call(two, 'tool_call', simple))[0],
};
console.log(JSON.stringify(seen));
await Promise.all([search, one, two].map(client => client.close()));

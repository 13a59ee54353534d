// The official TypeScript SDK as a client: node typescript_client.mjs MODULES auto|legacy URL
//
// Prints what it saw as one line of JSON.

const [modules, mode, url] = process.argv.slice(2);
const sdk = await import(`${modules}/@modelcontextprotocol/client/dist/index.mjs`);
const client = new sdk.Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
const transport = new sdk.StreamableHTTPClientTransport(new URL(url));
await client.connect(transport);

// The server behind each gateway starts by itself; until then there are only the other tools.
const listed = async () => (await client.listTools()).tools.map((tool) => tool.name).sort();
let tools = await listed();
for (let tries = 0; tries < 600 && !tools.includes('time__convert_time'); tries += 1) {
  await new Promise((done) => setTimeout(done, 100));
  tools = await listed();
}

const noon = { source_timezone: 'UTC', time: '12:00', target_timezone: 'Asia/Tokyo' };
const answers = {};
const call = async (id, name, args) => {
  const result = await client.callTool({ name, arguments: args });
  answers[id] = {
    status: result.isError ? 'error' : 'success',
    text: result.content[0].text,
    structured: result.structuredContent ?? null,
  };
};
await call('c1', 'math_eval', { expression: '6*7' });
await call('c2', 'time__convert_time', noon);
await call('c3', 'math_eval', { expresion: '1' });
console.log(JSON.stringify({ version: client.getNegotiatedProtocolVersion?.(), tools, answers }));
await client.close();

// The official TypeScript SDK as a client: node client.mjs MODULES auto|legacy|2026-07-28 URL | COMMAND ARGS…
//
// Prints what it saw as one line of JSON.

const [modules, mode, target, ...args] = process.argv.slice(2);
const at = file => import(`${modules}/@modelcontextprotocol/client/dist/${file}.mjs`);
const { Client, StreamableHTTPClientTransport } = await at('index');
const { StdioClientTransport } = await at('stdio');

const modes = { auto: { mode: 'auto' }, legacy: { mode: 'legacy' }, '2026-07-28': { mode: { pin: '2026-07-28' } } };
const client = new Client(
  { name: 'test', version: '1' },
  { capabilities: { elicitation: {} }, versionNegotiation: modes[mode] },
);
client.setRequestHandler('elicitation/create', async ({ params }) => ({
  action: 'accept',
  content: { username: params.message, email: 'a@b' },
}));
const transport = target.startsWith('http')
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, args });
await client.connect(transport);

const progress = [];
const call = (name, args = {}, options) => client.callTool({ name, arguments: args }, options);
const { tools } = await client.listTools();
const text = await call('test_simple_text');
await call('test_tool_with_progress', {}, { onprogress: step => progress.push(step.progress) });
const failed = await call('test_error_handling');
const asked = await call('test_elicitation', { message: 'who' });
const resource = await client.readResource({ uri: 'test://static-text' });
const prompt = await client.getPrompt({ name: 'test_simple_prompt' });
const seen = {
  version: client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion,
  tools: tools.map(tool => tool.name).slice(0, 2),
  text: text.content[0].text,
  progress,
  failed: failed.isError,
  asked: asked.content[0].text,
  resource: resource.contents[0].text,
  prompt: prompt.messages[0].content.text,
};
console.log(JSON.stringify(seen));
await client.close();

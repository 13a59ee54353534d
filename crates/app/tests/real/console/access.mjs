// Connect, and policy and tokens: a client's config with a token made for it, rules tested on past calls.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { base, call, says, until, visit } from './browser.mjs';

/** The program, which writes the same configs. */
const program = process.argv[3];

/** Runs a script of the shell, and returns what it printed. */
function shell(script) {
  return execFileSync('sh', ['-c', script], { encoding: 'utf8' });
}

/** What a text of TOML says. */
function toml(text) {
  const script = 'import json, sys, tomllib; print(json.dumps(tomllib.loads(sys.stdin.read())))';
  return JSON.parse(execFileSync('python3', ['-c', script], { input: text, encoding: 'utf8' }));
}

/** What `switchboard connect` would add to the config of a client that has none yet. */
function written(command) {
  const shown = shell(`switchboard() { HOME=/nowhere '${program}' "$@" --print 2> /dev/null; }; ${command}`);
  return shown.replaceAll(/^\+ /gm, '');
}

/** Every client's text is what the client reads: for the token, and without one. */
async function everyClient(page, token) {
  const headers = token ? { headers: { Authorization: `Bearer ${token}` } } : {};
  const url = `${base}/mcp`;
  const text = async (client) => {
    await page.getByRole('button', { name: client, exact: true }).click();
    return page.getByLabel('Config', { exact: true }).innerText();
  };
  const command = () => page.getByText('Or by a command:').locator('code').innerText();

  const words = shell(`claude() { printf '%s\n' "$@"; }; ${await text('Claude Code')}`)
    .trim()
    .split('\n');
  const header = token ? ['--header', `Authorization: Bearer ${token}`] : [];
  assert.deepEqual(words, ['mcp', 'add', '--transport', 'http', 'switchboard', url, ...header]);
  const code = JSON.parse(written(await command()));
  assert.deepEqual(code, { mcpServers: { switchboard: { type: 'http', url, ...headers } } });

  // It starts programs, so the command writes another one than the text.
  const desktop = JSON.parse(await text('Claude Desktop'));
  const args = ['-y', 'mcp-remote', url, ...header];
  assert.deepEqual(desktop, { mcpServers: { switchboard: { command: 'npx', args } } });
  assert.equal(await command(), 'switchboard connect claude');

  for (const [client, expected] of [
    ['Cursor', { mcpServers: { switchboard: { url, ...headers } } }],
    ['VS Code', { servers: { switchboard: { type: 'http', url, ...headers } } }],
    ['Gemini CLI', { mcpServers: { switchboard: { httpUrl: url, ...headers } } }],
    ['Windsurf', { mcpServers: { switchboard: { serverUrl: url, ...headers } } }],
    ['Zed', { context_servers: { switchboard: { url, ...headers } } }],
  ]) {
    assert.deepEqual(JSON.parse(await text(client)), expected, client);
    assert.deepEqual(JSON.parse(written(await command())), expected, client);
  }
  const codex = { mcp_servers: { switchboard: { url, ...(token && { http_headers: headers.headers }) } } };
  assert.deepEqual(toml(await text('Codex')), codex);
  assert.deepEqual(toml(written(await command())), codex);

  // These two are run as they are.
  const tools = JSON.parse(shell((await text('Program')).replace('curl', 'curl --silent --fail')));
  assert(tools.some(({ name }) => name === 'math_eval'));
  const [, address, key] = /^base_url = (\S+)\napi_key {2}= (\S+)$/.exec(await text('Chat client'));
  const models = await fetch(`${address}/models`, { headers: { Authorization: `Bearer ${key}` } });
  assert.equal(models.status, 200);
  assert(await page.getByText('Or by a command:').isHidden());
}

await visit(async ({ window }) => {
  const { open } = await window({ permissions: ['clipboard-read', 'clipboard-write'] });
  const page = await open('/connect');
  await everyClient(page, null);
  await page.getByRole('button', { name: 'Cursor' }).click();
  assert.deepEqual(JSON.parse(await page.getByLabel('Config', { exact: true }).innerText()), {
    mcpServers: { switchboard: { url: `${base}/mcp` } },
  });
  await page.getByRole('button', { name: 'Copy config' }).click();
  await page.getByText('Copied', { exact: true }).waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(copied, await page.getByLabel('Config', { exact: true }).innerText());
  await page.getByLabel('Name').fill('cursor');
  await page.getByLabel('Tools that it sees').fill('math_*');
  await page.getByRole('button', { name: 'Make a token' }).click();
  await says(page, '.made', 'sb_');
  const { mcpServers } = JSON.parse(await page.getByLabel('Config', { exact: true }).innerText());
  const { Authorization } = mcpServers.switchboard.headers;
  const tools = await (await fetch(`${base}/api/tools`, { headers: { Authorization } })).json();
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['math_eval'],
  );

  await everyClient(page, Authorization.replace('Bearer ', ''));

  // What the token sees, and what a rule would have said.
  await call('math_eval', { expression: '1+1' });
  await page.getByRole('link', { name: 'Policy and tokens' }).click();
  await says(page, '.card', 'cursor');
  await page.getByText('1 of', { exact: false }).first().click();
  await says(page, '.sees', 'math_eval');
  await says(page, '.globs', 'scene');
  const test = page.getByRole('button', { name: 'Test', exact: true });
  await page.getByLabel('deny', { exact: true }).fill('math_*');
  await test.click();
  await says(page, '.card', 'would be denied');
  await page.getByLabel('deny', { exact: true }).fill('');
  await page.getByLabel('ask_if').fill("tool == 'math_eval' && args.expression == '1+1'");
  await test.click();
  await says(page, '.card', 'would be asked about');
  page.on('dialog', (dialog) => dialog.accept());
  await page.getByRole('button', { name: 'Revoke cursor' }).click();
  await says(page, '.card', 'There are no tokens');
  assert.equal((await fetch(`${base}/api/tools`, { headers: { Authorization } })).status, 401);

  // Who decided, about a call of which program: without a token only that is known.
  const headers = { 'X-Switchboard': 'console' };
  const held = call('scene', { room: 'kitchen', lights: [] }, headers);
  const waiting = await until('the held call', async () => {
    const { approvals } = await (await fetch(`${base}/api/approvals`)).json();
    return approvals[0];
  });
  await fetch(`${base}/api/approvals/${waiting.id}`, {
    method: 'POST',
    body: JSON.stringify({ decision: 'deny' }),
    headers: { 'Content-Type': 'application/json' },
  });
  await held;
  await page.reload();
  const decided = page.getByRole('row').filter({ hasText: 'scene' });
  await decided.getByRole('cell', { name: 'console', exact: true }).waitFor();

  // A tool that the policy denies or asks about says so.
  await page.getByRole('link', { name: 'Tools', exact: true }).first().click();
  await says(page, '.tool-list a', 'asks first');
  await page.getByRole('link', { name: /control_speaker_volume.*denied/s }).click();
  await says(page, '.tool-body .note', 'control_speaker_*');
  assert.equal(await page.getByRole('button', { name: 'Run', exact: true }).count(), 0);
});

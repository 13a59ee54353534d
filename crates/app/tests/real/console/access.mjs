// Connect, and policy and tokens: a client's config with a token made for it, rules tested on past calls.

import assert from 'node:assert/strict';
import { base, call, says, until, visit } from './browser.mjs';

await visit(async ({ window }) => {
  const { open } = await window({ permissions: ['clipboard-read', 'clipboard-write'] });
  const page = await open('/connect');
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

  // What the token sees, and what a rule would have said.
  await call('math_eval', { expression: '1+1' });
  await page.getByRole('link', { name: 'Policy and tokens' }).click();
  await says(page, '.card', 'cursor');
  await page.getByText('1 of', { exact: false }).first().click();
  await says(page, '.sees', 'math_eval');
  await says(page, '.globs', 'scene');
  await page.getByLabel('deny').fill('math_*');
  await page.getByRole('button', { name: 'Test', exact: true }).click();
  await says(page, '.card', 'would be denied');
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
});

// Sign-in: nothing without a token; with one, a cookie that no script can read; and out again.

import assert from 'node:assert/strict';
import { base, says, visit } from './browser.mjs';

const token = process.argv[3];

await visit(async ({ window }) => {
  const { context, open } = await window({}, [/401/]);
  const page = await open('/tools/math_eval');
  await says(page, 'h1', 'Sign in');
  await page.getByLabel('Token').fill('sb_wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await says(page, '#token-problem', 'token');
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await says(page, '#who', 'console-test');
  await says(page, '.tool-head', 'math_eval');

  const [cookie] = await context.cookies(base);
  assert(cookie.httpOnly && cookie.sameSite === 'Strict' && !cookie.value.includes(token));
  assert.equal(await page.evaluate(() => document.cookie), '');
  await page.locator('[id="field/expression"]').fill('6 * 7');
  await says(page, '.verdict', 'Valid');
  await page.getByRole('button', { name: 'Run' }).click();
  await says(page, '.outcome', '42');
  assert.match(await page.locator('.line code').first().innerText(), /Authorization: Bearer \$SWITCHBOARD_TOKEN/);

  // A session that is over elsewhere is over here, too.
  const headers = { 'X-Switchboard': 'console' };
  await page.evaluate((own) => fetch('/api/session', { method: 'DELETE', headers: own }), headers);
  await page.getByRole('link', { name: 'Servers', exact: true }).click();
  await says(page, 'h1', 'Sign in');
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await says(page, 'h1', 'Servers');

  await page.getByRole('button', { name: 'Sign out' }).click();
  await says(page, 'h1', 'Sign in');
  assert.equal(await page.evaluate(async () => (await fetch('/api/tools')).status), 401);
});

// A server that wants a sign-in for all callers: who may administer sees the command, and can copy it.

import assert from 'node:assert/strict';
import { base, visit } from './browser.mjs';

await visit(async ({ window }) => {
  const { context, open } = await window();
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: base });
  const page = await open('/servers');
  const card = page.getByRole('article', { name: 'docs', exact: true });
  await card.getByText('Nobody is signed in').waitFor();
  assert.equal(await card.getByRole('button', { name: 'Sign in' }).count(), 0);
  await card.getByText('switchboard login docs', { exact: true }).waitFor();
  await card.getByRole('button', { name: 'Copy the command that signs in to docs' }).click();
  await card.getByText('Copied', { exact: true }).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'switchboard login docs');
});

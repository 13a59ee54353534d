// A server that each caller signs in to: one's own sign-in begins and ends with a button, and says whose account it is.
//
// node own_sign_in.mjs GATEWAY TOKEN ISSUER: signs in to the console with the token, then to the server as ada.

import assert from 'node:assert/strict';
import { call, says, visit } from './browser.mjs';

const [, , , token, issuer] = process.argv;
const headers = { authorization: `Bearer ${token}` };

await visit(async ({ window }) => {
  const { context, open } = await window({}, [/401/]);
  const page = await open('/servers');
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await says(page, 'h1', 'Servers');
  const card = page.getByRole('article', { name: 'mail', exact: true });
  await card.getByText('You are not signed in').waitFor();

  // It begins in a window of its own, where the console's session says who is there.
  const opening = context.waitForEvent('page');
  await card.getByRole('button', { name: 'sign in mail' }).click();
  const own = await opening;
  await own.getByRole('button', { name: 'Sign in to mail' }).click();
  await own.locator('input[name=login]').fill('ada');
  await own.locator('input[name=password]').fill('password-of-the-person');
  assert(own.url().startsWith(issuer), own.url());
  await own.locator('button[type=submit]').click();
  await own.locator('input[name=prompt][value=consent]').waitFor({ state: 'attached' });
  await own.locator('button[type=submit]').click();
  await own.getByText('You are signed in to mail').waitFor();
  await own.close();

  // The console sees it by itself.
  await card.getByText(`You are signed in as ada at ${issuer}`).waitFor();
  const called = await call('mail__whoami', {}, headers);
  assert.match(JSON.stringify(called), /You are ada/);

  await card.getByRole('button', { name: 'sign out mail' }).click();
  await card.getByText('You are not signed in').waitFor();
  const refused = await call('mail__whoami', {}, headers);
  assert.equal(refused.error_kind, 'unavailable', JSON.stringify(refused));
});

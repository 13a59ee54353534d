// A client of another site, and a person with Chromium: node chromium.mjs ADDRESS, with TOKEN in the environment.
//
// First without script, as the pages must work; then with it, for the accessibility audit.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { audit, base, visit } from '../console/browser.mjs';

const token = process.env.TOKEN;
// `localhost` and `127.0.0.1` are two sites to a browser.
const site = createServer((request, response) => {
  response.setHeader('content-type', 'text/html');
  const { pathname } = new URL(request.url, 'http://x');
  if (pathname === '/start') response.end(`<a href="${authorize.href.replaceAll('&', '&amp;')}">Connect</a>`);
  else if (pathname === '/frame') response.end(`<h1>Win</h1><iframe src="${authorize.href.replaceAll('&', '&amp;')}"></iframe>`);
  else response.end('<h1>Connected</h1>');
}).listen(0);
const home = `http://localhost:${site.address().port}`;

const registered = await fetch(`${base}/oauth/register`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ client_name: 'A client of another site', redirect_uris: [`${home}/callback`] }),
});
const { client_id } = await registered.json();
const authorize = new URL(`${base}/oauth/authorize`);
authorize.search = new URLSearchParams({
  response_type: 'code',
  client_id,
  redirect_uri: `${home}/callback`,
  state: 'a state',
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256',
});

/** Allows, and returns where the browser went. */
async function allow(page) {
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.waitForURL(`${home}/callback?**`);
  const { searchParams } = new URL(page.url());
  assert.equal(searchParams.get('state'), 'a state');
  assert.equal(searchParams.get('iss'), base);
  return searchParams.get('code');
}

await visit(async ({ window }) => {
  const { context } = await window({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${home}/start`);
  await page.getByText('Connect').click();
  await page.getByLabel('Your token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('A client of another site').first().waitFor();
  const first = await allow(page);

  // The second time the person is signed in, although the browser withholds our cookie from a link of another site at first.
  await page.goto(`${home}/start`);
  await page.getByText('Connect').click();
  await page.getByRole('button', { name: 'Allow' }).waitFor();
  const second = await allow(page);
  assert(first && second && first !== second);

  await page.goto(`${home}/frame`);
  const [frame] = page.mainFrame().childFrames();
  await frame.waitForLoadState();
  assert.equal(await frame.locator('button').count(), 0, 'no button in a frame');

  const scripted = await window();
  const signIn = await scripted.open(authorize.pathname + authorize.search);
  assert.deepEqual(await audit(signIn), []);
  await signIn.getByLabel('Your token').fill(token);
  await signIn.getByRole('button', { name: 'Sign in' }).click();
  await signIn.getByRole('button', { name: 'Allow' }).waitFor();
  assert.deepEqual(await audit(signIn), []);
  if (process.env.PICTURE) await signIn.screenshot({ path: process.env.PICTURE, fullPage: true });
  console.log(JSON.stringify([first, second]));
});
site.close();

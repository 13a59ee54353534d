// Servers: how each stands, what it says, what was skipped, waits or was refused; added, stopped, started, disabled, enabled,
// removed.

import assert from 'node:assert/strict';
import { base, call, says, until, visit } from './browser.mjs';

await visit(async ({ window }) => {
  // One of the servers that are added does not answer.
  const { open } = await window({}, [/status of 400/]);
  const page = await open('/servers');
  const card = (name) => page.getByRole('article', { name, exact: true });
  await card('time').getByText('ready').waitFor();
  await card('things').getByText('ready').waitFor();
  assert.match(await card('time').innerText(), /2 tools/);
  await card('time').getByRole('link', { name: 'time', exact: true }).click();
  await says(page, '[aria-label=time] .stderr', '');
  const text = await card('time').innerText();
  for (const part of ['mcp-time', 'stdio', 'Restarts', '20']) assert(text.includes(part), `${part}: ${text}`);

  // One that cannot be reached says why.
  await says(page, '[aria-label=gone] .failure', 'gone');

  // What it says on stderr.
  await card('things').getByRole('link', { name: 'things', exact: true }).click();
  await says(page, '[aria-label=things] .stderr', 'Starting default (STDIO) server');
  assert.match(await card('things').locator('.server-origin code').innerText(), /everything stdio$/);

  // What it has beside tools can be tried.
  await card('things')
    .getByText(/^Resources/)
    .click();
  await page.getByRole('button', { name: /^Try / }).first().click();
  await says(page, '.beside-entry .outcome .chip', 'ok');
  await card('things')
    .getByText(/^Prompts/)
    .click();
  await page.getByRole('button', { name: 'Try simple-prompt' }).click();
  await says(page, '.beside-entry[aria-label*="imple"] .outcome .chip', 'ok');
  await card('things').getByRole('link', { name: 'things', exact: true }).click();
  await card('things').locator('.stderr').waitFor({ state: 'detached' });

  // Stop, start.
  await page.getByRole('button', { name: 'stop time' }).click();
  await card('time').locator('.chip').filter({ hasText: 'stopped' }).waitFor();
  await page.getByRole('button', { name: 'start time' }).click();
  await card('time').locator('.chip').filter({ hasText: 'ready' }).waitFor();
  await page.getByRole('button', { name: 'restart time' }).click();
  await card('time').locator('.chip').filter({ hasText: 'ready' }).waitFor();

  // What nobody has trusted waits, and is there once somebody does.
  await card('memory').getByText('ready').waitFor();
  const tools = async () => (await (await fetch(`${base}/api/tools`)).json()).map(({ name }) => name);
  assert(!(await tools()).includes('memory__read_graph'));
  await card('memory').getByRole('link', { name: 'memory', exact: true }).click();
  await card('memory')
    .getByText(/^Waits to be trusted \(\d+\)$/)
    .waitFor();
  await page.getByRole('button', { name: 'trust read_graph of memory' }).click();
  await page.getByRole('button', { name: 'trust read_graph of memory' }).waitFor({ state: 'detached' });
  // The server is asked for its list again.
  const offered = (name) => until(name, async () => (await tools()).includes(name));
  await offered('memory__read_graph');
  assert(!(await tools()).includes('memory__create_entities'));
  await page.getByRole('button', { name: 'trust all of memory' }).click();
  await card('memory')
    .getByText(/^Waits to be trusted/)
    .waitFor({ state: 'detached' });
  await offered('memory__create_entities');

  // What a sandbox refused, with the line that would allow it.
  await card('files').getByText('ready').waitFor();
  await card('files').getByRole('link', { name: 'files', exact: true }).click();
  await call('files__read_text_file', { path: process.argv[3] });
  await card('files').getByText('Refused by its sandbox').waitFor();
  await says(page, '[aria-label=files] .server-notes', `sandbox_allow.read += "${process.argv[3]}"`);

  // Off and on, in the config.
  await page.getByRole('button', { name: 'disable time' }).click();
  await card('time').locator('.chip').filter({ hasText: 'disabled' }).waitFor();
  await page.getByRole('button', { name: 'enable time' }).click();
  await card('time').locator('.chip').filter({ hasText: 'ready' }).waitFor();

  // A server is tried before it is added; what it is given in secret is not shown.
  const [{ origin }] = (await (await fetch(`${base}/api/servers`)).json()).filter(({ name }) => name === 'time');
  const form = page.getByRole('region', { name: 'Add a server' });
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await form.getByLabel('Command line').fill('/nowhere/at-all');
  await form.getByLabel('Name', { exact: true }).fill('clock');
  await form.getByRole('button', { name: 'Try and add' }).click();
  await says(page, '#add .failure', '/nowhere/at-all');
  assert.equal(await card('clock').count(), 0);
  await form.getByLabel('Command line').fill(origin);
  await form.getByLabel(/^Variables/).fill('API_KEY=s3cr3t-0123456789');
  await form.getByRole('button', { name: 'Try and add' }).click();
  await card('clock').locator('.chip').filter({ hasText: 'ready' }).waitFor();
  assert(!(await page.content()).includes('s3cr3t'), 'the secret is shown');
  assert(!(await (await fetch(`${base}/api/servers`)).text()).includes('s3cr3t'));
  page.on('dialog', (dialog) => dialog.accept());
  await page.getByRole('button', { name: 'remove clock' }).click();
  await card('clock').waitFor({ state: 'detached' });
});

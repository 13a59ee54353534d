// Servers: how each stands, what it says, what was skipped; stopped and started again.

import assert from 'node:assert/strict';
import { says, visit } from './browser.mjs';

await visit(async ({ window }) => {
  const { open } = await window();
  const page = await open('/servers');
  const card = (name) => page.getByRole('article', { name, exact: true });
  await card('time').getByText('ready').waitFor();
  await card('things').getByText('ready').waitFor();
  const text = await card('time').innerText();
  for (const part of ['mcp-time', 'stdio', 'Restarts', '20']) assert(text.includes(part), `${part}: ${text}`);

  // One that cannot be reached says why.
  await says(page, '[aria-label=gone] .failure', 'gone');

  // What it says on stderr.
  await card('things')
    .getByRole('link', { name: /Show stderr/ })
    .click();
  await says(page, '.stderr', 'Starting default (STDIO) server');
  assert.match(
    await card('things').getByLabel('Where things comes from', { exact: true }).innerText(),
    /everything stdio$/,
  );

  // What it has beside tools can be tried.
  await card('things')
    .getByText(/^Resources/)
    .click();
  await page.getByRole('button', { name: /^Try / }).first().click();
  await says(page, '.beside-entry .outcome .chip', 'ok');
  await card('things')
    .getByRole('link', { name: /Hide stderr/ })
    .click();
  await page.locator('.stderr').waitFor({ state: 'detached' });

  // Stop, start.
  await page.getByRole('button', { name: 'stop time' }).click();
  await card('time').locator('.chip').filter({ hasText: 'stopped' }).waitFor();
  await page.getByRole('button', { name: 'start time' }).click();
  await card('time').locator('.chip').filter({ hasText: 'ready' }).waitFor();
  await page.getByRole('button', { name: 'reconnect time' }).click();
  await card('time').locator('.chip').filter({ hasText: 'ready' }).waitFor();
});

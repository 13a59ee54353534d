// Overview: the figures are those of the calls that were made.

import assert from 'node:assert/strict';
import { call, says, visit } from './browser.mjs';

await visit(async ({ window }) => {
  const { open } = await window();
  const empty = await open('/overview');
  await empty.getByText('No calls in this time').waitFor();
  for (let number = 0; number < 7; number += 1) await call('math_eval', { expression: `${number}+1` });
  await call('math_eval', {});
  await call('nobody', {});
  await call('time__get_current_time', { timezone: 'Europe/Berlin' });

  const page = await open('/overview?since=15m');
  await says(page, '.tile', '10');
  assert.match(await page.locator('.tiles').innerText(), /Calls\s+10\s+Failures\s+2 20\.0 %/);
  await says(page, '.ranking', 'invalid parameters');
  await page.locator('.ranking', { hasText: 'Slowest tools' }).getByText('time__get_current_time').waitFor();
  const chart = page.getByRole('img', { name: /Calls over time\. 10 calls, 2 of them failed/ });
  await chart.waitFor();
  assert((await chart.locator('rect.bar').count()) > 0);
  await page.getByText('As a table').first().click();
  await page.getByRole('row').filter({ hasText: ':' }).first().waitFor();
  await page.getByRole('button', { name: '24 h' }).click();
  await page.waitForURL(/since=24h/);
  await says(page, '.tile', '10');
});

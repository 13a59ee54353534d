// A cluster: the switch of Overview and Live shows the calls of this gateway, or of all nodes. The words after the address are
// that of another gateway, or what Overview says of one that is gone.

import assert from 'node:assert/strict';
import { audit, base, call, says, until, visit } from './browser.mjs';

const [other, gone] = process.argv.slice(3);
const stats = async () => (await fetch(`${base}/api/stats?since=15m&cluster=true`)).json();

await visit(async ({ window }) => {
  const { open } = await window();
  if (gone) {
    const page = await open('/overview?since=15m&scope=cluster');
    await says(page, '.note', gone);
    await page.locator('.tile', { hasText: /Calls\s*4/ }).waitFor();
    assert.deepEqual(await audit(page), []);
    return;
  }
  await call('math_eval', { expression: '1+1' });
  for (let number = 0; number < 3; number += 1) {
    const body = JSON.stringify({ expression: `${number}+1` });
    await fetch(`${other}/api/tools/math_eval/call`, { method: 'POST', body });
  }
  await until('the calls of both', async () => {
    const { total, nodes } = await stats();
    return total.calls === 4 && nodes.every(({ source }) => source === 'node');
  });

  const page = await open('/overview?since=15m');
  const calls = (/** @type {number} */ number) =>
    page.locator('.tile', { hasText: new RegExp(`Calls\\s*${number}`) }).waitFor();
  const scope = page.getByRole('group', { name: 'Calls of' });
  await calls(1);
  await scope.getByRole('button', { name: 'All nodes' }).click();
  await page.waitForURL(/since=15m&scope=cluster/);
  await calls(4);
  assert.equal(await page.locator('.note').count(), 0);
  assert.deepEqual(await audit(page), []);

  // What leads to Live shows the same calls there.
  const busy = page.locator('.ranking', { hasText: 'Most used tools' });
  await busy.getByRole('link', { name: 'math_eval' }).click();
  await page.waitForURL(/\/live\?tool=math_eval&scope=cluster/);
  const rows = page.locator('.rows-space .call-row:visible');
  await rows.nth(3).waitFor();
  await scope.getByRole('button', { name: 'This gateway' }).click();
  await until('its own call alone', async () => (await rows.count()) === 1);

  await page.goBack();
  await page.goBack();
  await calls(4);
  await scope.getByRole('button', { name: 'This gateway' }).click();
  await calls(1);
  assert(!page.url().includes('scope'));
});

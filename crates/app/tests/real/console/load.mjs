// A thousand calls a second for ten seconds, and the page still answers.
//
// What is asserted is that a click takes effect while calls pour in, that the page holds a bounded number of rows and calls, and
// that it comes to the same end as the records. How smooth it was is printed, because that depends on the machine.

import assert from 'node:assert/strict';
import { Worker } from 'node:worker_threads';
import { base, says, visit } from './browser.mjs';

const RATE = 1000;
const SECONDS = 10;

await visit(async ({ window }) => {
  const { open } = await window();
  const page = await open('/live');
  await says(page, '#link', 'Live');
  await page.evaluate(() => {
    const gaps = { longest: 0, frames: 0, last: performance.now() };
    window.gaps = gaps;
    const frame = () => {
      const now = performance.now();
      gaps.longest = Math.max(gaps.longest, now - gaps.last);
      gaps.last = now;
      gaps.frames += 1;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });

  const load = new Worker(new URL('./load_worker.mjs', import.meta.url), { workerData: { base, rate: RATE, seconds: SECONDS } });
  let done = null;
  load.on('message', (message) => { done = message; });
  const ended = new Promise((resolve, reject) => { load.on('exit', resolve); load.on('error', reject); });
  await page.locator('.rows-space .call-row:visible').nth(10).waitFor();

  const clicks = [];
  const click = async (name, act) => {
    const began = performance.now();
    await act();
    assert.equal(done, null, `${name} took effect only after the load had ended`);
    clicks.push([name, Math.round(performance.now() - began)]);
  };
  await click('pause', async () => {
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Go on' }).waitFor();
    await page.getByRole('button', { name: /new calls/ }).waitFor();
  });
  await click('open a call', async () => {
    await page.locator('.rows-space .call-row a:visible').nth(3).click();
    await page.locator('.timings').waitFor();
  });
  await click('go on', async () => {
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
  });
  await click('filter', async () => {
    await page.getByLabel('Tool', { exact: true }).fill('nobody*');
    await page.waitForURL(/tool=nobody/);
    await page.getByText('No call matches').waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.locator('.rows-space .call-row:visible').nth(3).waitFor();
  });
  await ended;
  assert.equal(done.failed, 0);

  const kept = await page.evaluate(() => ({
    rows: document.querySelectorAll('.rows-space .call-row').length,
    calls: Number(document.querySelector('.rows').getAttribute('aria-rowcount')) - 1,
  }));
  assert(kept.rows < 100, `there are ${kept.rows} rows in the page`);
  assert(kept.calls <= 6000, `there are ${kept.calls} calls in the page`);
  // The newest of all calls is at the top, ended.
  const [newest] = await (await fetch(`${base}/api/calls?limit=1`)).json();
  await page.mouse.move(5, 5);
  await page.waitForFunction((id) => {
    const row = document.querySelector(`.rows-space .call-row[data-id="${id}"]`);
    return row && row.textContent.includes('ok');
  }, newest.id);
  const { longest, frames } = await page.evaluate(() => window.gaps);
  process.stdout.write(`${JSON.stringify({ ...done, clicks_ms: Object.fromEntries(clicks), longest_frame_gap_ms: Math.round(longest), frames, kept })}\n`);
});

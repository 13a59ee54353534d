// A thousand calls a second for ten seconds, and the page still answers.
//
// What is asserted is that clicks take effect while calls pour in, that the page holds a bounded number of rows and calls, and
// that it comes to the same end as the records. How smooth it was is printed, because that depends on the machine.

import assert from 'node:assert/strict';
import { Worker } from 'node:worker_threads';
import { base, says, visit } from './browser.mjs';
import { Flood } from './flood.mjs';

const RATE = 1000;
const SECONDS = 10;

// Real calls. A busy machine may make fewer than a thousand in a second; they are ten thousand in the end.
await visit(async ({ window }) => {
  const page = await (await window()).open('/live');
  await begin(page);
  const load = new Worker(new URL('./load_worker.mjs', import.meta.url), {
    workerData: { base, rate: RATE, seconds: SECONDS },
  });
  let done = null;
  load.on('message', (message) => {
    done = message;
  });
  const ended = new Promise((resolve, reject) => {
    load.on('exit', resolve);
    load.on('error', reject);
  });
  const clicks = await answers(page, () => done === null);
  await ended;
  assert.equal(done.failed, 0);
  const [newest] = await (await fetch(`${base}/api/calls?limit=1`)).json();
  report('calls through the gateway', { ...done, clicks_ms: clicks, ...(await settles(page, newest.id)) });
});

// Events at that rate, whatever the machine makes of calls.
await visit(async ({ window }) => {
  const flood = new Flood(base);
  const address = await flood.listen();
  const { context } = await window();
  const page = await context.newPage();
  await page.goto(`${address}/live`);
  await begin(page);
  const ended = flood.pour(RATE, SECONDS);
  const clicks = await answers(page, () => flood.isPouring);
  const newest = await ended;
  report('events alone', {
    calls: flood.calls,
    calls_per_second: RATE,
    clicks_ms: clicks,
    ...(await settles(page, newest)),
  });
  flood.close();
});

function report(what, figures) {
  process.stdout.write(`${what}: ${JSON.stringify(figures)}\n`);
}

/** Waits until the page follows, and begins to measure how long it shows nothing new. */
async function begin(page) {
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
}

/** Does what a person would do, each within the time in which `isOn`; returns how long each took, in milliseconds. */
async function answers(page, isOn) {
  await page.locator('.rows-space .call-row:visible').nth(10).waitFor();
  const clicks = {};
  const click = async (name, act) => {
    const began = performance.now();
    await act();
    assert(isOn(), `${name} took effect only after the load had ended`);
    clicks[name] = Math.round(performance.now() - began);
  };
  await click('pause', async () => {
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Go on' }).waitFor();
    await page.getByRole('button', { name: /new calls/ }).waitFor();
  });
  await click('open', async () => {
    await page.locator('.rows-space .call-row a:visible').nth(3).click();
    await page.locator('.detail-body > *').first().waitFor();
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
  return clicks;
}

/** The newest of all calls comes to stand in the list as ended, and the page holds a bounded number of them. */
async function settles(page, newest) {
  await page.mouse.move(5, 5);
  await page.waitForFunction(
    (id) => document.querySelector(`.rows-space .call-row[data-id="${id}"]`)?.textContent.includes('ok'),
    newest,
  );
  const kept = await page.evaluate(() => ({
    rows: document.querySelectorAll('.rows-space .call-row').length,
    calls: Number(document.querySelector('.rows').getAttribute('aria-rowcount')) - 1,
  }));
  assert(kept.rows < 100, `there are ${kept.rows} rows in the page`);
  assert(kept.calls >= 5000 && kept.calls <= 6000, `there are ${kept.calls} calls in the page`);
  const { longest, frames } = await page.evaluate(() => window.gaps);
  return { longest_frame_gap_ms: Math.round(longest), frames, kept };
}

// Runs: each question with its state and cost, and one of them turn by turn, with what a person decided.

import assert from 'node:assert/strict';
import { audit, base, says, until, visit } from './browser.mjs';

function ask(content) {
  return fetch(`${base}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'local', messages: [{ role: 'user', content }] }),
  });
}

async function allow() {
  const { id } = await until('a held call', async () => {
    const { approvals } = await (await fetch(`${base}/api/approvals`)).json();
    return approvals[0];
  });
  await fetch(`${base}/api/approvals/${id}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"decision":"allow"}',
  });
}

await visit(async ({ window }) => {
  const { open } = await window();
  const page = await open('/runs');
  // One that was there before: its process was killed.
  await page.getByRole('link', { name: /Pay the invoice.*interrupted/s }).click();
  await says(page, '.run .note', 'switchboard runs resume 01');
  await says(page, '.run-said .chat-call', 'pay');
  await says(page, '.run-said .chip', 'outcome unknown');

  // A new one appears by itself.
  const [answered] = await Promise.all([ask('How long are 2 inches?'), allow()]);
  assert.equal(answered.status, 200);
  const entry = page.getByRole('link', { name: /How long are 2 inches/ });
  await entry.filter({ hasText: '1 call' }).waitFor();
  await entry.click();
  await page.waitForURL(/\/runs\/01/);
  await says(page, '.run-head .chip', 'ended');
  const facts = await says(page, '.run .facts', '1,624 in, 82 out');
  // 1624 tokens in at 1, 82 out at 10 per million.
  assert.match(facts, /Cost\s*0\.0024/);
  await page.locator('.run .lane-turn').nth(1).waitFor();
  await says(page, '.run a.lane', 'math_eval');
  // What stands above says how it is called; Live knows its calls by the name of their conversation, which is another.
  assert(await page.locator('.run .zoom').isVisible());
  assert(await page.locator('.run .conversation-head a').isHidden());
  await says(page, '.run-said .said.model', 'These are 5.08 cm.');
  await page.locator('.run-said .chat-call > summary').click();
  await says(page, '.run-said .chat-call', 'as decided by');
  await says(page, '.run-said .chat-call pre', '5.08 cm');
  // What was opened stays open while others run.
  await ask('Another one?');
  await page.getByRole('link', { name: /Another one/ }).waitFor();
  await says(page, '.run-said .chat-call pre', '5.08 cm');
  await page.locator('.run a.lane').click();
  await page.locator('.timings').waitFor();

  const id = await (await fetch(`${base}/api/runs`)).json().then(({ runs }) => runs[1].id);
  for (const colorScheme of ['light', 'dark']) {
    for (const viewport of [
      { width: 1280, height: 800 },
      { width: 390, height: 800 },
    ]) {
      const { context, open: openIn } = await window({ colorScheme, viewport });
      const own = await openIn(`/runs/${id}`);
      await own.locator('.run-said .chat-call > summary').click();
      assert.deepEqual(await audit(own), [], `${colorScheme}, ${viewport.width} wide`);
      const spill = await own.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      assert(spill <= 0, `${spill} pixels too wide at ${viewport.width}`);
      await context.close();
    }
  }
});

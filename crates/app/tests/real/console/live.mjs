// Live: calls appear as they happen, open to all that is known of them, and the address holds the view.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { base, call, says, visit } from './browser.mjs';

await visit(async ({ window }) => {
  const { open } = await window();
  const page = await open('/');
  await says(page, '#link', 'Live');
  await page.getByText('No calls yet').waitFor();

  // Two at once in one conversation, one that fails, one that answers with an image.
  const conversation = { 'X-Conversation': 'weekend' };
  const long = call('things__trigger-long-running-operation', { duration: 1, steps: 2 }, conversation);
  await says(page, '.rows-space .chip', 'running');
  await call('math_eval', { expression: '2 inch to cm' }, conversation);
  await long;
  await call('math_eval', { expresion: '2' });
  const image = await call('things__get-tiny-image', {});
  await page.locator('.rows-space .call-row:visible').nth(3).waitFor();
  const row = (text) => page.locator('.rows-space .call-row:visible').filter({ hasText: text });
  assert.equal(await row('invalid parameters').count(), 1);
  // Where a name does not fit, its server's is cut, and its end is whole.
  const own = row('things__get-tiny-image').locator('.name-own');
  assert.equal(await own.evaluate((name) => name.scrollWidth > name.clientWidth), false);
  assert.equal(await own.innerText(), '__get-tiny-image');

  // One opens to all that is known of it.
  await row('inch').locator('a').click();
  const panel = page.locator('.detail');
  await panel.getByText('5.08 cm').waitFor();
  assert.match(page.url(), /\/live\?call=01/);
  await panel.getByText('Record and hash chain').click();
  const text = await panel.innerText();
  for (const part of ['math_eval', 'expression', 'weekend', 'Ran', 'Waited for a slot', 'segment 1', 'hash', 'follows'])
    assert(text.includes(part), `${part}: ${text}`);
  await page.keyboard.press('Escape');
  await panel.waitFor({ state: 'detached' });

  // The same call again: what comes of it is shown beside the old result, and is another call.
  page.once('dialog', (dialog) => dialog.accept());
  await row('inch').locator('a').click();
  await panel.getByRole('button', { name: 'Run again' }).click();
  await says(page, '.again .outcome', '5.08 cm');
  await page.waitForFunction(
    () =>
      [...document.querySelectorAll('.rows-space .call-row:not([hidden])')].filter((row) =>
        row.textContent.includes('inch'),
      ).length === 2,
  );
  await page.keyboard.press('Escape');
  await panel.waitFor({ state: 'detached' });

  // An error with its way out.
  await row('invalid parameters').locator('a').click();
  await says(page, '.failure', "missing 'expression'");
  await says(page, '.failure', 'Required parameters');

  // An image is shown.
  await page.goto(`${base}/calls/${image.call_id}`);
  const shown = page.locator('.artifacts img');
  await shown.waitFor();
  assert(
    await shown.evaluate(async (picture) => {
      await picture.decode();
      return picture.naturalWidth > 0;
    }),
  );

  // The filter is in the address, and the address is the filter.
  await page.goto(`${base}/live`);
  await page.getByLabel('Outcome').selectOption('failed');
  await page.waitForURL(/outcome=failed/);
  await page.waitForFunction(() => document.querySelectorAll('.rows-space .call-row:not([hidden])').length === 1);
  const again = await open('/live?tool=things__*');
  await again.waitForFunction(() => document.querySelectorAll('.rows-space .call-row:not([hidden])').length === 2);
  assert.equal(await again.getByLabel('Tool', { exact: true }).inputValue(), 'things__*');

  // A text of a result finds its call, and what is filtered can be saved.
  await page.goto(`${base}/live`);
  await page.getByLabel('Search').fill('5.08 CM');
  await page.waitForURL(/text=5\.08/);
  await page.waitForFunction(() => document.querySelectorAll('.rows-space .call-row:not([hidden])').length === 2);
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export' }).click(),
  ]);
  const [saved, older, rest] = readFileSync(await file.path(), 'utf8').split('\n');
  assert.equal(JSON.parse(saved).tool, 'math_eval');
  assert.equal(JSON.parse(older).tool, 'math_eval');
  assert.equal(rest, '');

  // A view gets a name, is in the address, and is forgotten.
  await page.getByText('Views', { exact: true }).click();
  await page.getByLabel('Name of the view').fill('Centimetres');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.goto(`${base}/live`);
  await page.getByText('Views', { exact: true }).click();
  await page.getByRole('link', { name: 'Centimetres' }).click();
  await page.waitForURL(/text=5\.08/);
  await page.locator('.menu-box > summary').click();
  await page.getByRole('button', { name: 'Forget the view Centimetres' }).click();
  await page.getByRole('link', { name: 'Centimetres' }).waitFor({ state: 'detached' });

  // Two calls side by side: the second is chosen in the list.
  await page.goto(`${base}/live`);
  await row('expresion').locator('a').click();
  await panel.getByRole('link', { name: 'Compare' }).click();
  await page.getByText('Choose the call to compare with').waitFor();
  await row('inch').first().locator('a').click();
  await says(page, '.two-line.gone', 'expresion');
  await says(page, '.two-line.came', '5.08 cm');
  assert.match(page.url(), /call=01.*compare=01|compare=01.*call=01/);
  await page.getByRole('button', { name: 'Swap' }).click();
  await says(page, '.two-line.came', 'expresion');
  await page.getByRole('button', { name: 'Close comparison' }).click();
  await panel.waitFor({ state: 'detached' });

  // Side by side: the short call lies within the long one.
  await page.goto(`${base}/live?view=waterfall&conversation=weekend`);
  await page.locator('.lane').nth(1).waitFor();
  const bars = await page
    .locator('.lane-bar')
    .evaluateAll((all) => all.map((bar) => bar.getBoundingClientRect()).map(({ left, right }) => ({ left, right })));
  assert(bars[0].left <= bars[1].left && bars[0].right >= bars[1].right, JSON.stringify(bars));

  // The axis has round times.
  const times = await page.locator('.lane-ticks > span:not(.lane-range)').allInnerTexts();
  assert(times.length > 3 && times.slice(1).every((time) => /^\d+(\.5)? (ms|s)$/.test(time)), String(times));

  // Zoomed in by buttons, or by dragging over a part of the time, the axis begins later.
  const from = () => page.locator('.lane-ticks > span').first().innerText();
  assert.equal(await from(), '0');
  await page.getByRole('button', { name: 'Zoom in' }).click();
  await says(page, '.zoom', '×2.0');
  await page.getByRole('button', { name: 'Later' }).click();
  await page.getByRole('button', { name: 'Earlier' }).click();
  assert.notEqual(await from(), '0');
  await page.getByRole('button', { name: 'Show all' }).click();
  assert.equal(await from(), '0');
  const ticks = await page.locator('.lane-ticks').boundingBox();
  await page.mouse.move(ticks.x + ticks.width / 4, ticks.y + 8);
  await page.mouse.down();
  await page.mouse.move(ticks.x + ticks.width / 2, ticks.y + 8, { steps: 4 });
  await page.mouse.up();
  await says(page, '.zoom', '×4.');
  assert.notEqual(await from(), '0');
});

// More calls than the gateway gives at once are saved page by page; where even that is not all, it is said.
await visit(async ({ window }) => {
  const { open } = await window();
  const page = await open('/live');
  const ids = (from, to) => Array.from({ length: to - from }, (_, index) => `call-${from + index}`);
  const answered = (all) => all.map((id) => ({ id, tool: 'echo', outcome: 'ok', started: '2026-01-02T03:04:05.678Z' }));
  let total = 10_003;
  await page.route(/\/api\/calls\?limit=10000/, (route) => {
    const after = new URL(route.request().url()).searchParams.get('after');
    const from = after ? Number(after.slice('call-'.length)) + 1 : 0;
    return route.fulfill({ json: answered(ids(from, Math.min(from + 10_000, total))) });
  });
  const save = async () => {
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export' }).click(),
    ]);
    const lines = readFileSync(await file.path(), 'utf8')
      .trim()
      .split('\n');
    return lines.map((line) => JSON.parse(line).id);
  };
  assert.deepEqual(await save(), ids(0, 10_003));
  assert.equal(await page.locator('.toast').count(), 0);
  total = 100_001;
  assert.equal((await save()).length, 100_000);
  await says(page, '.toast', 'are not in the file');
});

// A result that was cut is read page by page.
await visit(async ({ window }) => {
  const { open } = await window();
  const text = Array.from({ length: 12_000 }, (_, index) => `line ${index}`).join('\n');
  const { call_id: id, truncated } = await call('echo', { text });
  assert.equal(truncated, true);
  const page = await open(`/calls/${id}`);
  await says(page, '.page-text', 'line 10');
  await page.getByRole('button', { name: 'Next page' }).click();
  await says(page, '.pages [role=status]', 'Characters 20,001 to 40,000');
  assert((await page.locator('.page-text').innerText()).includes('line 2500'));
});

// Text is text: what a server answers in lines is shown in lines. What does not fit as JSON is still read as text.
await visit(async ({ window }) => {
  const { open } = await window();
  const { call_id: id, result } = await call('time__get_current_time', { timezone: 'UTC' });
  assert.equal(typeof result.structuredContent, 'object');
  const page = await open(`/calls/${id}`);
  const text = page.locator('.detail .page-text');
  await text.waitFor();
  assert.equal(await text.innerText(), result.content[0].text);
  assert(result.content[0].text.includes('\n'));
});

// While somebody reads, nothing moves; the rest waits behind a button.
await visit(async ({ window }) => {
  const { open } = await window();
  const page = await open('/live');
  await says(page, '#link', 'Live');
  await page.locator('.rows-space .call-row:visible').first().waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  const before = await page.locator('.rows-space .call-row').first().getAttribute('data-id');
  await call('echo', { note: 'while you read' });
  await page.getByRole('button', { name: '1 new call' }).waitFor();
  assert.equal(await page.locator('.rows-space .call-row').first().getAttribute('data-id'), before);
  await page.keyboard.press('p');
  await says(page, '.rows-space .call-row', 'while you read');
});

// What looks like a page is text.
await visit(async ({ window }) => {
  const page = await (await window()).open('/live');
  page.on('dialog', () => assert.fail('a script ran'));
  const markup = '<img src=x onerror=alert(1)><script>alert(2)</script>';
  const { call_id: id } = await call(
    'echo',
    { [markup]: [markup], note: 'javascript:alert(3)' },
    { 'X-Conversation': 'a"><b>b' },
  );
  await says(page, '.rows-space .call-row', 'onerror');
  await page.goto(`${base}/calls/${id}`);
  await says(page, '.detail', 'onerror');
  assert.equal(await page.locator('main img, main script, main b').count(), 0);
  await page.goto(
    `${base}/live?view=waterfall&tool=${encodeURIComponent(markup)}&conversation=${encodeURIComponent(markup)}`,
  );
  await page.getByText('No conversations yet').waitFor();
});

// Tools: found, filled in, checked as one types, run, cancelled; and what is run here is seen in another window.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { base, says, until, visit } from './browser.mjs';

const field = (page, pointer) => page.locator(`[id="field${pointer}"]`);
const raw = async (page) => JSON.parse(await page.locator('#raw').inputValue());

await visit(async ({ window }) => {
  const [here, there] = [await window(), await window()];
  const page = await here.open('/tools');
  const other = await there.open('/live');

  // What definitions cost, until a tool is chosen.
  await says(page, '.cost-sum', 'not called in 30 days would save about');
  await says(page, '.costs', 'math_eval');
  await says(other, '#link', 'Live');

  // Search, by key; the table of costs links to tools, too.
  await page.keyboard.press('/');
  await page.keyboard.type('expression');
  await page.waitForURL(/q=expression/);
  await page.getByRole('link', { name: /^math_eval Evaluates/ }).click();
  await page.waitForURL(/\/tools\/math_eval/);

  // Nothing is wrong before anything was typed; then it is said in the gateway's own words.
  await says(page, '.verdict', 'Fields with * are required.');
  assert.equal(await page.locator('[id="problem/expression"]').innerText(), '');
  await field(page, '/expression').fill('1');
  await field(page, '/expression').fill('');
  await says(page, '.verdict', "Invalid parameters: missing 'expression'");
  await says(page, '[id="problem/expression"]', "missing 'expression'");
  await field(page, '/expression').fill("2 * 'it''s'");
  assert.deepEqual(await raw(page), { expression: "2 * 'it''s'" });
  await field(page, '/expression').fill('6 * 7');
  await says(page, '.verdict', 'Valid');

  // The same call for a shell does the same.
  const [curl, command] = await page.locator('.line code').allInnerTexts();
  assert.equal(command, `switchboard call math_eval '{"expression":"6 * 7"}'`);
  assert.equal(
    JSON.parse(execFileSync('sh', ['-c', curl.replace(/^curl/, 'curl -s')], { encoding: 'utf8' })).result.result,
    42,
  );

  // Run here, seen there.
  const calls = other.locator('.rows-space .call-row:visible').filter({ hasText: '6 * 7' });
  const before = await calls.count();
  await page.getByRole('button', { name: 'Run' }).click();
  await says(page, '.outcome', '42');
  await other.waitForFunction(
    (number) =>
      [...document.querySelectorAll('.rows-space .call-row:not([hidden])')].filter((row) =>
        row.textContent.includes('6 * 7'),
      ).length > number,
    before,
  );
});

// A schema with everything in it: form and raw JSON stay in step.
await visit(async ({ window }) => {
  const { open } = await window();
  const page = await open('/tools/scene');
  await field(page, '/room').selectOption({ label: 'kitchen' });
  await page.getByRole('button', { name: 'Add to lights' }).click();
  await field(page, '/lights/0/name').fill('Kitchen/Ceiling');
  assert.deepEqual((await raw(page)).lights, [{ level: 80, name: 'Kitchen/Ceiling' }]);
  await field(page, '/lights/0/level').fill('eighty');
  await says(page, '[id="problem/lights/0/level"]', 'lights[0].level');
  await field(page, '/lights/0/level').fill('12345678901234567890');
  assert.match(await page.locator('#raw').inputValue(), /"level": 12345678901234567890/);
  await field(page, '/lights/0/level').fill('40');
  await page.locator('[id="kind/lights/0/colour"]').selectOption({ label: 'RGB' });
  await field(page, '/lights/0/colour/r').fill('255');
  await page.locator('[id="kind/until"]').selectOption({ label: 'null' });
  await field(page, '/options/fade').fill('2.5');
  assert.deepEqual(await raw(page), {
    room: 'kitchen',
    lights: [{ level: 40, name: 'Kitchen/Ceiling', colour: { r: 255, g: 0, b: 0 } }],
    options: { fade: 2.5 },
    until: null,
  });
  await says(page, '.verdict', 'Valid');

  // And the other way round.
  await page.locator('#raw').fill('{"room": "garage", "lights": [{"name": "A"}, {"name": "B", "colour": "warm"}]}');
  assert.equal(await field(page, '/lights/1/name').inputValue(), 'B');
  assert.equal(
    await page.locator('[id="kind/lights/1/colour"]').evaluate((select) => select.selectedOptions[0].label),
    'Named',
  );
  await page.getByRole('button', { name: 'Remove item 1' }).click();
  assert.deepEqual((await raw(page)).lights, [{ name: 'B', colour: 'warm' }]);
  await page.locator('#raw').fill('{"room": ');
  await says(page, '.verdict', 'Not JSON yet');

  // A view can be shared, arguments and all.
  await page.goto(`${base}/tools/scene?args=${encodeURIComponent('{"room":"bedroom","lights":[]}')}`);
  await says(page, '.verdict', 'Valid');
  assert.equal(await field(page, '/room').evaluate((select) => select.selectedOptions[0].label), 'bedroom');
});

// Text is text, in its own lines; what programs get beside it can be unfolded.
await visit(async ({ window }) => {
  const { open } = await window();
  const page = await open(`/tools/time__get_current_time?args=${encodeURIComponent('{"timezone":"UTC"}')}`);
  await says(page, '.verdict', 'Valid');
  await page.getByRole('button', { name: 'Run' }).click();
  const text = page.locator('.outcome .page-text');
  await text.waitFor();
  assert.match(await text.innerText(), /^\{\n {2}"timezone": "UTC",\n/);
  const json = page.locator('.outcome .as-json .json');
  assert.equal(await json.isVisible(), false);
  await page.getByText('As JSON').click();
  assert.match(await json.innerText(), /structuredContent/);
  // The record shows the same.
  await page.getByRole('link', { name: 'Open the record' }).click();
  const recorded = page.locator('.detail .page-text');
  await recorded.waitFor();
  assert.match(await recorded.innerText(), /^\{\n {2}"timezone": "UTC",\n/);
});

// Progress while it runs, and a button that cancels.
await visit(async ({ window }) => {
  const { open } = await window({}, [/404/]);
  const page = await open(
    `/tools/things__trigger-long-running-operation?args=${encodeURIComponent('{"duration":30,"steps":60}')}`,
  );
  await says(page, '.verdict', 'Valid');
  await page.locator('#raw').press('Control+Enter');
  await says(page, '.run-state', 'of 60');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await says(page, '.outcome', 'cancelled');
  // The page need not wait until the gateway has noticed.
  await until('the record of a cancelled call', async () => {
    const [record] = await (await fetch(`${base}/api/calls?limit=1`)).json();
    return record.outcome === 'cancelled';
  });
  await page.goto(`${base}/tools/nobody`);
  await says(page, '.trouble', "Tool 'nobody' not found");
});

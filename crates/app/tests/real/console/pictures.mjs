// Pictures of each section in light and dark, for the documentation: `node pictures.mjs ADDRESS FOLDER`.

import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { base, call, says, visit } from './browser.mjs';

const folder = process.argv[3];
/** What a picture may weigh, in bytes. */
const MOST = 150_000;

const args = encodeURIComponent(
  JSON.stringify({
    room: 'kitchen',
    lights: [{ name: 'Kitchen/Ceiling', level: 40, colour: { r: 255, g: 180, b: 90 } }],
    options: { fade: 2 },
  }),
);
const PICTURES = {
  live: [
    '/live',
    async (page) => {
      await page.locator('.rows-space .call-row').filter({ hasText: 'inch' }).first().locator('a').click();
      await page.locator('.timings').waitFor();
      await page.mouse.move(5, 5);
    },
  ],
  waterfall: ['/live?view=waterfall', (page) => page.locator('.lane').first().waitFor()],
  tools: [`/tools/scene?args=${args}`, (page) => says(page, '.verdict', 'Valid')],
  servers: ['/servers/things', (page) => page.locator('.stderr-line').first().waitFor()],
  chat: [
    '/chat',
    async (page) => {
      await page.getByLabel('Message').fill('How long are 2 inches?');
      await page.getByLabel('Message').press('Enter');
      await says(page, '.cost', 'tokens');
      await page.locator('.chat-call > summary').click();
    },
  ],
  approvals: ['/approvals', (page) => page.locator('.held').waitFor()],
  connect: ['/connect', (page) => page.getByRole('button', { name: 'Cursor' }).click()],
  policy: ['/policy', (page) => page.locator('.globs').first().waitFor()],
  // Last, so that time has passed since the first call.
  overview: ['/overview?since=5m', (page) => page.locator('.chart svg').first().waitFor()],
};

await visit(async ({ window }) => {
  await history(8);
  const more = history(40);
  const held = call('scene', { room: 'garage', lights: [{ name: 'Garage/Door', level: 100 }] });
  for (const colorScheme of ['light', 'dark']) {
    const { open } = await window({ colorScheme, viewport: { width: 1200, height: 680 } });
    for (const [name, [path, prepare]] of Object.entries(PICTURES)) {
      const page = await open(path);
      await prepare(page);
      // The figures beside the title come once a second.
      await page.waitForTimeout(1200);
      const file = join(folder, `${name}-${colorScheme}.png`);
      await page.screenshot({ path: file });
      assert(statSync(file).size < MOST, `${file} weighs ${statSync(file).size} bytes`);
      await page.close();
    }
  }
  const {
    approvals: [{ id }],
  } = await (await fetch(`${base}/api/approvals`)).json();
  await fetch(`${base}/api/approvals/${id}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"decision":"deny"}',
  });
  await Promise.all([held, more]);
});

/** Calls of some variety, so that there is something to see. */
async function history(rounds) {
  const zones = ['Europe/Berlin', 'Asia/Tokyo', 'America/Lima', 'Nowhere/Land'];
  for (let round = 0; round < rounds; round += 1) {
    const headers = { 'X-Conversation': `morning-${round}` };
    const slow = call(
      'things__trigger-long-running-operation',
      { duration: 0.4 + (round % 8) / 10, steps: 2 },
      headers,
    );
    await Promise.all([
      call('math_eval', { expression: `${round + 2} inch to cm` }, headers),
      call('time__get_current_time', { timezone: zones[round % zones.length] }, headers),
      call('things__get-sum', { a: round, b: 7 }, headers),
    ]);
    await call('math_eval', round % 3 === 0 ? { expresion: '2+2' } : { expression: 'sqrt(16) * 3' }, headers);
    await slow;
    await call('things__echo', { message: `round ${round} is done` }, headers);
  }
}

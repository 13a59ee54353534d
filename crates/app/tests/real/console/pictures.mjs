// Pictures of each section in light and dark, for the documentation: `node pictures.mjs ADDRESS FOLDER`.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { base, call, says, until, visit } from './browser.mjs';

const folder = process.argv[3];
/** What all pictures may weigh together, in bytes. */
const MOST = 1_500_000;

const args = encodeURIComponent(
  JSON.stringify({
    room: 'kitchen',
    lights: [{ name: 'Kitchen/Ceiling', level: 40, colour: { r: 255, g: 180, b: 90 } }],
    options: { fade: 2 },
  }),
);
const CHATS = ['20261118-090000-k3f9', '20261118-091500-x7d2'];

/** The headers of each caller's token, by its name. */
const callers = {};

/** Where each picture is taken, and what is done before. */
const PICTURES = {
  live: [
    '/live',
    async (page) => {
      await page.locator('.rows-space .call-row').filter({ hasText: 'Tokyo' }).first().locator('a').click();
      await page.locator('.timings').waitFor();
      await page.mouse.move(5, 5);
    },
  ],
  compare: [
    '/live?tool=time__*',
    async (page) => {
      await page.locator('.rows-space .call-row').filter({ hasText: 'Tokyo' }).first().locator('a').click();
      await page.getByRole('link', { name: 'Compare' }).click();
      await page.locator('.rows-space .call-row').filter({ hasText: 'Berlin' }).first().locator('a').click();
      await page.locator('.two-line.came').first().waitFor();
      await page.mouse.move(5, 5);
    },
  ],
  waterfall: ['/live?view=waterfall', (page) => page.locator('.lane-turn').first().waitFor()],
  tools: [`/tools/scene?args=${args}`, (page) => says(page, '.verdict', 'Valid')],
  servers: ['/servers', (page) => says(page, '.server .failure', 'tickets-mcp')],
  server: ['/servers/things', (page) => page.locator('.stderr-line').first().waitFor()],
  chat: [
    `/chat/${CHATS[1]}`,
    async (page) => {
      await says(page, '.said.model', 'Tokyo');
      await page.locator('.chat-call > summary').first().click();
    },
  ],
  runs: [
    '/runs',
    async (page) => {
      await page
        .getByRole('link', { name: /How much later/ })
        .first()
        .click();
      await page.locator('.run .lane-turn').first().waitFor();
      await page.locator('.run-said .chat-call > summary').first().click();
      await page.mouse.move(5, 5);
    },
  ],
  approvals: ['/approvals', (page) => page.locator('.held').nth(1).waitFor()],
  connect: ['/connect', (page) => page.getByRole('button', { name: 'Cursor' }).click()],
  policy: [
    '/policy',
    async (page) => {
      await page.getByLabel('deny', { exact: true }).fill('files__*');
      await page.getByRole('button', { name: 'Test', exact: true }).click();
      await says(page, '.card', 'would be denied');
    },
  ],
  overview: ['/overview', (page) => page.locator('.chart svg').first().waitFor()],
  'phone-chat': [`/chat/${CHATS[1]}`, (page) => says(page, '.said.model', 'Tokyo')],
  'phone-approvals': ['/approvals', (page) => page.locator('.held').nth(1).waitFor()],
  phone: ['/live', (page) => page.locator('.rows-space .call-row:visible').first().waitFor()],
};

await visit(async ({ window }) => {
  await tokens();
  await decisions();
  await history(6, 'morning');
  for (const chat of CHATS) await talk(chat);
  const held = [
    call('scene', { room: 'garage', lights: [{ name: 'Garage/Door', level: 100 }] }, callers.laptop),
    call('files__write_file', { path: 'report.md', content: '# Report\n\nEverything is fine.\n' }, callers['ci-agent']),
  ];
  await waiting(2);
  const more = history(30, '');
  for (const colorScheme of ['light', 'dark']) {
    for (const [name, [path, prepare]] of Object.entries(PICTURES)) {
      const viewport = name.startsWith('phone') ? { width: 390, height: 844 } : { width: 1440, height: 900 };
      const { context, open } = await window({ colorScheme, viewport });
      const page = await open(path);
      await prepare(page);
      // The figures beside the title come once a second.
      await page.waitForTimeout(1200);
      await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) });
      await context.close();
    }
  }
  for (const { id } of await waiting(2)) await decide(id, 'deny');
  await Promise.all([...held, more]);
});

const files = readdirSync(folder).filter((name) => name.endsWith('.png'));
execFileSync('pngquant', [
  '--force',
  '--ext',
  '.png',
  '--speed',
  '1',
  '--strip',
  '64',
  ...files.map((name) => join(folder, name)),
]);
const weight = files.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
assert(weight < MOST, `the pictures weigh ${weight} bytes together`);

async function tokens() {
  for (const token of [
    { name: 'cursor', tools: ['time__*', 'files__read_*', 'math_eval'] },
    { name: 'ci-agent', tools: ['files__*', 'things__*'], approve: true },
    { name: 'laptop', admin: true, watch: true, approve: true },
  ]) {
    const response = await fetch(`${base}/api/tokens`, { method: 'POST', body: JSON.stringify(token) });
    callers[token.name] = { Authorization: `Bearer ${(await response.json()).token}` };
  }
}

/** Calls that were held, and what became of them. */
async function decisions() {
  for (const [decision, reason] of [['allow'], ['deny', 'not at night'], ['allow', 'looks right']]) {
    const lights = [{ name: 'Kitchen/Ceiling', level: 40 }];
    const held = call('scene', { room: 'kitchen', lights }, callers.laptop);
    const [{ id }] = await waiting(1);
    await decide(id, decision, reason);
    await held;
  }
}

/** The held calls, once there are so many. */
function waiting(many) {
  return until(`${many} held calls`, async () => {
    const { approvals } = await (await fetch(`${base}/api/approvals`)).json();
    return approvals.length >= many && approvals;
  });
}

async function decide(id, decision, reason) {
  await fetch(`${base}/api/approvals/${id}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ decision, ...(reason && { reason }) }),
  });
}

async function talk(chat) {
  const response = await fetch(`${base}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'local',
      chat,
      messages: [{ role: 'user', content: 'How much later is it in Tokyo than in Berlin?' }],
    }),
  });
  assert.equal(response.status, 200, await response.text());
}

/** Calls of some variety, so that there is something to see; in conversations of this name, unless it is empty. */
async function history(rounds, name) {
  const zones = ['Europe/Berlin', 'Asia/Tokyo', 'America/Lima', 'Nowhere/Land'];
  for (let round = 0; round < rounds; round += 1) {
    const conversation = name ? { 'X-Conversation': `${name}-${round}` } : {};
    const cursor = { ...callers.cursor, ...conversation };
    const agent = { ...callers['ci-agent'], ...conversation };
    const slow = call('things__trigger-long-running-operation', { duration: 0.4 + (round % 8) / 10, steps: 2 }, agent);
    await Promise.all([
      call('math_eval', { expression: `${round + 2} inch to cm` }, cursor),
      call('time__get_current_time', { timezone: zones[round % zones.length] }, cursor),
      call('files__list_directory', { path: '.' }, agent),
      call('things__get-sum', { a: round, b: 7 }, agent),
    ]);
    await call('math_eval', round % 3 === 0 ? { expresion: '2+2' } : { expression: 'sqrt(16) * 3' }, cursor);
    await slow;
    await call('things__echo', { message: `round ${round} is done` }, agent);
  }
}

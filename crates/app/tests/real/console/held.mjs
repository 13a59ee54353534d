// A held call is decided where it is: in the chat, where it was run, in the call's panel; and going elsewhere ends nothing.

import assert from 'node:assert/strict';
import { base, call, says, until, visit } from './browser.mjs';

const args = { room: 'kitchen', lights: [{ name: 'Kitchen/Ceiling', level: 40 }] };
const address = `/tools/scene?args=${encodeURIComponent(JSON.stringify(args))}`;
const go = (page, name) => page.locator('nav#sections').getByRole('link', { name }).click();

// In the chat: the badge leads to Approvals and back, and the call still waits.
await visit(async ({ window }) => {
  const { open } = await window();
  const page = await open('/chat');
  await page.getByLabel('Message').fill('Light, please');
  await page.getByLabel('Message').press('Enter');
  await says(page, '.chat-call .chip', 'held');
  await page.waitForFunction(() => document.title === '(1) Chat · Switchboard');
  await go(page, 'Approvals');
  await page.locator('.held-list .held').waitFor();
  await go(page, 'Chat');
  const card = page.locator('.chat-step .held');
  assert.deepEqual(JSON.parse(await card.locator('.exactly').innerText()), args);
  await card.getByRole('button', { name: 'Allow once' }).click();
  await says(page, '.chat-call .chip', 'ok');
  await says(page, '.said.model', 'These are 5.08 cm.');
  await card.waitFor({ state: 'detached' });
  await page.waitForFunction(() => document.title === 'Chat · Switchboard');
});

// Where it was run: without strange numbers, and a reason that is being typed stays.
await visit(async ({ window }) => {
  const { open } = await window();
  const page = await open(address);
  await says(page, '.verdict', 'Valid');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.locator('.bench .held').waitFor();
  assert.doesNotMatch(await page.locator('.run-state').innerText(), /e-|0\.0/);
  await page.getByLabel('Reason').fill('not now');
  await go(page, 'Servers');
  await page.locator('.section.servers h1').waitFor();
  await go(page, 'Tools');
  await page.getByRole('link', { name: /^scene ?asks first/ }).click();
  assert.equal(await page.getByLabel('Reason').inputValue(), 'not now');
  await page.getByRole('button', { name: 'Deny' }).click();
  await says(page, '.bench .outcome', 'not now');
});

// In a page that was opened afterwards, the call is held, and is decided in its panel; also on a phone.
await visit(async ({ window }) => {
  const held = call('scene', args);
  const id = await until(
    'the held call',
    async () => (await (await fetch(`${base}/api/approvals`)).json()).approvals[0]?.call_id,
  );
  const { open } = await window({ viewport: { width: 390, height: 800 } });
  const page = await open('/live');
  await says(page, '.rows-space .chip', 'held');
  await says(page, '#held-menu', '1');
  await page.goto(`${base}/calls/${id}`);
  await says(page, '.detail-title .chip', 'held');
  await page.getByRole('button', { name: 'Allow once' }).click();
  assert.equal((await held).success, true);
  await says(page, '.detail-title .chip', 'ok');
  await page.locator('#held-menu').waitFor({ state: 'hidden' });
});

// A notification, after a click that asks for the permission, if the page is not in front.
await visit(async ({ window }) => {
  const { context, open } = await window();
  await context.addInitScript(() => {
    const told = [];
    window.told = told;
    class Notification extends EventTarget {
      static permission = 'default';
      static async requestPermission() {
        Notification.permission = 'granted';
      }
      constructor(title) {
        super();
        told.push(title);
      }
      close() {}
    }
    window.Notification = Notification;
    document.hasFocus = () => false;
  });
  const page = await open('/approvals');
  await page.getByRole('button', { name: 'Notify me' }).click();
  await page.getByRole('button', { name: 'Notify me' }).waitFor({ state: 'hidden' });
  const held = call('scene', args);
  await page.waitForFunction(() => window.told[0] === 'scene waits for you');
  await page.getByRole('button', { name: 'Deny' }).click();
  assert.equal((await held).error_kind, 'denied');
});

// For everybody: no finding of an accessibility audit in any section, light and dark, wide and narrow; and all of it by key.

import assert from 'node:assert/strict';
import { audit, call, says, visit } from './browser.mjs';

const SECTIONS = {
  '/live': '.rows-space .call-row',
  '/live?view=waterfall': '.lane',
  '/tools': '.tool-list a',
  '/tools/scene': '.bench',
  '/servers/things': '.stderr-line',
  '/overview': '.chart svg',
  '/chat': '.chat-log .empty',
  '/runs': '.run-list .empty',
  '/approvals': '.held',
  '/connect': '.config',
  '/policy': '.table-frame',
};

await visit(async ({ window }) => {
  await fetch(`${process.argv[2]}/api/tokens`, { method: 'POST', body: '{"name":"reach","tools":["e*"]}' });
  const { call_id: id } = await call('math_eval', { expression: '1+1' }, { 'X-Conversation': 'reach' });
  const { call_id: other } = await call('math_eval', {});
  const held = call('scene', { room: 'kitchen', lights: [] });
  const places = { ...SECTIONS, [`/calls/${id}`]: '.timings', [`/live?call=${id}&compare=${other}`]: '.two-line' };
  for (const colorScheme of ['light', 'dark']) {
    for (const viewport of [
      { width: 1280, height: 800 },
      { width: 390, height: 800 },
    ]) {
      const { context, open } = await window({ colorScheme, viewport });
      for (const [path, sign] of Object.entries(places)) {
        const page = await open(path);
        if (!(viewport.width < 500 && path === '/tools'))
          await page.locator(sign).first().waitFor({ state: 'attached' });
        assert.deepEqual(await audit(page), [], `${path}, ${colorScheme}, ${viewport.width} wide`);
        const spill = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        assert(spill <= 0, `${path} is ${spill} pixels too wide at ${viewport.width}`);
        await page.close();
      }
      await context.close();
    }
  }

  // By key alone.
  const { open } = await window({ reducedMotion: 'reduce' });
  const page = await open('/live');
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to content');
  for (const [key, section] of [
    ['t', 'tools'],
    ['s', 'servers'],
    ['o', 'overview'],
    ['c', 'chat'],
    ['r', 'runs'],
    ['a', 'approvals'],
    ['n', 'connect'],
    ['p', 'policy'],
    ['l', 'live'],
  ]) {
    await page.keyboard.press('g');
    await page.keyboard.press(key);
    await page.waitForURL(new RegExp(`/${section}`));
    await page.locator(`.section.${section} h1`).waitFor();
    await page.evaluate(() => document.activeElement.blur());
  }
  // Pressed before the calls are there, it would select none.
  await page.locator('.rows-space .call-row:visible').first().waitFor();
  await page.keyboard.press('j');
  await page.locator('.detail-title').waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Shortcuts' }).waitFor();
  assert.deepEqual(await audit(page), []);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });

  // A narrow screen folds the navigation away.
  const phone = await (await window({ viewport: { width: 390, height: 800 } })).open('/live');
  assert.equal(await phone.locator('#sections').isVisible(), false);
  await phone.getByRole('button', { name: 'Menu' }).click();
  await phone.getByRole('link', { name: 'Servers' }).click();
  await says(phone, 'h1', 'Servers');
  assert.equal(await phone.locator('#sections').isVisible(), false);

  // The choice of a theme holds.
  await page.getByRole('button', { name: 'Theme: system' }).click();
  await page.getByRole('button', { name: 'Theme: light' }).click();
  await page.reload();
  await page.getByRole('button', { name: 'Theme: dark' }).waitFor();
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme), 'dark');

  const { approvals } = await (await fetch(`${process.argv[2]}/api/approvals`)).json();
  await fetch(`${process.argv[2]}/api/approvals/${approvals[0].id}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"decision":"deny"}',
  });
  await held;
});

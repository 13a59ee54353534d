// A config that was changed and refused is told above every section, until it is right again: `node refused.mjs ADDRESS FILE`.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { says, visit } from './browser.mjs';

const file = process.argv[3] ?? '';
const good = readFileSync(file, 'utf8');

await visit(async ({ window }) => {
  const { open } = await window();
  const page = await open('/tools');
  const banner = page.locator('#banner');
  assert.equal(await banner.isVisible(), false);

  writeFileSync(file, `${good}\n[executor]\ntimeot = "1s"\n`);
  await says(page, '#banner', 'did you mean `timeout`?');
  assert(await banner.isVisible());
  const text = await banner.innerText();
  assert(text.includes('the one before it still applies') && text.includes('switchboard.toml'), text);
  await page.locator('nav#sections').getByRole('link', { name: 'Live' }).click();
  await page.waitForURL(/\/live/);
  assert(await banner.isVisible());

  writeFileSync(file, good);
  await banner.waitFor({ state: 'hidden' });
});

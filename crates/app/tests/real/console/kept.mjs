// A chat that is kept: `node kept.mjs ADDRESS begin` begins one, and after `switchboard chat --resume` went on with it,
// `node kept.mjs ADDRESS read` finds what was said there.

import { says, visit } from './browser.mjs';

await visit(async ({ window }) => {
  const { open } = await window();
  const page = await open('/chat');
  if (process.argv[3] === 'begin') {
    await page.getByLabel('Message').fill('How long are 2 inches?');
    await page.getByLabel('Message').press('Enter');
    await says(page, '.said.model', 'These are 5.08 cm.');
    await says(page, '.chat-list', 'How long are 2 inches?');
  } else {
    await page.getByRole('link', { name: /How long are 2 inches/ }).click();
    await says(page, '.said.model >> nth=-1', 'And three are 7.62 cm.');
  }
});

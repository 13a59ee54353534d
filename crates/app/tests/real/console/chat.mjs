// Chat: a model's answer streams in, its calls stand where they happen, and it can be stopped.

import assert from 'node:assert/strict';
import { says, visit } from './browser.mjs';

await visit(async ({ window }) => {
  const { open } = await window();
  const page = await open('/chat');
  await page.getByText('Try a model with your tools').waitFor();
  await page.getByLabel('Message').fill('How long are 2 inches?');
  await page.getByLabel('Message').press('Enter');
  await says(page, '.chat-call', 'math_eval');
  await says(page, '.chat-call .chip', 'ok');
  await says(page, '.said.model', 'These are 5.08 cm.');
  await says(page, '.cost', 'tokens');
  await page.locator('.chat-call > summary').click();
  await says(page, '.chat-call pre', '5.08 cm');
  // In order: what it said, what it called, what it answered.
  const text = await page.locator('.said.model').innerText();
  assert(
    text.indexOf('Let me') < text.indexOf('math_eval') && text.indexOf('math_eval') < text.indexOf('These are'),
    text,
  );

  // What a server answers twice, as text and as structure, the model read once, in its own lines.
  await page.getByLabel('Message').fill('What time is it?');
  await page.getByLabel('Message').press('Enter');
  await says(page, '.cost >> nth=1', 'tokens');
  await page.locator('.chat-call > summary').last().click();
  const read = await page.getByLabel('What the model read').last().innerText();
  assert.match(read, /^\{\n {2}"timezone": "UTC",\n/);
  assert(!read.includes('structuredContent'), read);

  // This one never ends by itself.
  await page.getByLabel('Message').fill('Think about it.');
  await page.getByRole('button', { name: 'Send' }).click();
  await says(page, '.said.model >> nth=-1', 'Let me think');
  await page.getByRole('button', { name: 'Stop' }).click();
  await says(page, '.said.model >> nth=-1', 'Stopped.');

  // It is kept: found again in another page, with its calls, and gone on with there.
  const other = await open('/chat');
  await other.getByRole('link', { name: /How long are 2 inches/ }).click();
  await says(other, '.said.model', 'These are 5.08 cm.');
  await says(other, '.chat-call .chip', 'ok');
  other.on('dialog', (dialog) => dialog.accept());
  await other.getByRole('button', { name: /^Delete the chat/ }).click();
  await says(other, '.chat-none', 'Chats are kept here');
  await other.close();

  // Its calls, as one conversation.
  await page.getByRole('link', { name: 'Its calls' }).click();
  await says(page, '.lane', 'math_eval');
  // Between them, the model's turns and what they cost.
  await says(page, '.lane-turn', '812 → 41 tokens');
  await says(page, '.conversation-head', 'tokens in');
});

// A line above every section if the config's last change was refused: what runs is then not what the file says.

import { get } from './api.js';
import { byId, fill, h } from './dom.js';
import { feed } from './feed.js';
import { ago } from './format.js';
import { mayAdminister } from './session.js';

/** How often it is looked for; the file itself is looked at once a second. */
const LOOK = 5000;

/** Begins to look. */
export function start() {
  if (!mayAdminister()) return;
  look();
  feed.watch((state) => state === 'live' && look());
  setInterval(() => document.visibilityState === 'visible' && look(), LOOK);
}

async function look() {
  /** @type {import('./types').ShownPolicy['refused']} */
  let refused;
  let file;
  try {
    ({ refused, file } = await get('/api/policy'));
  } catch {
    // Sections say what is wrong with the connection; a token may see less.
    return;
  }
  const banner = byId('banner');
  banner.hidden = !refused;
  if (!refused) return;
  const text = refused.error;
  if (banner.dataset.shown === text) return;
  banner.dataset.shown = text;
  fill(
    banner,
    h('strong', {}, 'The config was changed and refused; the one before it still applies. '),
    file && h('code', {}, file),
    ` (${ago(refused.at)})`,
    h('pre', { tabindex: '0', 'aria-label': 'What is wrong with the config' }, text),
  );
}

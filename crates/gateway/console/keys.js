// Shortcuts that reach everything: `/` to search, `g` and a letter to go somewhere, `?` for help.

import { h } from './dom.js';
import { navigate } from './router.js';

/** @type {[string, string, string][]} */
const PLACES = [
  ['l', '/live', 'Live'],
  ['t', '/tools', 'Tools'],
  ['s', '/servers', 'Servers'],
  ['o', '/overview', 'Overview'],
  ['c', '/chat', 'Chat'],
  ['r', '/runs', 'Runs'],
  ['a', '/approvals', 'Approvals'],
  ['n', '/connect', 'Connect'],
  ['p', '/policy', 'Policy and tokens'],
];

/** @type {[string, string][]} */
const OTHERS = [
  ['/', 'Search or filter'],
  ['j  k', 'Next and previous call'],
  ['Enter', 'Open the call'],
  ['p', 'Pause the live list, or go on'],
  ['Esc', 'Close what is open'],
  ['Ctrl Enter', 'Run the tool, send the message'],
  ['?', 'This help'],
];

/** How long a second key may take. */
const PATIENCE = 1500;

/** Listens for keys. */
export function start() {
  let waitsUntil = 0;
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const place = PLACES.find(([key]) => key === event.key);
    if (performance.now() < waitsUntil && place) {
      navigate(place[1]);
    } else if (event.key === '/') {
      const field = document.querySelector('main [data-search]');
      if (!(field instanceof HTMLElement)) return;
      field.focus();
    } else if (event.key === '?') {
      help();
    } else {
      waitsUntil = event.key === 'g' ? performance.now() + PATIENCE : 0;
      return;
    }
    waitsUntil = 0;
    event.preventDefault();
  });
}

/** Shows all keys. */
export function help() {
  const rows = [...PLACES.map(([key, , name]) => [`g ${key}`, `Go to ${name}`]), ...OTHERS];
  const dialog = h(
    'dialog',
    { 'aria-labelledby': 'keys-title', class: 'keys' },
    h('h2', { id: 'keys-title' }, 'Shortcuts'),
    h(
      'dl',
      { class: 'keys-list' },
      rows.map(([keys, what]) =>
        h(
          'div',
          {},
          h(
            'dt',
            {},
            String(keys)
              .split(/ +/)
              .map((key) => h('kbd', {}, key)),
          ),
          h('dd', {}, what),
        ),
      ),
    ),
    h('form', { method: 'dialog' }, h('button', {}, 'Close')),
  );
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** @param {EventTarget | null} target */
export function isTyping(target) {
  if (!(target instanceof HTMLElement)) return false;
  return (
    target.isContentEditable ||
    ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName) ||
    target.closest('dialog') !== null
  );
}

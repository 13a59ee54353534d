// JSON as a tree that opens where one looks: children are made when they are first shown.

import { h } from './dom.js';
import { digits, isObject, write } from './json.js';
import { copy } from './widgets.js';

/** @import { Json } from './types' */

/** How many children are shown at once. */
const PAGE = 100;
/** How much of a text is shown at once. */
const TEXT = 600;

/**
 * A value with a button that copies it.
 * @param {Json | undefined} value
 * @param {string} what
 */
export function json(value, what) {
  return h(
    'div',
    { class: 'json' },
    copy(() => (typeof value === 'string' ? value : write(value, 2)), what),
    tree(value),
  );
}

/**
 * @param {Json | undefined} value
 * @param {string | null} [key] under which it stands
 * @param {number} [depth]
 * @returns {HTMLElement}
 */
function tree(value, key = null, depth = 0) {
  const name = key === null ? null : h('span', { class: 'json-key' }, key);
  const entries = entriesOf(value);
  if (entries && entries.length > 0) {
    const size = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
    return branch(h('summary', {}, name, ' ', size), entries, depth);
  }
  const bare = Array.isArray(value) ? '[]' : '{}';
  return h('div', {}, name, ' ', entries ? h('span', { class: 'json-leaf' }, bare) : leaf(value));
}

/**
 * What it is made of, where it is made of anything.
 * @param {Json | undefined} value
 * @returns {[string, Json][] | null}
 */
function entriesOf(value) {
  if (Array.isArray(value)) return value.map((item, index) => [String(index), item]);
  return isObject(value) ? Object.entries(value) : null;
}

/**
 * @param {HTMLElement} summary
 * @param {[string, Json][]} entries
 * @param {number} depth
 */
function branch(summary, entries, depth) {
  const list = h('ul', { class: 'json-list' });
  const isOpen = depth < 2 && entries.length <= PAGE;
  const details = h('details', { class: 'json-branch', open: isOpen }, summary, list);
  let made = 0;
  const more = () => {
    const next = entries.slice(made, made + PAGE);
    made += next.length;
    list.append(...next.map(([key, item]) => h('li', {}, tree(item, key, depth + 1))));
    if (made < entries.length) {
      const button = h('button', { type: 'button', class: 'plain small' }, `Show more (${entries.length - made} left)`);
      button.addEventListener('click', () => {
        item.remove();
        more();
      });
      const item = h('li', {}, button);
      list.append(item);
    }
  };
  if (isOpen) more();
  else details.addEventListener('toggle', more, { once: true });
  return details;
}

/** @param {Json | undefined} value */
function leaf(value) {
  const exact = digits(value);
  if (exact !== null) return h('span', { class: 'json-leaf number' }, exact);
  if (typeof value !== 'string') return h('span', { class: `json-leaf ${typeof value}` }, String(value));
  const shown = h('span', {}, value.length > TEXT ? `${value.slice(0, TEXT)}…` : value);
  const text = h('span', { class: 'json-leaf string' }, shown);
  if (value.length > TEXT) {
    const button = h(
      'button',
      { type: 'button', class: 'plain small' },
      `Show all ${value.length.toLocaleString('en')} characters`,
    );
    button.addEventListener('click', () => {
      shown.textContent = value;
      button.remove();
    });
    text.append(' ', button);
  }
  return text;
}

// Small pieces that every section uses.

import { byId, fill, h } from './dom.js';
import { tone, words } from './format.js';
import { get, Problem } from './api.js';
import { icon } from './icons.js';

/** @import { Child } from './dom.js' */

/**
 * How something ended or stands: a coloured dot and the word, for colour alone tells not everybody.
 * @param {string} outcome
 */
export function chip(outcome) {
  return h('span', { class: `chip ${tone(outcome)}` }, words(outcome));
}

/**
 * The head of a section: its title, and what stands beside it.
 * @param {string} title
 * @param {...Child} beside
 */
export function head(title, ...beside) {
  return h('div', { class: 'head' }, h('h1', {}, title), h('div', { class: 'beside' }, beside));
}

/**
 * Nothing to show, why, and what to do about it.
 * @param {string} title
 * @param {...Child} advice
 */
export function empty(title, ...advice) {
  const section = document.querySelector('nav [aria-current]')?.getAttribute('data-section') ?? '';
  return h(
    'div',
    { class: 'empty' },
    h('span', { class: 'empty-icon' }, icon(section, 20)),
    h('p', { class: 'title' }, title),
    h('p', {}, advice),
  );
}

/** @param {string} [what] */
export function loading(what = 'Loading…') {
  return h('p', { class: 'loading', role: 'status' }, what);
}

/**
 * What went wrong, and a way to try again.
 * @param {unknown} error
 * @param {() => void} [again]
 */
export function trouble(error, again) {
  const text = error instanceof Error ? error.message : String(error);
  const hint = error instanceof Problem ? error.hint : null;
  return h(
    'div',
    { class: 'trouble', role: 'alert' },
    h('p', { class: 'title' }, text),
    hint && h('p', {}, hint),
    again && h('button', { type: 'button', onclick: again }, 'Try again'),
  );
}

/**
 * A button that copies a text.
 * @param {() => string} text
 * @param {string} what for those who cannot see what it belongs to
 */
export function copy(text, what) {
  const button = h('button', { type: 'button', class: 'plain small', 'aria-label': `Copy ${what}` }, 'Copy');
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = 'Copied';
    } catch {
      button.textContent = 'Cannot copy here';
    }
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 1500);
  });
  return button;
}

/**
 * Says something in passing.
 * @param {string} text
 * @param {'ok' | 'bad'} [kind]
 */
export function toast(text, kind = 'ok') {
  const note = h('p', { class: `toast ${kind}` }, text);
  byId('toasts').append(note);
  setTimeout(() => note.remove(), kind === 'bad' ? 8000 : 4000);
}

/**
 * A name and its value, below one another.
 * @param {[string, Child][]} all those without a value are left out
 */
export function facts(all) {
  const given = all.filter(([, value]) => value !== null && value !== undefined && value !== '' && value !== false);
  return h(
    'dl',
    { class: 'facts' },
    given.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))),
  );
}

/**
 * Buttons of which one is pressed.
 * @param {string} label
 * @param {[string, string][]} choices values and their words
 * @param {string} chosen
 * @param {(value: string) => void} choose
 */
export function segments(label, choices, chosen, choose) {
  const buttons = choices.map(([value, text]) =>
    h(
      'button',
      {
        type: 'button',
        'aria-pressed': String(value === chosen),
        'data-value': value,
        onclick: () => {
          press(value);
          choose(value);
        },
      },
      text,
    ),
  );
  /** @param {string} value */
  const press = (value) =>
    buttons.forEach((button) => button.setAttribute('aria-pressed', String(button.dataset.value === value)));
  return { element: h('div', { class: 'segments', role: 'group', 'aria-label': label }, buttons), press };
}

/**
 * The switch between the calls of this gateway and those of all nodes; hidden unless the gateway is one of a cluster.
 * @param {(isWide: boolean) => void} choose
 */
export function scopes(choose) {
  /** @type {[string, string][]} */
  const choices = [
    ['gateway', 'This gateway'],
    ['cluster', 'All nodes'],
  ];
  const { element, press } = segments('Calls of', choices, 'gateway', (scope) => choose(scope === 'cluster'));
  element.hidden = true;
  get('/api/gateway').then(
    ({ cluster }) => (element.hidden = !cluster),
    // Without it, the calls of this gateway are shown.
    () => {},
  );
  return { element, press: (/** @type {boolean} */ isWide) => press(isWide ? 'cluster' : 'gateway') };
}

/**
 * A part of the page that is fetched: shows that it loads, what came, or what went wrong.
 * @param {Element} place
 * @param {() => Promise<Child | Child[]>} work
 */
export async function fetched(place, work) {
  const slow = setTimeout(() => fill(place, loading()), 150);
  try {
    fill(place, await work());
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') return;
    fill(
      place,
      trouble(error, () => fetched(place, work)),
    );
  } finally {
    clearTimeout(slow);
  }
}

// Views: filters that somebody gave a name. They are addresses, kept in this browser.

import { fill, h } from '../dom.js';
import { icon } from '../icons.js';
import { navigate } from '../router.js';
import { KEYS } from './filter.js';

/** @import { Filter } from './filter.js' */
/** @typedef {{ name: string, query: string }} SavedView */

const STORE = 'live-views';
/** What everybody has. @type {SavedView[]} */
const USUAL = [
  { name: 'All calls', query: '' },
  { name: 'Failed', query: 'outcome=failed' },
  { name: 'Held', query: 'outcome=held' },
  { name: 'Slower than a second', query: 'slow=1s' },
];

/** A menu of views. */
export class Views {
  #query = '';
  label = h('span', {}, 'Views');
  list = h('ul', { class: 'views-list' });
  name = h('input', {
    placeholder: 'Name this view',
    'aria-label': 'Name of the view',
    maxlength: '60',
    required: true,
  });
  saver = h('form', { class: 'views-save' }, this.name, h('button', { class: 'small' }, 'Save'));

  constructor() {
    this.element = h(
      'details',
      { class: 'menu-box' },
      h('summary', { class: 'button' }, icon('views', 14), this.label),
      h('div', { class: 'menu-body' }, this.list, this.saver),
    );
    this.saver.addEventListener('submit', (event) => {
      event.preventDefault();
      const name = this.name.value.trim();
      if (name === '') return;
      keep([...saved().filter((view) => view.name !== name), { name, query: this.#query }]);
      this.name.value = '';
      this.#draw();
    });
    this.element.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || !this.element.open) return;
      event.stopPropagation();
      this.element.open = false;
      this.element.querySelector('summary')?.focus();
    });
    this.element.addEventListener('focusout', ({ relatedTarget }) => {
      if (relatedTarget instanceof Node && !this.element.contains(relatedTarget)) this.element.open = false;
    });
  }

  /** @param {Filter} filter */
  show(filter) {
    const query = new URLSearchParams();
    for (const key of KEYS) if (filter.values[key]) query.set(key, filter.values[key]);
    this.#query = query.toString();
    this.saver.hidden = this.#query === '';
    this.#draw();
  }

  #draw() {
    const own = saved();
    const current = [...own, ...USUAL].find(({ query }) => query === this.#query);
    this.label.textContent = current && this.#query !== '' ? current.name : 'Views';
    fill(this.list, [...USUAL.map((view) => this.#entry(view, false)), ...own.map((view) => this.#entry(view, true))]);
  }

  /**
   * @param {SavedView} view
   * @param {boolean} isOwn
   */
  #entry(view, isOwn) {
    const address = `/live${view.query ? `?${view.query}` : ''}`;
    const go = (/** @type {Event} */ event) => {
      event.preventDefault();
      this.element.open = false;
      navigate(address);
    };
    const drop = () => {
      keep(saved().filter(({ name }) => name !== view.name));
      this.#draw();
    };
    const isCurrent = view.query === this.#query;
    return h(
      'li',
      {},
      h('a', { href: address, 'aria-current': isCurrent ? 'true' : null, onclick: go }, view.name),
      isOwn &&
        h(
          'button',
          { type: 'button', class: 'plain small', 'aria-label': `Forget the view ${view.name}`, onclick: drop },
          icon('close', 12),
        ),
    );
  }
}

/** @returns {SavedView[]} */
function saved() {
  try {
    const views = JSON.parse(localStorage.getItem(STORE) ?? '[]');
    return Array.isArray(views)
      ? views.filter((view) => typeof view?.name === 'string' && typeof view?.query === 'string')
      : [];
  } catch {
    return [];
  }
}

/** @param {SavedView[]} views */
function keep(views) {
  localStorage.setItem(STORE, JSON.stringify(views));
}

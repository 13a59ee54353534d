// The fields above the list. What is put in goes into the address, so that a view can be shared.

import { fill, h } from '../dom.js';
import { words } from '../format.js';
import { change } from '../router.js';
import { KEYS } from './filter.js';

/** @import { Filter } from './filter.js' */

const OUTCOMES = [
  'failed',
  'ok',
  'running',
  'held',
  'invalid_parameters',
  'denied',
  'timeout',
  'cancelled',
  'unavailable',
  'overloaded',
  'tool_error',
  'not_found',
  'unknown_server',
  'internal',
  'outcome_unknown',
];
/** What the fields are called, if not as the address calls them. @type {Record<string, string>} */
const NAMES = { text: 'Search', slow: 'Took', since: 'Time' };
/** The fields that suggest what is known. */
const SUGGESTED = ['server', 'caller', 'conversation'];
/** How long somebody must have stopped typing. */
const PAUSE = 200;

/** The fields. */
export class Bar {
  #typing = 0;
  /** @type {Record<string, HTMLInputElement | HTMLSelectElement>} */
  #fields = {
    text: text('Search', true),
    tool: text('Tool or glob*'),
    outcome: choice(
      'Outcome',
      OUTCOMES.map((outcome) => [outcome, words(outcome)]),
    ),
    server: text('Server'),
    caller: text('Caller'),
    conversation: text('Conversation'),
    slow: choice(
      'Duration',
      ['100ms', '1s', '10s'].map((limit) => [limit, `over ${limit}`]),
    ),
    since: choice('Time', [
      ['15m', 'last 15 min'],
      ['1h', 'last hour'],
      ['24h', 'last 24 h'],
      ['7d', 'last 7 days'],
    ]),
  };

  constructor() {
    const fields = Object.entries(this.#fields).map(([key, field]) =>
      h('label', {}, h('span', { class: 'unseen' }, NAMES[key] ?? key.charAt(0).toUpperCase() + key.slice(1)), field),
    );
    this.element = h(
      'form',
      { class: 'filters', role: 'search', 'aria-label': 'Filter calls' },
      fields,
      h('button', { type: 'reset', class: 'plain' }, 'Clear'),
    );
    for (const key of SUGGESTED) this.#fields[key]?.setAttribute('list', `known-${key}`);
    this.element.append(...SUGGESTED.map((key) => h('datalist', { id: `known-${key}` })));
    this.element.addEventListener('input', () => {
      clearTimeout(this.#typing);
      this.#typing = setTimeout(() => this.#apply(), PAUSE);
    });
    this.element.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#apply();
    });
    this.element.addEventListener('reset', () => change(Object.fromEntries(KEYS.map((key) => [key, null]))));
  }

  /**
   * Writes a filter into the fields, except where somebody is typing.
   * @param {Filter} filter
   */
  show(filter) {
    for (const [key, field] of Object.entries(this.#fields)) {
      if (field !== document.activeElement) field.value = filter.values[key] ?? '';
      field.classList.toggle('chosen', field.value !== '');
    }
  }

  /**
   * Suggests what the calls that are known have.
   * @param {Record<string, Set<string>>} known
   */
  suggest(known) {
    for (const key of SUGGESTED) {
      const list = this.element.querySelector(`#known-${key}`);
      const values = [...(known[key] ?? [])].slice(0, 50);
      if (list && list.childElementCount !== values.length) {
        fill(
          list,
          values.map((value) => h('option', { value })),
        );
      }
    }
  }

  #apply() {
    change(Object.fromEntries(Object.entries(this.#fields).map(([key, field]) => [key, field.value.trim()])), true);
  }
}

/**
 * @param {string} placeholder
 * @param {boolean} [isSearch] the `/` key leads here
 */
function text(placeholder, isSearch = false) {
  return h('input', { type: 'search', placeholder, spellcheck: 'false', autocomplete: 'off', 'data-search': isSearch });
}

/**
 * @param {string} any
 * @param {[string, string][]} choices
 */
function choice(any, choices) {
  return h(
    'select',
    {},
    h('option', { value: '' }, any),
    choices.map(([value, name]) => h('option', { value }, name)),
  );
}

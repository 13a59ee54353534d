// Tools: a list that can be searched, by server, and one of them in full.

import { get } from '../api.js';
import { fill, h } from '../dom.js';
import { count } from '../format.js';
import { change } from '../router.js';
import { mayAdminister } from '../session.js';
import { empty, head, loading, trouble } from '../widgets.js';
import * as cost from './cost.js';
import * as tool from './tool.js';

/** @import { Route, Tool, View } from '../types' */

/**
 * @param {HTMLElement} place
 * @param {Route} route
 * @returns {View}
 */
export function open(place, route) {
  const tools = new Tools(place);
  tools.update(route);
  return tools;
}

/** The section. */
class Tools {
  /** @type {Tool[] | null} */
  #all = null;
  #chosen = '';
  /** The tool that was scrolled to. */
  #scrolled = '';
  /** @type {{ close: () => void } | null} */
  #bench = null;
  search = h('input', {
    type: 'search',
    placeholder: 'Search tools',
    'aria-label': 'Search tools',
    'data-search': '',
    spellcheck: 'false',
    autocomplete: 'off',
    oninput: () => change({ q: this.search.value }, true),
  });
  list = h('nav', { class: 'tool-list', 'aria-label': 'Tools' }, loading());
  shown = h('div', { class: 'tool' });
  total = h('span', { class: 'figures', role: 'status' });

  /** @param {HTMLElement} place */
  constructor(place) {
    place.append(
      head('Tools', this.total),
      h('div', { class: 'split tools-split' }, h('div', { class: 'tool-side' }, this.search, this.list), this.shown),
    );
    this.#load();
  }

  close() {
    this.#bench?.close();
  }

  /** @param {Route} route */
  update(route) {
    const query = route.query.get('q') ?? '';
    if (this.search.value !== query) this.search.value = query;
    const name = route.path[1] ?? '';
    if (name !== this.#chosen || !this.shown.hasChildNodes()) this.#show(name, route.query.get('args'));
    this.#draw();
  }

  async #load() {
    try {
      const isFirst = this.#all === null;
      this.#all = await get(mayAdminister() ? '/api/tools?denied=1' : '/api/tools');
      // Only now it is known whether it can be opened at all.
      if (isFirst && this.#all?.some((one) => one.name === this.#chosen && one.denied)) this.#show(this.#chosen, null);
      this.#draw();
    } catch (error) {
      fill(
        this.list,
        trouble(error, () => this.#load()),
      );
    }
  }

  /**
   * @param {string} name
   * @param {string | null} args
   */
  #show(name, args) {
    this.#chosen = name;
    this.#bench?.close();
    this.#bench = null;
    this.shown.parentElement?.classList.toggle('chosen-one', name !== '');
    if (name) {
      const place = h('div', { class: 'tool-body' });
      fill(this.shown, h('a', { class: 'back', href: '/tools' }, 'All tools'), place);
      const denied = this.#all?.find((one) => one.name === name)?.denied;
      if (denied) fill(place, deniedNote(name, denied));
      else this.#bench = tool.open(place, name, args);
    } else {
      const costs = h('div', { class: 'tool-body' });
      fill(this.shown, empty('Choose a tool', 'It can be tried here, with a form made from its schema.'), costs);
      cost.open(costs);
    }
  }

  #draw() {
    if (!this.#all) return;
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = this.#all.filter((one) =>
      words.every((word) => `${one.name} ${one.description}`.toLowerCase().includes(word)),
    );
    this.total.textContent =
      found.length === this.#all.length
        ? `${count(found.length)} tools`
        : `${count(found.length)} of ${count(this.#all.length)} tools`;
    const servers = Map.groupBy(found, (one) => one.server ?? '');
    fill(
      this.list,
      found.length === 0 && empty('No tool matches', 'Search looks at names and descriptions.'),
      [...servers].map(([server, tools]) =>
        h(
          'section',
          {},
          h('h2', {}, server || 'Local', h('span', { class: 'muted' }, ` ${tools.length}`)),
          h(
            'ul',
            {},
            tools.map((one) => this.#entry(one)),
          ),
        ),
      ),
    );
    const current = this.list.querySelector('[aria-current]');
    if (current && this.#scrolled !== this.#chosen) current.scrollIntoView({ block: 'nearest' });
    this.#scrolled = this.#chosen;
  }

  /** @param {Tool} one */
  #entry(one) {
    const query = this.search.value ? `?q=${encodeURIComponent(this.search.value)}` : '';
    return h(
      'li',
      {},
      h(
        'a',
        {
          href: `/tools/${encodeURIComponent(one.name)}${query}`,
          'aria-current': one.name === this.#chosen ? 'true' : null,
        },
        h(
          'span',
          { class: 'tool-name' },
          one.server ? one.name.replace(`${one.server}__`, '') : one.name,
          one.denied && h('span', { class: 'mark bad', title: one.denied }, 'denied'),
          one.held && h('span', { class: 'mark warn', title: one.held }, 'asks first'),
        ),
        h('span', { class: 'tool-says' }, one.description),
      ),
    );
  }
}

/**
 * @param {string} name
 * @param {string} rule
 */
function deniedNote(name, rule) {
  return [
    h('h2', {}, name),
    h('p', { class: 'note' }, 'The policy denies every call of it: ', h('code', {}, rule)),
    h('p', {}, h('a', { href: '/policy' }, 'Policy and tokens')),
  ];
}

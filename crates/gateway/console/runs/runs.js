// Runs: what models were asked, newest first, and one of them turn by turn.

import { get } from '../api.js';
import { fill, h } from '../dom.js';
import { feed } from '../feed.js';
import { ago, count, price } from '../format.js';
import { chip, empty, head, loading, trouble } from '../widgets.js';
import { page } from './run.js';

/** @import { ListedRun, Route, RunDetail, Runs, View } from '../types' */

/** How many more are asked for at once. */
const PAGE = 50;
/** The most that the gateway gives at once. */
const MOST = 1000;
/** How long after an event the list is read again, and how often while something runs. */
const SOON = 500;
const OFTEN = 2000;

/**
 * @param {HTMLElement} place
 * @param {Route} route
 * @returns {View}
 */
export function open(place, route) {
  const section = new RunsSection(place);
  section.update(route);
  return section;
}

/** The section. */
class RunsSection {
  /** @type {ListedRun[]} */
  #runs = [];
  #hasMore = false;
  #chosen = '';
  /** The text of what is drawn of the run: what has not changed stays, so that what was opened does. */
  #drawn = '';
  #timer = 0;
  #isClosed = false;
  #unfollow;
  list = h('nav', { class: 'run-list', 'aria-label': 'Runs' }, loading());
  shown = h('div', { class: 'run', tabindex: '0', role: 'region', 'aria-label': 'Run' });
  split = h('div', { class: 'split runs-split' }, this.list, this.shown);

  /** @param {HTMLElement} place */
  constructor(place) {
    place.append(head('Runs'), this.split);
    this.#unfollow = feed.follow((events) => {
      if (events.some(({ type }) => type === 'turn_ended' || type === 'call_ended')) this.#later(SOON);
    });
    this.#load();
  }

  close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#unfollow();
  }

  /** @param {Route} route */
  update(route) {
    this.#chosen = route.path[1] ?? '';
    this.#drawn = '';
    this.split.classList.toggle('chosen-one', this.#chosen !== '');
    this.#draw();
    this.#show();
  }

  /** @param {number} wait */
  #later(wait) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#load();
      this.#show();
    }, wait);
  }

  /** Reads as many runs again as are shown. */
  async #load() {
    try {
      const limit = Math.min(MOST, Math.max(PAGE, this.#runs.length));
      /** @type {Runs} */
      const { recorded, runs } = await get(`/api/runs?limit=${limit}`);
      if (this.#isClosed) return;
      this.#runs = runs;
      this.#hasMore = runs.length === limit;
      this.#draw(recorded);
      if (runs.some(({ state }) => state === 'running')) this.#later(OFTEN);
    } catch (error) {
      fill(
        this.list,
        trouble(error, () => this.#load()),
      );
    }
  }

  async #more() {
    const last = this.#runs.at(-1);
    /** @type {Runs} */
    const { runs } = await get(`/api/runs?limit=${PAGE}&after=${last?.id}`);
    this.#runs.push(...runs);
    this.#hasMore = runs.length === PAGE;
    this.#draw();
  }

  #draw(isRecorded = true) {
    if (this.#runs.length === 0) {
      const advice = isRecorded
        ? ['Ask something in ', h('a', { href: '/chat' }, 'Chat'), ', or with ', h('code', {}, 'switchboard ask'), '.']
        : ['The config says ', h('code', {}, '[audit] enabled = false'), '.'];
      fill(this.list, empty(isRecorded ? 'No runs yet' : 'Runs are not recorded', ...advice));
      return;
    }
    fill(
      this.list,
      h(
        'ul',
        {},
        this.#runs.map((run) => this.#entry(run)),
      ),
      this.#hasMore &&
        h('button', { type: 'button', class: 'plain', onclick: () => this.#more() }, 'Show earlier runs'),
    );
  }

  /** @param {ListedRun} run */
  #entry(run) {
    const facts = [
      run.model,
      run.calls > 0 && `${count(run.calls)} ${run.calls === 1 ? 'call' : 'calls'}`,
      run.cost !== undefined && price(run.cost),
      run.caller,
      ago(run.started),
    ];
    return h(
      'li',
      {},
      h(
        'a',
        { href: `/runs/${run.id}`, 'aria-current': run.id === this.#chosen ? 'true' : null },
        h('span', { class: 'run-question' }, run.question || 'Nothing was asked'),
        h(
          'span',
          { class: 'run-facts' },
          run.state !== 'ended' && chip(run.state),
          h('span', { class: 'muted' }, facts.filter(Boolean).join(' · ')),
        ),
      ),
    );
  }

  async #show() {
    const id = this.#chosen;
    if (!id) {
      fill(
        this.shown,
        empty('Choose a run', 'Each is one question, with everything that the model did for its answer.'),
      );
      return;
    }
    if (!this.#drawn) fill(this.shown, loading());
    try {
      /** @type {RunDetail} */
      const run = await get(`/api/runs/${encodeURIComponent(id)}`);
      const text = JSON.stringify(run);
      if (this.#isClosed || id !== this.#chosen || text === this.#drawn) return;
      this.#drawn = text;
      fill(this.shown, h('a', { class: 'back', href: '/runs' }, 'All runs'), page(run));
    } catch (error) {
      if (id !== this.#chosen) return;
      fill(
        this.shown,
        trouble(error, () => this.#show()),
      );
    }
  }
}

// Live: calls as they happen, as a list or by conversation, and one of them in full.

import { get } from '../api.js';
import { fill, h } from '../dom.js';
import { feed } from '../feed.js';
import { count, moment } from '../format.js';
import * as held from '../held.js';
import { icon } from '../icons.js';
import { isTyping } from '../keys.js';
import { change, navigate } from '../router.js';
import { empty, head, scopes, segments, toast, trouble } from '../widgets.js';
import { Bar } from './bar.js';
import { Calls } from './calls.js';
import { detail } from './detail.js';
import { download } from './export.js';
import { Filter } from './filter.js';
import { Rows } from './rows.js';
import { compare } from './compare.js';
import { Turns } from './turns.js';
import { Views } from './views.js';
import { Waterfall } from './waterfall.js';

/** @import { Route, View } from '../types' */

/** How often the waterfall is drawn again. */
const REDRAW = 250;

/**
 * @param {HTMLElement} place
 * @param {Route} route
 * @returns {View}
 */
export function open(place, route) {
  const live = new Live(place);
  live.update(route);
  return live;
}

/** The section. */
class Live {
  #calls = new Calls();
  #rows = new Rows(openAt, () => this.#look());
  #waterfall = new Waterfall(openAt);
  #turns = new Turns();
  #filter = new Filter(new URLSearchParams('tool=?'));
  /** What was on the screen when the list was told to stand still. @type {{ calls: import('../types').Call[], came: number } | null} */
  #still = null;
  #isPaused = false;
  #isUnderPointer = false;
  #frame = 0;
  #drawn = 0;
  #selected = '';
  /** The call that is compared with the selected one, or waits for one. */
  #compared = '';
  #view = 'list';
  #isLoaded = false;
  /** Why the records could not be read. @type {unknown} */
  #failure = null;
  #rate = { seen: 0, at: performance.now() };
  /** @type {{ element: HTMLElement, load: () => void, close: () => void } | null} */
  #detail = null;
  bar = new Bar();
  saved = new Views();
  figures = h('span', { class: 'figures' });
  views = segments(
    'View',
    [
      ['list', 'List'],
      ['waterfall', 'Waterfall'],
    ],
    'list',
    (view) => change({ view: view === 'list' ? null : view }),
  );
  /** Of which calls. */
  scope = scopes((isWide) => change({ scope: isWide ? 'cluster' : null }));
  pause = h('button', { type: 'button', 'aria-pressed': 'false', onclick: () => this.#toggle() }, 'Pause');
  save = h(
    'button',
    { type: 'button', title: 'Saves the calls that the filter lets through', onclick: () => this.#save() },
    icon('export', 14),
    'Export',
  );
  waiting = h('button', { type: 'button', class: 'new-calls', hidden: true, onclick: () => this.#resume() });
  stage = h('div', { class: 'stage' });
  nothing = h('div', { class: 'stage-empty' });
  panel = h('div', { class: 'panel', hidden: true });
  choosing = h('div', { class: 'choosing', role: 'status', hidden: true });

  /** @param {HTMLElement} place */
  constructor(place) {
    place.append(
      head('Live', this.figures, this.scope.element, this.views.element, this.saved.element, this.save, this.pause),
      this.bar.element,
      this.choosing,
      h('div', { class: 'split' }, h('div', { class: 'stage-frame' }, this.waiting, this.stage), this.panel),
    );
    const hover = (/** @type {boolean} */ isOver) => {
      this.#isUnderPointer = isOver;
      this.#look();
    };
    this.#rows.view.addEventListener('pointerenter', (event) => hover(event.pointerType === 'mouse'));
    this.#rows.view.addEventListener('pointerleave', () => hover(false));
    const stop = feed.follow(
      (events) => this.#take(events),
      () => this.#load(),
    );
    const unwatch = feed.watch((state) => {
      // What was opened while the gateway was away is read when it is back.
      if (state === 'live' && this.#failure) this.#load();
    });
    const release = held.watch((approvals) => {
      this.#calls.hold(approvals.map(({ call_id: id }) => id ?? ''));
      this.#draw();
    });
    const beat = setInterval(() => this.#count(), 1000);
    this.#turns.load().then(() => this.#draw());
    this.bar.element.addEventListener('focusin', () => this.bar.suggest(this.#calls.known()));
    const onKey = (/** @type {KeyboardEvent} */ event) => this.#key(event);
    document.addEventListener('keydown', onKey);
    this.close = () => {
      feed.widen(false);
      stop();
      unwatch();
      release();
      this.#detail?.close();
      clearInterval(beat);
      cancelAnimationFrame(this.#frame);
      document.removeEventListener('keydown', onKey);
      this.#rows.close();
    };
  }

  /** @param {Route} route */
  update(route) {
    const filter = new Filter(route.query);
    const view = route.query.get('view') === 'waterfall' ? 'waterfall' : 'list';
    if (!filter.equals(this.#filter)) {
      if (filter.isWide !== feed.isWide) this.#calls.clear();
      feed.widen(filter.isWide);
      this.scope.press(filter.isWide);
      this.#filter = filter;
      this.#still = null;
      this.#isLoaded = false;
      this.#calls.filter(filter);
      this.bar.show(filter);
      this.saved.show(filter);
      this.#load();
    }
    this.#view = view;
    this.views.press(view);
    fill(this.stage, view === 'waterfall' ? this.#waterfall.element : this.#rows.element, this.nothing);
    const call = route.path[0] === 'calls' ? (route.path[1] ?? '') : (route.query.get('call') ?? '');
    this.#select(call, route.query.get('compare') ?? '');
    this.#draw();
  }

  async #load() {
    const filter = this.#filter;
    try {
      const calls = await get(`/api/calls?${filter.question()}`);
      if (filter !== this.#filter) return;
      for (const call of calls) call.found = filter.values.text;
      this.#calls.add(calls);
      this.#failure = null;
    } catch (error) {
      this.#failure = error;
    }
    this.#isLoaded = true;
    this.#draw();
    this.#look();
  }

  /** @param {import('../types').LiveEvent[]} events */
  #take(events) {
    this.#calls.take(events);
    this.#turns.take(events);
    const ended = events.some(({ type, id }) => type === 'call_ended' && id === this.#selected);
    if (ended) this.#detail?.load();
    // However many batches come, the page is drawn once a frame.
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  #draw() {
    const calls = this.#still?.calls ?? this.#calls.shown;
    if (this.#view === 'list') {
      this.#rows.show(calls);
    } else if (performance.now() - this.#drawn > REDRAW) {
      this.#drawn = performance.now();
      this.#waterfall.show(calls, this.#turns.byConversation(), (name) => this.#filter.hasConversation(name));
    } else {
      this.#frame ||= requestAnimationFrame(() => {
        this.#frame = 0;
        this.#draw();
      });
    }
    const isEmpty = this.#isLoaded && calls.length === 0 && this.#view === 'list';
    fill(
      this.nothing,
      this.#failure ? trouble(this.#failure, () => this.#load()) : null,
      isEmpty &&
        !this.#failure &&
        (this.#filter.isEmpty
          ? empty(
              'No calls yet',
              'They appear here as they happen. Make one in ',
              h('a', { href: '/tools' }, 'Tools'),
              ', ask a model in ',
              h('a', { href: '/chat' }, 'Chat'),
              ', or ',
              h('a', { href: '/connect' }, 'connect a client'),
              '.',
            )
          : empty('No call matches', 'Calls that match will appear here as they happen. ', clearLink())),
    );
    this.#fresh();
  }

  async #save() {
    this.save.disabled = true;
    try {
      const oldest = await download(this.#filter);
      if (oldest) {
        toast(`Calls before ${moment(oldest)} are not in the file; “switchboard calls export” saves all`, 'bad');
      }
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), 'bad');
    }
    this.save.disabled = false;
  }

  /** Stands still while somebody reads, so that nothing moves away under the pointer. */
  #look() {
    // Before the records are there, there is nothing to read: a click that led here leaves the pointer over the list.
    const wantsStill = this.#isLoaded && (this.#isPaused || this.#isUnderPointer || !this.#rows.isAtTop);
    if (wantsStill && !this.#still) this.#still = { calls: this.#calls.shown.slice(), came: this.#calls.came };
    if (!wantsStill && this.#still) {
      this.#still = null;
      this.#draw();
    }
    this.#fresh();
  }

  #fresh() {
    const fresh = this.#still ? this.#calls.came - this.#still.came : 0;
    this.waiting.hidden = fresh === 0;
    if (fresh > 0) this.waiting.textContent = `${count(fresh)} new ${fresh === 1 ? 'call' : 'calls'}: show`;
  }

  #toggle() {
    this.#isPaused = !this.#isPaused;
    this.pause.setAttribute('aria-pressed', String(this.#isPaused));
    this.pause.textContent = this.#isPaused ? 'Go on' : 'Pause';
    this.#look();
  }

  #resume() {
    if (this.#isPaused) this.#toggle();
    this.#rows.top();
    this.#still = null;
    this.#draw();
  }

  /**
   * @param {string} id
   * @param {string} other the call to compare it with
   */
  #select(id, other) {
    if (id === this.#selected && other === this.#compared) return;
    this.#selected = id;
    this.#compared = other;
    this.#rows.select(id);
    this.panel.hidden = id === '';
    this.panel.classList.toggle('wide', id !== '' && other !== '');
    this.choosing.hidden = other === '' || id !== '';
    if (!this.choosing.hidden) fill(this.choosing, choosingNote(other));
    this.#detail?.close();
    this.#detail = id === '' ? null : other === '' ? detail(id, closed) : compare(other, id, closed);
    fill(this.panel, this.#detail?.element);
    this.#detail?.element.focus({ preventScroll: true });
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (event.key === 'j' || event.key === 'k') {
      const call = this.#view === 'list' ? this.#rows.beside(event.key === 'j' ? 1 : -1) : undefined;
      if (call) navigate(openAt(call.id), true);
    } else if (event.key === 'p') {
      this.#toggle();
    } else if (event.key === 'Escape' && this.#selected) {
      closed();
    }
  }

  #count() {
    const now = performance.now();
    const rate = Math.round(((this.#calls.seen - this.#rate.seen) / (now - this.#rate.at)) * 1000);
    this.#rate = { seen: this.#calls.seen, at: now };
    const many = (/** @type {string} */ wanted) => this.#calls.shown.filter(({ outcome }) => outcome === wanted).length;
    const waiting = many('held');
    this.figures.textContent = [
      `${count(rate)}/s`,
      `${count(many('running'))} running`,
      waiting > 0 && `${count(waiting)} held`,
      `${count(this.#calls.shown.length)} shown`,
    ]
      .filter(Boolean)
      .join(' · ');
  }
}

/** What is to be done while a second call is chosen. @param {string} id */
function choosingNote(id) {
  return [
    h('span', {}, 'Choose the call to compare with ', h('code', {}, id), '.'),
    h('button', { type: 'button', class: 'small', onclick: () => navigate(openAt(id)) }, 'Cancel'),
  ];
}

function clearLink() {
  return h('a', { href: '/live' }, 'Clear the filter');
}

/**
 * The address of this view with a call open.
 * @param {string} id
 */
function openAt(id) {
  const query = new URLSearchParams(location.search);
  // A comparison that is there already, or was left, ends; one that waits for its second call gets it.
  if (query.has('call') || query.get('compare') === id) query.delete('compare');
  query.set('call', id);
  return `/live?${query}`;
}

function closed() {
  const query = new URLSearchParams(location.search);
  query.delete('call');
  query.delete('compare');
  navigate(`/live${query.size > 0 ? `?${query}` : ''}`);
}

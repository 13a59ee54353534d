// What happens, as it happens: one stream of events for the whole page.

import { signedOut } from './api.js';

/** @import { LiveEvent } from './types' */

/** @typedef {'connecting' | 'live' | 'reconnecting' | 'off'} State */

/** How long to wait before a stream that was closed for good is opened again. */
const PAUSE = 3000;

/** The stream, and those who follow it. */
class Feed {
  /** @type {State} */
  state = 'off';
  /** Whether the calls of all nodes of a cluster are told, not of this gateway alone. */
  isWide = false;
  /** @type {EventSource | null} */
  #source = null;
  /** @type {Set<(events: LiveEvent[]) => void>} */
  #followers = new Set();
  /** @type {Set<(state: State) => void>} */
  #watchers = new Set();
  /** @type {Set<() => void>} */
  #losers = new Set();
  #again = 0;

  /** Opens the stream. */
  open() {
    this.close();
    this.#tell('connecting');
    const source = new EventSource(`/api/events?batch=100ms${this.isWide ? '&cluster=true' : ''}`);
    this.#source = source;
    source.addEventListener('open', () => this.#tell('live'));
    source.addEventListener('message', (message) => this.#take(message.data));
    source.addEventListener('missed', () => this.#losers.forEach((lost) => lost()));
    source.addEventListener('error', () => {
      this.#tell('reconnecting');
      // The browser tries again by itself, except where it was told off: perhaps the session is over.
      if (source.readyState !== EventSource.CLOSED) return;
      signedOut.dispatchEvent(new Event('out'));
      this.#again = setTimeout(() => this.open(), PAUSE);
    });
  }

  /**
   * Follows the calls of all nodes, or of this gateway alone.
   * @param {boolean} isWide
   */
  widen(isWide) {
    if (isWide === this.isWide) return;
    this.isWide = isWide;
    if (!this.#source) return;
    this.open();
    // What happened between the two streams was told by neither.
    this.#source.addEventListener('open', () => this.#losers.forEach((lost) => lost()), { once: true });
  }

  /** Closes it. */
  close() {
    clearTimeout(this.#again);
    this.#source?.close();
    this.#source = null;
    this.#tell('off');
  }

  /**
   * Calls `follow` with every batch of events, until the returned function is called.
   * @param {(events: LiveEvent[]) => void} follow
   * @param {() => void} [lost] called where some are missing
   */
  follow(follow, lost) {
    this.#followers.add(follow);
    if (lost) this.#losers.add(lost);
    return () => {
      this.#followers.delete(follow);
      if (lost) this.#losers.delete(lost);
    };
  }

  /**
   * Calls `watch` with the state, now and whenever it changes.
   * @param {(state: State) => void} watch
   */
  watch(watch) {
    this.#watchers.add(watch);
    watch(this.state);
    return () => this.#watchers.delete(watch);
  }

  /** @param {string} data */
  #take(data) {
    const events = JSON.parse(data);
    const batch = Array.isArray(events) ? events : [events];
    for (const follow of this.#followers) follow(batch);
  }

  /** @param {State} state */
  #tell(state) {
    if (state === this.state) return;
    this.state = state;
    for (const watch of this.#watchers) watch(state);
  }
}

export const feed = new Feed();

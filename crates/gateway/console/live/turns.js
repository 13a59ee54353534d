// The turns of models between calls: the gateway knows the latest, and tells of each as it ends.

import { get } from '../api.js';

/** @import { LiveEvent, Turn } from '../types' */

/** How many are kept. */
const MOST = 2000;

/** The turns, by conversation, oldest first. */
export class Turns {
  /** @type {Map<string, Turn>} */
  #byId = new Map();

  /** Reads those that were before the page was opened. */
  async load() {
    try {
      /** @type {Turn[]} */
      const turns = await get('/api/turns');
      for (const turn of turns) this.#byId.set(turn.id, turn);
    } catch {
      // The calls say what is wrong; without turns they are shown all the same.
    }
  }

  /** @param {LiveEvent[]} events */
  take(events) {
    for (const event of events) {
      if (event.type === 'turn_ended') this.#byId.set(event.id, /** @type {any} */ (event));
    }
    while (this.#byId.size > MOST) this.#byId.delete(/** @type {string} */ (this.#byId.keys().next().value));
  }

  /** Those with a conversation. */
  byConversation() {
    return Map.groupBy(
      [...this.#byId.values()].filter(({ conversation }) => conversation),
      ({ conversation }) => conversation ?? '',
    );
  }
}

// The calls of the live list: what happened lately, bounded, and which of them the filter lets through.

import { serverOf } from './filter.js';

/** @import { Call, LiveEvent } from '../types' */
/** @import { Filter } from './filter.js' */

/** How many calls are kept; older ones are in the records. */
export const MOST = 5000;
/** How many may be too many before the oldest are let go: one by one would cost a copy each. */
const SLACK = 1000;

/** The calls, oldest first. */
export class Calls {
  /** @type {Map<string, Call>} */
  #byId = new Map();
  /** @type {Call[]} */
  #all = [];
  /** Those that the filter lets through, oldest first. @type {Call[]} */
  shown = [];
  /** How many have come through the filter since the page was opened. */
  came = 0;
  /** How many calls have begun, whatever the filter says. */
  seen = 0;
  /** @type {(call: Call) => boolean} */
  #passes = () => true;
  /** The calls that wait for a person: records only say that they have not ended. @type {Set<string>} */
  #held = new Set();

  /** @param {Filter} filter */
  filter(filter) {
    this.#passes = filter.matcher();
    this.shown = this.#all.filter(this.#passes);
  }

  /** @param {string} id */
  get(id) {
    return this.#byId.get(id);
  }

  /** What the calls have that a filter can ask for. */
  known() {
    const known = { server: new Set(), caller: new Set(), conversation: new Set() };
    for (let at = this.#all.length - 1; at >= 0; at -= 1) {
      const call = this.#all[at];
      if (!call) continue;
      const server = serverOf(call);
      if (server) known.server.add(server);
      if (call.caller) known.caller.add(call.caller);
      if (call.conversation) known.conversation.add(call.conversation);
    }
    return known;
  }

  clear() {
    this.#byId.clear();
    this.#all = [];
    this.shown = [];
  }

  /**
   * Takes calls from the records, which may be known already.
   * @param {Call[]} calls
   */
  add(calls) {
    for (const call of calls) {
      const known = this.#byId.get(call.id);
      if (known) Object.assign(known, call);
      else this.#byId.set(call.id, call);
    }
    this.#mark();
    // Ids are in the order of time.
    this.#all = [...this.#byId.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
    this.#trim(0);
    this.shown = this.#all.filter(this.#passes);
  }

  /**
   * Marks the calls that wait for a person.
   * @param {string[]} ids
   */
  hold(ids) {
    this.#held = new Set(ids);
    this.#mark();
    this.shown = this.#all.filter(this.#passes);
  }

  #mark() {
    for (const id of this.#held) this.#waits(id, true);
  }

  /** @param {LiveEvent[]} events */
  take(events) {
    for (const event of events) {
      if (event.type === 'call_started' || event.type === 'call_ended') this.#happened(event);
      else if (event.call_id) this.#waits(event.call_id, event.type === 'held' || event.type === 'question');
    }
    this.#trim(SLACK);
  }

  /** @param {LiveEvent} event */
  #happened(event) {
    const known = this.#byId.get(event.id);
    if (known) {
      // A beginning that comes again must not undo the end.
      if (event.type === 'call_started') return;
      const passed = this.#passes(known);
      Object.assign(known, event);
      if (!passed && this.#passes(known)) this.#show(known);
      return;
    }
    const call = /** @type {Call} */ ({ outcome: 'running', duration_ms: null, started: '', ...event });
    this.#byId.set(call.id, call);
    this.#all.push(call);
    this.seen += 1;
    if (this.#passes(call)) this.#show(call);
  }

  /**
   * A call that is held has not ended, but it does not run either.
   * @param {string} id
   * @param {boolean} isHeld
   */
  #waits(id, isHeld) {
    const call = this.#byId.get(id);
    if (call && (call.outcome === 'running' || call.outcome === 'held')) call.outcome = isHeld ? 'held' : 'running';
  }

  /** @param {Call} call */
  #show(call) {
    this.shown.push(call);
    this.came += 1;
  }

  /** @param {number} slack */
  #trim(slack) {
    if (this.#all.length <= MOST + slack) return;
    const gone = this.#all.splice(0, this.#all.length - MOST);
    for (const { id } of gone) this.#byId.delete(id);
    this.shown = this.shown.filter(({ id }) => this.#byId.has(id));
  }
}

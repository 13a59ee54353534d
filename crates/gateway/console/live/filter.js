// Which calls are shown, as the address says it; the same words as `switchboard calls` and GET /api/calls take.

import { isFailure } from '../format.js';
import { write } from '../json.js';

/** @import { Call } from '../types' */

/** What stands in the address. */
export const KEYS = ['text', 'tool', 'server', 'caller', 'conversation', 'outcome', 'slow', 'since'];

/** A filter. */
export class Filter {
  /** @param {URLSearchParams} query */
  constructor(query) {
    /** @type {Record<string, string>} */
    this.values = {};
    for (const key of KEYS) this.values[key] = query.get(key) ?? '';
    /** Whether the calls of all nodes of the cluster are meant. */
    this.isWide = query.get('scope') === 'cluster';
  }

  /** Whether anything is filtered at all. */
  get isEmpty() {
    return Object.values(this.values).every((value) => value === '');
  }

  /**
   * Whether a conversation without calls is shown.
   * @param {string} name
   */
  hasConversation(name) {
    return Object.entries(this.values).every(
      ([key, value]) => value === '' || (key === 'conversation' && value === name),
    );
  }

  /** @param {Filter} other */
  equals(other) {
    return this.isWide === other.isWide && KEYS.every((key) => this.values[key] === other.values[key]);
  }

  /** A function that says whether a call is shown. */
  matcher() {
    const { text = '', tool, server, caller, conversation, outcome, slow, since } = this.values;
    const wanted = text.toLowerCase().replaceAll(/["*]/g, ' ').split(/\s+/);
    const past = since ? milliseconds(since) : null;
    const name = tool ? glob(tool) : null;
    const limit = slow ? milliseconds(slow) : null;
    /** @param {Call} call */
    return (call) =>
      (!name || name.test(call.tool)) &&
      (!text || call.found === text || says(call, wanted)) &&
      (past === null || Date.now() - new Date(call.started).getTime() < past) &&
      (!server || serverOf(call) === server) &&
      (!caller || call.caller === caller) &&
      (!conversation || call.conversation === conversation) &&
      (!outcome || isOf(call.outcome, outcome)) &&
      (limit === null || (call.duration_ms ?? 0) > limit);
  }

  /** The question for the records. @param {number} [limit] */
  question(limit = 500) {
    const { text, tool, server, caller, conversation, outcome, slow, since } = this.values;
    const query = new URLSearchParams({ limit: String(limit) });
    if (text) query.set('text', typed(text));
    if (since) query.set('since', since);
    if (tool) query.set('tool', /[*?[]/.test(tool) ? tool : `*${tool}*`);
    if (server) query.set('server', server);
    if (caller) query.set('caller', caller);
    if (conversation) query.set('conversation', conversation);
    if (outcome && isFailure(outcome)) query.set('failed', 'true');
    if (slow) query.set('slow', slow);
    if (this.isWide) query.set('cluster', 'true');
    return query;
  }
}

/**
 * A server is only told of at the end; until then the name says it.
 * @param {Call} call
 */
export function serverOf(call) {
  if (call.server) return call.server;
  const at = call.tool.indexOf('__');
  return at > 0 ? call.tool.slice(0, at) : null;
}

/**
 * Whether what is known of a call has the words; of results only their beginning is told as they happen.
 * @param {Call} call
 * @param {string[]} wanted in lower case
 */
function says(call, wanted) {
  const known = `${call.tool} ${write(call.arguments ?? {})} ${write(call.result ?? '')}`.toLowerCase();
  return wanted.every((word) => known.includes(word));
}

/**
 * A search whose last word may not be typed to its end.
 * @param {string} text
 */
function typed(text) {
  return /[\p{L}\p{N}]$/u.test(text) ? `${text}*` : text;
}

/**
 * @param {string} outcome
 * @param {string} wanted
 */
function isOf(outcome, wanted) {
  return wanted === 'failed' ? isFailure(outcome) : outcome === wanted;
}

/**
 * A glob, or a part of the name.
 * @param {string} text
 */
export function glob(text) {
  const plain = (/** @type {string} */ part) => part.replace(/[.+^${}()|[\]\\]/g, '\\$&');
  if (!/[*?]/.test(text)) return new RegExp(plain(text), 'i');
  return new RegExp(`^${plain(text).replaceAll('*', '.*').replaceAll('?', '.')}$`);
}

/** @param {string} text */
function milliseconds(text) {
  const [, number = '', unit = ''] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? [];
  const scale = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }[unit];
  return scale === undefined ? null : Number(number) * scale;
}

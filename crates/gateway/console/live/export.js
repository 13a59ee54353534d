// What the filter lets through, as a file: one JSON object per line, as `switchboard calls --json` has them.

import { get } from '../api.js';
import { h } from '../dom.js';
import { write } from '../json.js';

/** @import { Call } from '../types' */
/** @import { Filter } from './filter.js' */

/** How many calls the gateway gives at once. */
const PAGE = 10_000;

/** How many calls are looked through at most: all of the file is in memory before it is saved. */
const MOST = 100_000;

/**
 * Saves the calls that the filter lets through, newest first.
 * @param {Filter} filter
 * @returns {Promise<string | null>} the time of the oldest call that was looked at, if older ones were not
 */
export async function download(filter) {
  const passes = filter.matcher();
  const query = filter.question(PAGE);
  query.set('whole', 'true');
  /** @type {string[]} */
  const lines = [];
  /** @type {string | null} */
  let oldest = null;
  for (let seen = 0; seen < MOST; seen += PAGE) {
    // One page after the other: each begins where the one before ended.
    const calls = /** @type {Call[]} */ (await get(`/api/calls?${query}`));
    for (const call of calls) {
      call.found = filter.values.text;
      if (!passes(call)) continue;
      const { found: _, ...saved } = call;
      lines.push(`${write(saved)}\n`);
    }
    const last = calls.at(-1);
    oldest = calls.length === PAGE && last ? last.started : null;
    if (!oldest || !last) break;
    query.set('after', last.id);
  }
  const file = URL.createObjectURL(new Blob(lines, { type: 'application/jsonl' }));
  h('a', { href: file, download: 'calls.jsonl' }).click();
  setTimeout(() => URL.revokeObjectURL(file), 10_000);
  return oldest;
}

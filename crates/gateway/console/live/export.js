// What the filter lets through, as a file: one JSON object per line, as `switchboard calls --json` has them.

import { get } from '../api.js';
import { h } from '../dom.js';
import { write } from '../json.js';

/** @import { Call } from '../types' */
/** @import { Filter } from './filter.js' */

/** How many calls the gateway gives at once. */
const MOST = 10_000;

/** @param {Filter} filter */
export async function download(filter) {
  /** @type {Call[]} */
  const calls = await get(`/api/calls?whole=true&${filter.question(MOST)}`);
  for (const call of calls) call.found = filter.values.text;
  const lines = calls.filter(filter.matcher()).map(({ found: _, ...call }) => `${write(call)}\n`);
  const file = URL.createObjectURL(new Blob(lines, { type: 'application/jsonl' }));
  h('a', { href: file, download: 'calls.jsonl' }).click();
  setTimeout(() => URL.revokeObjectURL(file), 10_000);
}

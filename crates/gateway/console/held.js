// How many calls wait for a person, in the navigation.

import { get } from './api.js';
import { byId, fill, h } from './dom.js';
import { feed } from './feed.js';

/** @import { Approval } from './types' */

/** @type {Set<(approvals: Approval[]) => void>} */
const watchers = new Set();
/** @type {Approval[]} */
let waiting = [];
let timer = 0;

/** Begins to look. */
export function start() {
  feed.follow((events) => {
    if (events.some(({ type }) => type === 'held' || type === 'decided')) soon();
  }, soon);
  soon();
}

/**
 * Calls `told` with the held calls, now and whenever they change.
 * @param {(approvals: Approval[]) => void} told
 */
export function watch(told) {
  watchers.add(told);
  told(waiting);
  return () => watchers.delete(told);
}

// Several may be told of at once; one question answers for all of them.
export function soon() {
  clearTimeout(timer);
  timer = setTimeout(look, 50);
}

async function look() {
  try {
    const { approvals } = await get('/api/approvals');
    waiting = approvals ?? [];
  } catch {
    // The section itself says what is wrong; the badge only counts.
    waiting = [];
  }
  const badge = byId('held');
  badge.hidden = waiting.length === 0;
  fill(badge, waiting.length, h('span', { class: 'unseen' }, ' waiting'));
  for (const told of watchers) told(waiting);
  // One that nobody decides goes away by itself.
  const next = Math.min(...waiting.map(({ expires }) => new Date(expires).getTime() - Date.now()));
  if (Number.isFinite(next)) timer = setTimeout(look, Math.max(1000, next + 500));
}

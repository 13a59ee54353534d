// The calls that wait for a person: their number in the navigation, the page's title and a notification.

import { get } from './api.js';
import { byId, fill, h } from './dom.js';
import { feed } from './feed.js';
import { left } from './format.js';
import { navigate } from './router.js';
import * as title from './title.js';

/** @import { Approval } from './types' */

/** @type {Set<(approvals: Approval[]) => void>} */
const watchers = new Set();
/** @type {Approval[]} */
let waiting = [];
/** Those that were told of already; `null` until the first look, so that a reload tells of nothing again. @type {Set<string> | null} */
let known = null;
let timer = 0;

/** Begins to look. */
export function start() {
  feed.follow((events) => {
    if (events.some(({ type }) => type === 'held' || type === 'decided')) soon();
  }, soon);
  feed.watch((state) => state === 'live' && soon());
  setInterval(() => {
    for (const time of document.querySelectorAll('.held time')) {
      if (time instanceof HTMLTimeElement) time.textContent = left(time.dateTime);
    }
  }, 1000);
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

/**
 * Whether the call of this id waits for a person.
 * @param {string} id
 */
export function holds(id) {
  return waiting.some(({ call_id: call }) => call === id);
}

/** The held calls. */
export function all() {
  return waiting;
}

/**
 * Whether a progress message of a call of `tool` names this approval. The tool must match too: a server can write any message.
 * @param {Approval} approval
 * @param {string} tool
 * @param {string} message
 */
export function isNamedBy(approval, tool, message) {
  const isSame = approval.tool === tool || approval.tool.endsWith(`__${tool}`);
  return isSame && message.endsWith(`approval ${approval.id}`);
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
  for (const id of ['held', 'held-menu']) {
    const badge = byId(id);
    badge.hidden = waiting.length === 0;
    fill(badge, waiting.length, h('span', { class: 'unseen' }, ' waiting'));
  }
  title.count(waiting.length);
  notify();
  for (const told of watchers) told(waiting);
  // One that nobody decides goes away by itself.
  const next = Math.min(...waiting.map(({ expires }) => new Date(expires).getTime() - Date.now()));
  if (Number.isFinite(next)) timer = setTimeout(look, Math.max(1000, next + 500));
}

/** Whether a notification can be shown: `granted`, `denied`, `default` (one can ask), or `none` in a page that may not. */
export function notifies() {
  return 'Notification' in window && window.isSecureContext ? Notification.permission : 'none';
}

/** Asks for the permission; browsers want a click for that. */
export async function allowNotifications() {
  await Notification.requestPermission();
}

function notify() {
  const fresh = known ? waiting.filter(({ id }) => !known?.has(id)) : [];
  known = new Set(waiting.map(({ id }) => id));
  if (notifies() !== 'granted' || document.hasFocus()) return;
  for (const { id, tool, asked_by: by } of fresh) {
    const note = new Notification(`${tool} waits for you`, {
      body: by ? `Asked by ${by}` : 'Allow or deny it in Switchboard.',
      tag: id,
    });
    note.addEventListener('click', () => {
      window.focus();
      navigate('/approvals');
      note.close();
    });
  }
}

// Approvals: calls that wait for a person, with their exact arguments, and what is always allowed.

import { get, send } from './api.js';
import { card } from './approval.js';
import { fill, h } from './dom.js';
import * as held from './held.js';
import { write } from './json.js';
import { mayApprove } from './session.js';
import { empty, head, toast, trouble } from './widgets.js';

/** @import { Rule, View } from './types' */

/**
 * @param {HTMLElement} place
 * @returns {View}
 */
export function open(place) {
  /** @type {Map<string, HTMLElement>} */
  const cards = new Map();
  const list = h('div', { class: 'held-list' });
  const rules = h('div', { class: 'rules' });
  const total = h('span', { class: 'figures', role: 'status' });
  const notify = h('button', { type: 'button', class: 'small', onclick: ask }, 'Notify me');
  notify.title = 'Shows a notification when a call waits and this page is not in front';
  notify.hidden = held.notifies() !== 'default';
  async function ask() {
    await held.allowNotifications();
    notify.hidden = held.notifies() !== 'default';
  }
  place.append(head('Approvals', total, notify), list, rules);

  const stop = held.watch((approvals) => {
    total.textContent = `${approvals.length} waiting`;
    // Cards that stay keep what somebody has typed into them.
    const ids = new Set(approvals.map(({ id }) => id));
    for (const [id, known] of cards) {
      if (!ids.has(id)) {
        known.remove();
        cards.delete(id);
      }
    }
    if (cards.size === 0) fill(list);
    for (const approval of approvals) {
      if (cards.has(approval.id)) continue;
      const made = card(approval);
      cards.set(approval.id, made);
      list.append(made);
    }
    if (approvals.length === 0) {
      fill(
        list,
        empty('Nothing waits for you', 'Calls are held where the policy says so: ', h('code', {}, '[policy] ask'), '.'),
      );
    }
    remembered(rules);
  });
  held.soon();
  return { close: stop };
}

/** @param {HTMLElement} place */
async function remembered(place) {
  try {
    const answer = await get('/api/approvals/rules');
    /** @type {Rule[]} */
    const rules = answer?.rules ?? answer ?? [];
    fill(
      place,
      rules.length > 0 && [
        h('h2', {}, 'Remembered'),
        h(
          'ul',
          { class: 'rule-list' },
          rules.map((rule) =>
            h(
              'li',
              {},
              h('code', {}, rule.tool),
              h(
                'span',
                { class: 'muted' },
                rule.arguments === undefined || rule.arguments === null ? 'with any arguments' : write(rule.arguments),
              ),
              h('span', {}, `by ${rule.by}`),
              mayApprove() &&
                h(
                  'button',
                  {
                    type: 'button',
                    class: 'small',
                    'aria-label': `Forget the rule for ${rule.tool}`,
                    onclick: () => forget(rule, place),
                  },
                  'Forget',
                ),
            ),
          ),
        ),
      ],
    );
  } catch (error) {
    fill(
      place,
      trouble(error, () => remembered(place)),
    );
  }
}

/**
 * @param {Rule} rule
 * @param {HTMLElement} place
 */
async function forget(rule, place) {
  try {
    await send('DELETE', `/api/approvals/rules/${encodeURIComponent(rule.id)}`);
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error), 'bad');
  }
  await remembered(place);
}

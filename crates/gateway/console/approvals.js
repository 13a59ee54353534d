// Approvals: calls that wait for a person, with their exact arguments, and what was decided for good.

import { get, send } from './api.js';
import { fill, h } from './dom.js';
import { away, clock } from './format.js';
import * as held from './held.js';
import { visible, write } from './json.js';
import { mayApprove } from './session.js';
import { copy, empty, facts, head, toast, trouble } from './widgets.js';

/** @import { Approval, Rule, View } from './types' */

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
  place.append(head('Approvals', total), list, rules);

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
  const beat = setInterval(() => {
    for (const time of list.querySelectorAll('time')) time.textContent = `${away(time.dateTime)} left`;
  }, 1000);
  return {
    close: () => {
      stop();
      clearInterval(beat);
    },
  };
}

/** @param {Approval} approval */
function card(approval) {
  const reason = h('input', {
    type: 'text',
    id: `reason-${approval.id}`,
    placeholder: 'optional',
    autocomplete: 'off',
  });
  const remember = h(
    'select',
    { id: `remember-${approval.id}` },
    h('option', { value: '' }, 'only this once'),
    h('option', { value: 'arguments' }, 'always, with these arguments'),
    h('option', { value: 'tool' }, 'always, with any arguments'),
  );
  const element = h(
    'article',
    { class: 'held', 'aria-label': `${visible(approval.tool)} waits` },
    h(
      'div',
      { class: 'held-head' },
      h('h2', {}, visible(approval.tool)),
      h('time', { datetime: approval.expires, class: 'muted' }, `${away(approval.expires)} left`),
    ),
    facts([
      ['Asked by', approval.asked_by && visible(approval.asked_by)],
      ['Why it is held', approval.reason && visible(approval.reason)],
      ['Note', approval.note && visible(approval.note)],
      ['Server', approval.server && visible(approval.server)],
      ['Asked', clock(approval.asked)],
    ]),
    exactly(approval.arguments),
    mayApprove()
      ? h(
          'div',
          { class: 'decide' },
          h('label', { for: reason.id }, 'Reason', reason),
          h('label', { for: remember.id }, 'Allow', remember),
          h('button', { type: 'button', class: 'main', onclick: () => decide('allow') }, 'Allow'),
          h('button', { type: 'button', class: 'danger', onclick: () => decide('deny') }, 'Deny'),
        )
      : h(
          'p',
          { class: 'muted' },
          'Your token may look, but not decide: ',
          h('code', {}, 'switchboard token new --approve'),
          ' makes one that may.',
        ),
  );

  /** @param {'allow' | 'deny'} decision */
  async function decide(decision) {
    const body = {
      decision,
      ...(reason.value.trim() && { reason: reason.value.trim() }),
      ...(decision === 'allow' && remember.value && { remember: remember.value }),
    };
    element.inert = true;
    try {
      await send('POST', `/api/approvals/${encodeURIComponent(approval.id)}`, body);
      toast(`${approval.tool}: ${decision === 'allow' ? 'allowed' : 'denied'}`);
    } catch (error) {
      element.inert = false;
      toast(error instanceof Error ? error.message : String(error), 'bad');
    }
    held.soon();
  }
  return element;
}

/**
 * All of it: what somebody decides about must not be folded away.
 * @param {import('./types').Json} args
 */
function exactly(args) {
  const text = visible(write(args, 2));
  return h(
    'div',
    { class: 'block' },
    h(
      'div',
      { class: 'block-head' },
      h('h3', {}, 'Arguments'),
      copy(() => text, 'arguments'),
    ),
    h('pre', { class: 'exactly', tabindex: '0', 'aria-label': 'Arguments' }, text),
  );
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

// A held call with what a person needs to decide about it. The same card is shown in Approvals and where the call was made.

import { send } from './api.js';
import { fill, h } from './dom.js';
import { clock, left } from './format.js';
import * as held from './held.js';
import { visible, write } from './json.js';
import { mayApprove } from './session.js';
import { copy, facts, toast } from './widgets.js';

/** @import { Approval, Json } from './types' */

/** @typedef {{ decision: 'allow' | 'deny', remember?: 'arguments' | 'tool' }} Word */

/** @type {[string, string, Word][]} */
const WORDS = [
  ['Allow once', 'main', { decision: 'allow' }],
  ['Always with these arguments', '', { decision: 'allow', remember: 'arguments' }],
  ['Always for this tool', '', { decision: 'allow', remember: 'tool' }],
  ['Deny', 'danger', { decision: 'deny' }],
];

/** Counts the cards, because a call may be shown in more than one place. */
let made = 0;

/**
 * @param {Approval} approval
 * @returns {HTMLElement}
 */
export function card(approval) {
  made += 1;
  const reason = h('input', {
    type: 'text',
    id: `reason-${made}`,
    placeholder: 'optional; the model reads it',
    autocomplete: 'off',
    maxlength: '1000',
  });
  const element = h(
    'article',
    { class: 'held', 'aria-label': `${visible(approval.tool)} waits` },
    h(
      'div',
      { class: 'held-head' },
      h('h2', {}, visible(approval.tool)),
      h('time', { datetime: approval.expires, class: 'muted' }, left(approval.expires)),
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
          h(
            'div',
            { class: 'decide-words' },
            WORDS.map(([name, style, word]) =>
              h('button', { type: 'button', class: style, onclick: () => decide(word) }, name),
            ),
          ),
        )
      : h(
          'p',
          { class: 'muted' },
          'Your token may look, but not decide: ',
          h('code', {}, 'switchboard token new --approve'),
          ' makes one that may.',
        ),
  );

  /** @param {Word} word */
  async function decide(word) {
    const said = reason.value.trim();
    element.inert = true;
    try {
      await send('POST', `/api/approvals/${encodeURIComponent(approval.id)}`, {
        ...word,
        ...(said && { reason: said }),
      });
      toast(`${approval.tool}: ${word.decision === 'allow' ? 'allowed' : 'denied'}`);
    } catch (error) {
      element.inert = false;
      toast(error instanceof Error ? error.message : String(error), 'bad');
    }
    held.soon();
  }
  return element;
}

/** A place that shows the card of a call for as long as the call is held. */
export class HeldCard {
  element = h('div', { class: 'held-here' });
  #shown = '';
  #stop;

  /**
   * @param {(approval: Approval) => boolean} isMeant
   * @param {(isHeld: boolean) => void} changed called whenever the call becomes held, or is held no longer
   */
  constructor(isMeant, changed) {
    this.isMeant = isMeant;
    this.changed = changed;
    this.#stop = held.watch((approvals) => this.#look(approvals));
  }

  /** Looks again: what is known of the call has changed. */
  look() {
    this.#look(held.all());
  }

  /** The call has ended, or is shown no longer. */
  close() {
    this.#stop();
    fill(this.element);
  }

  /** @param {Approval[]} approvals */
  #look(approvals) {
    const found = approvals.find(this.isMeant);
    // A card that stays keeps what somebody has typed into it.
    if ((found?.id ?? '') === this.#shown) return;
    this.#shown = found?.id ?? '';
    fill(this.element, found && card(found));
    this.changed(found !== undefined);
  }
}

/**
 * All arguments: what somebody decides about must not be folded away (PO-2).
 * @param {Json} args
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

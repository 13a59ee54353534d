// Calls by conversation on one line of time each, so that what ran side by side stands side by side.

import { fill, h } from '../dom.js';
import { clock, duration, isFailure, tone, words } from '../format.js';
import { write } from '../json.js';
import { empty } from '../widgets.js';

/** @import { Call } from '../types' */

/** How many conversations are shown, and how many calls of each. */
const CONVERSATIONS = 20;
const CALLS = 60;

/** The waterfall. */
export class Waterfall {
  element = h('div', { class: 'waterfall' });

  /** @param {(id: string) => string} address where a call opens */
  constructor(address) {
    this.address = address;
  }

  /** @param {Call[]} calls oldest first */
  show(calls) {
    /** @type {Map<string, Call[]>} */
    const conversations = new Map();
    // From the newest, so that the latest conversation comes first.
    for (let at = calls.length - 1; at >= 0; at -= 1) {
      const call = calls[at];
      if (!call?.conversation) continue;
      const known = conversations.get(call.conversation);
      if (known) known.unshift(call);
      else if (conversations.size < CONVERSATIONS) conversations.set(call.conversation, [call]);
    }
    if (conversations.size === 0) {
      fill(
        this.element,
        empty(
          'No conversations here',
          'Calls belong to a conversation where their caller says so: chat and ask do, chat clients by “user”, programs by the header X-Conversation.',
        ),
      );
      return;
    }
    fill(
      this.element,
      [...conversations].map(([name, members]) => this.#conversation(name, members)),
    );
  }

  /**
   * @param {string} name
   * @param {Call[]} all
   */
  #conversation(name, all) {
    const calls = all.slice(-CALLS);
    const begin = Math.min(...calls.map(start));
    const end = Math.max(...calls.map(finish), begin + 1);
    const failed = all.filter(({ outcome }) => isFailure(outcome)).length;
    return h(
      'section',
      { class: 'conversation' },
      h('h2', {}, h('a', { href: `/live?view=waterfall&conversation=${encodeURIComponent(name)}` }, name)),
      h(
        'p',
        { class: 'muted' },
        [
          clock(calls[0]?.started ?? ''),
          `${all.length} ${all.length === 1 ? 'call' : 'calls'}`,
          failed > 0 ? `${failed} failed` : null,
          duration(end - begin),
          calls[0]?.caller ? `by ${calls[0].caller}` : null,
        ]
          .filter(Boolean)
          .join(' · '),
      ),
      axis(end - begin),
      h(
        'ol',
        { class: 'lanes' },
        calls.map((call) => this.#lane(call, begin, end)),
      ),
    );
  }

  /**
   * @param {Call} call
   * @param {number} begin
   * @param {number} end
   */
  #lane(call, begin, end) {
    const bar = h('span', { class: `lane-bar ${tone(call.outcome)}` });
    const whole = end - begin;
    const left = Math.min(99.5, ((start(call) - begin) / whole) * 100);
    bar.style.left = `${left}%`;
    bar.style.width = `${Math.max(0.5, Math.min(100 - left, ((finish(call) - start(call)) / whole) * 100))}%`;
    return h(
      'li',
      {},
      h(
        'a',
        { href: this.address(call.id), class: 'lane' },
        h('span', { class: 'lane-name', title: write(call.arguments ?? {}).slice(0, 300) }, call.tool),
        h('span', { class: 'lane-track', 'aria-hidden': 'true' }, bar),
        h('span', { class: 'lane-took' }, call.outcome === 'ok' ? duration(call.duration_ms) : words(call.outcome)),
      ),
    );
  }
}

/**
 * The time since the beginning, in five steps.
 * @param {number} whole in milliseconds
 */
function axis(whole) {
  const steps = [0, 0.2, 0.4, 0.6, 0.8];
  return h(
    'div',
    { class: 'lane lane-axis', 'aria-hidden': 'true' },
    h('span'),
    h(
      'span',
      { class: 'lane-ticks' },
      steps.map((step) => h('span', {}, duration(whole * step))),
    ),
    h('span'),
  );
}

/** @param {Call} call */
function start(call) {
  return new Date(call.started).getTime();
}

/** @param {Call} call */
function finish(call) {
  return call.outcome === 'running' ? Date.now() : start(call) + (call.duration_ms ?? 0);
}

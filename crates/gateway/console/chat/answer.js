// What a model answers: text and calls in the order in which they happen.

import { HeldCard } from '../approval.js';
import { fill, h } from '../dom.js';
import { duration, progressText, words } from '../format.js';
import { isNamedBy } from '../held.js';
import { answer } from '../json.js';
import { markdown } from '../markdown.js';
import { json } from '../tree.js';
import { chip, copy } from '../widgets.js';

/** @import { Json, Progress } from '../types' */

/** An answer as it comes. */
export class Answer {
  text = '';
  element = h('article', { class: 'said model', 'aria-label': 'Model', 'aria-busy': 'true' });
  /** @type {{ element: HTMLElement, text: string } | null} */
  #piece = null;
  /** @type {Map<string, CallCard>} */
  #calls = new Map();
  #copy = h(
    'div',
    { class: 'said-acts' },
    copy(() => this.text, 'answer'),
  );

  /**
   * Takes an event of the stream.
   * @param {string} event
   * @param {string} data
   */
  take(event, data) {
    if (data === '[DONE]') return;
    const body = answer(data);
    if (event === 'call_started') this.call(body);
    else if (event === 'call_progress') this.#calls.get(body.id)?.progress(body);
    else if (event === 'call_ended') this.called(body.id, body);
    else if (body.error) this.fail(body.error.message);
    else if (body.usage && body.choices?.length === 0) this.#cost(body.usage);
    else this.say(body.choices?.[0]?.delta?.content ?? '');
  }

  end() {
    this.element.removeAttribute('aria-busy');
    if (this.text !== '' && !this.#copy.isConnected) this.element.append(this.#copy);
    for (const call of this.#calls.values()) call.close();
  }

  /** @param {unknown} error */
  fail(error) {
    for (const call of this.#calls.values()) call.abandon();
    this.end();
    this.element.append(h('p', { class: 'failure' }, error instanceof Error ? error.message : String(error)));
  }

  /** What follows is a paragraph of its own. */
  paragraph() {
    this.#piece = null;
  }

  /** @param {string} text */
  say(text) {
    if (text === '') return;
    this.text += text;
    if (!this.#piece) {
      this.#piece = { element: h('div', { class: 'prose' }), text: '' };
      this.element.append(this.#piece.element);
    }
    this.#piece.text += text;
    fill(this.#piece.element, markdown(this.#piece.text));
  }

  /** @param {{ id: string, tool: string, arguments: Json }} call */
  call({ id, tool, arguments: args }) {
    this.#piece = null;
    const card = new CallCard(tool, args);
    this.#calls.set(id, card);
    this.element.append(card.element);
  }

  /**
   * What came of a call.
   * @param {string} id
   * @param {Parameters<CallCard['end']>[0]} what
   */
  called(id, what) {
    this.#calls.get(id)?.end(what);
  }

  /** @param {{ prompt_tokens: number, completion_tokens: number }} usage */
  #cost({ prompt_tokens: read, completion_tokens: wrote }) {
    this.element.append(h('p', { class: 'muted cost' }, `${read} tokens read, ${wrote} written`));
  }
}

/** A call where it happens; while it is held, a person decides here. */
export class CallCard {
  #message = '';
  #hasEnded = false;
  #chip = chip('running');
  #took = h('span', { class: 'chat-took' });
  #held;

  /**
   * @param {string} tool
   * @param {Json} args
   */
  constructor(tool, args) {
    this.#held = new HeldCard(
      (approval) => isNamedBy(approval, tool, this.#message),
      (isHeld) => this.#holds(isHeld),
    );
    this.details = h(
      'details',
      { class: 'chat-call' },
      h('summary', {}, this.#chip, h('code', {}, tool), this.#took),
      h('p', { class: 'small-title' }, 'Arguments'),
      json(args, 'arguments'),
    );
    this.element = h('div', { class: 'chat-step' }, this.details, this.#held.element);
  }

  /** @param {Progress} told */
  progress(told) {
    this.#message = told.message ?? '';
    this.#took.textContent = progressText(told);
    this.#held.look();
  }

  /**
   * `whole` is the artifact that has the result whole, if the model had only a line of it.
   * @param {{ outcome: string, duration_ms?: number, content?: string, call_id?: string | null, decision?: string, by?: string | null, whole?: string }} call
   */
  end({ outcome, duration_ms: took, content, call_id: record, decision, by, whole }) {
    this.close();
    this.#hasEnded = true;
    this.#outcome(outcome);
    this.#took.textContent = took === undefined ? '' : duration(took);
    if (decision) {
      const tone = decision.startsWith('allow') ? 'ok' : 'warn';
      const word = h('span', { class: `chip ${tone}` }, words(decision));
      this.details.append(h('p', {}, word, ' as decided by ', by || 'a person'));
    }
    if (content !== undefined) {
      this.details.append(
        h('p', { class: 'small-title' }, 'What the model read'),
        h('pre', { tabindex: '0', 'aria-label': 'What the model read' }, content),
      );
    }
    if (whole) {
      this.details.append(h('p', {}, 'Shortened to fit. ', h('a', { href: `/api/artifacts/${whole}` }, 'The whole')));
    }
    if (record) this.details.append(h('p', {}, h('a', { href: `/calls/${record}` }, 'Open the record')));
  }

  /** The turn has ended without it. */
  abandon() {
    if (!this.#hasEnded) this.#outcome('cancelled');
    this.close();
  }

  close() {
    this.#held.close();
  }

  /** @param {boolean} isHeld */
  #holds(isHeld) {
    this.#outcome(isHeld ? 'held' : 'running');
    if (isHeld) this.#took.textContent = 'waits for a person';
  }

  /** @param {string} outcome */
  #outcome(outcome) {
    const next = chip(outcome);
    this.#chip.replaceWith(next);
    this.#chip = next;
  }
}

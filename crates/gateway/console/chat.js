// Chat: a configured model with the tools, its calls where they happen, and a button that stops it.

import { get, stream } from './api.js';
import { fill, h } from './dom.js';
import { duration } from './format.js';
import { answer } from './json.js';
import { markdown } from './markdown.js';
import { json } from './tree.js';
import { chip, empty, head, loading, trouble } from './widgets.js';

/** @import { View } from './types' */
/** @typedef {{ role: 'user' | 'assistant', content: string }} Message */

/**
 * @param {HTMLElement} place
 * @returns {View}
 */
export function open(place) {
  const chat = new Chat(place);
  return { close: () => chat.close() };
}

/** The section. */
class Chat {
  /** @type {Message[]} */
  #messages = [];
  /** @type {AbortController | null} */
  #running = null;
  // Names the conversation in the records, so that Live can show it as one.
  #conversation = `console-${Date.now().toString(36)}`;
  model = h('select', { id: 'model', 'aria-label': 'Model' });
  log = h('div', { class: 'chat-log', role: 'log', 'aria-label': 'Conversation', tabindex: '0' }, loading());
  text = h('textarea', {
    rows: '3',
    'aria-label': 'Message',
    placeholder: 'Ask something that needs a tool',
    'data-search': '',
  });
  sendButton = h('button', { class: 'main' }, 'Send');
  stop = h('button', { type: 'button', hidden: true, onclick: () => this.#running?.abort() }, 'Stop');

  /** @param {HTMLElement} place */
  constructor(place) {
    const form = h(
      'form',
      {
        class: 'chat-form',
        onsubmit: (/** @type {Event} */ event) => {
          event.preventDefault();
          this.#say();
        },
      },
      this.text,
      h('div', { class: 'row' }, this.sendButton, this.stop),
    );
    this.text.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && !event.shiftKey) {
        event.preventDefault();
        this.#say();
      }
    });
    const again = h('button', { type: 'button', onclick: () => this.#anew() }, 'New conversation');
    const calls = h(
      'a',
      { class: 'chat-calls', href: `/live?view=waterfall&conversation=${this.#conversation}` },
      'Its calls',
    );
    this.calls = calls;
    place.append(head('Chat', h('label', { for: 'model' }, 'Model'), this.model, calls, again), this.log, form);
    this.#models();
  }

  close() {
    this.#running?.abort();
  }

  async #models() {
    try {
      const { data } = await get('/v1/models');
      const names = data.map((/** @type {{ id: string }} */ { id }) => id);
      fill(
        this.model,
        names.map((/** @type {string} */ name) => h('option', { value: name }, name)),
      );
      this.sendButton.disabled = names.length === 0;
      this.#hello(names.length > 0);
    } catch (error) {
      fill(
        this.log,
        trouble(error, () => this.#models()),
      );
    }
  }

  /** @param {boolean} hasModels */
  #hello(hasModels) {
    fill(
      this.log,
      hasModels
        ? empty(
            'Try a model with your tools',
            'Each call that it makes appears where it happens, checked and recorded like every other.',
          )
        : empty(
            'No model is configured',
            'Add one to the config, such as ',
            h('code', {}, '[models.local]'),
            ' with ',
            h('code', {}, 'provider = "ollama"'),
            '.',
          ),
    );
  }

  #anew() {
    this.#running?.abort();
    this.#messages = [];
    this.#conversation = `console-${Date.now().toString(36)}`;
    this.calls.href = `/live?view=waterfall&conversation=${this.#conversation}`;
    this.#hello(this.model.options.length > 0);
  }

  async #say() {
    const text = this.text.value.trim();
    if (text === '' || this.#running || this.model.value === '') return;
    if (this.#messages.length === 0) fill(this.log);
    this.text.value = '';
    this.#messages.push({ role: 'user', content: text });
    this.log.append(h('article', { class: 'said user', 'aria-label': 'You' }, h('p', {}, text)));
    const reply = new Answer();
    this.log.append(reply.element);
    this.#running = new AbortController();
    this.#shows(true);
    try {
      const body = {
        model: this.model.value,
        messages: this.#messages,
        stream: true,
        stream_options: { include_usage: true, include_calls: true },
        user: this.#conversation,
      };
      for await (const { event, data } of stream('/v1/chat/completions', body, this.#running.signal)) {
        reply.take(event, data);
        this.log.scrollTop = this.log.scrollHeight;
      }
      reply.end();
    } catch (error) {
      reply.fail(this.#running.signal.aborted ? 'Stopped.' : error);
    }
    if (reply.text) this.#messages.push({ role: 'assistant', content: reply.text });
    this.#running = null;
    this.#shows(false);
    this.text.focus();
    this.log.scrollTop = this.log.scrollHeight;
  }

  /** @param {boolean} isRunning */
  #shows(isRunning) {
    this.sendButton.disabled = isRunning;
    this.stop.hidden = !isRunning;
  }
}

/** What comes back: text and calls in the order in which they happen. */
class Answer {
  text = '';
  element = h('article', { class: 'said model', 'aria-label': 'Model', 'aria-busy': 'true' });
  /** @type {{ element: HTMLElement, text: string } | null} */
  #piece = null;
  /** @type {Map<string, HTMLElement>} */
  #calls = new Map();

  /**
   * @param {string} event
   * @param {string} data
   */
  take(event, data) {
    if (data === '[DONE]') return;
    const body = answer(data);
    if (event === 'call_started') this.#began(body);
    else if (event === 'call_progress') this.#progress(body);
    else if (event === 'call_ended') this.#ended(body);
    else if (body.error) this.fail(body.error.message);
    else if (body.usage && body.choices?.length === 0) this.#cost(body.usage);
    else this.#say(body.choices?.[0]?.delta?.content ?? '');
  }

  end() {
    this.element.removeAttribute('aria-busy');
  }

  /** @param {unknown} error */
  fail(error) {
    this.end();
    for (const call of this.#calls.values()) call.querySelector('.chip.busy')?.replaceWith(chip('cancelled'));
    this.element.append(h('p', { class: 'failure' }, error instanceof Error ? error.message : String(error)));
  }

  /** @param {string} text */
  #say(text) {
    if (text === '') return;
    this.text += text;
    if (!this.#piece) {
      this.#piece = { element: h('div', { class: 'prose' }), text: '' };
      this.element.append(this.#piece.element);
    }
    this.#piece.text += text;
    fill(this.#piece.element, markdown(this.#piece.text));
  }

  /** @param {{ id: string, tool: string, arguments: import('./types').Json }} call */
  #began(call) {
    this.#piece = null;
    const element = h(
      'details',
      { class: 'chat-call' },
      h('summary', {}, chip('running'), h('code', {}, call.tool), h('span', { class: 'chat-took' })),
      h('h3', {}, 'Arguments'),
      json(call.arguments, 'arguments'),
    );
    this.#calls.set(call.id, element);
    this.element.append(element);
  }

  /** @param {{ id: string, message?: string | null }} progress */
  #progress({ id, message }) {
    const took = this.#calls.get(id)?.querySelector('.chat-took');
    if (took && message) took.textContent = message;
  }

  /** @param {{ id: string, outcome: string, duration_ms: number, content?: string, call_id?: string | null }} call */
  #ended({ id, outcome, duration_ms: took, content, call_id: record }) {
    const element = this.#calls.get(id);
    element?.querySelector('.chip')?.replaceWith(chip(outcome));
    const place = element?.querySelector('.chat-took');
    if (place) place.textContent = duration(took);
    element?.append(
      h('h3', {}, 'What the model read'),
      h('pre', { tabindex: '0', 'aria-label': 'What the model read' }, content ?? ''),
    );
    if (record) element?.append(h('p', {}, h('a', { href: `/calls/${record}` }, 'Open the record')));
  }

  /** @param {{ prompt_tokens: number, completion_tokens: number }} usage */
  #cost({ prompt_tokens: read, completion_tokens: wrote }) {
    this.element.append(h('p', { class: 'muted cost' }, `${read} tokens read, ${wrote} written`));
  }
}

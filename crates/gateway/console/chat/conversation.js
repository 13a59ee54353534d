// A conversation with a model. It goes on while another section is shown.

import { stream } from '../api.js';
import { fill, h } from '../dom.js';
import { Answer } from './answer.js';

/** @typedef {{ role: 'user' | 'assistant', content: string }} Message */

/** A conversation. */
export class Conversation {
  // Names the conversation in the records too, so that Live can show it as one.
  id = `console-${Date.now().toString(36)}`;
  model = '';
  log = h('div', { class: 'chat-log', role: 'log', 'aria-label': 'Conversation', tabindex: '0' });
  /** @type {Message[]} */
  #messages = [];
  /** @type {AbortController | null} */
  #running = null;
  /** Called whenever it begins or ends to run. */
  changed = () => {};

  get isRunning() {
    return this.#running !== null;
  }

  /** Whether nothing was said yet. */
  get isNew() {
    return this.#messages.length === 0;
  }

  stop() {
    this.#running?.abort();
  }

  /** @param {string} text */
  async say(text) {
    if (this.isNew) fill(this.log);
    this.#messages.push({ role: 'user', content: text });
    this.log.append(h('article', { class: 'said user', 'aria-label': 'You' }, h('p', {}, text)));
    const reply = new Answer();
    this.log.append(reply.element);
    this.#end();
    const running = new AbortController();
    this.#running = running;
    this.changed();
    try {
      const body = {
        model: this.model,
        messages: this.#messages,
        stream: true,
        stream_options: { include_usage: true, include_calls: true },
        user: this.id,
      };
      for await (const { event, data } of stream('/v1/chat/completions', body, running.signal)) {
        const isAtEnd = this.log.scrollTop + this.log.clientHeight >= this.log.scrollHeight - 40;
        reply.take(event, data);
        if (isAtEnd) this.#end();
      }
      reply.end();
    } catch (error) {
      reply.fail(running.signal.aborted ? 'Stopped.' : error);
    }
    if (reply.text) this.#messages.push({ role: 'assistant', content: reply.text });
    this.#running = null;
    this.changed();
  }

  #end() {
    this.log.scrollTop = this.log.scrollHeight;
  }
}

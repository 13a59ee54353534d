// A conversation with a model. It goes on while another section is shown, and the gateway keeps it.

import { get, stream } from '../api.js';
import { fill, h } from '../dom.js';
import { Answer } from './answer.js';

/** @import { SavedChat } from '../types' */
/** @typedef {{ role: 'system' | 'user' | 'assistant', content: string }} Message */

/** The conversations of this page by id. @type {Map<string, Conversation>} */
const conversations = new Map();

/**
 * The conversation of an id: one of this page, or one that was kept.
 * @param {string} id
 */
export async function find(id) {
  const known = conversations.get(id);
  if (known) return known;
  const conversation = new Conversation(id);
  conversation.read(await get(`/api/chats/${encodeURIComponent(id)}`));
  conversations.set(id, conversation);
  return conversation;
}

/** A conversation in which nothing was said yet. */
export function begin() {
  const conversation = new Conversation(newId());
  conversations.set(conversation.id, conversation);
  return conversation;
}

/** @param {string} id */
export function forget(id) {
  conversations.get(id)?.stop();
  conversations.delete(id);
}

/** A conversation. */
export class Conversation {
  model = '';
  log = h('div', { class: 'chat-log', role: 'log', 'aria-label': 'Conversation', tabindex: '0' });
  /** What was said in this page; only sent where the gateway keeps nothing. @type {Message[]} */
  #messages = [];
  /** @type {AbortController | null} */
  #running = null;
  /** Called whenever it begins or ends to run. */
  changed = () => {};
  /** Whether nothing was said yet. */
  isNew = true;

  /** @param {string} id names it in the records too, so that Live can show it as one */
  constructor(id) {
    this.id = id;
  }

  get isRunning() {
    return this.#running !== null;
  }

  stop() {
    this.#running?.abort();
  }

  /**
   * Shows what was kept.
   * @param {SavedChat} chat
   */
  read(chat) {
    this.model = chat.model;
    this.isNew = false;
    /** @type {Answer | null} */
    let answer = null;
    for (const { role, content, tool_calls: calls, tool_call_id: id, is_error: failed } of chat.messages) {
      if (role === 'user') {
        answer?.end();
        answer = null;
        this.#show(content);
      } else if (role === 'assistant') {
        if (!answer) this.log.append((answer = new Answer()).element);
        answer.paragraph();
        answer.say(content);
        for (const call of calls ?? []) answer.call(call);
      } else if (role === 'tool') {
        answer?.called(id ?? '', { outcome: failed ? 'failed' : 'ok', content });
      }
    }
    answer?.end();
  }

  /**
   * @param {string} text
   * @param {boolean} isKept whether the gateway keeps chats, and so knows what was said before
   * @param {{ system?: string, temperature?: number }} [options] the system prompt is that of a new conversation
   */
  async say(text, isKept, { system, temperature } = {}) {
    const isFirst = this.isNew;
    if (isFirst) fill(this.log);
    this.isNew = false;
    if (isFirst && system) this.#messages.push({ role: 'system', content: system });
    this.#messages.push({ role: 'user', content: text });
    this.#show(text);
    const reply = new Answer();
    this.log.append(reply.element);
    this.#end();
    const running = new AbortController();
    this.#running = running;
    this.changed();
    try {
      const body = {
        model: this.model,
        ...(isKept
          ? { chat: this.id, messages: this.#messages.slice(isFirst ? 0 : -1) }
          : { messages: this.#messages }),
        ...(temperature !== undefined && { temperature }),
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

  /** @param {string} text */
  #show(text) {
    this.log.append(h('article', { class: 'said user', 'aria-label': 'You' }, h('p', {}, text)));
  }

  #end() {
    this.log.scrollTop = this.log.scrollHeight;
  }
}

/** `20261115-120242-k3f9`, as the command `chat` names its own. */
function newId() {
  const now = new Date();
  const two = (/** @type {number} */ number) => String(number).padStart(2, '0');
  const date = `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}`;
  const time = [now.getHours(), now.getMinutes(), now.getSeconds()].map(two).join('');
  const tail = Array.from(crypto.getRandomValues(new Uint8Array(4)), (byte) => (byte % 36).toString(36)).join('');
  return `${date}-${time}-${tail}`;
}

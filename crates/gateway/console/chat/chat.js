// Chat: a configured model with the tools, its calls where they happen, and a button that stops it.

import { get } from '../api.js';
import { fill, h } from '../dom.js';
import { empty, head, loading, trouble } from '../widgets.js';
import { Conversation } from './conversation.js';

/** @import { View } from '../types' */

/** The conversation of this page; it outlives the section. */
let conversation = new Conversation();

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
  model = h('select', { id: 'model', 'aria-label': 'Model' });
  text = h('textarea', {
    rows: '3',
    'aria-label': 'Message',
    placeholder: 'Ask something that needs a tool',
    'data-search': '',
  });
  sendButton = h('button', { class: 'main' }, 'Send');
  stop = h('button', { type: 'button', hidden: true, onclick: () => conversation.stop() }, 'Stop');
  calls = h('a', { class: 'chat-calls' }, 'Its calls');
  body = h('div', { class: 'chat-body' });

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
    place.append(head('Chat', h('label', { for: 'model' }, 'Model'), this.model, this.calls, again), this.body, form);
    this.#show();
    this.#models();
  }

  close() {
    conversation.changed = () => {};
  }

  #show() {
    fill(this.body, conversation.log);
    this.calls.href = `/live?view=waterfall&conversation=${conversation.id}`;
    conversation.changed = () => this.#changed();
    conversation.log.scrollTop = conversation.log.scrollHeight;
    this.#changed();
  }

  async #models() {
    if (conversation.isNew) fill(conversation.log, loading());
    try {
      const { data } = await get('/v1/models');
      const names = data.map((/** @type {{ id: string }} */ { id }) => id);
      fill(
        this.model,
        names.map((/** @type {string} */ name) => h('option', { value: name }, name)),
      );
      if (names.includes(conversation.model)) this.model.value = conversation.model;
      this.#changed();
      if (conversation.isNew) this.#hello(names.length > 0);
    } catch (error) {
      if (!conversation.isNew) return;
      fill(
        conversation.log,
        trouble(error, () => this.#models()),
      );
    }
  }

  /** @param {boolean} hasModels */
  #hello(hasModels) {
    fill(
      conversation.log,
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
    conversation.stop();
    conversation = new Conversation();
    this.#show();
    this.#hello(this.model.options.length > 0);
    this.text.focus();
  }

  #say() {
    const text = this.text.value.trim();
    if (text === '' || conversation.isRunning || this.model.value === '') return;
    this.text.value = '';
    conversation.model = this.model.value;
    conversation.say(text);
  }

  #changed() {
    this.sendButton.disabled = conversation.isRunning || this.model.options.length === 0;
    this.stop.hidden = !conversation.isRunning;
    this.text.disabled = this.model.options.length === 0;
  }
}

// Chat: a configured model with the tools, its calls where they happen, a button that stops it, and earlier chats.

import { get } from '../api.js';
import { fill, h } from '../dom.js';
import { icon } from '../icons.js';
import { navigate } from '../router.js';
import { copy, empty, head, loading, trouble } from '../widgets.js';
import { begin, find, forget } from './conversation.js';
import { List } from './list.js';
import { Options } from './options.js';

/** @import { Route, View } from '../types' */
/** @import { Conversation } from './conversation.js' */

/** The section of a config that needs nothing else. */
const DEMO = '[models.demo]\nprovider = "script"\nmodel = "demo"';

/** The conversation that was shown last; it outlives the section. */
let conversation = begin();

/**
 * @param {HTMLElement} place
 * @param {Route} route
 * @returns {View}
 */
export function open(place, route) {
  const chat = new Chat(place);
  chat.update(route);
  return chat;
}

/** The section. */
class Chat {
  /** @type {string[] | null} */
  #models = null;
  model = h('select', { id: 'model', 'aria-label': 'Model' });
  text = h('textarea', {
    rows: '2',
    'aria-label': 'Message',
    placeholder: 'Ask something that needs a tool',
    'data-search': '',
  });
  sendButton = h('button', { class: 'main' }, 'Send');
  stop = h('button', { type: 'button', hidden: true, onclick: () => conversation.stop() }, 'Stop');
  calls = h('a', { class: 'button plain' }, 'Its calls');
  options = new Options();
  body = h('div', { class: 'chat-main' });
  list = new List((id) => {
    forget(id);
    if (id === conversation.id) this.#startOver();
  });

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
      h('div', { class: 'chat-buttons' }, this.stop, this.sendButton),
    );
    this.text.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        this.#say();
      }
    });
    const again = h('button', { type: 'button', onclick: () => this.#startOver() }, icon('plus', 14), 'New');
    again.setAttribute('aria-label', 'New conversation');
    place.append(
      head(
        'Chat',
        h('label', { for: 'model', class: 'unseen' }, 'Model'),
        this.model,
        this.options.element,
        this.calls,
        again,
      ),
      h('div', { class: 'chat-body' }, this.list.element, h('div', { class: 'chat-column' }, this.body, form)),
    );
    this.#load();
    this.list.load();
  }

  close() {
    conversation.changed = () => {};
  }

  /** @param {Route} route */
  async update(route) {
    const id = route.path[1] ?? conversation.id;
    if (id === conversation.id) {
      this.#show(conversation);
      return;
    }
    fill(this.body, loading());
    try {
      this.#show(await find(id));
    } catch (error) {
      fill(
        this.body,
        trouble(error, () => this.update(route)),
      );
    }
  }

  /** @param {Conversation} next */
  #show(next) {
    conversation.changed = () => {};
    conversation = next;
    conversation.changed = () => {
      this.#changed();
      this.list.load();
    };
    fill(this.body, conversation.log);
    this.calls.href = `/live?view=waterfall&conversation=${encodeURIComponent(conversation.id)}`;
    this.calls.hidden = conversation.isNew;
    conversation.log.scrollTop = conversation.log.scrollHeight;
    this.list.mark(conversation.id);
    this.#choose();
    this.#changed();
  }

  async #load() {
    if (conversation.isNew) fill(conversation.log, loading());
    try {
      const { data } = await get('/v1/models');
      const names = data.map((/** @type {{ id: string }} */ { id }) => id);
      this.#models = names;
      fill(
        this.model,
        names.map((/** @type {string} */ name) => h('option', { value: name }, name)),
      );
      this.#choose();
      this.#changed();
    } catch (error) {
      if (!conversation.isNew) return;
      fill(
        conversation.log,
        trouble(error, () => this.#load()),
      );
    }
  }

  /** Chooses the model that answered last, and greets where nothing was said yet. */
  #choose() {
    if (!this.#models) return;
    if (this.#models.includes(conversation.model)) this.model.value = conversation.model;
    if (conversation.isNew) this.#hello(this.#models.length > 0);
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
        : [
            empty(
              'No model is configured',
              'Add one to the config; it applies a second after it is saved. This one is built in and needs neither key nor network; ',
              'with ',
              h('code', {}, 'ollama'),
              ', ',
              h('code', {}, 'anthropic'),
              ' or ',
              h('code', {}, 'openai'),
              ' as the provider it is a real one:',
            ),
            h(
              'div',
              { class: 'config' },
              h('pre', { tabindex: '0', 'aria-label': 'Config' }, DEMO),
              copy(() => DEMO, 'config'),
            ),
          ],
    );
  }

  #startOver() {
    if (!conversation.isNew) this.#show(begin());
    navigate('/chat');
    this.text.focus();
  }

  #say() {
    const text = this.text.value.trim();
    if (text === '' || conversation.isRunning || this.model.value === '') return;
    this.text.value = '';
    conversation.model = this.model.value;
    conversation.say(text, this.list.isKept, this.options.values);
    this.calls.hidden = false;
    navigate(`/chat/${encodeURIComponent(conversation.id)}`, true);
  }

  #changed() {
    const hasModels = this.#models !== null && this.#models.length > 0;
    this.sendButton.disabled = conversation.isRunning || !hasModels;
    this.stop.hidden = !conversation.isRunning;
    this.text.disabled = !hasModels;
    this.model.hidden = !hasModels;
    this.options.isNew = conversation.isNew;
  }
}

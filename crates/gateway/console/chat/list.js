// The chats that are kept: those of this page and those of the command `chat`.

import { get, send } from '../api.js';
import { fill, h } from '../dom.js';
import { ago } from '../format.js';
import { icon } from '../icons.js';
import { toast } from '../widgets.js';

/** @import { ListedChat } from '../types' */

/** The list beside a conversation. */
export class List {
  /** @type {ListedChat[]} */
  #chats = [];
  #current = '';
  /** Whether the gateway keeps chats. */
  isKept = true;
  items = h('ul', { class: 'chat-list' });
  element = h(
    'details',
    { class: 'chat-side', open: window.matchMedia('(min-width: 761px)').matches },
    h('summary', {}, 'Earlier chats'),
    this.items,
  );

  /** @param {(id: string) => void} removed */
  constructor(removed) {
    this.removed = removed;
  }

  async load() {
    try {
      const { kept, chats } = await get('/api/chats');
      this.isKept = kept;
      this.#chats = chats;
    } catch {
      // The conversation says what is wrong with the connection.
    }
    this.#draw();
  }

  /** @param {string} id */
  mark(id) {
    this.#current = id;
    this.#draw();
  }

  #draw() {
    fill(
      this.items,
      this.#chats.length === 0 &&
        h(
          'li',
          { class: 'muted chat-none' },
          this.isKept ? 'Chats are kept here, and in ' : 'No chat is kept: there is no folder for them.',
          this.isKept && h('code', {}, 'switchboard chat --list'),
        ),
      this.#chats.map((chat) => this.#item(chat)),
    );
  }

  /** @param {ListedChat} chat */
  #item({ id, title, updated, turns }) {
    const name = title || 'Untitled';
    return h(
      'li',
      {},
      h(
        'a',
        { href: `/chat/${encodeURIComponent(id)}`, 'aria-current': id === this.#current ? 'true' : null },
        h('span', { class: 'chat-title' }, name),
        h('span', { class: 'muted' }, `${ago(updated)} · ${turns} ${turns === 1 ? 'question' : 'questions'}`),
      ),
      h(
        'button',
        {
          type: 'button',
          class: 'plain small',
          'aria-label': `Delete the chat: ${name}`,
          title: 'Delete',
          onclick: () => this.#remove(id, name),
        },
        icon('close', 12),
      ),
    );
  }

  /**
   * @param {string} id
   * @param {string} name
   */
  async #remove(id, name) {
    if (!window.confirm(`Delete the chat “${name}”?`)) return;
    try {
      await send('DELETE', `/api/chats/${encodeURIComponent(id)}`);
      this.removed(id);
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), 'bad');
    }
    await this.load();
  }
}

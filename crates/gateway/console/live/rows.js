// The list of calls: as many rows as fit are made once, and show whatever stands where one looks.

import { h } from '../dom.js';
import { clock, duration, tone, words } from '../format.js';
import { write } from '../json.js';
import { serverOf } from './filter.js';

/** @import { Call } from '../types' */

/** The height of a row; console.css has the same. */
const HEIGHT = 32;
const COLUMNS = ['Time', 'Outcome', 'Tool', 'Arguments', 'Caller', 'Conversation', 'Took'];

/** @typedef {{ row: HTMLElement, cells: HTMLElement[], link: HTMLAnchorElement, call: Call | null, shape: string }} Slot */

/** A list that can be of any length. */
export class Rows {
  /** Newest last; shown newest first. @type {Call[]} */
  #calls = [];
  /** @type {Slot[]} */
  #slots = [];
  #selected = '';

  /**
   * @param {(id: string) => string} address where a call opens
   * @param {() => void} scrolled
   */
  constructor(address, scrolled) {
    this.address = address;
    this.space = h('div', { class: 'rows-space', role: 'rowgroup' });
    this.view = h('div', { class: 'rows-view' }, this.space);
    const names = COLUMNS.map((name) => h('span', { role: 'columnheader' }, name));
    this.element = h(
      'div',
      { class: 'rows', role: 'table', 'aria-label': 'Calls, newest first' },
      h('div', { role: 'rowgroup', class: 'rows-head' }, h('div', { role: 'row', class: 'call-row' }, names)),
      this.view,
    );
    this.view.addEventListener(
      'scroll',
      () => {
        this.paint();
        scrolled();
      },
      { passive: true },
    );
    this.observer = new ResizeObserver(() => this.paint());
    this.observer.observe(this.view);
  }

  /** Whether the newest is in sight. */
  get isAtTop() {
    return this.view.scrollTop < HEIGHT / 2;
  }

  /** How many rows there are in the page, whatever the length of the list. */
  get made() {
    return this.#slots.length;
  }

  close() {
    this.observer.disconnect();
  }

  top() {
    this.view.scrollTop = 0;
  }

  /** @param {Call[]} calls */
  show(calls) {
    this.#calls = calls;
    this.space.style.height = `${calls.length * HEIGHT}px`;
    this.element.setAttribute('aria-rowcount', String(calls.length + 1));
    this.paint();
  }

  /** @param {string} id */
  select(id) {
    this.#selected = id;
    // Where rows lead depends on the address of the page, which has changed.
    for (const slot of this.#slots) slot.call = null;
    this.paint();
  }

  /**
   * The call below or above the selected one.
   * @param {number} step
   */
  beside(step) {
    const last = this.#calls.length - 1;
    const at = this.#calls.findIndex(({ id }) => id === this.#selected);
    const next = at < 0 ? last : Math.min(last, Math.max(0, at - step));
    const top = (last - next) * HEIGHT;
    if (top < this.view.scrollTop) this.view.scrollTop = top;
    const bottom = top + HEIGHT - this.view.clientHeight;
    if (bottom > this.view.scrollTop) this.view.scrollTop = bottom;
    return this.#calls[next];
  }

  /** Brings what is in sight up to date. */
  paint() {
    const wanted = Math.min(this.#calls.length, Math.ceil(this.view.clientHeight / HEIGHT) + 2);
    while (this.#slots.length < wanted) this.#slots.push(this.#slot());
    const first = Math.max(0, Math.min(Math.floor(this.view.scrollTop / HEIGHT), this.#calls.length - wanted));
    this.#slots.forEach((slot, index) => {
      const at = first + index;
      const call = index < wanted ? this.#calls[this.#calls.length - 1 - at] : undefined;
      slot.row.hidden = !call;
      if (call) this.#write(slot, call, at);
    });
  }

  /** @returns {Slot} */
  #slot() {
    const link = h('a', {});
    const cells = COLUMNS.map(() => h('span', { role: 'cell' }));
    cells[2]?.append(link);
    const row = h('div', { role: 'row', class: 'call-row' }, cells);
    row.addEventListener('click', (event) => {
      if (!link.contains(/** @type {Node} */ (event.target))) link.click();
    });
    this.space.append(row);
    return { row, cells, link, call: null, shape: '' };
  }

  /**
   * @param {Slot} slot
   * @param {Call} call
   * @param {number} at
   */
  #write(slot, call, at) {
    slot.row.style.transform = `translateY(${at * HEIGHT}px)`;
    slot.row.setAttribute('aria-rowindex', String(at + 2));
    slot.row.classList.toggle('selected', call.id === this.#selected);
    // Most rows are as they were.
    if (slot.call === call && slot.shape === call.outcome) return;
    slot.call = call;
    slot.shape = call.outcome;
    slot.row.dataset.id = call.id;
    slot.link.href = this.address(call.id);
    named(slot.link, call);
    const [time, outcome, , args, caller, conversation, took] = slot.cells;
    set(time, clock(call.started));
    set(outcome, words(call.outcome));
    if (outcome) outcome.className = `chip ${tone(call.outcome)}`;
    set(args, call.arguments_cut ? '(long)' : write(call.arguments ?? {}).slice(0, 160));
    set(caller, call.caller ?? call.client ?? '');
    caller?.classList.toggle('is-client', !call.caller);
    set(conversation, call.conversation ?? '');
    set(took, duration(call.duration_ms));
    slot.row.title = serverOf(call) ? `${call.tool}, server ${serverOf(call)}` : call.tool;
  }
}

/**
 * Writes a tool's name. Where it does not fit, the server's name is cut, because the end tells tools apart.
 * @param {HTMLElement} link
 * @param {Call} call
 */
function named(link, { tool, server }) {
  const prefix = server && tool.startsWith(server) ? server : '';
  link.setAttribute('aria-label', tool);
  link.replaceChildren(
    h('span', { class: 'name-server' }, prefix),
    h('span', { class: 'name-own' }, tool.slice(prefix.length)),
  );
}

/**
 * @param {HTMLElement | undefined} cell
 * @param {string} text
 */
function set(cell, text) {
  if (cell && cell.textContent !== text) cell.textContent = text;
}

// How the model is asked: a system prompt for a new conversation, and how daring it is.

import { h } from '../dom.js';

/** A menu of options; they stay for the next conversation. */
export class Options {
  system = h('textarea', { id: 'chat-system', rows: '3', placeholder: 'as the model is configured' });
  temperature = h('input', {
    id: 'chat-temperature',
    type: 'number',
    min: '0',
    max: '2',
    step: '0.1',
    placeholder: 'as the model is configured',
  });
  element = h(
    'details',
    { class: 'menu-box' },
    h('summary', { class: 'button' }, 'Options'),
    h(
      'div',
      { class: 'menu-body chat-options' },
      h('label', { for: this.system.id }, 'System prompt of a new conversation', this.system),
      h('label', { for: this.temperature.id }, 'Temperature', this.temperature),
    ),
  );

  constructor() {
    this.element.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      this.element.open = false;
      this.element.querySelector('summary')?.focus();
    });
    this.element.addEventListener('focusout', ({ relatedTarget }) => {
      if (relatedTarget instanceof Node && !this.element.contains(relatedTarget)) this.element.open = false;
    });
  }

  /** @param {boolean} isNew whether a system prompt still has an effect */
  set isNew(isNew) {
    this.system.disabled = !isNew;
  }

  get values() {
    const temperature = this.temperature.valueAsNumber;
    return { system: this.system.value.trim(), ...(!Number.isNaN(temperature) && { temperature }) };
  }
}

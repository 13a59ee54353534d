// Runs a tool: progress while it runs, a button that cancels, then what came of it.

import { stream } from '../api.js';
import { fill, h } from '../dom.js';
import { duration } from '../format.js';
import { answer } from '../json.js';
import { artifacts } from '../live/artifacts.js';
import { reading, wholeText } from '../reading.js';
import { chip, trouble } from '../widgets.js';

/** @import { Envelope, Progress } from '../types' */

/** A run button and what it brings about. */
export class Run {
  /** @type {AbortController | null} */
  #running = null;

  /** @param {() => { tool: string, args: string } | null} what to run, unless it cannot be run now */
  constructor(what) {
    this.what = what;
    this.start = h(
      'button',
      { type: 'button', class: 'main', 'aria-keyshortcuts': 'Control+Enter', onclick: () => this.run() },
      'Run',
    );
    this.cancel = h('button', { type: 'button', hidden: true, onclick: () => this.#running?.abort() }, 'Cancel');
    this.state = h('span', { class: 'run-state', role: 'status' });
    this.bar = h('progress', { hidden: true, max: '1', 'aria-label': 'Progress of the call' });
    this.outcome = h('div', { class: 'outcome', 'aria-live': 'polite' });
  }

  /** Walks away; what runs is cancelled. */
  close() {
    this.#running?.abort();
  }

  async run() {
    const call = this.what();
    if (!call || this.#running) return;
    const controller = new AbortController();
    this.#running = controller;
    this.#shows(true);
    const began = performance.now();
    try {
      const path = `/api/tools/${encodeURIComponent(call.tool)}/call?text=1`;
      for await (const { event, data } of stream(path, call.args, controller.signal)) {
        if (event === 'progress') this.#progress(JSON.parse(data));
        if (event === 'result') fill(this.outcome, result(answer(data)));
      }
    } catch (error) {
      if (controller.signal.aborted) {
        fill(
          this.outcome,
          h('p', { class: 'result-head' }, chip('cancelled'), `after ${duration(performance.now() - began)}`),
        );
      } else fill(this.outcome, trouble(error));
    } finally {
      this.#running = null;
      this.#shows(false);
    }
  }

  /** @param {boolean} isRunning */
  #shows(isRunning) {
    this.start.disabled = isRunning;
    this.cancel.hidden = !isRunning;
    this.bar.hidden = !isRunning;
    this.bar.removeAttribute('value');
    this.state.textContent = isRunning ? 'Running…' : '';
    if (isRunning) fill(this.outcome);
  }

  /** @param {Progress} progress */
  #progress({ progress, total, message }) {
    if (total) {
      this.bar.max = total;
      this.bar.value = progress;
    }
    this.state.textContent = [message, total ? `${progress} of ${total}` : progress]
      .filter((word) => word !== null && word !== '')
      .join(' · ');
  }
}

/** @param {Envelope} envelope */
function result(envelope) {
  const outcome = envelope.success ? 'ok' : (envelope.error_kind ?? 'failed');
  return [
    h(
      'p',
      { class: 'result-head' },
      chip(outcome),
      h('span', { class: 'number' }, duration(envelope.execution_time_ms)),
      envelope.call_id && h('a', { href: `/calls/${envelope.call_id}` }, 'Open the record'),
    ),
    envelope.success
      ? reading(envelope)
      : h(
          'div',
          { class: 'failure' },
          h('p', { class: 'title' }, envelope.error),
          envelope.hint && h('p', {}, h('strong', {}, 'Hint: '), envelope.hint),
        ),
    artifacts(envelope.artifacts ?? [], wholeText(envelope)),
  ];
}

// Runs a tool: progress while it runs, allow and deny while it is held, a button that cancels, then what came of it.

import { stream } from '../api.js';
import { HeldCard } from '../approval.js';
import { fill, h } from '../dom.js';
import { duration, progressText } from '../format.js';
import { isNamedBy } from '../held.js';
import { answer } from '../json.js';
import { artifacts } from '../live/artifacts.js';
import { reading, wholeText } from '../reading.js';
import { chip, trouble } from '../widgets.js';

/** @import { Envelope, Progress } from '../types' */

/** The runs of this page by tool and purpose: they go on, and their results stay, while another section is shown. @type {Map<string, Run>} */
const runs = new Map();

/**
 * The run of a tool.
 * @param {string} tool
 * @param {string} [what] tells runs of the same tool apart
 */
export function runOf(tool, what = '') {
  const key = `${tool} ${what}`;
  let run = runs.get(key);
  if (!run) runs.set(key, (run = new Run(tool)));
  return run;
}

/** A run button and what it brings about. */
class Run {
  /** @type {AbortController | null} */
  #running = null;
  #message = '';
  /** The arguments as JSON. */
  args = () => '{}';
  /** Called when a call has ended, with its id. @type {(id: string | undefined) => void} */
  ended = () => {};

  /** @param {string} tool */
  constructor(tool) {
    this.tool = tool;
    this.start = h(
      'button',
      { type: 'button', class: 'main', 'aria-keyshortcuts': 'Control+Enter', onclick: () => this.run() },
      'Run',
    );
    this.cancel = h('button', { type: 'button', hidden: true, onclick: () => this.#running?.abort() }, 'Cancel');
    this.state = h('span', { class: 'run-state', role: 'status' });
    this.bar = h('progress', { hidden: true, max: '1', 'aria-label': 'Progress of the call' });
    this.approval = h('div');
    this.outcome = h('div', { class: 'outcome', 'aria-live': 'polite' });
  }

  async run() {
    if (this.#running) return;
    const controller = new AbortController();
    this.#running = controller;
    this.#shows(true);
    this.#message = '';
    const card = new HeldCard(
      (approval) => isNamedBy(approval, this.tool, this.#message),
      (isHeld) => {
        this.state.textContent = isHeld ? 'Held' : 'Running…';
      },
    );
    fill(this.approval, card.element);
    const began = performance.now();
    try {
      const path = `/api/tools/${encodeURIComponent(this.tool)}/call?text=1`;
      for await (const { event, data } of stream(path, this.args(), controller.signal)) {
        if (event === 'progress') {
          this.#progress(JSON.parse(data));
          card.look();
        }
        if (event === 'result') {
          const envelope = answer(data);
          fill(this.outcome, result(envelope));
          this.ended(envelope.call_id);
        }
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
      card.close();
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

  /** @param {Progress} told */
  #progress(told) {
    const { progress, total, message } = told;
    if (total) {
      this.bar.max = total;
      this.bar.value = progress;
    }
    this.state.textContent = progressText(told);
    this.#message = message ?? '';
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

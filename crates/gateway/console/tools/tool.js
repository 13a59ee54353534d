// One tool: what it is, a form and raw JSON that stay in step, and the same call for a shell.

import { get, send } from '../api.js';
import { fill, h } from '../dom.js';
import { ago, count, duration } from '../format.js';
import { isObject, parse, write } from '../json.js';
import * as session from '../session.js';
import { json } from '../tree.js';
import { chip, copy, facts, fetched } from '../widgets.js';
import { Form } from './form.js';
import { command, curl } from './lines.js';
import { runOf } from './run.js';
import { initial, resolve } from './schema.js';

/** @import { Json, Tool, Validation } from '../types' */

/** How long somebody must have stopped typing before the gateway is asked. */
const PAUSE = 250;

/** @type {[keyof Tool['annotations'], string, string][]} */
const ANNOTATIONS = [
  ['read_only', 'read-only', 'changes nothing'],
  ['destructive', 'destructive', 'may destroy something'],
  ['idempotent', 'idempotent', 'twice is as once'],
  ['open_world', 'open world', 'reaches beyond this system'],
];

/**
 * Shows a tool.
 * @param {HTMLElement} place
 * @param {string} name
 * @param {string | null} args as JSON, from the address
 */
export function open(place, name, args) {
  /** @type {Bench | null} */
  let bench = null;
  fetched(place, async () => {
    /** @type {Tool} */
    const tool = await get(`/api/tools/${encodeURIComponent(name)}`);
    bench = new Bench(tool, args);
    const top = about(tool);
    bench.run.ended = async () => {
      // What was just run is counted too.
      const now = await get(`/api/tools/${encodeURIComponent(name)}`);
      top.querySelector('.facts')?.replaceWith(figures(now));
    };
    return [top, bench.element, schemas(tool)];
  });
  return { close: () => bench?.close() };
}

/** @param {Tool} tool */
function about(tool) {
  const says = ANNOTATIONS.filter(([key]) => tool.annotations[key] === true);
  return h(
    'header',
    { class: 'tool-head' },
    h('h2', {}, tool.name),
    h(
      'p',
      { class: 'tags' },
      tool.health && chip(tool.health),
      tool.held && h('span', { class: 'tag asks', title: tool.held }, 'asks first'),
      says.map(([key, word, why]) => h('span', { class: `tag ${key}`, title: why }, word)),
    ),
    h('p', { class: 'tool-about' }, tool.description),
    figures(tool),
  );
}

/** @param {Tool} tool */
function figures(tool) {
  const { use } = tool;
  return facts([
    ['Server', tool.server ? h('a', { href: `/servers/${encodeURIComponent(tool.server)}` }, tool.server) : 'local'],
    ['Calls, last 24 h', use && h('a', { href: `/live?tool=${encodeURIComponent(tool.name)}` }, count(use.calls))],
    ['Failures', use && count(use.failures)],
    ['Median', use && duration(use.p50_ms)],
    ['p95', use && duration(use.p95_ms)],
    ['Last used', use?.last && h('a', { href: `/calls/${use.last.id}` }, ago(use.last.started))],
  ]);
}

/** @param {Tool} tool */
function schemas(tool) {
  return h(
    'details',
    { class: 'schemas' },
    h('summary', {}, 'Schema'),
    json(/** @type {Json} */ (tool.parameters), 'schema'),
    tool.output_schema !== undefined && [
      h('h3', {}, 'Result'),
      json(/** @type {Json} */ (tool.output_schema), 'result schema'),
    ],
  );
}

/** Where a call is put together and made. */
class Bench {
  #typing = 0;
  /** Whether anything was put in: until then nothing is wrong. */
  #isTouched = false;
  /** @type {AbortController | null} */
  #asking = null;
  #closed = new AbortController();

  /**
   * @param {Tool} tool
   * @param {string | null} args
   */
  constructor(tool, args) {
    this.tool = tool;
    this.form = new Form(tool.parameters, () => this.#fromForm());
    this.raw = h('textarea', {
      class: 'code raw',
      id: 'raw',
      spellcheck: 'false',
      rows: '8',
      'aria-describedby': 'verdict',
      oninput: () => this.#fromRaw(),
    });
    this.verdict = h('p', { class: 'verdict', id: 'verdict', role: 'status' });
    this.run = runOf(tool.name);
    this.run.args = () => this.raw.value.trim() || '{}';
    this.run.start.addEventListener('click', () => this.#tellAll(), { signal: this.#closed.signal });
    this.form.element.addEventListener('focusout', () => this.#changed());
    this.shell = h('div', { class: 'shell' });
    this.element = h(
      'div',
      { class: 'bench' },
      h(
        'form',
        {
          class: 'bench-form',
          'aria-label': 'Arguments',
          onsubmit: (/** @type {Event} */ event) => {
            event.preventDefault();
            this.run.run();
          },
        },
        this.form.element,
        h('button', { hidden: true }),
      ),
      h('div', { class: 'bench-raw' }, h('label', { for: 'raw' }, 'Raw JSON'), this.raw, this.verdict),
      h('div', { class: 'bench-run' }, this.run.start, this.run.cancel, this.run.bar, this.run.state),
      this.run.approval,
      this.run.outcome,
      this.shell,
    );
    this.element.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        this.run.run();
      }
    });
    this.#begin(args);
  }

  close() {
    clearTimeout(this.#typing);
    this.#asking?.abort();
    this.#closed.abort();
  }

  /** @param {string | null} args */
  #begin(args) {
    const first = initial(resolve(this.tool.parameters, this.tool.parameters), this.tool.parameters) ?? {};
    this.raw.value = args ?? write(first, 2);
    if (args !== null) this.#tellAll();
    try {
      const value = parse(this.raw.value);
      if (args !== null) this.raw.value = write(value, 2);
      this.form.show(value);
    } catch {
      this.form.show(first);
    }
    this.#changed();
  }

  #tellAll() {
    this.#isTouched = true;
    this.form.tellsAll = true;
    this.#changed();
  }

  #fromForm() {
    this.#isTouched = true;
    this.raw.value = write(this.form.value, 2);
    this.#changed();
  }

  #fromRaw() {
    this.#isTouched = true;
    this.form.tellsAll = true;
    try {
      const value = parse(this.raw.value.trim() || '{}');
      if (isObject(value)) this.form.show(value);
      this.#changed();
    } catch (error) {
      clearTimeout(this.#typing);
      this.#asking?.abort();
      this.#judge('bad', `Not JSON yet: ${error instanceof Error ? error.message : ''}`);
    }
  }

  #changed() {
    this.#lines();
    clearTimeout(this.#typing);
    this.#typing = setTimeout(() => this.#validate(), PAUSE);
  }

  async #validate() {
    this.#asking?.abort();
    this.#asking = new AbortController();
    try {
      /** @type {Validation} */
      const said = await send(
        'POST',
        `/api/tools/${encodeURIComponent(this.tool.name)}/validate`,
        this.raw.value.trim() || '{}',
        this.#asking.signal,
      );
      this.form.mark(said.problems);
      if (said.valid) this.#judge('ok', 'Valid');
      else if (this.#isTouched) this.#judge('bad', said.text ?? 'Not valid');
      else this.#judge('', 'Fields with * are required.');
    } catch (error) {
      if (error instanceof DOMException && error.name === 'AbortError') return;
      this.#judge('bad', error instanceof Error ? error.message : String(error));
    }
  }

  /**
   * @param {'ok' | 'bad' | ''} kind
   * @param {string} text
   */
  #judge(kind, text) {
    this.verdict.className = `verdict ${kind}`;
    this.verdict.textContent = text;
  }

  #lines() {
    let args = this.raw.value;
    try {
      args = write(parse(args || '{}'));
    } catch {
      return;
    }
    const lines = [
      ['curl', curl(this.tool.name, args, session.needsToken())],
      ['switchboard', command(this.tool.name, args)],
    ];
    fill(
      this.shell,
      lines.map(([what = '', line = '']) =>
        h(
          'div',
          { class: 'line' },
          h('pre', { tabindex: '0', 'aria-label': `${what} line` }, h('code', {}, line)),
          copy(() => line, `${what} line`),
        ),
      ),
    );
  }
}

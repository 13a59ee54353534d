// Resources and prompts of a server: listed, and tried. Reading one is a call like any other.

import { get } from '../api.js';
import { fill, h } from '../dom.js';
import { write } from '../json.js';
import { runOf } from '../tools/run.js';
import { empty, fetched } from '../widgets.js';

/** @typedef {{ uri?: string, uriTemplate?: string, name?: string, title?: string, description?: string, mimeType?: string }} Resource */
/** @typedef {{ name: string, title?: string, description?: string, arguments?: { name: string, description?: string, required?: boolean }[] }} Prompt */

/** @param {string} server */
export function beside(server) {
  const place = h('div', { class: 'beside-tools' });
  const address = `/api/servers/${encodeURIComponent(server)}`;
  fetched(place, async () => {
    const [read, asked] = await Promise.all([get(`${address}/resources`), get(`${address}/prompts`)]);
    /** @type {Resource[]} */
    const resources = [...read.resources, ...read.templates];
    /** @type {Prompt[]} */
    const prompts = asked.prompts;
    if (resources.length + prompts.length === 0) {
      return h('p', { class: 'muted' }, 'It has neither resources nor prompts.');
    }
    return [
      resources.length > 0 &&
        group(
          `Resources (${resources.length})`,
          resources.map((one) => resource(one, read.call)),
        ),
      prompts.length > 0 &&
        group(
          `Prompts (${prompts.length})`,
          prompts.map((one) => prompt(one, asked.call)),
        ),
    ];
  });
  return place;
}

/**
 * @param {string} title
 * @param {HTMLElement[]} items
 */
function group(title, items) {
  return h('details', { class: 'beside-group' }, h('summary', {}, title), items.length > 0 ? items : empty('None'));
}

/**
 * @param {Resource} one
 * @param {string} call
 */
function resource(one, call) {
  const address = one.uri ?? one.uriTemplate ?? '';
  const gaps = [...address.matchAll(/\{[+#./;?&]?([^}*:]+)[^}]*\}/g)].flatMap(([, names]) => (names ?? '').split(','));
  const fields = one.uri ? [] : gaps.map((name) => ({ name, required: true }));
  return entry(one.title ?? one.name ?? address, one.description ?? one.mimeType ?? '', address, fields, (values) => ({
    tool: call,
    args: {
      uri: address.replace(/\{[+#./;?&]?([^}*:,]+)[^}]*\}/g, (_, name) => encodeURIComponent(values[name] ?? '')),
    },
  }));
}

/**
 * @param {Prompt} one
 * @param {string} call
 */
function prompt(one, call) {
  return entry(one.title ?? one.name, one.description ?? '', one.name, one.arguments ?? [], (values) => ({
    tool: call,
    args: { name: one.name, ...(Object.keys(values).length > 0 && { arguments: values }) },
  }));
}

/**
 * Something to try: its fields, a button, and what comes back.
 * @param {string} title
 * @param {string} about
 * @param {string} name
 * @param {{ name: string, description?: string, required?: boolean }[]} fields
 * @param {(values: Record<string, string>) => { tool: string, args: object }} made
 */
function entry(title, about, name, fields, made) {
  const inputs = fields.map((field) => ({
    ...field,
    input: h('input', { required: field.required, placeholder: field.description ?? '', autocomplete: 'off' }),
  }));
  const outcome = h('div', {});
  const form = h(
    'form',
    { class: 'beside-form' },
    inputs.map(({ name: key, input }) => h('label', {}, key, input)),
    h('button', { class: 'small', 'aria-label': `Try ${name}` }, 'Try'),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const given = inputs.filter(({ input }) => input.value !== '');
    const { tool, args } = made(Object.fromEntries(given.map(({ name: key, input }) => [key, input.value])));
    const run = runOf(tool, name);
    run.args = () => write(args);
    fill(outcome, h('div', { class: 'bench-run' }, run.cancel, run.bar, run.state), run.approval, run.outcome);
    run.run();
  });
  return h(
    'article',
    { class: 'beside-entry', 'aria-label': title },
    h('div', { class: 'beside-says' }, h('strong', {}, title), ' ', title !== name && h('code', {}, name)),
    about && h('p', { class: 'muted' }, about),
    form,
    outcome,
  );
}

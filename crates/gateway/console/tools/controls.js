// The fields of a form for single values. Each is given what stands there, and tells what was put there.

import { h } from '../dom.js';
import { digits, parse, write } from '../json.js';
import { kind } from './schema.js';

/** @import { Json, SchemaObject } from '../types' */

/** @typedef {{ id: string, described: string, isRequired: boolean, put: (value: Json | undefined) => void }} Place */

/** Texts of more than one line, by what they are called. */
const LONG = /content|text|body|query|sql|code|prompt|message|script|expression_list/i;
const FORMATS = /** @type {Record<string, string>} */ ({
  date: 'date',
  email: 'email',
  uri: 'url',
  password: 'password',
});

/**
 * A field for a value.
 * @param {SchemaObject} schema resolved
 * @param {string} name
 * @param {Json | undefined} value
 * @param {Place} place
 * @returns {HTMLElement}
 */
export function control(schema, name, value, place) {
  switch (kind(schema)) {
    case 'const':
      return h('output', { id: place.id }, write(schema.const));
    case 'enum':
      return choice(
        (schema.enum ?? []).map((one) => [one, typeof one === 'string' ? one : write(one)]),
        value,
        place,
      );
    case 'boolean':
      return choice(
        [
          [true, 'true'],
          [false, 'false'],
        ],
        value,
        place,
      );
    case 'null':
      return h('output', { id: place.id }, 'null');
    case 'number':
    case 'integer':
      return number(schema, value, place);
    case 'string':
      return text(schema, name, value, place);
    default:
      return raw(value, place);
  }
}

/** @param {Place} place */
function common({ id, described, isRequired }) {
  return { id, 'aria-describedby': described, 'aria-required': isRequired ? 'true' : null, autocomplete: 'off' };
}

/**
 * @param {[Json, string][]} choices
 * @param {Json | undefined} value
 * @param {Place} place
 */
function choice(choices, value, place) {
  const now = choices.findIndex(([one]) => value !== undefined && write(one) === write(value));
  const select = h(
    'select',
    common(place),
    h('option', { value: '' }, '—'),
    choices.map(([, words], index) => h('option', { value: String(index) }, words)),
  );
  select.value = now < 0 ? '' : String(now);
  select.addEventListener('change', () =>
    place.put(select.value === '' ? undefined : choices[Number(select.value)]?.[0]),
  );
  return select;
}

/**
 * @param {SchemaObject} schema
 * @param {Json | undefined} value
 * @param {Place} place
 */
function number(schema, value, place) {
  const hint =
    schema.examples?.[0] ??
    (schema.minimum !== undefined && schema.maximum !== undefined ? `${schema.minimum} to ${schema.maximum}` : null);
  const field = h('input', {
    ...common(place),
    type: 'text',
    inputmode: 'decimal',
    class: 'code',
    placeholder: hint,
    value: value === undefined ? '' : plain(value),
  });
  field.addEventListener('input', () => {
    const said = field.value.trim();
    if (said === '') return place.put(undefined);
    // What is no number goes on as it is: the gateway says best what is wrong with it.
    return place.put(/^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(said) ? parse(said) : said);
  });
  return field;
}

/**
 * @param {SchemaObject} schema
 * @param {string} name
 * @param {Json | undefined} value
 * @param {Place} place
 */
function text(schema, name, value, place) {
  const shown = value === undefined ? '' : plain(value);
  const hint = typeof schema.examples?.[0] === 'string' ? schema.examples[0] : null;
  const attributes = { ...common(place), placeholder: hint, spellcheck: 'false', value: shown };
  const isLong = LONG.test(name) || shown.includes('\n');
  const field =
    isLong && !schema.format
      ? h('textarea', { ...attributes, rows: '2' })
      : h('input', { ...attributes, type: FORMATS[schema.format ?? ''] ?? 'text' });
  field.addEventListener('input', () => place.put(field.value === '' ? undefined : field.value));
  return field;
}

/**
 * Anything, as JSON.
 * @param {Json | undefined} value
 * @param {Place} place
 */
function raw(value, place) {
  const field = h('textarea', {
    ...common(place),
    rows: '3',
    class: 'code',
    spellcheck: 'false',
    placeholder: 'JSON',
    value: value === undefined ? '' : write(value, 2),
  });
  field.addEventListener('input', () => {
    if (field.value.trim() === '') return place.put(undefined);
    try {
      return place.put(parse(field.value));
    } catch {
      // It is JSON again a few letters later.
      return place.put(field.value);
    }
  });
  return field;
}

/** @param {Json} value */
function plain(value) {
  return typeof value === 'string' ? value : (digits(value) ?? write(value));
}

// JSON whose numbers keep their digits: `1.0` stays `1.0`, and long integers are not rounded.
// A number that JavaScript would write otherwise is held as what `JSON.rawJSON` makes of its text.

/** @import { Json } from './types' */

/**
 * @param {string} text
 * @returns {Json}
 */
export function parse(text) {
  if (!JSON.rawJSON) return JSON.parse(text);
  return JSON.parse(text, /** @type {any} */ (exact));
}

/** What is somebody's data, and only shown and passed on; everything else is ours, and counted with. */
const DATA = ['arguments', 'args', 'result', 'parameters', 'output_schema'];

/**
 * An answer of the gateway: data keeps its digits, the rest are numbers.
 * @param {string} text
 * @returns {any}
 */
export function answer(text) {
  const plain = JSON.parse(text);
  if (JSON.rawJSON) mend(plain, parse(text));
  return plain;
}

/**
 * @param {any} plain
 * @param {any} whole
 */
function mend(plain, whole) {
  if (typeof plain !== 'object' || plain === null) return;
  for (const key of Object.keys(plain)) {
    if (DATA.includes(key)) plain[key] = whole[key];
    else mend(plain[key], whole[key]);
  }
}

/**
 * @param {string} _key
 * @param {unknown} value
 * @param {{ source?: string }} [context]
 */
function exact(_key, value, context) {
  const source = context?.source;
  const differs = typeof value === 'number' && source !== undefined && JSON.stringify(value) !== source;
  return differs && JSON.rawJSON ? JSON.rawJSON(source) : value;
}

/**
 * @param {unknown} value
 * @param {number} [indent]
 */
export function write(value, indent) {
  return JSON.stringify(value, null, indent) ?? '';
}

/** Control and format characters, and what a page shows as nothing: as `text::is_hidden` of the crate `toolcall` has them. */
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\u{e0000}-\u{e0fff}]/gu;

/**
 * The text with every character that a reader cannot see as an escape. JSON stays the same JSON: line ends are between its values.
 * @param {string} text
 */
export function visible(text) {
  return text.replace(HIDDEN, (hidden) => {
    if (hidden === '\n') return hidden;
    const units = Array.from({ length: hidden.length }, (_, at) => hidden.charCodeAt(at));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
  });
}

/**
 * The digits of a number that JavaScript would write otherwise.
 * @param {unknown} value
 * @returns {string | null}
 */
export function digits(value) {
  return JSON.isRawJSON?.(value) ? value.rawJSON : null;
}

/**
 * Whether it is an object with keys.
 * @param {unknown} value
 * @returns {value is { [key: string]: Json }}
 */
export function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && digits(value) === null;
}

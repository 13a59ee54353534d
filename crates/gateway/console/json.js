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

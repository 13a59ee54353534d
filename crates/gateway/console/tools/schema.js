// What a form needs to know of a JSON Schema: what a value is, which choices there are, what it begins with.

import { digits, isObject, write } from '../json.js';

/** @import { Json, Schema, SchemaObject } from '../types' */

/** How far references are followed; one that leads to itself ends here. */
const DEEP = 20;

/**
 * The schema itself: references followed, `allOf` put together.
 * @param {Schema | undefined} schema
 * @param {Schema} root
 * @param {number} [depth]
 * @returns {SchemaObject}
 */
export function resolve(schema, root, depth = 0) {
  if (typeof schema !== 'object' || schema === null || depth > DEEP) return {};
  let whole = schema;
  if (typeof schema.$ref === 'string') {
    const { $ref, ...rest } = schema;
    whole = { ...resolve(target($ref, root), root, depth + 1), ...rest };
  }
  if (!whole.allOf) return whole;
  const { allOf, ...rest } = whole;
  return allOf.map((one) => resolve(one, root, depth + 1)).reduce(together, rest);
}

/**
 * @param {SchemaObject} one
 * @param {SchemaObject} other
 * @returns {SchemaObject}
 */
function together(one, other) {
  return {
    ...other,
    ...one,
    properties: { ...other.properties, ...one.properties },
    required: [...(other.required ?? []), ...(one.required ?? [])],
  };
}

/**
 * What a reference inside the document points to.
 * @param {string} reference
 * @param {Schema} root
 * @returns {Schema | undefined}
 */
function target(reference, root) {
  if (!reference.startsWith('#')) return undefined;
  /** @type {any} */
  let at = root;
  for (const step of reference.slice(1).split('/').filter(Boolean)) {
    at = at?.[decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return at;
}

/**
 * The choices of a value that can be one of several things, or `null`.
 * @param {SchemaObject} schema resolved
 * @param {Schema} root
 * @returns {{ label: string, schema: SchemaObject }[] | null}
 */
export function variants(schema, root) {
  const { oneOf, anyOf, ...rest } = schema;
  const choices = oneOf ?? anyOf;
  if (choices) {
    return choices.map((choice, index) => {
      const own = resolve(choice, root);
      return { label: label(own, root, index), schema: together(own, rest) };
    });
  }
  if (!Array.isArray(schema.type) || schema.type.length < 2) return null;
  return schema.type.map((type) => ({ label: type, schema: { ...schema, type, default: undefined } }));
}

/**
 * @param {SchemaObject} schema
 * @param {Schema} root
 * @param {number} index
 */
function label(schema, root, index) {
  if (schema.title) return schema.title;
  if (schema.const !== undefined) return write(schema.const);
  for (const [name, own] of Object.entries(schema.properties ?? {})) {
    const { const: fixed } = resolve(own, root);
    if (fixed !== undefined) return `${name}: ${String(fixed)}`;
  }
  const keys = Object.keys(schema.properties ?? {});
  if (keys.length > 0) return keys.join(', ');
  return kind(schema) === 'any' ? `choice ${index + 1}` : kind(schema);
}

/**
 * What a value is: `object`, `array`, `string`, `number`, `integer`, `boolean`, `null`, `enum`, `const` or `any`.
 * @param {SchemaObject} schema resolved
 */
export function kind(schema) {
  if (schema.const !== undefined) return 'const';
  if (Array.isArray(schema.enum)) return 'enum';
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type) return type;
  if (schema.properties) return 'object';
  return schema.items || schema.prefixItems ? 'array' : 'any';
}

/**
 * What a value begins with; `undefined` where it is left out.
 * @param {SchemaObject} schema resolved
 * @param {Schema} root
 * @param {number} [depth]
 * @returns {Json | undefined}
 */
export function initial(schema, root, depth = 0) {
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (kind(schema) !== 'object' || depth > DEEP) return undefined;
  /** @type {Record<string, Json>} */
  const value = {};
  for (const [name, own] of Object.entries(schema.properties ?? {})) {
    const resolved = resolve(own, root);
    const isNeeded = schema.required?.includes(name);
    const first = isNeeded || resolved.default !== undefined ? initial(resolved, root, depth + 1) : undefined;
    if (first !== undefined) value[name] = first;
  }
  return value;
}

/**
 * What a value is when it was just added.
 * @param {SchemaObject} schema resolved
 * @param {Schema} root
 * @returns {Json}
 */
export function fresh(schema, root) {
  const first = initial(schema, root);
  if (first !== undefined) return first;
  const choice = variants(schema, root)?.[0];
  if (choice) return fresh(choice.schema, root);
  const blanks = /** @type {Record<string, Json>} */ ({
    object: {},
    array: [],
    string: '',
    number: 0,
    integer: 0,
    boolean: false,
  });
  return kind(schema) === 'enum' ? (schema.enum?.[0] ?? null) : (blanks[kind(schema)] ?? null);
}

/**
 * Whether a value looks like one of this schema, to find its choice among several.
 * @param {Json | undefined} value
 * @param {SchemaObject} schema resolved
 * @param {Schema} root
 */
export function fits(value, schema, root) {
  if (value === undefined) return false;
  switch (kind(schema)) {
    case 'const':
      return write(value) === write(schema.const);
    case 'enum':
      return (schema.enum ?? []).some((one) => write(one) === write(value));
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'number':
    case 'integer':
      return typeof value === 'number' || digits(value) !== null;
    case 'object':
      return (
        isObject(value) &&
        (schema.required ?? []).every((name) => name in value) &&
        Object.entries(schema.properties ?? {}).every(([name, own]) => {
          const fixed = resolve(own, root).const;
          return fixed === undefined || !(name in value) || write(value[name]) === write(fixed);
        })
      );
    case 'any':
      return true;
    default:
      return typeof value === kind(schema);
  }
}

// A form made from a JSON Schema. It holds one value, the arguments, and tells whenever it has changed.

import { fill, h } from '../dom.js';
import { isObject } from '../json.js';
import { control } from './controls.js';
import { fits, fresh, kind, resolve, variants } from './schema.js';

/** @import { Json, Schema, SchemaObject, Validation } from '../types' */

/** @typedef {(string | number)[]} Path */

/** How deep objects that are not there yet are shown as fields; a schema may contain itself. */
const SHOWN = 2;

/** The form. */
export class Form {
  element = h('div', { class: 'fields' });
  /** @type {Json} */
  value = {};
  /** Where something has to be, even if nothing is in it. @type {Set<string>} */
  #required = new Set();
  /** The fields that somebody was in: a problem is told once its field was left. @type {Set<string>} */
  #touched = new Set();
  /** Whether the problems of all fields are told: somebody wants to run it, or wrote the JSON. */
  tellsAll = false;

  /**
   * @param {Schema} schema
   * @param {() => void} changed
   * @param {{ prefix?: string, nothing?: string }} [words] what ids begin with, where there may be another form on the
   *   page, and what is said where there are no fields
   */
  constructor(schema, changed, { prefix = '', nothing = 'This tool takes no arguments.' } = {}) {
    this.root = schema;
    this.changed = changed;
    this.prefix = prefix;
    this.nothing = nothing;
    const touch = (/** @type {Event} */ { target }) => {
      if (target instanceof HTMLElement && target.id) this.#touched.add(target.id);
    };
    this.element.addEventListener('input', touch);
    this.element.addEventListener('focusout', touch);
  }

  /**
   * The id of something that belongs to a value.
   * @param {string} what
   * @param {Path} path
   */
  #id(what, path) {
    return `${this.prefix}${what}${pointer(path)}`;
  }

  /** @param {Json} value */
  show(value) {
    this.value = value;
    this.#required.clear();
    const schema = resolve(this.root, this.root);
    const fields = isObject(value)
      ? this.#properties(schema, [])
      : [h('p', { class: 'muted' }, 'The arguments must be an object.')];
    const focused = document.activeElement?.id;
    fill(this.element, fields.length > 0 ? fields : h('p', { class: 'muted' }, this.nothing));
    if (focused && this.element.querySelector(`#${CSS.escape(focused)}`)) document.getElementById(focused)?.focus();
  }

  /** @param {Validation['problems']} problems */
  mark(problems) {
    for (const slot of this.element.querySelectorAll('.field-problem')) {
      const name = slot.id.replace('problem', 'field');
      const isTold = this.tellsAll || this.#touched.has(name);
      const own = isTold ? problems.filter(({ path }) => `${this.prefix}problem${path}` === slot.id) : [];
      const field = document.getElementById(name);
      const told = own.map(({ message }) => message);
      // What a schema calls a format is checked by nobody else.
      if (isTold && field instanceof HTMLInputElement && field.validity.typeMismatch) {
        told.push(field.type === 'email' ? 'not an email address' : 'not an address');
      }
      slot.textContent = told.join('; ');
      if (told.length > 0) field?.setAttribute('aria-invalid', 'true');
      else field?.removeAttribute('aria-invalid');
    }
  }

  /**
   * @param {SchemaObject} schema resolved
   * @param {Path} path
   */
  #properties(schema, path) {
    return Object.entries(schema.properties ?? {}).map(([name, own]) => {
      const isRequired = schema.required?.includes(name) ?? false;
      return this.#field(resolve(own, this.root), [...path, name], isRequired);
    });
  }

  /**
   * One parameter: its name, what it is, and where it is put in.
   * @param {SchemaObject} schema resolved
   * @param {Path} path
   * @param {boolean} isRequired
   * @returns {HTMLElement}
   */
  #field(schema, path, isRequired) {
    const step = path.at(-1);
    const name = typeof step === 'number' ? `Item ${step + 1}` : String(step);
    const at = pointer(path);
    if (isRequired) this.#required.add(at);
    const choices = variants(schema, this.root);
    const isGroup =
      choices !== null ||
      (kind(schema) === 'object' && schema.properties !== undefined) ||
      kind(schema) === 'array' ||
      isMap(schema);
    const title = [
      name,
      isRequired && h('abbr', { class: 'required', title: 'required' }, '*'),
      h('span', { class: 'type' }, typeName(schema, choices?.length)),
    ];
    const ids = { about: this.#id('about', path), problem: this.#id('problem', path), field: this.#id('field', path) };
    const about = h('p', { class: 'about', id: ids.about }, schema.description ?? '');
    const problem = h('p', { class: 'field-problem', id: ids.problem });
    if (isGroup) {
      const body = choices ? this.#choice(choices, path) : this.#group(schema, path);
      return h('fieldset', { class: 'group', id: ids.field }, h('legend', {}, title), about, problem, body);
    }
    const put = (/** @type {Json | undefined} */ value) => {
      this.#put(path, value);
    };
    const place = { id: ids.field, described: `${ids.about} ${ids.problem}`, isRequired, put };
    return h(
      'div',
      { class: 'field' },
      h('label', { for: ids.field }, title),
      about,
      control(schema, name, this.#get(path), place),
      problem,
    );
  }

  /**
   * @param {SchemaObject} schema
   * @param {Path} path
   */
  #group(schema, path) {
    if (kind(schema) === 'array') return this.#items(schema, path);
    if (isMap(schema)) return this.#entries(schema, path);
    if (path.length <= SHOWN || this.#get(path) !== undefined) return this.#properties(schema, path);
    const add = () => {
      this.#put(path, fresh(schema, this.root));
      this.show(this.value);
    };
    return [
      h(
        'button',
        { type: 'button', class: 'small', id: this.#id('add', path), onclick: add },
        `Set ${String(path.at(-1))}`,
      ),
    ];
  }

  /**
   * A value that can be one of several things.
   * @param {{ label: string, schema: SchemaObject }[]} choices
   * @param {Path} path
   */
  #choice(choices, path) {
    const value = this.#get(path);
    const chosen = choices.findIndex((choice) => fits(value, choice.schema, this.root));
    const select = h(
      'select',
      { 'aria-label': `Kind of ${String(path.at(-1))}`, id: this.#id('kind', path) },
      h('option', { value: '' }, '—'),
      choices.map(({ label }, index) => h('option', { value: String(index) }, label)),
    );
    select.value = chosen < 0 ? '' : String(chosen);
    select.addEventListener('change', () => {
      const choice = choices[Number(select.value)];
      this.#put(path, select.value === '' || !choice ? undefined : fresh(choice.schema, this.root));
      this.show(this.value);
    });
    const own = choices[chosen]?.schema;
    if (!own || ['null', 'const'].includes(kind(own))) return [select];
    const isGroup = kind(own) === 'array' || own.properties !== undefined;
    const put = (/** @type {Json | undefined} */ given) => {
      this.#put(path, given);
    };
    const place = { id: this.#id('value', path), described: this.#id('problem', path), isRequired: false, put };
    return [
      select,
      h(
        'div',
        { class: 'chosen' },
        isGroup ? this.#group(own, path) : named(control(own, String(path.at(-1)), value, place), path),
      ),
    ];
  }

  /**
   * @param {SchemaObject} schema
   * @param {Path} path
   */
  #items(schema, path) {
    const value = this.#get(path);
    const items = Array.isArray(value) ? value : [];
    const own = (/** @type {number} */ index) =>
      resolve(
        schema.prefixItems?.[index] ?? (Array.isArray(schema.items) ? schema.items[index] : schema.items),
        this.root,
      );
    const redo = (/** @type {Json[]} */ next) => {
      this.#put(path, next.length > 0 || items.length > 0 ? next : undefined);
      this.show(this.value);
    };
    const rows = items.map((_, index) =>
      h(
        'div',
        { class: 'item' },
        this.#field(own(index), [...path, index], false),
        h(
          'button',
          { type: 'button', class: 'plain small', onclick: () => redo(items.toSpliced(index, 1)) },
          `Remove item ${index + 1}`,
        ),
      ),
    );
    const add = h(
      'button',
      {
        type: 'button',
        class: 'small',
        id: this.#id('add', path),
        onclick: () => redo([...items, fresh(own(items.length), this.root)]),
      },
      `Add to ${String(path.at(-1))}`,
    );
    return [...rows, add];
  }

  /**
   * An object with names of one's own.
   * @param {SchemaObject} schema
   * @param {Path} path
   */
  #entries(schema, path) {
    const value = this.#get(path);
    const entries = isObject(value) ? value : {};
    const own = resolve(schema.additionalProperties, this.root);
    const redo = (/** @type {{ [key: string]: Json }} */ next) => {
      this.#put(path, Object.keys(next).length > 0 ? next : undefined);
      this.show(this.value);
    };
    const rows = Object.keys(entries).map((key) => {
      const drop = () => redo(Object.fromEntries(Object.entries(entries).filter(([other]) => other !== key)));
      return h(
        'div',
        { class: 'item' },
        this.#field(own, [...path, key], false),
        h('button', { type: 'button', class: 'plain small', onclick: drop }, `Remove ${key}`),
      );
    });
    const name = h('input', {
      id: this.#id('name', path),
      placeholder: 'name',
      'aria-label': `Name to add to ${String(path.at(-1))}`,
    });
    const add = () => {
      const key = name.value.trim();
      if (key !== '' && !(key in entries)) redo({ ...entries, [key]: fresh(own, this.root) });
    };
    const button = h('button', { type: 'button', class: 'small', id: this.#id('add', path), onclick: add }, 'Add');
    return [...rows, h('div', { class: 'row' }, name, button)];
  }

  /** @param {Path} path */
  #get(path) {
    /** @type {any} */
    let at = this.value;
    for (const step of path) at = at?.[step];
    return /** @type {Json | undefined} */ (at);
  }

  /**
   * Puts a value in its place; what is around it is made where it is missing, and goes where nothing is left in it.
   * @param {Path} path
   * @param {Json | undefined} value
   */
  #put(path, value) {
    this.value = this.#placed(this.value, path, [], value) ?? {};
    this.changed();
  }

  /**
   * @param {any} whole
   * @param {Path} path
   * @param {Path} above
   * @param {Json | undefined} value
   * @returns {any}
   */
  #placed(whole, [step, ...rest], above, value) {
    if (step === undefined) return value;
    /** @type {any} */
    const copy = Array.isArray(whole) ? [...whole] : { ...(isObject(whole) ? whole : {}) };
    const next = this.#placed(whole?.[step], rest, [...above, step], value);
    if (next !== undefined) copy[step] = next;
    else if (Array.isArray(copy)) copy[/** @type {number} */ (step)] = null;
    else delete copy[step];
    const isBare = Object.keys(copy).length === 0 && value === undefined && !Array.isArray(copy);
    return isBare && !this.#required.has(pointer(above)) ? undefined : copy;
  }
}

/**
 * Whether an object has names of one's own, whose values have a schema.
 * @param {SchemaObject} schema
 */
function isMap(schema) {
  return kind(schema) === 'object' && schema.properties === undefined && isObject(schema.additionalProperties);
}

/** @param {Path} path */
function pointer(path) {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/**
 * @param {HTMLElement} field
 * @param {Path} path
 */
function named(field, path) {
  field.setAttribute('aria-label', String(path.at(-1)));
  return field;
}

/**
 * @param {SchemaObject} schema
 * @param {number} [choices]
 */
function typeName(schema, choices) {
  if (choices) return `one of ${choices}`;
  const type = kind(schema) === 'enum' ? 'choice' : kind(schema);
  return schema.format ? `${type}, ${schema.format}` : type;
}

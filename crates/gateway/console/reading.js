// The result of a call as people read it: text as text, line breaks included, and any other value as JSON.

import { h } from './dom.js';
import { pages } from './live/artifacts.js';
import { json } from './tree.js';

/** @import { Artifact, Json } from './types' */
/** @typedef {{ result?: Json, text?: string, truncated?: boolean, artifacts?: Artifact[] }} Read */

/**
 * What is read of a result.
 * @param {Read} call
 */
export function reading(call) {
  const whole = wholeText(call);
  if (whole) return pages(whole);
  const text = call.text ?? call.result;
  if (typeof text !== 'string') return json(call.result, 'result');
  const shown = h('pre', { class: 'page-text', tabindex: '0', 'aria-label': 'Text of the result' }, text);
  if (call.text === undefined) return shown;
  const all = h('details', { class: 'as-json' }, h('summary', {}, 'As JSON'), json(call.result, 'result'));
  return h('div', { class: 'pages' }, shown, all);
}

/**
 * The artifact that holds the whole text of a result that was cut: of an MCP result its text, not its JSON.
 * @param {Read} call
 */
export function wholeText({ truncated, artifacts }) {
  if (!truncated) return undefined;
  const texts = (artifacts ?? []).filter(({ kind }) => kind === 'text');
  return texts.find(({ media_type: type }) => type === 'text/plain') ?? texts[0];
}

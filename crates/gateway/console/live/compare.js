// Two calls side by side: what differs is marked.

import { h } from '../dom.js';
import { duration, moment } from '../format.js';
import { write } from '../json.js';
import { navigate } from '../router.js';
import { chip, fetched } from '../widgets.js';
import { readCall } from './detail.js';
import { differences } from './difference.js';

/** @import { CallDetail } from '../types' */
/** @import { Line } from './difference.js' */

/** How many lines of a text are compared; longer ones are cut. */
const LINES = 1500;

/**
 * A panel with two calls.
 * @param {string} first
 * @param {string} second
 * @param {() => void} close
 */
export function compare(first, second, close) {
  const body = h('div', { class: 'detail-body' });
  const load = () =>
    fetched(body, async () => {
      return content(
        .../** @type {[CallDetail, CallDetail]} */ (await Promise.all([readCall(first), readCall(second)])),
      );
    });
  const swap = () => {
    const query = new URLSearchParams(location.search);
    query.set('call', first);
    query.set('compare', second);
    navigate(`/live?${query}`, true);
  };
  const element = h(
    'aside',
    { class: 'detail', 'aria-label': 'Two calls', tabindex: '-1' },
    h(
      'div',
      { class: 'detail-head' },
      h('h2', {}, 'Two calls side by side'),
      h('button', { type: 'button', class: 'plain small', onclick: swap }, 'Swap'),
      h('button', { type: 'button', class: 'plain small', 'aria-label': 'Close comparison', onclick: close }, 'Close'),
    ),
    body,
  );
  load();
  return { element, load, close: () => {} };
}

/**
 * @param {CallDetail} first
 * @param {CallDetail} second
 */
function content(first, second) {
  return [
    h('div', { class: 'two' }, top(first), top(second)),
    pair('Arguments', write(first.arguments ?? {}, 2), write(second.arguments ?? {}, 2)),
    pair('Result', says(first), says(second)),
  ];
}

/** @param {CallDetail} call */
function top(call) {
  return h(
    'div',
    { class: 'two-top' },
    h('p', { class: 'detail-title' }, chip(call.outcome), h('strong', {}, call.tool)),
    h(
      'p',
      { class: 'muted' },
      [moment(call.started), duration(call.duration_ms), call.caller, call.conversation].filter(Boolean).join(' · '),
    ),
    h('a', { href: `/calls/${encodeURIComponent(call.id)}` }, 'Open'),
  );
}

/** What came of a call, as text. @param {CallDetail} call */
function says(call) {
  if (call.error) return [call.error, call.hint].filter(Boolean).join('\n');
  if (call.text !== undefined) return call.text;
  if (call.result === undefined) return '';
  return typeof call.result === 'string' ? call.result : write(call.result, 2);
}

/**
 * @param {string} title
 * @param {string} first
 * @param {string} second
 */
function pair(title, first, second) {
  const cut = (/** @type {string} */ text) => text.split('\n').slice(0, LINES);
  const lines = differences(cut(first), cut(second));
  const many = lines.filter(({ left, right }) => left !== right).length;
  return h(
    'section',
    { class: 'block' },
    h(
      'div',
      { class: 'block-head' },
      h('h3', {}, title),
      h(
        'span',
        { class: 'muted' },
        many === 0 ? 'the same' : `${many} ${many === 1 ? 'line differs' : 'lines differ'}`,
      ),
    ),
    h(
      'div',
      { class: 'two' },
      side(lines, 'left', `${title} of the first`),
      side(lines, 'right', `${title} of the second`),
    ),
  );
}

/**
 * @param {Line[]} lines
 * @param {'left' | 'right'} which
 * @param {string} label
 */
function side(lines, which, label) {
  return h(
    'pre',
    { class: 'two-text', tabindex: '0', 'aria-label': label },
    lines.map((line) => {
      const text = line[which];
      const isSame = line.left === line.right;
      const mark = isSame ? ' ' : which === 'left' ? '−' : '+';
      const className = isSame ? '' : text === null ? 'none' : which === 'left' ? 'gone' : 'came';
      return h('span', { class: `two-line ${className}` }, text === null ? '' : `${mark} ${text}`, '\n');
    }),
  );
}

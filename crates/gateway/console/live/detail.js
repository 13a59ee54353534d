// All about one call: arguments, result or error, timings, artifacts, and its place in the records.

import { get } from '../api.js';
import { HeldCard } from '../approval.js';
import { h } from '../dom.js';
import { feed } from '../feed.js';
import { duration, moment, size } from '../format.js';
import { holds } from '../held.js';
import { icon } from '../icons.js';
import { write } from '../json.js';
import { reading, wholeText } from '../reading.js';
import { runOf } from '../tools/run.js';
import { json } from '../tree.js';
import { chip, copy, facts, fetched } from '../widgets.js';
import { artifacts } from './artifacts.js';

/** @import { CallDetail, Place, Stages } from '../types' */

/** The stages of a call in their order, and what each is. */
const STAGES = /** @type {const} */ ([
  ['open', 'Record opened'],
  ['lookup', 'Tool found'],
  ['check', 'Arguments and policy checked'],
  ['held', 'Held for a person'],
  ['wait', 'Waited for a slot'],
  ['run', 'Ran'],
  ['shape', 'Result shaped'],
]);

/**
 * Reads a call: of any node, if those of all are shown.
 * @param {string} id
 */
export const readCall = (id) => get(`/api/calls/${encodeURIComponent(id)}${feed.isWide ? '?cluster=true' : ''}`);

/**
 * A panel for one call.
 * @param {string} id
 * @param {() => void} close
 */
export function detail(id, close) {
  const body = h('div', { class: 'detail-body' });
  const load = () => fetched(body, async () => content(await readCall(id)));
  const card = new HeldCard(({ call_id: call }) => call === id, load);
  const element = h(
    'aside',
    { class: 'detail', 'aria-label': 'Call', tabindex: '-1' },
    h(
      'div',
      { class: 'detail-head' },
      h('h2', {}, 'Call ', h('code', {}, id)),
      h(
        'a',
        { class: 'button plain small', href: compareAddress(id), title: 'Choose another call to compare it with' },
        'Compare',
      ),
      copy(() => `${location.origin}/calls/${id}`, 'link to this call'),
      h('button', { type: 'button', class: 'plain small', 'aria-label': 'Close call', onclick: close }, 'Close'),
    ),
    h('div', { class: 'detail-held' }, card.element),
    body,
  );
  load();
  return { element, load, close: () => card.close() };
}

/**
 * Where the call waits for another to be compared with.
 * @param {string} id
 */
function compareAddress(id) {
  const query = new URLSearchParams(location.search);
  query.delete('call');
  query.set('compare', id);
  return `/live?${query}`;
}

/** @param {CallDetail} read */
function content(read) {
  const call = read.outcome === 'running' && holds(read.id) ? { ...read, outcome: 'held' } : read;
  const again = `/tools/${encodeURIComponent(call.tool)}?args=${encodeURIComponent(write(call.arguments ?? {}))}`;
  const replayed = replay(call);
  return [
    h(
      'p',
      { class: 'detail-title' },
      chip(call.outcome),
      h('strong', {}, call.tool),
      h('span', { class: 'muted' }, duration(call.duration_ms)),
    ),
    facts([
      ['Started', moment(call.started)],
      ['Server', call.server],
      ['Caller', call.caller],
      ['Client', call.client],
      ['Node', call.node && `${call.node.host} (${call.node.id})`],
      [
        'Conversation',
        call.conversation &&
          h(
            'a',
            { href: `/live?view=waterfall&conversation=${encodeURIComponent(call.conversation)}` },
            call.conversation,
          ),
      ],
      ['Answer', call.reused && `not run again: ${call.reused}`],
      ['Size', call.bytes === undefined ? null : size(call.bytes)],
    ]),
    call.approval && block('Approval', approval(call.approval)),
    failure(call),
    block(
      'Arguments',
      json(call.arguments ?? {}, 'arguments'),
      h(
        'span',
        { class: 'row' },
        replayed?.start,
        h('a', { class: 'button plain small', href: again }, icon('form', 13), 'Edit and run'),
      ),
    ),
    h('div', { class: 'results' }, result(call), replayed?.element),
    artifacts(call.artifacts ?? [], wholeText(call)),
    call.stages_ms && block('Timings', timings(call.stages_ms)),
    call.journal &&
      call.journal.length > 0 &&
      h('details', { class: 'record' }, h('summary', {}, 'Record and hash chain'), journal(call.journal)),
  ];
}

/** @param {NonNullable<CallDetail['approval']>} given */
function approval({ decision, by, reason, rule }) {
  return facts([
    ['Decision', decision],
    ['By', by],
    ['Reason', reason],
    ['Left to a person by', rule && h('code', {}, rule)],
  ]);
}

/** @param {CallDetail} call */
function failure(call) {
  if (!call.error) return null;
  return h(
    'div',
    { class: 'failure' },
    h('p', { class: 'title' }, call.error),
    call.hint && h('p', {}, h('strong', {}, 'Hint: '), call.hint),
    call.causes &&
      call.causes.length > 0 &&
      h(
        'ul',
        {},
        call.causes.map((cause) => h('li', {}, cause)),
      ),
  );
}

/** @param {CallDetail} call */
function result(call) {
  if (call.outcome === 'held') return null;
  if (call.outcome === 'running') return block('Result', h('p', { class: 'muted' }, 'It still runs.'));
  if (call.result === undefined) return null;
  return block('Result', reading(call));
}

/**
 * Makes the same call again; what comes of it is shown beside the old result. A call whose secrets were taken out cannot be repeated.
 * @param {CallDetail} call
 */
function replay(call) {
  const args = write(call.arguments ?? {});
  if (['running', 'held'].includes(call.outcome) || args.includes('[redacted')) return null;
  const run = runOf(call.tool, call.id);
  run.args = () => args;
  const start = () => {
    if (window.confirm(`Call ${call.tool} again with the same arguments?`)) run.run();
  };
  const element = block('Again', [
    h('div', { class: 'bench-run' }, run.cancel, run.bar, run.state),
    run.approval,
    run.outcome,
  ]);
  element.classList.add('again');
  return {
    element,
    start: h('button', { type: 'button', class: 'plain small', onclick: start }, icon('again', 13), 'Run again'),
  };
}

/** @param {Stages} stages */
function timings(stages) {
  const known = STAGES.filter(([stage]) => stages[stage] !== undefined);
  const whole = known.reduce((sum, [stage]) => sum + (stages[stage] ?? 0), 0) || 1;
  let before = 0;
  return h(
    'ol',
    { class: 'timings' },
    known.map(([stage, words]) => {
      const took = stages[stage] ?? 0;
      const bar = h('span', { class: 'timing-bar' });
      bar.style.marginLeft = `${(before / whole) * 100}%`;
      bar.style.width = `${Math.max(0.4, (took / whole) * 100)}%`;
      before += took;
      return h(
        'li',
        {},
        h('span', {}, words),
        h('span', { class: 'timing-track', 'aria-hidden': 'true' }, bar),
        h('span', { class: 'number' }, duration(took)),
      );
    }),
  );
}

/** @param {Place[]} places */
function journal(places) {
  return [
    h(
      'p',
      { class: 'muted' },
      'Each line of the journal carries the hash of the line before it. ',
      h('code', {}, 'switchboard calls verify'),
      ' checks them all.',
    ),
    h(
      'ol',
      { class: 'chain' },
      places.map((place, index) =>
        h(
          'li',
          {},
          h('strong', {}, index === 0 ? 'Beginning' : 'End'),
          ` segment ${place.segment}${place.line === undefined ? '' : `, line ${place.line}`}, byte ${place.offset}`,
          place.previous &&
            h('code', { class: 'hash', title: place.previous }, `follows ${place.previous.slice(0, 16)}…`),
          h('code', { class: 'hash', title: place.hash }, `hash ${place.hash.slice(0, 16)}…`),
        ),
      ),
    ),
  ];
}

/**
 * @param {string} title
 * @param {Node | Node[]} body
 * @param {Node} [beside]
 */
export function block(title, body, beside) {
  return h('section', { class: 'block' }, h('div', { class: 'block-head' }, h('h3', {}, title), beside), body);
}

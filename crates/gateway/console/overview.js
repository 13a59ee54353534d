// Overview: how much was called, what failed, how long it took, which tools are slow and who calls most.

import { get } from './api.js';
import { figure } from './chart.js';
import { fill, h } from './dom.js';
import { count, duration, words } from './format.js';
import { change, here } from './router.js';
import { empty, head, scopes, segments, trouble } from './widgets.js';

/** @import { Figures, Route, Stats, View } from './types' */

/** The spans that can be chosen, and the step of each. @type {Record<string, { step: string, words: string }>} */
const SPANS = {
  '5m': { step: '5s', words: '5 min' },
  '15m': { step: '15s', words: '15 min' },
  '1h': { step: '1m', words: '1 h' },
  '24h': { step: '20m', words: '24 h' },
  '7d': { step: '3h', words: '7 d' },
};
/** How often the figures are requested again. */
const LOOK = 10_000;
const TOP = 8;

/**
 * @param {HTMLElement} place
 * @param {Route} route
 * @returns {View}
 */
export function open(place, route) {
  let since = '1h';
  /** The span that is shown if the address names none. */
  let usual = '1h';
  /** Whether the calls of all nodes of the cluster are counted. */
  let isWide = false;
  let timer = 0;
  let isClosed = false;
  const body = h('div', { class: 'overview-body' });
  const spans = segments(
    'Span of time',
    Object.entries(SPANS).map(([span, { words: text }]) => [span, text]),
    since,
    (span) => change({ since: span }),
  );
  const scope = scopes((wide) => change({ scope: wide ? 'cluster' : null }));
  place.append(head('Overview', scope.element, spans.element), body);

  async function look() {
    clearTimeout(timer);
    const [span, wide] = [since, isWide];
    try {
      const { step } = SPANS[span] ?? { step: '1m' };
      const ask = (/** @type {string} */ more) =>
        get(`/api/stats?since=${span}&step=${step}&top=${TOP}&${more}${wide ? '&cluster=true' : ''}`);
      const answers = await Promise.all([
        ask('by=tool&sort=p95'),
        ask('by=caller&sort=calls'),
        ask('by=tool&sort=calls'),
      ]);
      // Something else was chosen meanwhile, which is looked up already.
      if (span !== since || wide !== isWide) return;
      if (!isClosed) fill(body, content(.../** @type {[Stats, Stats, Stats]} */ (answers)));
    } catch (error) {
      if (span !== since || wide !== isWide) return;
      fill(body, trouble(error, look));
    }
    if (!isClosed) timer = setTimeout(look, LOOK);
  }
  /** @param {Route} next */
  function update(next) {
    const wanted = next.query.get('since') ?? usual;
    since = wanted in SPANS ? wanted : '1h';
    isWide = next.query.get('scope') === 'cluster';
    spans.press(since);
    scope.press(isWide);
    look();
  }
  if (route.query.has('since')) update(route);
  else begin();
  async function begin() {
    usual = await fitting(route.query.get('scope') === 'cluster');
    if (!isClosed) update(here());
  }
  return {
    update,
    close: () => {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

/**
 * The span into which the calls of the last hour fit best; a longer one where there were none.
 * @param {boolean} isWide
 */
async function fitting(isWide) {
  try {
    /** @type {Stats} */
    const { steps, until } = await get(`/api/stats?since=1h&step=1m&by=tool&top=1${isWide ? '&cluster=true' : ''}`);
    const first = steps.find(({ calls }) => calls > 0);
    if (!first) return '24h';
    const minutes = (new Date(until).getTime() - new Date(first.at).getTime()) / 60_000;
    return minutes < 4 ? '5m' : minutes < 14 ? '15m' : '1h';
  } catch {
    // What is wrong is said where the figures would be.
    return '1h';
  }
}

/**
 * @param {Stats} slow
 * @param {Stats} callers
 * @param {Stats} busy
 */
function content(slow, callers, busy) {
  const { total } = slow;
  const notes = silentNodes(slow);
  if (total.calls === 0) {
    return [
      ...notes,
      empty(
        'No calls in this time',
        'Choose a longer span, or make a call in ',
        h('a', { href: '/tools' }, 'Tools'),
        '.',
      ),
    ];
  }
  return [
    h(
      'dl',
      { class: 'tiles' },
      tile('Calls', count(total.calls)),
      tile(
        'Failures',
        count(total.failures),
        `${((100 * total.failures) / total.calls).toFixed(1)} %`,
        total.failures > 0,
      ),
      tile('p50', duration(total.p50_ms)),
      tile('p95', duration(total.p95_ms)),
      tile('p99', duration(total.p99_ms)),
    ),
    ...notes,
    slow.partial &&
      !slow.nodes?.some(({ source }) => source === 'missing') &&
      h('p', { class: 'note' }, 'There are more calls than can be counted at once: these are the newest 500,000.'),
    charts(slow),
    rankings(slow, callers, busy),
  ];
}

/** What a link to Live needs to show the calls of the same nodes. */
function inScope() {
  return new URLSearchParams(location.search).get('scope') === 'cluster' ? '&scope=cluster' : '';
}

/**
 * Which nodes did not answer, and what that means for the figures.
 * @param {Stats} stats
 */
function silentNodes({ nodes = [] }) {
  const names = (/** @type {string} */ wanted) =>
    nodes
      .filter(({ source }) => source === wanted)
      .map(({ id, host }) => `${host} (…${id.slice(-4)})`)
      .join(', ');
  const [shipped, missing] = [names('shipped'), names('missing')];
  return [
    shipped && h('p', { class: 'note' }, `Did not answer, so that the calls that they have shipped count: ${shipped}.`),
    missing && h('p', { class: 'note' }, `Did not answer, so that their calls are missing here: ${missing}.`),
  ];
}

/** @param {Stats} stats */
function charts({ total, steps }) {
  const times = steps.map(({ at }) => at);
  return h(
    'div',
    { class: 'charts' },
    figure({
      title: 'Calls over time',
      times,
      kind: 'bars',
      unit: count,
      summary: `${count(total.calls)} calls, ${count(total.failures)} of them failed.`,
      series: [
        { name: 'succeeded', className: 'ok', values: steps.map((step) => step.calls - step.failures) },
        { name: 'failed', className: 'bad', values: steps.map((step) => step.failures) },
      ],
    }),
    figure({
      title: 'Duration over time',
      times,
      kind: 'lines',
      unit: duration,
      summary: `Half of the calls took less than ${duration(total.p50_ms)}, 95 of 100 less than ${duration(total.p95_ms)}.`,
      series: [
        { name: 'p50', className: 'first', values: steps.map((step) => step.p50_ms) },
        { name: 'p95', className: 'second', values: steps.map((step) => step.p95_ms) },
        { name: 'p99', className: 'third', values: steps.map((step) => step.p99_ms) },
      ],
    }),
  );
}

/**
 * @param {Stats} slow
 * @param {Stats} callers
 * @param {Stats} busy
 */
function rankings(slow, callers, busy) {
  return h(
    'div',
    { class: 'tables' },
    ranking(
      'Failures by kind',
      Object.entries(slow.kinds)
        .sort(([, one], [, other]) => other - one)
        .map(([kind, number]) => ({
          name: words(kind),
          address: `/live?outcome=${kind}${inScope()}`,
          value: number,
          shown: count(number),
        })),
      'Nothing failed.',
      'bad',
    ),
    ranking(
      'Slowest tools (p95)',
      rows(slow, (group) => group.p95_ms ?? 0, duration, 'tool'),
      'Nothing was called.',
      'second',
    ),
    ranking(
      'Most used tools',
      rows(busy, (group) => group.calls, count, 'tool'),
      'Nothing was called.',
      'ok',
    ),
    ranking(
      'Busiest callers',
      rows(callers, (group) => group.calls, count, 'caller'),
      'Nobody called.',
      'first',
    ),
  );
}

/**
 * @param {Stats} stats
 * @param {(group: Figures) => number} value
 * @param {(value: number) => string} unit
 * @param {string} key
 */
function rows(stats, value, unit, key) {
  return stats.groups
    .filter((group) => value(group) > 0)
    .slice(0, TOP)
    .map((group) => ({
      name: group.name ?? 'anonymous',
      address: group.name ? `/live?${key}=${encodeURIComponent(group.name)}${inScope()}` : null,
      value: value(group),
      shown: unit(value(group)),
    }));
}

/**
 * @param {string} name
 * @param {string} value
 * @param {string} [more]
 * @param {boolean} [isBad]
 */
function tile(name, value, more, isBad = false) {
  return h(
    'div',
    { class: isBad ? 'tile bad' : 'tile' },
    h('dt', {}, name),
    h('dd', {}, value, more && h('small', {}, ` ${more}`)),
  );
}

/**
 * A table whose values are also bars.
 * @param {string} title
 * @param {{ name: string, address: string | null, value: number, shown: string }[]} entries
 * @param {string} nothing
 * @param {string} className
 */
function ranking(title, entries, nothing, className) {
  const most = Math.max(...entries.map(({ value }) => value), 1e-9);
  return h(
    'section',
    { class: 'ranking' },
    h('h2', {}, title),
    entries.length === 0
      ? h('p', { class: 'muted' }, nothing)
      : h(
          'ol',
          {},
          entries.map(({ name, address, value, shown }) => {
            const bar = h('span', { class: `ranking-bar ${className}` });
            bar.style.width = `${(value / most) * 100}%`;
            return h(
              'li',
              {},
              address ? h('a', { href: address }, name) : h('span', {}, name),
              h('span', { class: 'number' }, shown),
              h('span', { class: 'ranking-track', 'aria-hidden': 'true' }, bar),
            );
          }),
        ),
  );
}

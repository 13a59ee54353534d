// Charts, drawn as SVG at the size of their place. Each has its figures as a table, for those who cannot see it.

import { fill, h, svg } from './dom.js';
import { clock, day } from './format.js';

/** @typedef {{ name: string, className: string, values: (number | null)[] }} Series */
/** @typedef {{ title: string, times: string[], series: Series[], kind: 'bars' | 'lines', unit: (value: number) => string, summary: string }} Chart */
/** Round numbers, and where a value stands between the first and the last of them, from 0 to 1. @typedef {{ steps: number[], share: (value: number) => number }} Axis */

const HEIGHT = 180;
const MARGIN = { top: 8, right: 8, bottom: 22, left: 56 };

/**
 * A figure with a chart.
 * @param {Chart} chart
 */
export function figure(chart) {
  const place = h('div', { class: 'chart-place' });
  const tip = h('div', { class: 'tip', hidden: true });
  const draw = () => {
    if (place.clientWidth > 0) fill(place, picture(chart, place.clientWidth, tip), tip);
  };
  new ResizeObserver(draw).observe(place);
  return h(
    'figure',
    { class: 'chart' },
    h(
      'figcaption',
      {},
      h('h2', {}, chart.title),
      h(
        'ul',
        { class: 'legend' },
        chart.series.map(({ name, className }) => h('li', { class: className }, name)),
      ),
    ),
    place,
    table(chart),
  );
}

/**
 * @param {Chart} chart
 * @param {number} width
 * @param {HTMLElement} tip
 */
function picture(chart, width, tip) {
  const inner = { width: width - MARGIN.left - MARGIN.right, height: HEIGHT - MARGIN.top - MARGIN.bottom };
  const { steps, share } =
    chart.kind === 'bars' ? linear(Math.max(...highest(chart), 0)) : logarithmic(allValues(chart));
  const x = (/** @type {number} */ index) => MARGIN.left + ((index + 0.5) / chart.times.length) * inner.width;
  const y = (/** @type {number} */ value) => MARGIN.top + inner.height * (1 - share(value));
  const root = svg('svg', {
    width,
    height: HEIGHT,
    viewBox: `0 0 ${width} ${HEIGHT}`,
    role: 'img',
    'aria-label': `${chart.title}. ${chart.summary}`,
  });
  for (const step of steps) {
    root.append(
      svg('line', { class: 'grid', x1: MARGIN.left, x2: width - MARGIN.right, y1: y(step), y2: y(step) }),
      svg('text', { class: 'axis', x: MARGIN.left - 6, y: y(step) + 4, 'text-anchor': 'end' }, chart.unit(step)),
    );
  }
  const labels = Math.max(2, Math.floor(inner.width / 110));
  for (let label = 0; label < labels; label += 1) {
    const index = Math.round((label / (labels - 1)) * (chart.times.length - 1));
    const anchor = label === 0 ? 'start' : label === labels - 1 ? 'end' : 'middle';
    root.append(
      svg('text', { class: 'axis', x: x(index), y: HEIGHT - 6, 'text-anchor': anchor }, timeLabel(chart, index)),
    );
  }
  root.append(...(chart.kind === 'bars' ? bars(chart, x, y, inner.width / chart.times.length) : lines(chart, x, y)));
  point(root, chart, x, inner.height, tip);
  return root;
}

/**
 * Bars that stand on one another.
 * @param {Chart} chart
 * @param {(index: number) => number} x
 * @param {(value: number) => number} y
 * @param {number} space
 */
function bars(chart, x, y, space) {
  const wide = Math.max(1, space - Math.min(2, space * 0.2));
  return chart.times.flatMap((_, index) => {
    let base = 0;
    return chart.series.flatMap(({ values, className }) => {
      const value = values[index] ?? 0;
      if (value === 0) return [];
      const bar = svg('rect', {
        class: `bar ${className}`,
        x: x(index) - wide / 2,
        width: wide,
        y: y(base + value),
        height: y(base) - y(base + value),
      });
      base += value;
      return [bar];
    });
  });
}

/**
 * @param {Chart} chart
 * @param {(index: number) => number} x
 * @param {(value: number) => number} y
 */
function lines(chart, x, y) {
  // The first, which matters most, is drawn last.
  return chart.series.toReversed().flatMap(({ values, className }) => {
    let path = '';
    let isDown = false;
    /** @type {Element[]} */
    const dots = [];
    values.forEach((value, index) => {
      if (value === null) {
        isDown = false;
        return;
      }
      path += `${isDown ? 'L' : 'M'}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
      // One alone would have no line at all.
      if (!isDown && (values[index + 1] ?? null) === null) {
        dots.push(svg('circle', { class: `dot ${className}`, cx: x(index), cy: y(value), r: 2.5 }));
      }
      isDown = true;
    });
    return [svg('path', { class: `curve ${className}`, d: path }), ...dots];
  });
}

/**
 * Shows the figures under the pointer.
 * @param {Element} root
 * @param {Chart} chart
 * @param {(index: number) => number} x
 * @param {number} height
 * @param {HTMLElement} tip
 */
function point(root, chart, x, height, tip) {
  const rule = svg('line', { class: 'rule', y1: MARGIN.top, y2: MARGIN.top + height, visibility: 'hidden' });
  root.append(rule);
  root.addEventListener('pointermove', (event) => {
    const box = root.getBoundingClientRect();
    const at = event instanceof PointerEvent ? event.clientX - box.left - MARGIN.left : 0;
    const share = at / (box.width - MARGIN.left - MARGIN.right);
    const index = Math.min(chart.times.length - 1, Math.max(0, Math.floor(share * chart.times.length)));
    for (const end of ['x1', 'x2']) rule.setAttribute(end, String(x(index)));
    rule.setAttribute('visibility', 'visible');
    tip.hidden = false;
    fill(
      tip,
      h('strong', {}, timeLabel(chart, index)),
      chart.series.map(({ name, values, className }) =>
        h(
          'span',
          { class: className },
          `${name} ${values[index] === null || values[index] === undefined ? '–' : chart.unit(values[index])}`,
        ),
      ),
    );
    tip.style.left = `${Math.min(x(index) + 10, box.width - tip.offsetWidth - 4)}px`;
  });
  root.addEventListener('pointerleave', () => {
    tip.hidden = true;
    rule.setAttribute('visibility', 'hidden');
  });
}

/** @param {Chart} chart */
function table(chart) {
  const rows = chart.times
    .map((_, index) => index)
    .filter((index) => chart.series.some(({ values }) => (values[index] ?? 0) !== 0));
  const make = () =>
    h(
      'div',
      { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `${chart.title}, figures` },
      h(
        'table',
        {},
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            h('th', { scope: 'col' }, 'Time'),
            chart.series.map(({ name }) => h('th', { scope: 'col', class: 'number' }, name)),
          ),
        ),
        h(
          'tbody',
          {},
          rows.map((index) =>
            h(
              'tr',
              {},
              h('th', { scope: 'row' }, timeLabel(chart, index)),
              chart.series.map(({ values }) =>
                h(
                  'td',
                  { class: 'number' },
                  values[index] === null || values[index] === undefined ? '–' : chart.unit(values[index]),
                ),
              ),
            ),
          ),
        ),
      ),
    );
  const details = h('details', { class: 'figures-table' }, h('summary', {}, 'As a table'));
  details.addEventListener('toggle', () => details.append(make()), { once: true });
  return details;
}

/**
 * @param {Chart} chart
 * @param {number} index
 */
function timeLabel(chart, index) {
  const time = chart.times[index];
  if (!time) return '';
  const span = new Date(chart.times.at(-1) ?? time).getTime() - new Date(chart.times[0] ?? time).getTime();
  return span > 86_400_000 * 0.9 ? day(time) : clock(time).slice(0, span > 3_000_000 ? 5 : 8);
}

/** @param {Chart} chart */
function highest(chart) {
  return chart.times.map((_, index) => {
    const values = chart.series.map(({ values: own }) => own[index] ?? 0);
    return chart.kind === 'bars' ? values.reduce((sum, value) => sum + value, 0) : Math.max(...values);
  });
}

/**
 * Numbers of calls from 0 upwards: what is twice as much is twice as high.
 * @param {number} most
 * @returns {Axis}
 */
function linear(most) {
  const steps = scale(most, 4, 1);
  const top = steps.at(-1) || 1;
  return { steps, share: (value) => value / top };
}

/**
 * By powers of ten, so that one slow call does not flatten all others.
 * @param {number[]} values
 * @returns {Axis}
 */
export function logarithmic(values) {
  const above = values.filter((value) => value > 0);
  const low = above.length > 0 ? Math.floor(Math.log10(Math.min(...above))) : 0;
  const high = Math.max(low + 1, above.length > 0 ? Math.ceil(Math.log10(Math.max(...above))) : 1);
  const every = Math.ceil((high - low) / 5);
  const steps = [];
  for (let power = low; power <= high; power += every) steps.push(10 ** power);
  return { steps, share: (value) => (Math.log10(Math.max(value, 10 ** low)) - low) / (high - low) };
}

/** @param {Chart} chart */
function allValues(chart) {
  return chart.series.flatMap(({ values }) => values.filter((value) => value !== null));
}

/**
 * Round numbers from 0 to at least `most`.
 * @param {number} most
 * @param {number} steps how many at most
 * @param {number} [least] what all of them are multiples of
 */
export function scale(most, steps, least = 0) {
  if (most <= 0) return [0, 1];
  const step = round(most / steps, least);
  const count = Math.ceil(most / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, index) => index * step);
}

/**
 * The next round number: 1, 2, 2.5 or 5 times a power of ten.
 * @param {number} number
 * @param {number} [least] what it is a multiple of
 */
export function round(number, least = 0) {
  const power = 10 ** Math.floor(Math.log10(number));
  const isFit = (/** @type {number} */ size) => size >= number && (least === 0 || size % least === 0);
  return [1, 2, 2.5, 5, 10].map((factor) => factor * power).find(isFit) ?? Math.max(number, least);
}

// The icons: lines on a grid of 16, in the colour of the text around them.

import { svg } from './dom.js';

/** @type {Record<string, string>} */
const PATHS = {
  live: 'M1.5 8H4l2-5 4 10 2-5h2.5',
  tools:
    'M10.6 2.2a3.4 3.4 0 0 0-4 4.5L2.2 11a2 2 0 0 0 2.8 2.8l4.4-4.4a3.4 3.4 0 0 0 4.4-4.1L11.6 7.5 9.2 6.8 8.5 4.4z',
  servers: 'M2.5 2.5h11v4.5h-11zM2.5 9h11v4.5h-11zM5 4.75h.01M5 11.25h.01M8 4.75h3M8 11.25h3',
  overview: 'M2 13.5h12M4 11V8M8 11V3M12 11V6',
  chat: 'M2.5 3h11v8H8l-3.5 2.8V11h-2z',
  approvals: 'M8 1.6l5.2 2v4.2c0 3.1-2.2 5.4-5.2 6.6-3-1.2-5.2-3.5-5.2-6.6V3.6zM5.6 8l1.7 1.7 3.2-3.5',
  connect: 'M6 1.8v3M10 1.8v3M3.8 4.8h8.4v2.4a4.2 4.2 0 0 1-8.4 0zM8 11.4v2.8',
  policy: 'M13.6 5.4a3 3 0 1 1-6 0 3 3 0 0 1 6 0zM8.4 7.6 2.4 13.6M4.4 11.6l1.8 1.8',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  close: 'M4 4l8 8M12 4l-8 8',
  search: 'M11 7a4 4 0 1 1-8 0 4 4 0 0 1 8 0zM10 10l3.5 3.5',
  export: 'M8 2v8M5 7.2 8 10.2l3-3M2.5 13.5h11',
};

/**
 * @param {string} name
 * @param {number} [size]
 */
export function icon(name, size = 16) {
  return svg(
    'svg',
    { class: 'icon', viewBox: '0 0 16 16', width: size, height: size, 'aria-hidden': 'true' },
    svg('path', { d: PATHS[name] ?? '' }),
  );
}

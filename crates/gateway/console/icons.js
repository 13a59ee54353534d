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
  runs: 'M2.5 4h5M5 8h6M8.5 12h5M2.5 2.5v11',
  approvals: 'M8 1.6l5.2 2v4.2c0 3.1-2.2 5.4-5.2 6.6-3-1.2-5.2-3.5-5.2-6.6V3.6zM5.6 8l1.7 1.7 3.2-3.5',
  connect: 'M6 1.8v3M10 1.8v3M3.8 4.8h8.4v2.4a4.2 4.2 0 0 1-8.4 0zM8 11.4v2.8',
  policy: 'M13.6 5.4a3 3 0 1 1-6 0 3 3 0 0 1 6 0zM8.4 7.6 2.4 13.6M4.4 11.6l1.8 1.8',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  close: 'M4 4l8 8M12 4l-8 8',
  search: 'M11 7a4 4 0 1 1-8 0 4 4 0 0 1 8 0zM10 10l3.5 3.5',
  plus: 'M8 3.5v9M3.5 8h9',
  minus: 'M3.5 8h9',
  back: 'M9.5 3.5 5 8l4.5 4.5',
  on: 'M6.5 3.5 11 8l-4.5 4.5',
  whole: 'M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10',
  compare: 'M2.5 3h4.2v10H2.5zM9.3 3h4.2v10H9.3z',
  views: 'M4 2.5h8v11L8 10.6 4 13.5z',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3.2v9.6L12.5 8z',
  send: 'M8 13V3.5M4 7.2l4-3.9 4 3.9',
  stop: 'M4 4h8v8H4z',
  again: 'M13 8a5 5 0 1 1-1.6-3.7M13.2 2.2v2.7h-2.7',
  form: 'M2.5 3h11v3.2h-11zM2.5 9.8h6.5M2.5 13h9',
  trash: 'M3 4.5h10M6.5 4.5V2.8h3v1.7M4.5 4.5l.6 8.7h5.8l.6-8.7M6.8 7v4M9.2 7v4',
  power: 'M8 2v5.5M4.6 4.2a5 5 0 1 0 6.8 0',
  theme: 'M8 2.5a5.5 5.5 0 1 0 5.5 5.5A4.3 4.3 0 0 1 8 2.5z',
  help: 'M2.5 4.5h11v7h-11zM5 7h.01M8 7h.01M11 7h.01M5.5 9.3h5',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  bell: 'M4 11V7.2a4 4 0 0 1 8 0V11l1.2 1H2.8zM6.8 14h2.4',
  check: 'M3 8.5 6.3 12 13 4.5',
  link: 'M6.7 9.3a2.4 2.4 0 0 0 3.4 0l2.4-2.4a2.4 2.4 0 0 0-3.4-3.4l-.8.8M9.3 6.7a2.4 2.4 0 0 0-3.4 0L3.5 9.1a2.4 2.4 0 0 0 3.4 3.4l.8-.8',
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

// What a server's card says of it in words and figures.

import { h } from '../dom.js';
import { count, day, duration } from '../format.js';
import { facts } from '../widgets.js';

/** @import { Figures, Server } from '../types' */

/** How a program is confined. @type {Record<string, string>} */
const MODES = { on: 'on', try: 'as far as this system can', learn: 'off, watched' };

/**
 * Whether it is an MCP server, neither a group of workers nor an API.
 * @param {Server} server
 */
export function isMcp(server) {
  return !server.workers && server.kind !== 'openapi';
}

/** @param {Server} server */
export function hasMore(server) {
  return isMcp(server) && !['skipped', 'disabled'].includes(server.state);
}

/**
 * The figures on one line.
 * @param {Server} server
 * @param {Figures | undefined} figures
 */
export function summary(server, figures) {
  if (server.state === 'disabled') return null;
  const tools = server.tools ?? 0;
  const many = (/** @type {number} */ number, /** @type {string} */ noun) =>
    `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
  return h(
    'p',
    { class: 'server-sum' },
    h('a', { href: `/tools?q=${encodeURIComponent(`${server.name}__`)}` }, many(tools, 'tool')),
    figures &&
      h('a', { href: `/live?server=${encodeURIComponent(server.name)}` }, `${many(figures.calls, 'call')} in 24 h`),
    figures && figures.failures > 0 && h('span', {}, `${count(figures.failures)} failed`),
    figures && h('span', {}, `median ${duration(figures.p50_ms)}`),
    figures && h('span', {}, `p95 ${duration(figures.p95_ms)}`),
    server.workers && h('span', {}, `${many(server.workers.length, 'worker')}, ${running(server.workers)} running`),
  );
}

/** @param {Server} server */
export function more(server) {
  return facts([
    ['Program', server.server && `${server.server.name} ${server.server.version}`],
    ['Over', server.kind],
    ['Protocol', server.protocol && `${server.protocol}${server.era ? ` (${server.era})` : ''}`],
    ...starts(server),
    ['Sandbox', server.sandbox ? (MODES[server.sandbox.mode] ?? server.sandbox.mode) : null],
    ['Since', server.since && day(server.since)],
  ]);
}

/**
 * What its sandbox refused, with what would allow it.
 * @param {Server} server
 */
export function refused(server) {
  const refusals = server.sandbox?.refused ?? [];
  if (!refusals.length) return null;
  return h(
    'div',
    { class: 'server-notes' },
    h('h3', {}, 'Refused by its sandbox'),
    h(
      'ul',
      {},
      refusals.map((refusal) => h('li', {}, `${refusal.what} (${refusal.remedy})`)),
    ),
  );
}

/**
 * How often it was started: one that never answered was tried, not restarted.
 * @param {Server} server
 * @returns {[string, string | null][]}
 */
function starts(server) {
  if (!isMcp(server) || server.state === 'disabled') return [];
  const isTried = ['connecting', 'failed'].includes(server.state) && !server.server;
  return isTried ? [['Attempts', String(server.starts ?? 0)]] : [['Restarts', String(server.restarts ?? 0)]];
}

/**
 * The last line of stderr of one that does not run.
 * @param {Server} server
 */
export function lastWords(server) {
  const last = server.stderr?.at(-1);
  if (!last || last === server.error || ['ready', 'stopped', 'disabled'].includes(server.state)) return null;
  return h('p', { class: 'last-words' }, h('span', { class: 'muted' }, 'stderr '), h('code', {}, last));
}

/**
 * How many calls run at the workers, and how many could.
 * @param {NonNullable<Server['workers']>} workers
 */
function running(workers) {
  const sum = (/** @type {'running' | 'capacity'} */ key) => workers.reduce((total, worker) => total + worker[key], 0);
  return `${sum('running')} of ${sum('capacity')}`;
}

// What a server says that is not in the lock: shown word by word, and trusted with a click by those who may.

import { send } from '../api.js';
import { h } from '../dom.js';
import { mayApprove } from '../session.js';
import { toast } from '../widgets.js';

/** @import { Server, Waiting } from '../types' */

/**
 * The tools that are skipped for another reason than that they wait.
 * @param {Server} server
 */
export function skippedOtherwise(server) {
  const waits = (/** @type {string} */ why) =>
    server.waiting?.some(({ name }) => why.startsWith(`'${name}' `)) ?? false;
  return (server.skipped_tools ?? []).filter((why) => !waits(why));
}

/**
 * @param {Server} server
 * @param {() => Promise<void>} done
 */
export function waiting(server, done) {
  const all = server.waiting ?? [];
  if (all.length === 0) return null;
  return h(
    'div',
    { class: 'server-notes waiting' },
    h(
      'div',
      { class: 'row' },
      h('h3', {}, `Waits to be trusted (${all.length})`),
      mayApprove() && all.length > 1 && button(server.name, 'all', all, done),
    ),
    h(
      'ul',
      {},
      all.map((one) => h('li', {}, entry(server.name, one, done))),
    ),
  );
}

/**
 * @param {string} server
 * @param {Waiting} one
 * @param {() => Promise<void>} done
 */
function entry(server, one, done) {
  const noun = one.kind === 'tool' || one.kind === 'instructions' ? '' : ` (${one.kind.replace('_', ' ')})`;
  const lines = [...one.notes.map((note) => `! ${note}`), ...one.diff];
  return [
    h(
      'div',
      { class: 'row' },
      h('span', {}, h('strong', {}, one.name), `${noun} ${one.says}`),
      mayApprove() && button(server, one.name, [one], done),
    ),
    ...one.findings.map((finding) => h('p', { class: 'note' }, finding)),
    lines.length > 0 &&
      h(
        'details',
        {},
        h('summary', {}, 'What it says'),
        h('pre', { class: 'stderr', tabindex: '0' }, lines.join('\n')),
      ),
  ];
}

/**
 * @param {string} server
 * @param {string} name
 * @param {Waiting[]} all
 * @param {() => Promise<void>} done
 */
function button(server, name, all, done) {
  const trust = async () => {
    try {
      const hashes = all.map(({ hash }) => hash);
      await send('POST', `/api/servers/${encodeURIComponent(server)}/trust`, { hashes });
      toast(`${server}: trusted`);
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), 'bad');
    }
    await done();
  };
  return h(
    'button',
    {
      type: 'button',
      class: 'small',
      'data-act': `trust ${server} ${name}`,
      'aria-label': `trust ${name} of ${server}`,
      onclick: trust,
    },
    name === 'all' && all.length > 1 ? 'Trust all' : 'Trust',
  );
}

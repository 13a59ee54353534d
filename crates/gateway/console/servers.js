// Servers: how each stands, what it says on stderr, which of its tools were skipped, why it is skipped; reconnect, stop, start.

import { get, send } from './api.js';
import { fill, h } from './dom.js';
import { ago, clock, day, words } from './format.js';
import { mayAdminister } from './session.js';
import { chip, empty, facts, head, loading, toast, trouble } from './widgets.js';

/** @import { Route, Server, View } from './types' */

/** How often the servers are looked at; states change seldom, and this is one small request. */
const LOOK = 2000;
/** How many lines of stderr are kept in the page. */
const LINES = 500;

/**
 * @param {HTMLElement} place
 * @param {Route} route
 * @returns {View}
 */
export function open(place, route) {
  const servers = new Servers(place);
  servers.update(route);
  return servers;
}

/** The section. */
class Servers {
  #chosen = '';
  #shape = '';
  #timer = 0;
  /** @type {EventSource | null} */
  #stderr = null;
  total = h('span', { class: 'figures', role: 'status' });
  list = h('div', { class: 'server-list' }, loading());

  /** @param {HTMLElement} place */
  constructor(place) {
    place.append(head('Servers', this.total), this.list);
    this.#look();
  }

  close() {
    clearTimeout(this.#timer);
    this.#timer = -1;
    this.#stderr?.close();
  }

  /** @param {Route} route */
  update(route) {
    this.#chosen = route.path[1] ?? '';
    this.#shape = '';
  }

  async #look() {
    clearTimeout(this.#timer);
    try {
      this.#draw(await get('/api/servers'));
    } catch (error) {
      this.#shape = '';
      fill(
        this.list,
        trouble(error, () => this.#look()),
      );
    }
    if (this.#timer >= 0) this.#timer = setTimeout(() => this.#look(), LOOK);
  }

  /** @param {Server[]} servers */
  #draw(servers) {
    // What has not changed stays as it is, so that focus and scrolling do.
    const shape = JSON.stringify([servers.map((server) => ({ ...server, stderr: null })), this.#chosen]);
    if (shape === this.#shape) return;
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.act : undefined;
    this.#shape = shape;
    this.#stderr?.close();
    const ready = servers.filter(({ state }) => state === 'ready').length;
    this.total.textContent = `${ready} of ${servers.length} ready`;
    fill(
      this.list,
      servers.length > 0
        ? servers.map((server) => this.#card(server))
        : empty(
            'No servers',
            'An MCP server becomes tools as soon as the config names it: ',
            h('code', {}, '[servers.time]'),
            '.',
          ),
    );
    const button = focused && this.list.querySelector(`[data-act="${CSS.escape(focused)}"]`);
    if (button instanceof HTMLElement) button.focus();
  }

  /** @param {Server} server */
  #card(server) {
    const isOpen = server.name === this.#chosen;
    const setAside = server.set_aside ?? [];
    return h(
      'article',
      { class: 'server', 'aria-label': server.name },
      h(
        'div',
        { class: 'server-head' },
        h('h2', {}, h('a', { href: isOpen ? '/servers' : `/servers/${encodeURIComponent(server.name)}` }, server.name)),
        chip(server.state),
        mayAdminister() && !server.workers && server.state !== 'skipped' && this.#acts(server),
      ),
      facts([
        ['Program', server.server && `${server.server.name} ${server.server.version}`],
        ['Over', server.kind],
        ['Protocol', server.protocol && `${server.protocol}${server.era ? ` (${server.era})` : ''}`],
        ['Tools', h('a', { href: `/tools?q=${encodeURIComponent(`${server.name}__`)}` }, String(server.tools ?? 0))],
        ['Workers', server.workers && String(server.workers.length)],
        ['Running', server.workers && running(server.workers)],
        ['Restarts', server.workers ? null : String(server.restarts ?? 0)],
        ['Since', server.since && day(server.since)],
      ]),
      server.error &&
        h(
          'p',
          { class: server.state === 'ready' ? 'note' : 'failure' },
          server.error,
          server.error_at && ` (${ago(server.error_at)})`,
        ),
      setAside.length > 0 &&
        h(
          'div',
          { class: 'set-aside' },
          h('h3', {}, `Set aside (${setAside.length})`),
          h(
            'ul',
            {},
            setAside.map((why) => h('li', {}, why)),
          ),
        ),
      !server.workers &&
        server.state !== 'skipped' &&
        (isOpen
          ? this.#log(server)
          : h('p', {}, h('a', { href: `/servers/${encodeURIComponent(server.name)}` }, 'Show stderr'))),
    );
  }

  /** @param {Server} server */
  #acts(server) {
    const acts = server.state === 'stopped' ? ['start'] : ['reconnect', 'stop'];
    return h(
      'span',
      { class: 'row' },
      acts.map((act) =>
        h(
          'button',
          {
            type: 'button',
            class: 'small',
            'data-act': `${act} ${server.name}`,
            'aria-label': `${act} ${server.name}`,
            onclick: () => this.#act(server.name, act),
          },
          act.charAt(0).toUpperCase() + act.slice(1),
        ),
      ),
    );
  }

  /**
   * @param {string} name
   * @param {string} act
   */
  async #act(name, act) {
    try {
      /** @type {Server} */
      const server = await send('POST', `/api/servers/${encodeURIComponent(name)}/${act}`);
      toast(`${name}: ${words(server.state)}`);
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), 'bad');
    }
    await this.#look();
  }

  /** @param {Server} server */
  #log(server) {
    const log = h('pre', { class: 'stderr', tabindex: '0', role: 'log', 'aria-label': `stderr of ${server.name}` });
    if (!mayAdminister()) {
      return h('p', { class: 'muted' }, 'Only somebody with the admin right may read what it says on stderr.');
    }
    if (server.kind && server.kind !== 'stdio') {
      return h('p', { class: 'muted' }, 'It runs elsewhere, so there is no stderr to show.');
    }
    const source = new EventSource(`/api/servers/${encodeURIComponent(server.name)}/stderr`);
    this.#stderr = source;
    // Opened anew, the stream begins with the last lines again.
    source.addEventListener('open', () => fill(log));
    source.addEventListener('message', ({ data }) => {
      const isAtEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 8;
      const { line, at } = JSON.parse(data);
      log.append(h('span', { class: 'stderr-line' }, at && h('time', {}, clock(at)), line, '\n'));
      while (log.childElementCount > LINES) log.firstElementChild?.remove();
      if (isAtEnd) log.scrollTop = log.scrollHeight;
    });
    return h('div', {}, h('h3', {}, 'stderr'), log);
  }
}

/**
 * How many calls run at the workers, and how many could.
 * @param {NonNullable<Server['workers']>} workers
 */
function running(workers) {
  const sum = (/** @type {'running' | 'capacity'} */ key) => workers.reduce((total, worker) => total + worker[key], 0);
  return `${sum('running')} of ${sum('capacity')}`;
}

// Servers: how each stands, where it comes from, how much it is used, what it says on stderr, what it has beside tools; reconnect, stop, start.

import { get, send } from '../api.js';
import { fill, h } from '../dom.js';
import { ago, clock, count, day, duration, words } from '../format.js';
import { mayAdminister } from '../session.js';
import { chip, copy, empty, facts, head, loading, toast, trouble } from '../widgets.js';
import { beside } from './beside.js';

/** @import { Figures, Route, Server, Stats, View } from '../types' */

/** How often the servers are looked at; states change seldom, and this is one small request. */
const LOOK = 2000;
/** How often their figures are read. */
const COUNT = 10_000;
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
  /** @type {Server[] | null} */
  #last = null;
  /** What the last day's calls of each were like. @type {Map<string, Figures>} */
  #figures = new Map();
  #counter = 0;
  /** What a server has beside tools, by server: read once. @type {Map<string, HTMLElement>} */
  #beside = new Map();
  #timer = 0;
  /** @type {EventSource | null} */
  #stderr = null;
  total = h('span', { class: 'figures', role: 'status' });
  list = h('div', { class: 'server-list' }, loading());

  /** @param {HTMLElement} place */
  constructor(place) {
    place.append(head('Servers', this.total), this.list, more());
    this.#look();
    this.#count();
  }

  close() {
    clearTimeout(this.#timer);
    this.#timer = -1;
    clearTimeout(this.#counter);
    this.#counter = -1;
    this.#stderr?.close();
  }

  /** @param {Route} route */
  update(route) {
    this.#chosen = route.path[1] ?? '';
    if (this.#last) this.#draw(this.#last);
  }

  async #count() {
    try {
      /** @type {Stats} */
      const { groups } = await get('/api/stats?by=server&since=24h&top=500');
      this.#figures = new Map(groups.map((group) => [group.name ?? '', group]));
      if (this.#last) this.#draw(this.#last);
    } catch {
      // The list itself says what is wrong.
    }
    if (this.#counter >= 0) this.#counter = setTimeout(() => this.#count(), COUNT);
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
    this.#last = servers;
    // What has not changed stays as it is, so that focus and scrolling do.
    const shape = JSON.stringify([
      servers.map((server) => ({ ...server, stderr: null })),
      this.#chosen,
      [...this.#figures],
    ]);
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
        : empty('No servers', 'The tools of an MCP server appear as soon as the config names it.'),
    );
    const button = focused && this.list.querySelector(`[data-act="${CSS.escape(focused)}"]`);
    if (button instanceof HTMLElement) button.focus();
  }

  /** @param {Server} server */
  #card(server) {
    const isOpen = server.name === this.#chosen;
    const setAside = server.set_aside ?? [];
    const figures = this.#figures.get(server.name);
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
      server.origin &&
        h(
          'div',
          { class: 'line' },
          h('pre', { tabindex: '0', 'aria-label': `Where ${server.name} comes from` }, h('code', {}, server.origin)),
          copy(() => server.origin ?? '', `where ${server.name} comes from`),
        ),
      facts([
        ['Program', server.server && `${server.server.name} ${server.server.version}`],
        ['Over', server.kind],
        ['Protocol', server.protocol && `${server.protocol}${server.era ? ` (${server.era})` : ''}`],
        ['Tools', h('a', { href: `/tools?q=${encodeURIComponent(`${server.name}__`)}` }, String(server.tools ?? 0))],
        [
          'Calls, last 24 h',
          figures && h('a', { href: `/live?server=${encodeURIComponent(server.name)}` }, count(figures.calls)),
        ],
        ['Failures', figures && count(figures.failures)],
        ['Median', figures && duration(figures.p50_ms)],
        ['p95', figures && duration(figures.p95_ms)],
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
      server.check && server.state !== 'ready' && h('p', { class: 'note' }, server.check),
      setAside.length > 0 &&
        h(
          'div',
          { class: 'set-aside' },
          h('h3', {}, `Skipped tools (${setAside.length})`),
          h(
            'ul',
            {},
            setAside.map((why) => h('li', {}, why)),
          ),
        ),
      !server.workers &&
        server.state !== 'skipped' &&
        (isOpen
          ? [
              this.#rest(server),
              this.#log(server),
              h('p', {}, h('a', { href: '/servers' }, 'Hide stderr and resources')),
            ]
          : h(
              'p',
              {},
              h('a', { href: `/servers/${encodeURIComponent(server.name)}` }, 'Show stderr, resources and prompts'),
            )),
    );
  }

  /**
   * What it has beside tools; kept while the card is drawn anew, so that what somebody reads stays.
   * @param {Server} server
   */
  #rest(server) {
    if (server.state !== 'ready') return null;
    let element = this.#beside.get(server.name);
    if (!element) this.#beside.set(server.name, (element = beside(server.name)));
    return element;
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

/** How to add another: the config is a file, and people's. */
function more() {
  const text = '[servers.time]\ncommand = "uvx"\nargs = ["mcp-server-time"]';
  return h(
    'section',
    { class: 'card' },
    h('h2', {}, 'Add a server'),
    h(
      'p',
      { class: 'muted' },
      'Name it in the config; it connects a second after the file is saved. ',
      h('code', {}, 'enabled = false'),
      ' leaves one out, and ',
      h('code', {}, 'switchboard import'),
      ' takes over those of Claude, Cursor and VS Code.',
    ),
    h(
      'div',
      { class: 'line' },
      h('pre', { tabindex: '0', 'aria-label': 'Lines for the config' }, h('code', {}, text)),
      copy(() => text, 'lines for the config'),
    ),
  );
}

/**
 * How many calls run at the workers, and how many could.
 * @param {NonNullable<Server['workers']>} workers
 */
function running(workers) {
  const sum = (/** @type {'running' | 'capacity'} */ key) => workers.reduce((total, worker) => total + worker[key], 0);
  return `${sum('running')} of ${sum('capacity')}`;
}

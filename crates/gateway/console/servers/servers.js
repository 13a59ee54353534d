// Servers: how each stands, where it comes from, how much it is used, what it says on stderr, what it has beside tools; add, restart, stop, disable, remove.

import { get, send } from '../api.js';
import { fill, h } from '../dom.js';
import { ago, clock, count, day } from '../format.js';
import { icon } from '../icons.js';
import { mayAddServers, mayAdminister } from '../session.js';
import { chip, copy, empty, head, loading, toast, trouble } from '../widgets.js';
import { addServer } from './add.js';
import { beside } from './beside.js';
import { hasMore, isMcp, lastWords, more, refused, summary } from './facts.js';
import { skippedOtherwise, waiting } from './waiting.js';

/** @import { Figures, Route, Server, Stats, View } from '../types' */

/** How often the servers are looked at; states change seldom, and this is one small request. */
const LOOK = 2000;
/** How often their figures are read. */
const COUNT = 10_000;
/** How many lines of stderr are kept in the page. */
const LINES = 500;

/** What can be done with a server in a state that is not the usual. @type {Record<string, string[]>} */
const ACTS = { stopped: ['start', 'disable'], disabled: ['enable'], skipped: ['disable'] };
/** @type {Record<string, string>} */
const SAYS = {
  restart: 'Reconnects; calls that run there end',
  stop: 'Until it is started, or the gateway is',
  start: 'Connects',
  disable: 'For good, in the config',
  enable: 'For good, in the config',
  remove: 'From the config',
};
/** @type {Record<string, string>} */
const DONE = {
  restart: 'reconnecting',
  stop: 'stopped',
  start: 'connecting',
  disable: 'disabled in the config',
  enable: 'enabled in the config',
  remove: 'removed from the config',
};

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
    const add = addServer((name) => this.#show(name));
    const to = h('button', { type: 'button', onclick: () => toForm(add) }, icon('plus', 14), 'Add');
    place.append(head('Servers', this.total, to), this.list, add);
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
        : empty('No servers yet', 'Add one below: its tools appear as soon as it has answered.'),
    );
    const button = focused && this.list.querySelector(`[data-act="${CSS.escape(focused)}"]`);
    if (button instanceof HTMLElement) button.focus();
  }

  /** @param {Server} server */
  #card(server) {
    const isOpen = server.name === this.#chosen;
    const skipped = skippedOtherwise(server);
    const figures = this.#figures.get(server.name);
    return h(
      'article',
      { class: 'server', 'aria-label': server.name },
      h(
        'div',
        { class: 'server-head' },
        h('h2', {}, opener(server, isOpen)),
        chip(server.state),
        mayAdminister() && isMcp(server) && this.#acts(server),
      ),
      server.origin &&
        h(
          'div',
          { class: 'server-origin' },
          h('code', { title: server.origin }, server.origin),
          copy(() => server.origin ?? '', `where ${server.name} comes from`),
        ),
      summary(server, figures),
      this.#signIn(server),
      server.error &&
        h(
          'p',
          { class: server.state === 'ready' ? 'note' : 'failure' },
          server.error,
          server.error_at && ` (${ago(server.error_at)})`,
        ),
      server.check && server.state !== 'ready' && h('p', { class: 'note' }, server.check),
      lastWords(server),
      refused(server),
      waiting(server, () => this.#look()),
      skipped.length > 0 &&
        h(
          'div',
          { class: 'server-notes' },
          h('h3', {}, `Skipped tools (${skipped.length})`),
          h(
            'ul',
            {},
            skipped.map((why) => h('li', {}, why)),
          ),
        ),
      hasMore(server) &&
        isOpen &&
        h('div', { class: 'server-more' }, more(server), this.#rest(server), this.#log(server)),
    );
  }

  /**
   * What it has beside tools; kept while the card is drawn again, so that what somebody reads stays.
   * @param {Server} server
   */
  #rest(server) {
    if (server.state !== 'ready') return null;
    let element = this.#beside.get(server.name);
    if (!element) this.#beside.set(server.name, (element = beside(server.name)));
    return element;
  }

  /**
   * Who is signed in to it; a sign-in of one's own begins and ends here.
   * @param {Server} server
   */
  #signIn(server) {
    const signIn = server.sign_in;
    if (!signIn) return null;
    const isIn = signIn.state === 'signed_in';
    const isOwn = signIn.auth === 'user';
    const how = isOwn ? 'You are' : 'Somebody is';
    const not = isOwn ? 'You are not' : 'Nobody is';
    const as = signIn.account ? ` as ${signIn.account}` : '';
    const says = isIn ? `${how} signed in${as} at ${signIn.issuer}` : `${not} signed in: ${signIn.reason}`;
    const scopes = signIn.scopes.length > 0 && `scopes ${signIn.scopes.join(' ')}`;
    const until = signIn.until && `until ${day(signIn.until)}${signIn.renews ? ', then renewed' : ''}`;
    const callers = signIn.callers !== undefined && `${count(signIn.callers)} signed in`;
    const act = isIn ? 'sign out' : 'sign in';
    return h(
      'p',
      { class: 'server-sum' },
      h('span', {}, says),
      [scopes, until, callers].filter(Boolean).map((fact) => h('span', {}, fact)),
      signIn.auth === 'user' &&
        h(
          'button',
          {
            type: 'button',
            class: 'small',
            'data-act': `${act} ${server.name}`,
            'aria-label': `${act} ${server.name}`,
            onclick: () => this.#changeSignIn(server.name, isIn),
          },
          isIn ? 'Sign out' : 'Sign in',
        ),
      signIn.auth === 'shared' && !isIn && mayAdminister() && howToSignIn(server.name),
    );
  }

  /**
   * @param {string} name
   * @param {boolean} isIn
   */
  async #changeSignIn(name, isIn) {
    const address = `/api/servers/${encodeURIComponent(name)}/sign-in`;
    try {
      if (isIn) {
        await send('DELETE', address);
        toast(`${name}: signed out`);
      } else {
        const { url } = await send('POST', address);
        window.open(url, '_blank', 'noopener');
      }
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), 'bad');
    }
    await this.#look();
  }

  /** @param {Server} server */
  #acts(server) {
    const acts = ACTS[server.state] ?? ['restart', 'stop', 'disable'];
    const all = mayAddServers() ? [...acts, 'remove'] : acts;
    return h(
      'span',
      { class: 'row' },
      all.map((act) =>
        h(
          'button',
          {
            type: 'button',
            class: act === 'remove' ? 'plain small' : 'small',
            'data-act': `${act} ${server.name}`,
            'aria-label': `${act} ${server.name}`,
            title: SAYS[act],
            onclick: () => this.#act(server.name, act),
          },
          act === 'remove' ? icon('trash', 14) : act.charAt(0).toUpperCase() + act.slice(1),
        ),
      ),
    );
  }

  /**
   * @param {string} name
   * @param {string} act
   */
  async #act(name, act) {
    if (act === 'remove' && !window.confirm(`Remove ${name} from the config? What it was is not kept.`)) return;
    const address = `/api/servers/${encodeURIComponent(name)}`;
    try {
      if (act === 'remove') await send('DELETE', address);
      else await send('POST', `${address}/${act === 'restart' ? 'reconnect' : act}`);
      toast(`${name}: ${DONE[act]}`);
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), 'bad');
    }
    await this.#look();
  }

  /** Shows a server that has just come. @param {string} name */
  async #show(name) {
    await this.#look();
    this.list.querySelector(`[aria-label="${CSS.escape(name)}"]`)?.scrollIntoView({ block: 'nearest' });
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
    // Opened again, the stream begins with the last lines again.
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

/** @param {HTMLElement} card */
function toForm(card) {
  card.scrollIntoView({ block: 'nearest' });
  card.querySelector('input')?.focus();
}

/**
 * The name, which opens and closes the rest.
 * @param {Server} server
 * @param {boolean} isOpen
 */
function opener(server, isOpen) {
  if (!hasMore(server)) return server.name;
  const arrow = icon('on', 12);
  arrow.classList.toggle('open', isOpen);
  const title = isOpen ? 'Hide stderr, resources and prompts' : 'Show stderr, resources and prompts';
  const href = isOpen ? '/servers' : `/servers/${encodeURIComponent(server.name)}`;
  return h('a', { href, title, 'data-act': `open ${server.name}` }, arrow, server.name);
}

/**
 * How somebody signs in for all callers: the browser has to be one of the machine that the gateway runs on.
 * @param {string} name
 */
function howToSignIn(name) {
  const command = `switchboard login ${name}`;
  return h(
    'span',
    {},
    'On the machine of the gateway: ',
    h('code', {}, command),
    ' ',
    copy(() => command, `the command that signs in to ${name}`),
  );
}

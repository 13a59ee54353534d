// The console: finds the section for an address, and keeps what stands around it up to date.

import { signedOut } from './api.js';
import * as approvals from './approvals.js';
import * as banner from './banner.js';
import * as chat from './chat/chat.js';
import * as connect from './connect.js';
import { byId, fill, h } from './dom.js';
import { feed } from './feed.js';
import * as held from './held.js';
import { icon } from './icons.js';
import * as keys from './keys.js';
import * as live from './live/live.js';
import * as overview from './overview.js';
import * as policy from './policy.js';
import * as questions from './questions.js';
import * as router from './router.js';
import * as runs from './runs/runs.js';
import * as servers from './servers/servers.js';
import * as session from './session.js';
import * as title from './title.js';
import * as tools from './tools/tools.js';
import { trouble } from './widgets.js';

/** @import { Route, View } from './types' */

/**
 * All are loaded at once: a section that is opened after the connection was lost can still say so.
 * @type {Record<string, { title: string, open: (place: HTMLElement, route: Route) => View }>}
 */
const SECTIONS = {
  live: { title: 'Live', open: live.open },
  tools: { title: 'Tools', open: tools.open },
  servers: { title: 'Servers', open: servers.open },
  overview: { title: 'Overview', open: overview.open },
  runs: { title: 'Runs', open: runs.open },
  chat: { title: 'Chat', open: chat.open },
  approvals: { title: 'Approvals', open: approvals.open },
  connect: { title: 'Connect', open: connect.open },
  policy: { title: 'Policy and tokens', open: policy.open },
};

/** @type {{ name: string, view: View } | null} */
let shown = null;

/** @param {Route} route */
function show(route) {
  const name = sectionOf(route);
  const section = SECTIONS[name];
  if (!session.isIn() || !section) return;
  if (shown?.name === name && shown.view.update) {
    shown.view.update(route);
    return;
  }
  shown?.view.close?.();
  shown = null;
  mark(name, section.title);
  const place = h('div', { class: `section ${name}` });
  fill(byId('main'), place);
  shown = { name, view: section.open(place, route) };
}

/** @param {Route} route */
function sectionOf({ path: [name = 'live'] }) {
  if (name === 'calls') return 'live';
  return name in SECTIONS ? name : 'live';
}

/**
 * @param {string} name
 * @param {string} words
 */
function mark(name, words) {
  title.name(words);
  for (const link of document.querySelectorAll('nav [data-section]')) {
    if (link.getAttribute('data-section') === name) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  menu(false);
  window.scrollTo(0, 0);
}

/** @param {boolean} isOpen */
function menu(isOpen) {
  byId('menu').setAttribute('aria-expanded', String(isOpen));
  document.body.classList.toggle('menu-open', isOpen);
}

const THEMES = ['system', 'light', 'dark'];

function theme() {
  const root = document.documentElement;
  const now = root.dataset.theme ?? 'system';
  const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length] ?? 'system';
  if (next === 'system') {
    delete root.dataset.theme;
    localStorage.removeItem('theme');
  } else {
    root.dataset.theme = next;
    localStorage.setItem('theme', next);
  }
  nameTheme();
}

function nameTheme() {
  byId('theme').textContent = `Theme: ${document.documentElement.dataset.theme ?? 'system'}`;
}

/** @param {import('./feed.js').State} state */
function linkState(state) {
  const link = byId('link');
  const words = { live: 'Live', connecting: 'Connecting…', reconnecting: 'Connection lost, reconnecting…', off: '' };
  link.className = `link ${state}`;
  link.textContent = words[state];
}

function enter() {
  feed.open();
  held.start();
  banner.start();
  questions.start();
  router.start(show);
}

function signIn() {
  feed.close();
  shown?.view.close?.();
  shown = null;
  title.name('Sign in');
  session.signIn(byId('main'), () => location.reload());
}

async function begin() {
  for (const link of document.querySelectorAll('nav [data-section]')) {
    link.prepend(icon(link.getAttribute('data-section') ?? ''));
  }
  byId('menu').addEventListener('click', () => menu(byId('menu').getAttribute('aria-expanded') !== 'true'));
  byId('theme').addEventListener('click', theme);
  byId('help').addEventListener('click', keys.help);
  nameTheme();
  keys.start();
  feed.watch(linkState);
  signedOut.addEventListener('out', async () => {
    try {
      await session.refresh();
    } catch {
      // The gateway is away; who we are is asked again when it is back.
      return;
    }
    if (!session.isIn()) signIn();
  });
  try {
    await session.refresh();
  } catch (error) {
    fill(byId('main'), trouble(error, begin));
    return;
  }
  if (session.isIn()) enter();
  else signIn();
}

await begin();

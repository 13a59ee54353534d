// Who we are to the gateway, and the sign-in where it wants to know.

import { get, send } from './api.js';
import { byId, fill, h } from './dom.js';

/** @import { Session } from './types' */

/** @type {Session} */
let session = { signed_in: false, needs_token: false, name: null, version: '' };

/** Asks the gateway who we are. */
export async function refresh() {
  session = await get('/api/session');
  show();
  return session;
}

/** Whether the gateway lets us in. */
export function isIn() {
  return session.signed_in || !session.needs_token;
}

/** Whether a caller needs a token. */
export function needsToken() {
  return session.needs_token;
}

/** Whether we may start and stop servers. */
export function mayAdminister() {
  return session.may_administer ?? true;
}

/** Whether we may add servers to the config, and remove them. */
export function mayAddServers() {
  return session.may_add_servers ?? false;
}

/** Whether we may decide about held calls. */
export function mayApprove() {
  return session.may_approve ?? true;
}

/**
 * The sign-in, in place of every section.
 * @param {Element} place
 * @param {() => void} done
 */
export function signIn(place, done) {
  const problem = h('p', { class: 'field-problem', id: 'token-problem', role: 'alert' });
  const field = h('input', {
    type: 'password',
    id: 'token',
    name: 'token',
    autocomplete: 'current-password',
    required: true,
    spellcheck: 'false',
    placeholder: 'sb_…',
    'aria-describedby': 'token-problem',
  });
  const form = h(
    'form',
    { class: 'sign-in' },
    h('h1', {}, 'Sign in'),
    h('p', {}, 'This gateway takes tokens. Make one on its machine:'),
    h('pre', {}, h('code', {}, 'switchboard token new --name me --watch --approve --admin')),
    h(
      'p',
      { class: 'muted' },
      'Leave out what it need not do: see everybody’s calls, decide about held ones, administer.',
    ),
    h('label', { for: 'token' }, 'Token'),
    field,
    problem,
    h('button', { class: 'main' }, 'Sign in'),
    h(
      'p',
      { class: 'muted' },
      'The token is exchanged for a cookie that no script can read, and is not kept in this page.',
    ),
  );
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    problem.textContent = '';
    try {
      session = await send('POST', '/api/session', { token: field.value.trim() });
      show();
      done();
    } catch (error) {
      problem.textContent = error instanceof Error ? error.message : String(error);
      field.select();
    }
  });
  // There is nowhere to go yet.
  document.body.classList.add('signed-out');
  fill(place, form);
  field.focus();
}

function show() {
  const name = session.name ?? (session.needs_token ? null : 'this machine');
  const out = h('button', { type: 'button', class: 'plain small', onclick: leave }, 'Sign out');
  fill(
    byId('who'),
    name && h('span', { class: 'name' }, name),
    session.signed_in && out,
    h('span', { class: 'muted' }, session.version && `v${session.version}`),
  );
}

async function leave() {
  await send('DELETE', '/api/session');
  location.assign('/');
}

// Connect: what a client's config has to say to reach this gateway, and a token made for it.

import { send } from './api.js';
import { fill, h } from './dom.js';
import { mayAdminister, needsToken } from './session.js';
import { copy, head, toast } from './widgets.js';

/** @import { View } from './types' */

/** @typedef {{ name: string, where: string, text: (url: string, token: string | null) => string }} Client */

/** @param {unknown} value */
const json = (value) => JSON.stringify(value, null, 2);

/**
 * The header of a token, unless none is needed.
 * @param {string | null} token
 */
const headers = (token) => (token ? { headers: { Authorization: `Bearer ${token}` } } : {});

/** @type {Client[]} */
const CLIENTS = [
  {
    name: 'Claude Code',
    where: 'In a shell:',
    text: (url, token) =>
      `claude mcp add --transport http switchboard ${url}${token ? ` --header "Authorization: Bearer ${token}"` : ''}`,
  },
  {
    name: 'Claude Desktop',
    where: 'claude_desktop_config.json (it starts programs, so this one passes messages on):',
    text: (url, token) =>
      json({
        mcpServers: {
          switchboard: {
            command: 'npx',
            args: ['-y', 'mcp-remote', url, ...(token ? ['--header', `Authorization: Bearer ${token}`] : [])],
          },
        },
      }),
  },
  {
    name: 'Cursor',
    where: '~/.cursor/mcp.json:',
    text: (url, token) => json({ mcpServers: { switchboard: { url, ...headers(token) } } }),
  },
  {
    name: 'VS Code',
    where: '.vscode/mcp.json:',
    text: (url, token) => json({ servers: { switchboard: { type: 'http', url, ...headers(token) } } }),
  },
  {
    name: 'Codex',
    where: '~/.codex/config.toml:',
    text: (url, token) =>
      `[mcp_servers.switchboard]\nurl = "${url}"${token ? `\nhttp_headers = { Authorization = "Bearer ${token}" }` : ''}`,
  },
  {
    name: 'Gemini CLI',
    where: '~/.gemini/settings.json:',
    text: (url, token) => json({ mcpServers: { switchboard: { httpUrl: url, ...headers(token) } } }),
  },
  {
    name: 'Windsurf',
    where: '~/.codeium/windsurf/mcp_config.json:',
    text: (url, token) => json({ mcpServers: { switchboard: { serverUrl: url, ...headers(token) } } }),
  },
  {
    name: 'Zed',
    where: 'settings.json:',
    text: (url, token) => json({ context_servers: { switchboard: { url, ...headers(token) } } }),
  },
  {
    name: 'Program',
    where: 'Over REST; /openapi.json describes all of it:',
    text: (url, token) => `curl ${new URL('/api/tools', url)}${token ? ` -H "Authorization: Bearer ${token}"` : ''}`,
  },
  {
    name: 'Chat client',
    where: 'Anything that speaks OpenAI’s chat completions:',
    text: (url, token) => `base_url = ${new URL('/v1', url)}\napi_key  = ${token ?? 'anything'}`,
  },
];

/**
 * @param {HTMLElement} place
 * @returns {View}
 */
export function open(place) {
  const url = `${location.origin}/mcp`;
  let chosen = CLIENTS[0];
  /** The secret of a token that was made here; it is nowhere else. @type {string | null} */
  let secret = null;
  const tabs = h('div', { class: 'clients', role: 'group', 'aria-label': 'Client' });
  const where = h('p', { class: 'muted' });
  const text = h('code', {});
  const note = h('p', { class: 'muted' });
  const made = h('div', { class: 'made', role: 'status' });
  const config = h(
    'div',
    { class: 'config' },
    h('pre', { tabindex: '0', 'aria-label': 'Config' }, text),
    copy(() => text.textContent ?? '', 'config'),
  );

  function show() {
    fill(
      tabs,
      CLIENTS.map((client) =>
        h(
          'button',
          {
            type: 'button',
            'aria-pressed': String(client === chosen),
            onclick: () => {
              chosen = client;
              show();
            },
          },
          client.name,
        ),
      ),
    );
    const token = secret ?? (needsToken() ? 'sb_…' : null);
    where.textContent = chosen?.where ?? '';
    text.textContent = chosen?.text(url, token) ?? '';
    note.textContent =
      needsToken() && !secret
        ? 'This gateway wants a token: put one in the place of sb_…'
        : 'Open the client again afterwards; its calls then appear in Live, under its name.';
  }

  place.append(
    head('Connect'),
    h('section', { class: 'card' }, h('h2', {}, 'A client'), tabs, where, config, note),
    h(
      'section',
      { class: 'card' },
      h('h2', {}, 'A token for it'),
      h(
        'p',
        { class: 'muted' },
        'A token gives the client a name in the records and rules, and limits what it sees. Without one, a client of your own on this machine may do what you may.',
      ),
      mayAdminister() ? tokenForm(take) : command(),
      made,
    ),
  );
  show();

  /** @param {{ name: string, token: string }} token */
  function take(token) {
    secret = token.token;
    fill(
      made,
      h('p', {}, h('strong', {}, token.name), ' is made. It stands in the config above, and is shown only now:'),
      h(
        'div',
        { class: 'line' },
        h('pre', { tabindex: '0', 'aria-label': 'Token' }, h('code', {}, token.token)),
        copy(() => token.token, 'token'),
      ),
    );
    show();
  }
  return {};
}

function command() {
  return h('pre', { class: 'page-text' }, h('code', {}, 'switchboard token new --name NAME'));
}

/**
 * A form that makes a token.
 * @param {(token: { name: string, token: string }) => void} done
 */
export function tokenForm(done) {
  const name = h('input', {
    id: 'token-name',
    required: true,
    maxlength: '100',
    autocomplete: 'off',
    placeholder: 'cursor',
  });
  const tools = h('input', {
    id: 'token-tools',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: 'all, or time__* fs__read_*',
  });
  /** @type {[string, string][]} */
  const rights = [
    ['watch', 'sees everybody’s calls'],
    ['approve', 'decides about held calls'],
    ['admin', 'administers'],
  ];
  const boxes = rights.map(([right, says]) => {
    const box = h('input', { type: 'checkbox', name: right });
    return { right, box, label: h('label', { class: 'check' }, box, says) };
  });
  const form = h(
    'form',
    { class: 'token-form' },
    h('label', { for: name.id }, 'Name', name),
    h('label', { for: tools.id }, 'Tools that it sees', tools),
    h(
      'div',
      { class: 'checks' },
      boxes.map(({ label }) => label),
    ),
    h('button', { class: 'main' }, 'Make a token'),
  );
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const globs = tools.value.split(/[\s,]+/).filter(Boolean);
    const wanted = {
      name: name.value.trim(),
      ...(globs.length > 0 && { tools: globs }),
      ...Object.fromEntries(boxes.filter(({ box }) => box.checked).map(({ right }) => [right, true])),
    };
    try {
      done(await send('POST', '/api/tokens', wanted));
      form.reset();
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), 'bad');
    }
  });
  return form;
}

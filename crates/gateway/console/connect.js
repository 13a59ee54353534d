// Connect: what a client's config has to say to reach this gateway, and a token made for it.

import { send } from './api.js';
import { fill, h } from './dom.js';
import { mayAdminister, needsToken } from './session.js';
import { copy, head, toast } from './widgets.js';

/** @import { View } from './types' */

/**
 * `word` is its name for `switchboard connect`, if that knows it.
 * @typedef {{ name: string, word?: string, where: string, text: (url: string, token: string | null) => string }} Client
 */

/** @param {unknown} value */
const json = (value) => JSON.stringify(value, null, 2);

/**
 * The header of a token, unless none is needed.
 * @param {string | null} token
 */
const headers = (token) => (token ? { headers: { Authorization: `Bearer ${token}` } } : {});

/** @type {Client[]} */
export const CLIENTS = [
  {
    name: 'Claude Code',
    word: 'claude-code',
    where: 'In a shell:',
    text: (url, token) =>
      `claude mcp add --transport http switchboard ${url}${token ? ` --header "Authorization: Bearer ${token}"` : ''}`,
  },
  {
    name: 'Claude Desktop',
    word: 'claude',
    where: 'claude_desktop_config.json (it starts programs, so this one passes messages on):',
    text: (url, token) =>
      json({
        mcpServers: {
          switchboard: {
            command: 'npx',
            args: [
              '-y',
              'mcp-remote',
              url,
              // Without it, mcp-remote takes plain HTTP from these two hosts only.
              ...(/^http:\/\/(?!localhost[:/]|127\.0\.0\.1[:/])/.test(url) ? ['--allow-http'] : []),
              ...(token ? ['--header', `Authorization: Bearer ${token}`] : []),
            ],
          },
        },
      }),
  },
  {
    name: 'Cursor',
    word: 'cursor',
    where: '~/.cursor/mcp.json:',
    text: (url, token) => json({ mcpServers: { switchboard: { url, ...headers(token) } } }),
  },
  {
    name: 'VS Code',
    word: 'vscode',
    where: '.vscode/mcp.json:',
    text: (url, token) => json({ servers: { switchboard: { type: 'http', url, ...headers(token) } } }),
  },
  {
    name: 'Codex',
    word: 'codex',
    where: '~/.codex/config.toml:',
    text: (url, token) =>
      `[mcp_servers.switchboard]\nurl = "${url}"${token ? `\nhttp_headers = { Authorization = "Bearer ${token}" }` : ''}`,
  },
  {
    name: 'Gemini CLI',
    word: 'gemini',
    where: '~/.gemini/settings.json:',
    text: (url, token) => json({ mcpServers: { switchboard: { httpUrl: url, ...headers(token) } } }),
  },
  {
    name: 'Windsurf',
    word: 'windsurf',
    where: '~/.codeium/windsurf/mcp_config.json:',
    text: (url, token) => json({ mcpServers: { switchboard: { serverUrl: url, ...headers(token) } } }),
  },
  {
    name: 'Zed',
    word: 'zed',
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
 * The command that writes the same into the client's config, for those on the gateway's machine.
 * @param {string} word
 * @param {string} url
 * @param {string | null} token
 */
function connectCommand(word, url, token) {
  // Claude Desktop starts programs, and a program of the user needs no token.
  if (word === 'claude') return 'switchboard connect claude';
  return `switchboard connect ${word} --url ${url}${token ? ` --token ${token}` : ''}`;
}

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
  const byCommand = h('p', { class: 'muted' });
  const made = h('div', { class: 'made', role: 'status' });
  const config = h(
    'div',
    { class: 'config' },
    h('pre', { tabindex: '0', 'aria-label': 'Config' }, text),
    copy(() => text.textContent ?? '', 'config'),
  );

  /** @param {Client} client */
  function choose(client) {
    chosen = client;
    show();
  }
  function show() {
    fill(
      tabs,
      CLIENTS.map((client) => button(client, client === chosen, choose)),
    );
    const token = secret ?? (needsToken() ? 'sb_…' : null);
    where.textContent = chosen?.where ?? '';
    text.textContent = chosen?.text(url, token) ?? '';
    const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(location.hostname);
    const word = isHere ? chosen?.word : undefined;
    byCommand.hidden = !word;
    if (word) fill(byCommand, 'Or by a command: ', h('code', {}, connectCommand(word, url, token)));
    note.textContent =
      needsToken() && !secret
        ? 'This gateway wants a token: put one in the place of sb_…'
        : 'Open the client again afterwards; its calls then appear in Live, under its name.';
  }

  place.append(
    head('Connect'),
    h('section', { class: 'card' }, h('h2', {}, 'A client'), tabs, where, config, byCommand, note),
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

/**
 * @param {Client} client
 * @param {boolean} isChosen
 * @param {(client: Client) => void} choose
 */
function button(client, isChosen, choose) {
  return h('button', { type: 'button', 'aria-pressed': String(isChosen), onclick: () => choose(client) }, client.name);
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

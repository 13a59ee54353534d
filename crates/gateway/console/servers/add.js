// A new server: a command, an address or a package. The gateway tries it, and writes it into the config if it answers.

import { send } from '../api.js';
import { fill, h } from '../dom.js';
import { mayAddServers } from '../session.js';
import { segments, toast } from '../widgets.js';

/** @import { AddedServer } from '../types' */
/** @typedef {{ label: string, placeholder: string, more: string, example: string, name: string }} Kind */

/** @type {Record<string, Kind>} */
const KINDS = {
  command: {
    label: 'Command line',
    placeholder: 'uvx mcp-server-time --local-timezone UTC',
    more: 'Variables, one NAME=VALUE per line',
    example: 'API_KEY=…',
    name: 'time',
  },
  url: {
    label: 'Address',
    placeholder: 'https://mcp.example.com/mcp',
    more: 'Headers, one NAME: VALUE per line',
    example: 'Authorization: Bearer …',
    name: 'from the address',
  },
  npm: {
    label: 'Package and its arguments',
    placeholder: '@modelcontextprotocol/server-filesystem /home/me/notes',
    more: 'Variables, one NAME=VALUE per line',
    example: 'API_KEY=…',
    name: 'from the package',
  },
  pypi: {
    label: 'Package and its arguments',
    placeholder: 'mcp-server-fetch',
    more: 'Variables, one NAME=VALUE per line',
    example: 'API_KEY=…',
    name: 'from the package',
  },
};

/**
 * The form, or how else a server is added.
 * @param {(name: string) => void} added
 */
export function addServer(added) {
  return h(
    'section',
    { class: 'card', id: 'add', 'aria-label': 'Add a server' },
    h('h2', {}, 'Add a server'),
    mayAddServers() ? form(added) : byHand(),
  );
}

/** @param {(name: string) => void} added */
function form(added) {
  let chosen = 'command';
  const label = h('span');
  const moreLabel = h('span');
  const what = h('input', { class: 'code', id: 'add-what', required: true, autocomplete: 'off', spellcheck: 'false' });
  const name = h('input', { id: 'add-name', autocomplete: 'off', spellcheck: 'false' });
  const more = h('textarea', { class: 'code', id: 'add-more', rows: '1', autocomplete: 'off', spellcheck: 'false' });
  const state = h('div', { class: 'add-state', role: 'status' });
  const submit = h('button', { class: 'main' }, 'Try and add');
  const choose = (/** @type {string} */ kind) => {
    chosen = kind;
    const shown = KINDS[kind];
    if (!shown) return;
    const { label: says, placeholder, more: lines, example, name: usual } = shown;
    label.textContent = says;
    moreLabel.textContent = lines;
    what.placeholder = placeholder;
    more.placeholder = example;
    name.placeholder = usual;
    name.required = kind === 'command';
  };
  const kinds = segments(
    'What it is',
    [
      ['command', 'Command'],
      ['url', 'Address'],
      ['npm', 'npm package'],
      ['pypi', 'PyPI package'],
    ],
    chosen,
    choose,
  );
  choose(chosen);
  const element = h(
    'form',
    { class: 'add-form' },
    kinds.element,
    h('label', { for: 'add-what', class: 'wide' }, label, what),
    h('label', { for: 'add-name' }, 'Name', name),
    h('label', { for: 'add-more', class: 'wide' }, moreLabel, more),
    h(
      'div',
      { class: 'row wide' },
      submit,
      h('span', { class: 'muted' }, 'It is started once. What looks like a secret goes into the vault.'),
    ),
    state,
  );
  element.addEventListener('submit', async (event) => {
    event.preventDefault();
    submit.disabled = true;
    fill(state, h('p', { class: 'muted' }, 'Trying it…'));
    const made = await tryServer(() => wish(chosen, what.value, name.value, more.value), state);
    submit.disabled = false;
    if (!made) return;
    element.reset();
    added(made.name);
  });
  return element;
}

/**
 * Says what came of it; returns the server if it was added.
 * @param {() => object} wanted
 * @param {HTMLElement} state
 */
async function tryServer(wanted, state) {
  try {
    /** @type {AddedServer} */
    const made = await send('POST', '/api/servers', wanted());
    toast(`${made.name}: ${made.tools.length} ${made.tools.length === 1 ? 'tool' : 'tools'}`);
    fill(
      state,
      made.notes.map((note) => h('p', { class: 'muted' }, note)),
    );
    return made;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    fill(state, h('pre', { class: 'failure', tabindex: '0', 'aria-label': 'Why not' }, text));
    return null;
  }
}

/**
 * What the gateway is asked for.
 * @param {string} kind
 * @param {string} what
 * @param {string} name
 * @param {string} more
 */
export function wish(kind, what, name, more) {
  const named = name.trim() === '' ? {} : { name: name.trim() };
  const pairs = readPairs(more, kind === 'url' ? ':' : '=');
  if (kind === 'url') return { ...named, source: what.trim(), headers: pairs };
  const [first = '', ...rest] = splitWords(what);
  if (kind === 'command') return { ...named, command: [first, ...rest], env: pairs };
  return { ...named, source: `${kind}:${first}`, command: rest, env: pairs };
}

/**
 * The words of a command line, as a shell splits them; nothing is expanded.
 * @param {string} line
 */
export function splitWords(line) {
  const words = [];
  for (const [word] of line.matchAll(/(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s"'\\])+/g)) {
    words.push(
      word.replace(/"((?:\\.|[^"\\])*)"|'([^']*)'|\\(.)/g, (_, double, single, one) =>
        double !== undefined ? double.replace(/\\(["\\$`])/g, '$1') : (single ?? one),
      ),
    );
  }
  return words;
}

/**
 * @param {string} lines
 * @param {string} between
 * @returns {Record<string, string>}
 */
function readPairs(lines, between) {
  const given = lines.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    given.map((line) => {
      const at = line.indexOf(between);
      if (at < 1) throw new Error(`“${line.trim()}” is not NAME${between === ':' ? ': ' : '='}VALUE`);
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}

/** For those whose token may not. */
function byHand() {
  return h(
    'p',
    { class: 'muted' },
    'On the gateway’s machine: ',
    h('code', {}, 'switchboard add NAME -- COMMAND'),
    ', or ',
    h('code', {}, 'switchboard import --all'),
    ' for those of Claude, Cursor, VS Code and what other MCP clients are there. It connects a second later.',
  );
}

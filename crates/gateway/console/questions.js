// What MCP servers ask in the middle of calls of this page's user: a form, a page to open, or a model to be asked.

import { get, send } from './api.js';
import { fill, h } from './dom.js';
import { feed } from './feed.js';
import { isObject, visible, write } from './json.js';
import { Form } from './tools/form.js';
import { initial } from './tools/schema.js';
import { toast } from './widgets.js';

/** @import { Json, Question } from './types' */

/** @type {{ id: string, dialog: HTMLDialogElement } | null} */
let shown = null;
let timer = 0;

/** Begins to look. */
export function start() {
  feed.follow((events) => {
    if (events.some(({ type }) => type === 'question' || type === 'question_closed')) soon();
  }, soon);
  soon();
}

// Several may be told of at once; one look is enough for all of them.
function soon() {
  clearTimeout(timer);
  timer = setTimeout(look, 50);
}

async function look() {
  /** @type {Question[]} */
  let open = [];
  try {
    const { questions } = await get('/api/questions');
    open = questions ?? [];
  } catch {
    // Whoever asked is told that nobody answers; sections say what is wrong with the connection.
    return;
  }
  if (shown && open.some(({ id }) => id === shown?.id)) return;
  close();
  const [next] = open;
  if (next) show(next);
}

function close() {
  const gone = shown;
  shown = null;
  gone?.dialog.close();
  gone?.dialog.remove();
}

/** @param {Question} question */
function show(question) {
  const { element, content } = asked(question);
  const problem = h('p', { class: 'field-problem', role: 'alert' });
  const isSampling = question.method === 'sampling/createMessage';
  /** @param {'accept' | 'decline' | 'cancel'} action */
  const say = async (action) => {
    const body = action === 'accept' && content ? { action, content: content() } : { action };
    try {
      await send('POST', `/api/questions/${encodeURIComponent(question.id)}`, body);
    } catch (error) {
      fill(problem, error instanceof Error ? error.message : String(error));
      return;
    }
    close();
    soon();
  };
  /** @type {[string, string, 'accept' | 'decline' | 'cancel'][]} */
  const buttons = isSampling
    ? [
        ['Allow', 'main', 'accept'],
        ['Deny', 'danger', 'decline'],
      ]
    : [
        ['Accept', 'main', 'accept'],
        ['Decline', 'danger', 'decline'],
        ['Cancel', '', 'cancel'],
      ];
  const dialog = h(
    'dialog',
    { class: 'question', 'aria-labelledby': 'question-title' },
    h(
      'form',
      {
        novalidate: true,
        onsubmit: (/** @type {Event} */ event) => {
          event.preventDefault();
          say('accept');
        },
      },
      h('h2', { id: 'question-title' }, `${visible(question.server)} ${title(question)}`),
      h('p', { class: 'muted' }, 'In the call of ', h('code', {}, visible(question.tool))),
      element,
      problem,
      h(
        'div',
        { class: 'row' },
        buttons.map(([words, style, action]) =>
          action === 'accept'
            ? h('button', { class: style }, words)
            : h('button', { type: 'button', class: style, onclick: () => say(action) }, words),
        ),
      ),
    ),
  );
  dialog.addEventListener('cancel', (event) => {
    event.preventDefault();
    say(isSampling ? 'decline' : 'cancel');
  });
  document.body.append(dialog);
  shown = { id: question.id, dialog };
  dialog.showModal();
  toast(`${visible(question.server)} asks you something`);
}

/** @param {Question} question */
function title({ method, request }) {
  if (method === 'sampling/createMessage') return 'wants to ask a model';
  return request.mode === 'url' ? 'wants you to open a page' : 'asks you';
}

/**
 * What is asked, and how the answer is read, if there is one.
 * @param {Question} question
 * @returns {{ element: HTMLElement, content?: () => Json }}
 */
function asked({ method, request, model }) {
  const message = h('pre', { class: 'asked', tabindex: '0', 'aria-label': 'Message' }, visible(request.message ?? ''));
  if (method === 'sampling/createMessage') return { element: sampling(request, model) };
  if (request.mode === 'url') return { element: h('div', {}, message, page(request.url ?? '')) };
  const schema = request.requestedSchema ?? {};
  const form = new Form(schema, () => {}, { prefix: 'question-', nothing: 'It asks for no values.' });
  form.show(initial({ ...schema, type: 'object' }, schema) ?? {});
  const warning = h('p', { class: 'muted' }, 'The server gets what you answer. Do not tell it passwords or keys.');
  return { element: h('div', {}, message, warning, form.element), content: () => form.value };
}

/** @param {string} address */
function page(address) {
  const url = URL.canParse(address) ? new URL(address) : null;
  return h(
    'div',
    {},
    h('p', {}, 'Host: ', h('strong', { class: 'question-host' }, url ? url.host : '?')),
    h('p', {}, 'Address: ', h('code', {}, visible(address))),
    url &&
      ['http:', 'https:'].includes(url.protocol) &&
      h(
        'p',
        {},
        h('a', { href: url.href, target: '_blank', rel: 'noopener noreferrer' }, `Open ${url.host} in a new tab`),
      ),
    h('p', { class: 'muted' }, 'Open it only if you trust that host. Accept when you have.'),
  );
}

/**
 * @param {Question['request']} request
 * @param {string | null} model
 */
function sampling(request, model) {
  const messages = request.messages ?? [];
  const said = [
    ...(request.systemPrompt ? [{ role: 'system', content: /** @type {Json} */ (request.systemPrompt) }] : []),
    ...messages,
  ];
  return h(
    'div',
    {},
    h('p', {}, 'Model: ', h('strong', {}, model ?? '?')),
    said.map(({ role, content }) =>
      h(
        'div',
        { class: 'block' },
        h('h3', {}, visible(role)),
        h('pre', { class: 'asked', tabindex: '0' }, text(content)),
      ),
    ),
    request.maxTokens !== undefined && h('p', { class: 'muted' }, `At most ${request.maxTokens} tokens`),
    h('p', { class: 'muted' }, 'The server gets the answer.'),
  );
}

/**
 * @param {Json} content
 * @returns {string}
 */
function text(content) {
  if (typeof content === 'string') return visible(content);
  if (Array.isArray(content)) return content.map(text).join('\n');
  if (isObject(content) && typeof content.text === 'string') return visible(content.text);
  if (isObject(content) && content.type === 'image') return `[a picture, ${String(content.mimeType)}]`;
  return visible(write(content));
}

// Policy and tokens: which rules apply, what they would have said of past calls, what people decided, who may see what.

import { get, send } from './api.js';
import { tokenForm } from './connect.js';
import { fill, h } from './dom.js';
import { ago, count, duration, moment, words } from './format.js';
import { mayAdminister } from './session.js';
import { copy, empty, facts, fetched, head, toast } from './widgets.js';

/** @import { Decision, PolicyReport, ShownPolicy, Tokens, View } from './types' */

/** How many calls the gateway looks at for tests of rules and for decisions. */
const LOOKED_AT = 5000;

/** The rules that can be tested, with an example of each. */
const EXAMPLES = {
  deny: 'fs__write_* …',
  ask: 'fs__write_* …',
  allow: '*',
  deny_if: "tool == 'fs__write_file' && args.path.startsWith('/etc/')",
  ask_if: "tool == 'shop__order' && args.amount > 500",
};

/**
 * @param {HTMLElement} place
 * @returns {View}
 */
export function open(place) {
  place.append(head('Policy and tokens'));
  if (!mayAdminister()) {
    place.append(
      empty(
        'Only for those who administer',
        h('code', {}, 'switchboard token new --admin'),
        ' makes a token that may see this.',
      ),
    );
    return {};
  }
  const rules = card('Rules');
  const decisions = card('Decisions of the last 7 days');
  const tokens = card('Tokens');
  place.append(rules.element, tester(), decisions.element, tokens.element);
  fetched(rules.body, async () => ruleList(await get('/api/policy')));
  fetched(decisions.body, async () => decisionTable(await get('/api/approvals/decided?since=7d')));
  listTokens(tokens.body);
  return {};
}

/** @param {string} title */
function card(title) {
  const body = h('div', { class: 'card-body' });
  return { element: h('section', { class: 'card' }, h('h2', {}, title), body), body };
}

/** @param {ShownPolicy} policy */
function ruleList(policy) {
  const globs = (/** @type {string[]} */ all) =>
    all.length > 0 &&
    h(
      'span',
      { class: 'globs' },
      all.map((glob) => h('code', {}, glob)),
    );
  return [
    facts([
      ['Config', policy.file && h('code', {}, policy.file)],
      ['Allowed', globs(policy.allow)],
      ['Allowed if', globs(policy.allow_if)],
      ['Denied', globs(policy.deny) || 'nothing'],
      ['Denied if', globs(policy.deny_if)],
      ['A person is asked about', globs(policy.ask) || (policy.ask_destructive ? null : 'nothing')],
      ['A person is asked if', globs(policy.ask_if)],
      ['Asked about what may destroy', policy.ask_destructive && 'yes'],
      ['Only read-only tools', policy.read_only && 'yes'],
      ['Time to answer', duration(Number.parseFloat(policy.ask_timeout) * 1000)],
      ['Somebody else must allow', policy.four_eyes && 'yes'],
      ['Never shown to who decides', globs(policy.secret_arguments)],
    ]),
    h(
      'p',
      { class: 'muted' },
      'They are in ',
      h('code', {}, '[policy]'),
      ' of the config, and apply a second after it is saved. ',
      h('a', { href: '/tools' }, 'Tools'),
      ' marks what they say of each tool.',
    ),
  ];
}

/** What other rules would have said of past calls. */
function tester() {
  const fields = Object.entries(EXAMPLES).map(([key, placeholder]) => ({
    key,
    // An expression has spaces and commas of its own.
    isExpression: key.endsWith('_if'),
    field: h('input', { id: `test-${key}`, autocomplete: 'off', spellcheck: 'false', placeholder }),
  }));
  const since = h(
    'select',
    { id: 'test-since' },
    [
      ['1h', 'the last hour'],
      ['1d', 'the last day'],
      ['7d', 'the last 7 days'],
    ].map(([value, says]) => h('option', { value, selected: value === '1d' }, says)),
  );
  const outcome = h('div', { class: 'card-body', role: 'status' });
  const form = h(
    'form',
    { class: 'test-form' },
    fields.map(({ key, isExpression, field }) =>
      h('label', { for: field.id, class: isExpression ? 'wide' : null }, key, field),
    ),
    h('label', { for: since.id }, 'on calls of', since),
    h('button', {}, 'Test'),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const given = fields
      .map(({ key, isExpression, field }) => {
        const rules = isExpression ? [field.value.trim()] : field.value.split(/[\s,]+/);
        return /** @type {[string, string[]]} */ ([key, rules.filter(Boolean)]);
      })
      .filter(([, rules]) => rules.length > 0);
    // Without rules of one's own, those that apply now are tested.
    const body = given.length > 0 ? Object.fromEntries(given) : undefined;
    fetched(outcome, async () => reportTable(await send('POST', `/api/policy/test?since=${since.value}`, body)));
  });
  return h(
    'section',
    { class: 'card' },
    h('h2', {}, 'Test rules on past calls'),
    h(
      'p',
      { class: 'muted' },
      'Nothing changes: it says which recorded calls would have ended otherwise. Empty fields test the rules above.',
    ),
    form,
    outcome,
  );
}

/** @param {PolicyReport} report */
function reportTable({ calls, same, skipped, changes }) {
  const says = { denied: 'would be denied', asked: 'would be asked about', allowed: 'would be allowed' };
  return [
    h(
      'p',
      {},
      `${count(calls - same)} of ${count(calls)} calls would end otherwise`,
      skipped > 0 && h('span', { class: 'muted' }, `; ${count(skipped)} more never came to the rules`),
      calls + skipped >= LOOKED_AT &&
        h('span', { class: 'muted' }, `. Only the latest ${count(LOOKED_AT)} were looked at.`),
    ),
    changes.length > 0 &&
      table(
        ['What', 'Tool', 'Calls', 'Rule', 'Latest'],
        changes.map((change) => [
          h('span', { class: `chip ${change.change === 'allowed' ? 'ok' : 'warn'}` }, says[change.change]),
          h('code', {}, change.tool),
          count(change.calls),
          change.rule ?? 'no rule denies it',
          h('a', { href: `/calls/${change.example}` }, 'Open'),
        ]),
      ),
  ];
}

/** @param {Decision[]} decisions */
function decisionTable(decisions) {
  const bound = h('p', { class: 'muted' }, `Of the latest ${count(LOOKED_AT)} calls, 200 at most.`);
  if (decisions.length === 0) return [h('p', { class: 'muted' }, 'Nobody had to decide anything.'), bound];
  const rows = table(
    ['When', 'Tool', 'Asked by', 'Decision', 'By', 'Reason', ''],
    decisions.map((one) => [
      moment(one.started),
      h('code', {}, one.tool),
      // On loopback without a token nobody has a name, but programs say theirs.
      one.caller ?? one.client ?? '–',
      h('span', { class: `chip ${one.decision === 'allow' ? 'ok' : 'warn'}` }, words(one.decision)),
      one.by ?? '–',
      one.reason ?? '',
      h('a', { href: `/calls/${one.call_id}` }, 'Open'),
    ]),
  );
  return [rows, bound];
}

/** @param {HTMLElement} place */
function listTokens(place) {
  const made = h('div', { class: 'made', role: 'status' });
  fetched(place, async () => {
    /** @type {Tokens} */
    const { tokens, tools } = await get('/api/tokens');
    const rows = tokens.map((token) => [
      h('strong', {}, token.name),
      token.tools
        ? h(
            'span',
            { class: 'globs' },
            token.tools.map((glob) => h('code', {}, glob)),
          )
        : 'all',
      sees(token.name, token.visible, tools),
      [token.admin && 'admin', token.approve && 'approves', token.watch && 'watches'].filter(Boolean).join(', ') || '–',
      [
        token.rate,
        token.concurrent && `${token.concurrent} at once`,
        token.cost_budget && `costs ${token.cost_budget} a day`,
      ]
        .filter(Boolean)
        .join(', ') || '–',
      ago(token.created),
      h(
        'button',
        {
          type: 'button',
          class: 'small',
          'aria-label': `Revoke ${token.name}`,
          onclick: () => revoke(token.name, place),
        },
        'Revoke',
      ),
    ]);
    return [
      rows.length > 0
        ? table(['Name', 'Tools', 'Sees', 'Rights', 'Limits', 'Made', ''], rows)
        : h('p', { class: 'muted' }, 'There are no tokens: programs of yours on this machine need none.'),
      tokenForm((token) => {
        fill(
          made,
          h('p', {}, h('strong', {}, token.name), ' is made. It is shown only now:'),
          h(
            'div',
            { class: 'line' },
            h('pre', { tabindex: '0', 'aria-label': 'Token' }, h('code', {}, token.token)),
            copy(() => token.token, 'token'),
          ),
        );
        listTokens(place);
        place.after(made);
      }),
    ];
  });
}

/**
 * How many tools a token sees, and which when asked.
 * @param {string} name
 * @param {number} visible
 * @param {number} all
 */
function sees(name, visible, all) {
  const body = h('div', { class: 'sees' });
  const details = h('details', {}, h('summary', {}, `${count(visible)} of ${count(all)}`), body);
  details.addEventListener(
    'toggle',
    () =>
      fetched(body, async () => {
        /** @type {{ name: string, asks: boolean }[]} */
        const tools = await get(`/api/tokens/${encodeURIComponent(name)}/tools`);
        if (tools.length === 0) return 'none';
        return h(
          'span',
          { class: 'globs' },
          tools.map((tool) =>
            h('code', { class: tool.asks ? 'asks' : '', title: tool.asks ? 'a person is asked' : null }, tool.name),
          ),
        );
      }),
    { once: true },
  );
  return details;
}

/**
 * @param {string} name
 * @param {HTMLElement} place
 */
async function revoke(name, place) {
  if (!window.confirm(`Revoke the token “${name}”? What uses it is refused from now on.`)) return;
  try {
    await send('DELETE', `/api/tokens/${encodeURIComponent(name)}`);
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error), 'bad');
  }
  listTokens(place);
}

/**
 * @param {string[]} heads
 * @param {import('./dom.js').Child[][]} rows
 */
function table(heads, rows) {
  return h(
    'div',
    { class: 'table-frame', tabindex: '0', role: 'group', 'aria-label': heads.filter(Boolean).join(', ') },
    h(
      'table',
      {},
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          heads.map((name) => (name ? h('th', { scope: 'col' }, name) : h('td', {}))),
        ),
      ),
      h(
        'tbody',
        {},
        rows.map((cells) =>
          h(
            'tr',
            {},
            cells.map((cell) => h('td', {}, cell)),
          ),
        ),
      ),
    ),
  );
}

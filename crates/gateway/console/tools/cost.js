// What the definitions of tools take of a model's context, and what leaving out those that nobody calls would save.

import { get } from '../api.js';
import { fill, h } from '../dom.js';
import { count } from '../format.js';
import { loading, trouble } from '../widgets.js';

/** @import { ProfileCost, ServerCost, ToolCosts } from '../types' */

/**
 * Shows it in a place.
 * @param {HTMLElement} place
 */
export async function open(place) {
  fill(place, loading());
  try {
    /** @type {ToolCosts} */
    const costs = await get('/api/tool-costs');
    fill(place, h('h2', {}, 'What definitions cost'), summary(costs), table(costs.servers), profiles(costs.profiles));
  } catch (error) {
    fill(
      place,
      trouble(error, () => open(place)),
    );
  }
}

/** @param {ToolCosts} costs */
function summary({ total_tokens, unused_tokens, servers }) {
  const unused = servers.flatMap(({ tools }) => tools).filter((tool) => tool.calls_30d === 0).length;
  const saved =
    unused === 0
      ? ''
      : ` Leaving out the ${count(unused)} that were not called in 30 days would save about ${count(unused_tokens)}.`;
  return h('p', { class: 'cost-sum' }, `All definitions take about ${count(total_tokens)} tokens.${saved}`);
}

/** @param {ServerCost[]} servers */
function table(servers) {
  const heads = ['Tool', 'Tokens', 'Calls in 30 days'];
  const most = [...servers].sort((one, other) => other.tokens - one.tokens);
  return h(
    'div',
    { class: 'table-frame costs' },
    h(
      'table',
      {},
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          heads.map((name) => h('th', { scope: 'col' }, name)),
        ),
      ),
      most.map((server) => h('tbody', {}, rows(server))),
    ),
  );
}

/** @param {ServerCost} cost */
function rows({ server, tokens, tools }) {
  const calls = tools.reduce((sum, tool) => sum + tool.calls_30d, 0);
  const dearest = [...tools].sort((one, other) => other.tokens - one.tokens);
  return [
    h('tr', {}, h('th', { scope: 'row' }, server ?? 'Local'), h('td', {}, count(tokens)), h('td', {}, count(calls))),
    ...dearest.map((tool) =>
      h(
        'tr',
        {},
        h('td', {}, h('a', { href: `/tools/${encodeURIComponent(tool.name)}` }, tool.name)),
        h('td', {}, count(tool.tokens)),
        h('td', {}, tool.calls_30d === 0 ? h('span', { class: 'muted' }, 'not called') : count(tool.calls_30d)),
      ),
    ),
  ];
}

/**
 * Shows what each profile takes; nothing if there is none.
 * @param {ProfileCost[]} all
 */
function profiles(all) {
  if (all.length === 0) return [];
  const heads = ['Profile', 'Tools', 'Tokens'];
  return h(
    'div',
    { class: 'table-frame costs profile-costs' },
    h(
      'table',
      {},
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          heads.map((name) => h('th', { scope: 'col' }, name)),
        ),
      ),
      h(
        'tbody',
        {},
        all.map(({ profile, tools, tokens }) =>
          h('tr', {}, h('th', { scope: 'row' }, profile), h('td', {}, count(tools)), h('td', {}, count(tokens))),
        ),
      ),
    ),
  );
}

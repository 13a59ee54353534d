// One run: what it took, its turns and calls on a line of time, and what was said.

import { Answer } from '../chat/answer.js';
import { h } from '../dom.js';
import { count, duration, moment, price } from '../format.js';
import { Waterfall } from '../live/waterfall.js';
import { chip, copy, facts } from '../widgets.js';

/** @import { Call, RunCall, RunDetail, RunMessage, Turn } from '../types' */

/** @param {RunDetail} run */
export function page(run) {
  const own = place(run);
  return h(
    'div',
    { class: 'run-body' },
    h('div', { class: 'run-head' }, h('h2', {}, run.question || 'Nothing was asked'), chip(run.state)),
    run.error && h('p', { class: 'failure' }, run.error),
    run.state === 'interrupted' && resume(run),
    summary(run),
    lanes(run),
    earlier(run.messages.slice(0, own)),
    conversation(run, own),
  );
}

/** @param {RunDetail} run */
function summary(run) {
  const ended = Math.max(...times(run).map(({ end }) => end), 0);
  const began = new Date(run.started).getTime();
  return facts([
    ['Model', h('code', {}, run.model)],
    ['Began', moment(run.started)],
    ['Took', ended > began && duration(ended - began)],
    ['Turns', count(run.turns)],
    ['Calls', count(run.calls)],
    ['Tokens', `${count(run.input_tokens)} in, ${count(run.output_tokens)} out`],
    ['Cost', run.cost !== undefined && price(run.cost)],
    ['Asked by', run.caller],
    ['Program', run.client],
    ['Profile', run.profile],
    ['Chat', run.chat && h('a', { href: `/chat/${encodeURIComponent(run.chat)}` }, run.chat)],
    ['Run', h('code', {}, run.id)],
  ]);
}

/**
 * How an interrupted run goes on: a client of the gateway asks again, everything else is the user's.
 * @param {RunDetail} run
 */
function resume(run) {
  if (run.caller) {
    return h(
      'p',
      { class: 'note' },
      'The gateway stopped before it ended. It goes on when its client sends the same request with the same ',
      h('code', {}, 'Idempotency-Key'),
      '.',
    );
  }
  const line = `switchboard runs resume ${run.id}`;
  return h(
    'div',
    { class: 'note' },
    h('p', {}, 'Its process stopped before it ended. It goes on, with no call made twice, by:'),
    h(
      'div',
      { class: 'line' },
      h('pre', {}, h('code', {}, line)),
      copy(() => line, 'command'),
    ),
  );
}

/**
 * The turns and their calls as the waterfall of Live has them.
 * @param {RunDetail} run
 */
function lanes(run) {
  /** @type {Turn[]} */
  const turns = [];
  /** @type {Call[]} */
  const calls = [];
  for (const [index, { turn, begin, answered }] of times(run).entries()) {
    turns.push({
      id: `${run.id}.${index}`,
      model: run.model,
      provider: `turn ${index + 1}`,
      conversation: run.id,
      caller: run.caller ?? null,
      started: new Date(begin).toISOString(),
      duration_ms: answered - begin,
      error_kind: null,
      input_tokens: turn.input_tokens,
      output_tokens: turn.output_tokens,
    });
    for (const call of turn.calls) {
      if (!call.call_id) continue;
      calls.push({
        id: call.call_id,
        tool: call.tool,
        arguments: argumentsOf(run, call),
        outcome: outcome(run, call),
        duration_ms: call.duration_ms,
        started: new Date(Math.max(answered, (call.ended_ms ?? answered) - (call.duration_ms ?? 0))).toISOString(),
        conversation: run.id,
      });
    }
  }
  if (turns.length === 0) return null;
  const waterfall = new Waterfall((id) => `/calls/${id}`);
  waterfall.show(calls, new Map([[run.id, turns]]), () => true);
  return waterfall.element;
}

/**
 * When each turn was asked and answered, and when the last of its calls ended.
 * @param {RunDetail} run
 */
function times({ started, timeline }) {
  let begin = new Date(started).getTime();
  return timeline.map((turn) => {
    const answered = Math.max(begin, turn.ended_ms);
    const end = Math.max(answered, ...turn.calls.map(({ ended_ms: ended }) => ended ?? 0));
    const shown = { turn, begin, answered, end };
    begin = end;
    return shown;
  });
}

/**
 * @param {RunDetail} run
 * @param {RunCall} call
 */
function outcome(run, call) {
  if (call.outcome === 'in flight') return run.state === 'running' ? 'running' : 'outcome_unknown';
  return call.outcome === 'not begun' && run.state !== 'running' ? 'cancelled' : call.outcome;
}

/**
 * @param {RunDetail} run
 * @param {RunCall} call
 */
function argumentsOf(run, call) {
  const all = run.messages.flatMap(({ tool_calls: calls }) => calls ?? []);
  return all.findLast(({ id }) => id === call.tool_call_id)?.args ?? {};
}

/**
 * Where in the messages the run begins: before that is what its chat had already.
 * @param {RunDetail} run
 */
function place({ messages, timeline }) {
  let left = timeline.length;
  let first = messages.length;
  while (left > 0 && first > 0) {
    first -= 1;
    if (messages[first]?.role === 'assistant') left -= 1;
  }
  const question = messages.slice(0, first).findLastIndex(({ role }) => role === 'user');
  return question < 0 ? first : question;
}

/** @param {RunMessage[]} messages */
function earlier(messages) {
  if (messages.length === 0) return null;
  return h(
    'details',
    { class: 'run-earlier' },
    h('summary', {}, `${count(messages.length)} earlier ${messages.length === 1 ? 'message' : 'messages'}`),
    h(
      'ol',
      {},
      messages.map(({ role, content, tool_calls: calls }) =>
        h(
          'li',
          {},
          h('span', { class: 'muted' }, role),
          h('pre', {}, [content, ...(calls ?? []).map(({ name }) => `calls ${name}`)].filter(Boolean).join('\n')),
        ),
      ),
    ),
  );
}

/**
 * What was said, with the calls where they were made.
 * @param {RunDetail} run
 * @param {number} own
 */
function conversation(run, own) {
  const log = h('div', { class: 'run-said' });
  /** @type {Answer | null} */
  let answer = null;
  const ended = new Map(run.timeline.flatMap(({ calls }) => calls).map((call) => [call.tool_call_id, call]));
  const wholes = new Map(run.shortened.map(({ tool_call_id: id, artifact }) => [id, artifact]));
  for (const message of run.messages.slice(own)) {
    if (message.role === 'assistant') {
      if (!answer) log.append((answer = new Answer()).element);
      answer.paragraph();
      answer.say(message.content);
      for (const { id, name, args } of message.tool_calls ?? []) {
        answer.call({ id, tool: name, arguments: args });
        const call = ended.get(id);
        if (call && call.outcome !== 'in flight' && call.outcome !== 'not begun') continue;
        answer.called(id, { outcome: call ? outcome(run, call) : 'cancelled' });
      }
    } else if (message.role === 'tool') {
      const id = message.tool_call_id ?? '';
      const call = ended.get(id);
      answer?.called(id, {
        outcome: call ? outcome(run, call) : message.is_error ? 'failed' : 'ok',
        duration_ms: call?.duration_ms ?? undefined,
        content: message.content,
        call_id: call?.call_id,
        decision: call?.decision,
        by: call?.decided_by,
        whole: wholes.get(id),
      });
    } else {
      log.append(
        h('article', { class: `said ${message.role === 'user' ? 'user' : 'muted'}` }, h('p', {}, message.content)),
      );
    }
  }
  answer?.end();
  return log;
}

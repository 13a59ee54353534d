// Calls and turns of models by conversation on one line of time each, so that what ran side by side stands side by side.

import { fill, h } from '../dom.js';
import { clock, count, duration, isFailure, roundDuration, tone, words } from '../format.js';
import { icon } from '../icons.js';
import { write } from '../json.js';
import { empty } from '../widgets.js';
import { Zoom } from './zoom.js';

/** @import { Call, Turn } from '../types' */
/** @typedef {{ name: string, calls: Call[], turns: Turn[], begin: number, end: number, zoom: Zoom }} Shown */

/** How many conversations are shown, and how many lanes of each. */
const CONVERSATIONS = 20;
const LANES = 80;
/** How far a button zooms. */
const STEP = 2;

/** The waterfall. */
export class Waterfall {
  element = h('div', { class: 'waterfall' });
  /** What is shown of each conversation; it stays while the waterfall is drawn again. @type {Map<string, Zoom>} */
  #zooms = new Map();
  /** What was drawn: what has not changed stays, so that focus and a dragged range do. @type {Map<string, { shape: string, element: HTMLElement }>} */
  #drawn = new Map();

  /** @param {(id: string) => string} address where a call opens */
  constructor(address) {
    this.address = address;
  }

  /**
   * @param {Call[]} calls oldest first
   * @param {Map<string, Turn[]>} turns
   * @param {(name: string) => boolean} isWanted whether a conversation without calls is shown
   */
  show(calls, turns, isWanted) {
    const conversations = gathered(calls, turns, isWanted);
    if (conversations.length === 0) {
      this.#drawn.clear();
      fill(
        this.element,
        empty(
          'No conversations yet',
          'Ask something in ',
          h('a', { href: '/chat' }, 'Chat'),
          '. Programs name theirs with the header X-Conversation, chat clients with “user”.',
        ),
      );
      return;
    }
    const drawn = new Map();
    for (const [name, own] of conversations) {
      const shape = JSON.stringify([
        location.search,
        own.map(({ id, outcome }) => [id, outcome]),
        turns.get(name)?.length ?? 0,
      ]);
      const known = this.#drawn.get(name);
      const isMoving = own.some(({ outcome }) => outcome === 'running' || outcome === 'held');
      drawn.set(
        name,
        known && known.shape === shape && !isMoving
          ? known
          : { shape, element: this.#section(name, own, turns.get(name) ?? []) },
      );
    }
    const elements = [...drawn.values()].map(({ element }) => element);
    const isSame =
      elements.length === this.element.children.length &&
      elements.every((element, index) => element === this.element.children[index]);
    this.#drawn = drawn;
    if (!isSame) fill(this.element, elements);
  }

  /**
   * @param {string} name
   * @param {Call[]} calls
   * @param {Turn[]} turns
   */
  #section(name, calls, turns) {
    let zoom = this.#zooms.get(name);
    if (!zoom) this.#zooms.set(name, (zoom = new Zoom()));
    const begin = Math.min(...[...calls, ...turns].map(start));
    const end = Math.max(...[...calls, ...turns].map(finish), begin + 1);
    const shown = { name, calls, turns, begin, end, zoom };
    const lanes = h('div', { class: 'lanes-frame' });
    const controls = h('div', { class: 'zoom', role: 'group', 'aria-label': `Zoom of ${name}` });
    const draw = () => {
      fill(lanes, this.#axis(shown, draw), this.#lanes(shown));
      fill(controls, zoomButtons(shown.zoom, draw));
    };
    draw();
    return h(
      'section',
      { class: 'conversation', 'aria-label': `Conversation ${name}` },
      h(
        'div',
        { class: 'conversation-head' },
        h('h2', {}, h('a', { href: `/live?view=waterfall&conversation=${encodeURIComponent(name)}` }, name)),
        h('p', { class: 'muted' }, summary(shown)),
        controls,
      ),
      lanes,
    );
  }

  /**
   * The time since the beginning; dragged over, it zooms to that part.
   * @param {Shown} shown
   * @param {() => void} draw
   */
  #axis({ begin, end, zoom }, draw) {
    const ticks = h(
      'span',
      { class: 'lane-ticks', title: 'Drag to zoom in' },
      zoom.ticks(end - begin).map(({ at, left }) => {
        const tick = h('span', {}, roundDuration(at));
        tick.style.left = `${left}%`;
        return tick;
      }),
    );
    drag(ticks, (one, other) => {
      zoom.select(one, other);
      draw();
    });
    return h('div', { class: 'lane lane-axis', 'aria-hidden': 'true' }, h('span'), ticks, h('span'));
  }

  /** @param {Shown} shown */
  #lanes(shown) {
    const { calls, turns } = shown;
    const all = [
      ...calls.map((call) => ({ call, at: start(call) })),
      ...turns.map((turn) => ({ turn, at: start(turn) })),
    ];
    all.sort((one, other) => one.at - other.at);
    return h(
      'ol',
      { class: 'lanes' },
      all.slice(-LANES).map((one) => ('turn' in one ? turnLane(one.turn, shown) : this.#lane(one.call, shown))),
    );
  }

  /**
   * @param {Call} call
   * @param {Shown} shown
   */
  #lane(call, shown) {
    return h(
      'li',
      {},
      h(
        'a',
        { href: this.address(call.id), class: 'lane' },
        h(
          'span',
          { class: 'lane-name', title: call.tool },
          call.tool,
          h('span', { class: 'lane-args' }, call.arguments_cut ? '' : write(call.arguments ?? {}).slice(0, 120)),
        ),
        track(call, tone(call.outcome), shown),
        h('span', { class: 'lane-took' }, call.outcome === 'ok' ? duration(call.duration_ms) : words(call.outcome)),
      ),
    );
  }
}

/**
 * The conversations, the latest first.
 * @param {Call[]} calls
 * @param {Map<string, Turn[]>} turns
 * @param {(name: string) => boolean} isWanted
 * @returns {[string, Call[]][]}
 */
function gathered(calls, turns, isWanted) {
  /** @type {Map<string, Call[]>} */
  const found = new Map();
  for (const call of calls) {
    if (!call.conversation) continue;
    const known = found.get(call.conversation);
    if (known) known.push(call);
    else found.set(call.conversation, [call]);
  }
  // One in which the model only spoke is a conversation too.
  for (const name of turns.keys()) if (!found.has(name) && isWanted(name)) found.set(name, []);
  const latest = (/** @type {[string, Call[]]} */ [name, own]) =>
    Math.max(...own.slice(-1).map(start), ...(turns.get(name) ?? []).slice(-1).map(start));
  return [...found].sort((one, other) => latest(other) - latest(one)).slice(0, CONVERSATIONS);
}

/** @param {Shown} shown */
function summary({ calls, turns, begin, end }) {
  const failed = calls.filter(({ outcome }) => isFailure(outcome)).length;
  const sum = (/** @type {'input_tokens' | 'output_tokens'} */ key) =>
    turns.reduce((total, turn) => total + turn[key], 0);
  const caller = calls[0]?.caller ?? turns[0]?.caller;
  return [
    clock(new Date(begin).toISOString()),
    many(calls.length, 'call'),
    failed > 0 && `${failed} failed`,
    turns.length > 0 && many(turns.length, 'turn'),
    sum('input_tokens') + sum('output_tokens') > 0 &&
      `${count(sum('input_tokens'))} tokens in, ${count(sum('output_tokens'))} out`,
    duration(end - begin),
    caller && `by ${caller}`,
  ]
    .filter(Boolean)
    .join(' · ');
}

/**
 * @param {number} number
 * @param {string} noun
 */
function many(number, noun) {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/**
 * @param {Turn} turn
 * @param {Shown} shown
 */
function turnLane(turn, shown) {
  const tokens = turn.input_tokens + turn.output_tokens;
  return h(
    'li',
    {},
    h(
      'div',
      { class: 'lane lane-turn', title: `${turn.model} (${turn.provider})` },
      h(
        'span',
        { class: 'lane-name' },
        turn.model,
        h(
          'span',
          { class: 'lane-args' },
          tokens > 0 ? `${count(turn.input_tokens)} → ${count(turn.output_tokens)} tokens` : 'model',
        ),
      ),
      track(turn, turn.error_kind ? 'bad' : 'turn', shown),
      h('span', { class: 'lane-took' }, turn.error_kind ? words(turn.error_kind) : duration(turn.duration_ms)),
    ),
  );
}

/**
 * @param {Call | Turn} one
 * @param {string} className
 * @param {Shown} shown
 */
function track(one, className, { begin, end, zoom }) {
  const share = (/** @type {number} */ time) => (time - begin) / (end - begin);
  const place = zoom.place(share(start(one)), share(finish(one)));
  const bar = h('span', { class: `lane-bar ${className}`, hidden: place === null });
  if (place) {
    bar.style.left = `${place.left}%`;
    bar.style.width = `${Math.min(100 - place.left, place.width)}%`;
  }
  const lines = zoom.ticks(end - begin).map(({ left }) => {
    const line = h('span', { class: 'lane-line' });
    line.style.left = `${left}%`;
    return line;
  });
  return h('span', { class: 'lane-track', 'aria-hidden': 'true' }, lines, bar);
}

/**
 * @param {Zoom} zoom
 * @param {() => void} draw
 */
function zoomButtons(zoom, draw) {
  const button = (
    /** @type {string} */ name,
    /** @type {string} */ says,
    /** @type {boolean} */ isOff,
    /** @type {() => void} */ act,
  ) => {
    const onclick = () => {
      act();
      draw();
    };
    return h(
      'button',
      { type: 'button', class: 'plain small', 'aria-label': says, title: says, disabled: isOff, onclick },
      icon(name, 14),
    );
  };
  return [
    !zoom.isWhole &&
      h('span', { class: 'muted' }, `×${zoom.factor < 10 ? zoom.factor.toFixed(1) : Math.round(zoom.factor)}`),
    !zoom.isWhole && button('back', 'Earlier', zoom.from === 0, () => zoom.move(-0.5)),
    !zoom.isWhole && button('on', 'Later', zoom.to === 1, () => zoom.move(0.5)),
    button('minus', 'Zoom out', zoom.isWhole, () => zoom.by(1 / STEP)),
    button('plus', 'Zoom in', false, () => zoom.by(STEP)),
    !zoom.isWhole && button('whole', 'Show all', false, () => zoom.whole()),
  ];
}

/**
 * Calls `done` with the part that was dragged over, as shares of the width.
 * @param {HTMLElement} element
 * @param {(one: number, other: number) => void} done
 */
function drag(element, done) {
  const range = h('span', { class: 'lane-range', hidden: true });
  element.append(range);
  const at = (/** @type {PointerEvent} */ event) => {
    const box = element.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  element.addEventListener('pointerdown', (event) => {
    const from = at(event);
    element.setPointerCapture(event.pointerId);
    const move = (/** @type {PointerEvent} */ next) => {
      const to = at(next);
      range.hidden = false;
      range.style.left = `${Math.min(from, to) * 100}%`;
      range.style.width = `${Math.abs(to - from) * 100}%`;
    };
    const up = (/** @type {PointerEvent} */ next) => {
      element.removeEventListener('pointermove', move);
      range.hidden = true;
      if (Math.abs(at(next) - from) > 0.01) done(from, at(next));
    };
    element.addEventListener('pointermove', move);
    element.addEventListener('pointerup', up, { once: true });
  });
}

/** @param {Call | Turn} one */
function start(one) {
  return new Date(one.started).getTime();
}

/** @param {Call | Turn} one */
function finish(one) {
  if ('outcome' in one && ['running', 'held'].includes(one.outcome)) return Date.now();
  return start(one) + (one.duration_ms ?? 0);
}

// Which part of a conversation's time is shown.

import { round } from '../chart.js';

/** How many round times are shown at most, beside the first. */
const TICKS = 6;
/** The least part that can be shown. */
const LEAST = 0.001;

/** A part of the whole, from 0 to 1. */
export class Zoom {
  from = 0;
  to = 1;

  get isWhole() {
    return this.from === 0 && this.to === 1;
  }

  /** How often the whole is larger than what is shown. */
  get factor() {
    return 1 / (this.to - this.from);
  }

  whole() {
    this.from = 0;
    this.to = 1;
  }

  /**
   * Makes what is shown smaller or larger around its middle.
   * @param {number} factor above 1 to see more of less
   */
  by(factor) {
    const middle = (this.from + this.to) / 2;
    const half = Math.min(0.5, Math.max(LEAST, (this.to - this.from) / factor) / 2);
    this.#set(middle - half, middle + half);
  }

  /**
   * Goes on, or back, by a part of what is shown.
   * @param {number} share
   */
  move(share) {
    const step = (this.to - this.from) * share;
    this.#set(this.from + step, this.to + step);
  }

  /**
   * Shows the part between two places of what is shown now.
   * @param {number} one from 0 to 1
   * @param {number} other
   */
  select(one, other) {
    const span = this.to - this.from;
    const [begin, end] = [this.from + Math.min(one, other) * span, this.from + Math.max(one, other) * span];
    if (end - begin >= LEAST) this.#set(begin, end);
  }

  /**
   * Where something of the whole is in what is shown, in per cent; none where it is not to be seen.
   * @param {number} begin from 0 to 1
   * @param {number} end
   */
  place(begin, end) {
    if (end < this.from || begin > this.to) return null;
    const span = this.to - this.from;
    const left = Math.max(0, (begin - this.from) / span);
    const right = Math.min(1, (end - this.from) / span);
    return { left: Math.min(99.5, left * 100), width: Math.max(0.4, (right - left) * 100) };
  }

  /**
   * The round times of what is shown, and where each is, in per cent.
   * @param {number} whole what the whole takes, in ms
   */
  ticks(whole) {
    const [first, last] = [this.from * whole, this.to * whole];
    const step = round((last - first) / TICKS);
    const from = Math.ceil(first / step - 1e-9);
    const count = Math.floor((last - first) / step) + 1;
    return Array.from({ length: count }, (_, index) => (from + index) * step)
      .map((at) => ({ at, left: ((at - first) / (last - first)) * 100 }))
      .filter(({ left }) => left < 95);
  }

  /**
   * Keeps the span, within the whole.
   * @param {number} from
   * @param {number} to
   */
  #set(from, to) {
    const span = Math.min(1, to - from);
    this.from = Math.min(1 - span, Math.max(0, from));
    this.to = this.from + span;
    if (this.to > 1 - 1e-9) this.to = 1;
  }
}

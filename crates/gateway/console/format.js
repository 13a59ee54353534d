// Times, durations and sizes, as people read them.

/** @param {number | null | undefined} ms */
export function duration(ms) {
  if (ms === null || ms === undefined) return '–';
  if (ms === 0) return '0 ms';
  if (ms < 0.995) return `${Math.max(1, Math.round(ms * 1000))} µs`;
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(ms < 9_950 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60) % 60;
  const parts =
    seconds < 3600 ? [minutes, 'min', seconds % 60, 's'] : [Math.floor(seconds / 3600), 'h', minutes, 'min'];
  // What is zero is left out.
  return parts.slice(0, parts[2] === 0 ? 2 : 4).join(' ');
}

/**
 * A round number of milliseconds, with no more digits than it has.
 * @param {number} ms
 */
export function roundDuration(ms) {
  const exact = (/** @type {number} */ value) => Number(value.toPrecision(6));
  if (ms === 0) return '0';
  if (ms < 1) return `${exact(ms * 1000)} µs`;
  if (ms < 1000) return `${exact(ms)} ms`;
  if (ms < 60_000) return `${exact(ms / 1000)} s`;
  return duration(ms);
}

const clockFormat = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const dayFormat = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});

/**
 * The time of day with milliseconds.
 * @param {string} time
 */
export function clock(time) {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return time;
  return `${clockFormat.format(date)}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

/**
 * The day and the time of day with milliseconds.
 * @param {string} time
 */
export function moment(time) {
  const date = new Date(time);
  return `${date.getDate()} ${date.toLocaleString('en-GB', { month: 'short' })}, ${clock(time)}`;
}

/** @param {string} time */
export function day(time) {
  return dayFormat.format(new Date(time));
}

/**
 * How long ago something was, or how long it is until then.
 * @param {string | null | undefined} time
 */
export function away(time) {
  if (!time) return '–';
  const seconds = Math.abs(Date.now() - new Date(time).getTime()) / 1000;
  if (seconds < 1) return 'now';
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/**
 * How long it is until then, at most: a wait of five minutes begins with five.
 * @param {string} time
 */
export function left(time) {
  const seconds = Math.max(0, Math.ceil((new Date(time).getTime() - Date.now()) / 1000));
  if (seconds < 90) return `${seconds} s left`;
  if (seconds < 5400) return `${Math.ceil(seconds / 60)} min left`;
  return `${Math.ceil(seconds / 3600)} h left`;
}

/** @param {string} time */
export function ago(time) {
  const past = away(time);
  return past === 'now' ? 'just now' : `${past} ago`;
}

/** @param {number | null | undefined} bytes */
export function size(bytes) {
  if (bytes === null || bytes === undefined) return '–';
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** @param {number} number */
export function count(number) {
  return number.toLocaleString('en');
}

/**
 * An amount of money, in whatever unit the prices are; small ones keep two digits that count.
 * @param {number} amount
 */
export function price(amount) {
  if (amount === 0) return '0';
  return amount >= 1 ? amount.toFixed(2) : String(Number(amount.toPrecision(2)));
}

/**
 * How far a call is, in words. A number without a total says something only if it counts: a held call reports tiny
 * ones, which leave room for those of the tool itself.
 * @param {import('./types').Progress} progress
 */
export function progressText({ progress, total, message }) {
  const number = (/** @type {number} */ value) => value.toLocaleString('en', { maximumFractionDigits: 2 });
  const far = total ? `${number(progress)} of ${number(total)}` : progress >= 1 ? number(progress) : '';
  return [message, far].filter(Boolean).join(' · ');
}

/**
 * An outcome in words.
 * @param {string} outcome
 */
export function words(outcome) {
  return outcome.replaceAll('_', ' ');
}

/**
 * Whether a call is over and went wrong.
 * @param {string} outcome
 */
export function isFailure(outcome) {
  return !['ok', 'running', 'held'].includes(outcome);
}

/**
 * The class that gives an outcome its colour.
 * @param {string} outcome
 */
export function tone(outcome) {
  if (['ok', 'ready', 'ended'].includes(outcome)) return 'ok';
  if (outcome === 'running' || outcome === 'connecting') return 'busy';
  if (['cancelled', 'denied', 'held', 'outcome_unknown', 'overloaded', 'interrupted'].includes(outcome)) return 'warn';
  return ['idle', 'stopped', 'disabled'].includes(outcome) ? 'still' : 'bad';
}

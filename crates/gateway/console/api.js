// The gateway's REST, as the page uses it.

import { answer } from './json.js';

/** An answer that is no success, in the gateway's own words. */
export class Problem extends Error {
  /**
   * @param {number} status 0 where there was no answer at all
   * @param {string} words
   * @param {{ error_kind?: string, hint?: string }} [body]
   */
  constructor(status, words, body = {}) {
    super(words);
    this.status = status;
    this.kind = body.error_kind ?? null;
    this.hint = body.hint ?? null;
  }
}

/** What is told when the gateway no longer knows who we are. */
export const signedOut = new EventTarget();

/**
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function get(path, signal) {
  return read(await ask(path, { signal }));
}

/**
 * @param {'POST' | 'DELETE'} method
 * @param {string} path
 * @param {unknown} [body] a text is sent as it is
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function send(method, path, body, signal) {
  return read(await ask(path, { method, body: text(body), headers: headers(), signal }));
}

/**
 * The text of a part of something, and how long the whole is.
 * @param {string} path
 * @returns {Promise<{ text: string, total: number | null }>}
 */
export async function part(path) {
  const response = await ask(path, {});
  const total = response.headers.get('x-total-characters');
  return { text: await response.text(), total: total === null ? null : Number(total) };
}

/**
 * Sends something and yields the events of the answer as they come.
 * @param {string} path
 * @param {unknown} body
 * @param {AbortSignal} signal closing it ends what was asked for
 * @returns {AsyncGenerator<{ event: string, data: string }>}
 */
export async function* stream(path, body, signal) {
  // What servers ask in the middle of a call is answered by `questions.js`, wherever the page is by then.
  const accept = { ...headers(), Accept: 'text/event-stream', 'X-Switchboard-Answers': 'elicitation, sampling' };
  const response = await ask(path, { method: 'POST', body: text(body), headers: accept, signal });
  if (!response.headers.get('content-type')?.startsWith('text/event-stream') || !response.body) {
    yield { event: 'result', data: await response.text() };
    return;
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    rest += piece.value.replaceAll('\r', '');
    const blocks = rest.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = message(block);
      if (event) yield event;
    }
  }
}

/** @param {string} block */
function message(block) {
  let event = 'message';
  const data = [];
  for (const line of block.split('\n')) {
    if (line.startsWith('event:')) event = line.slice(6).trim();
    if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5));
  }
  return data.length > 0 ? { event, data: data.join('\n') } : null;
}

/**
 * @param {string} path
 * @param {RequestInit} options
 */
async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, { credentials: 'same-origin', ...options });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new Problem(0, 'The gateway does not answer. Is it still running?');
  }
  // An envelope that tells of a failed call is an answer too.
  const isEnvelope = path.endsWith('/call') && response.headers.get('content-type')?.startsWith('text/event-stream');
  if (response.ok || isEnvelope) return response;
  throw await problem(response, path);
}

/**
 * @param {Response} response
 * @param {string} path
 */
async function problem(response, path) {
  if (response.status === 401 && path !== '/api/session') signedOut.dispatchEvent(new Event('out'));
  const said = await response.text();
  try {
    const body = JSON.parse(said);
    const words = typeof body.error === 'string' ? body.error : body.error?.message;
    return new Problem(response.status, words ?? said, body);
  } catch {
    return new Problem(response.status, said || `The gateway answered ${response.status}.`);
  }
}

/**
 * @param {Response} response
 * @returns {Promise<any>}
 */
async function read(response) {
  const said = await response.text();
  return said === '' ? null : answer(said);
}

// Only a page of the gateway itself can send this header, so that no other page can act with our cookie.
function headers() {
  return { 'Content-Type': 'application/json', 'X-Switchboard': 'console' };
}

/** @param {unknown} body */
function text(body) {
  if (body === undefined) return undefined;
  return typeof body === 'string' ? body : JSON.stringify(body);
}

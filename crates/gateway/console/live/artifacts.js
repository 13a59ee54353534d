// What is kept beside a record: images are shown, texts are read page by page.

import { part } from '../api.js';
import { fill, h } from '../dom.js';
import { count, size } from '../format.js';
import { trouble } from '../widgets.js';

/** @import { Artifact } from '../types' */

/** How many characters a page has. */
const PAGE = 20_000;

/**
 * The artifacts of a call.
 * @param {Artifact[]} all
 * @param {Artifact} [shown] the one that is shown as the result
 */
export function artifacts(all, shown) {
  const others = all.filter((artifact) => artifact !== shown);
  if (others.length === 0) return null;
  return h(
    'section',
    { class: 'block' },
    h('div', { class: 'block-head' }, h('h3', {}, 'Artifacts')),
    h(
      'ul',
      { class: 'artifacts' },
      others.map((artifact) => h('li', {}, show(artifact))),
    ),
  );
}

/** @param {Artifact} artifact */
function show(artifact) {
  const address = `/api/artifacts/${encodeURIComponent(artifact.id)}`;
  const name = `${artifact.media_type ?? artifact.kind}, ${size(artifact.size)}`;
  const link = h('a', { href: address, target: '_blank', rel: 'noopener' }, name);
  if (artifact.media_type?.startsWith('image/')) {
    return h('figure', {}, picture(address, `Image from the tool: ${name}`), h('figcaption', {}, link));
  }
  if (artifact.media_type?.startsWith('audio/')) {
    return h('figure', {}, h('audio', { src: address, controls: true }), h('figcaption', {}, link));
  }
  if (artifact.kind === 'text') return pages(artifact);
  return link;
}

/**
 * An image that a click enlarges.
 * @param {string} src
 * @param {string} alt
 */
function picture(src, alt) {
  const enlarge = () => {
    const dialog = h(
      'dialog',
      { class: 'picture', 'aria-label': alt },
      h('img', { src, alt }),
      h('form', { method: 'dialog' }, h('button', {}, 'Close')),
    );
    dialog.addEventListener('click', () => dialog.close());
    dialog.addEventListener('close', () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  };
  return h(
    'button',
    { type: 'button', class: 'picture-button', 'aria-label': `Enlarge: ${alt}`, onclick: enlarge },
    h('img', { src, alt: '' }),
  );
}

/**
 * A text in pages.
 * @param {Artifact} artifact
 */
export function pages(artifact) {
  const text = h('pre', { class: 'page-text', tabindex: '0', 'aria-label': 'Text of the result' });
  const where = h('span', { class: 'muted', role: 'status' });
  let offset = 0;
  const back = h('button', { type: 'button', onclick: () => turn(-PAGE) }, 'Previous page');
  const on = h('button', { type: 'button', onclick: () => turn(PAGE) }, 'Next page');
  const element = h('div', { class: 'pages' }, text, h('div', { class: 'row' }, back, on, where));

  /** @param {number} step */
  async function turn(step) {
    const next = Math.max(0, offset + step);
    try {
      const page = await part(`/api/artifacts/${encodeURIComponent(artifact.id)}?offset=${next}&limit=${PAGE}`);
      offset = next;
      text.textContent = page.text;
      text.scrollTop = 0;
      const end = offset + [...page.text].length;
      const total = page.total ?? end;
      where.textContent = `Characters ${count(offset + 1)} to ${count(end)} of ${count(total)}`;
      back.disabled = offset === 0;
      on.disabled = end >= total;
    } catch (error) {
      fill(element, trouble(error));
    }
  }
  turn(0);
  return element;
}

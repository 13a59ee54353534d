// The part of Markdown that models use: paragraphs, headings, lists, code, emphasis. Everything else stays as it was written.

import { h } from './dom.js';

/** @param {string} text */
export function markdown(text) {
  /** @type {HTMLElement[]} */
  const blocks = [];
  const pieces = text.split(/^```/m);
  pieces.forEach((piece, index) => {
    // Between two fences stands code; the first line may name its language.
    if (index % 2 === 1) {
      blocks.push(
        h(
          'pre',
          { tabindex: '0', 'aria-label': 'Code' },
          h('code', {}, piece.slice(piece.indexOf('\n') + 1).trimEnd()),
        ),
      );
    } else {
      blocks.push(
        ...piece
          .split(/\n{2,}/)
          .filter((block) => block.trim() !== '')
          .flatMap(plain),
      );
    }
  });
  return blocks;
}

/**
 * A block of lines: list items stand together, other lines make a paragraph.
 * @param {string} block
 */
function plain(block) {
  /** @type {HTMLElement[]} */
  const made = [];
  for (const line of block.trim().split('\n')) {
    const [, sign, item] = /^\s*([-*+]|\d+[.)])\s+(.*)$/.exec(line) ?? [];
    const [, title] = /^#{1,6}\s+(.*)$/.exec(line) ?? [];
    const last = made.at(-1);
    if (sign !== undefined && item !== undefined) {
      const tag = /\d/.test(sign) ? 'ol' : 'ul';
      const list = last?.localName === tag ? last : made[made.push(h(tag)) - 1];
      list?.append(h('li', {}, inline(item)));
    } else if (title !== undefined) {
      made.push(h('p', {}, h('strong', {}, inline(title))));
    } else if (last?.localName === 'p') {
      last.append(h('br'), ...inline(line));
    } else {
      made.push(h('p', {}, inline(line)));
    }
  }
  return made;
}

/**
 * @param {string} text
 * @returns {(Node | string)[]}
 */
function inline(text) {
  return text
    .split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*)/)
    .filter(Boolean)
    .map((piece) => {
      if (/^`.+`$/.test(piece)) return h('code', {}, piece.slice(1, -1));
      if (/^\*\*.+\*\*$/.test(piece)) return h('strong', {}, piece.slice(2, -2));
      if (/^\*.+\*$/.test(piece)) return h('em', {}, piece.slice(1, -1));
      return piece;
    });
}

// The part of Markdown that models use: paragraphs, headings, lists, tables, code, emphasis, links. Everything else stays as it was written.

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
          .flatMap((block) => table(block) ?? plain(block)),
      );
    }
  });
  return blocks;
}

/**
 * A table: a head, a line of dashes, rows; lines before it are a paragraph.
 * @param {string} block
 * @returns {HTMLElement[] | null}
 */
function table(block) {
  const lines = block.trim().split('\n');
  const at = lines.findIndex((line) => line.includes('|') && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(line));
  const head = lines[at - 1];
  if (at < 1 || !head?.includes('|')) return null;
  const sides = cells(lines[at] ?? '').map((dashes) => (/^-+:$/.test(dashes) ? 'number' : null));
  const rows = lines.slice(at + 1).filter((line) => line.includes('|'));
  const before = lines.slice(0, at - 1).join('\n');
  const after = lines.slice(at + 1 + rows.length).join('\n');
  /**
   * @param {'th' | 'td'} tag
   * @param {string} line
   */
  const row = (tag, line) =>
    h(
      'tr',
      {},
      cells(line).map((cell, index) =>
        h(tag, { class: sides[index], scope: tag === 'th' ? 'col' : null }, inline(cell)),
      ),
    );
  const made = h(
    'table',
    {},
    h('thead', {}, row('th', head)),
    h(
      'tbody',
      {},
      rows.map((line) => row('td', line)),
    ),
  );
  const shown = h('div', { class: 'table', tabindex: '0', role: 'group', 'aria-label': 'Table' }, made);
  return [...(before ? plain(before) : []), shown, ...(after ? plain(after) : [])];
}

/** @param {string} line */
function cells(line) {
  return line
    .trim()
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
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
    .split(
      /(`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*|\[[^\]]+\]\([^\s()]+\)|https?:\/\/[^\s<>()[\]"'`|]+[^\s<>()[\]"'`|.,:;!?])/,
    )
    .filter(Boolean)
    .map((piece) => {
      if (/^`.+`$/.test(piece)) return h('code', {}, piece.slice(1, -1));
      if (/^\*\*.+\*\*$/.test(piece)) return h('strong', {}, piece.slice(2, -2));
      if (/^\*.+\*$/.test(piece)) return h('em', {}, piece.slice(1, -1));
      const [, words, address] = /^\[(.+)\]\((.+)\)$/.exec(piece) ?? [];
      if (words !== undefined && address !== undefined) return link(address, words) ?? piece;
      return (/^https?:/.test(piece) && link(piece, piece)) || piece;
    });
}

/**
 * A link to a page elsewhere, with its host in sight where the words say something else: a model writes what a tool told it.
 * @param {string} address
 * @param {string} words
 */
function link(address, words) {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (!url || !['http:', 'https:'].includes(url.protocol)) return null;
  const made = h('a', { href: url.href, target: '_blank', rel: 'noopener noreferrer', title: url.href }, words);
  return words.includes(url.host) ? made : h('span', {}, made, h('span', { class: 'muted' }, ` (${url.host})`));
}

// Which lines of two texts are the same, and which stand against one another.

/** @typedef {{ left: string | null, right: string | null }} Line */

/** Beyond so many pairs of lines they are compared one by one, in their order. */
const MOST = 1_000_000;

/**
 * The lines side by side: equal ones beside one another, others against a gap or against the line in their place.
 * @param {string[]} left
 * @param {string[]} right
 * @returns {Line[]}
 */
export function differences(left, right) {
  if (left.length * right.length > MOST) return inOrder(left, right);
  const longest = lengths(left, right);
  /** @type {Line[]} */
  const lines = [];
  /** @type {string[]} */
  let gone = [];
  /** @type {string[]} */
  let came = [];
  const flush = () => {
    lines.push(...inOrder(gone, came));
    gone = [];
    came = [];
  };
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      flush();
      lines.push({ left: left[i] ?? null, right: right[j] ?? null });
      i += 1;
      j += 1;
    } else if (j >= right.length || (i < left.length && (longest[i + 1]?.[j] ?? 0) >= (longest[i]?.[j + 1] ?? 0))) {
      gone.push(left[i] ?? '');
      i += 1;
    } else {
      came.push(right[j] ?? '');
      j += 1;
    }
  }
  flush();
  return lines;
}

/**
 * How many lines the ends of both texts have in common, from each pair of places.
 * @param {string[]} left
 * @param {string[]} right
 */
function lengths(left, right) {
  const table = Array.from({ length: left.length + 1 }, () => new Uint16Array(right.length + 1));
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      const [row, below] = [table[i], table[i + 1]];
      if (!row || !below) continue;
      row[j] = left[i] === right[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return table;
}

/**
 * @param {string[]} left
 * @param {string[]} right
 * @returns {Line[]}
 */
function inOrder(left, right) {
  const many = Math.max(left.length, right.length);
  return Array.from({ length: many }, (_, at) => ({ left: left[at] ?? null, right: right[at] ?? null }));
}

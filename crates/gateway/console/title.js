// The title of the page's tab: how many calls wait for a person, then the section.

let section = '';
let waiting = 0;

/** @param {string} words */
export function name(words) {
  section = words;
  show();
}

/** @param {number} held */
export function count(held) {
  waiting = held;
  show();
}

function show() {
  const number = waiting > 0 ? `(${waiting}) ` : '';
  document.title = `${number}${section ? `${section} · ` : ''}Switchboard`;
}

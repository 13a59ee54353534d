// Addresses: each section has its own, and what is shown in it stands behind the question mark.

/** @import { Route } from './types' */

/** @type {(route: Route) => void} */
let go = () => {};

/**
 * Follows links, the back button and `navigate`.
 * @param {(route: Route) => void} show
 */
export function start(show) {
  go = show;
  window.addEventListener('popstate', () => go(here()));
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link || link.target || link.origin !== location.origin || !isOurs(link.pathname)) return;
    if (link.hash && link.pathname === location.pathname) return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
  go(here());
}

/**
 * Goes to an address.
 * @param {string} address
 * @param {boolean} [replace] leaves no step to go back to
 */
export function navigate(address, replace = false) {
  if (address !== location.pathname + location.search) {
    if (replace) history.replaceState(null, '', address);
    else history.pushState(null, '', address);
  }
  go(here());
}

/**
 * Changes what stands behind the question mark; `null` and `''` take a key away.
 * @param {Record<string, string | null>} changes
 * @param {boolean} [replace]
 */
export function change(changes, replace = false) {
  const query = new URLSearchParams(location.search);
  for (const [key, value] of Object.entries(changes)) {
    if (value) query.set(key, value);
    else query.delete(key);
  }
  const text = query.toString();
  navigate(location.pathname + (text ? `?${text}` : ''), replace);
}

/** @returns {Route} */
export function here() {
  const path = location.pathname.split('/').filter(Boolean).map(decodeURIComponent);
  return { path: path.length > 0 ? path : ['live'], query: new URLSearchParams(location.search) };
}

/** @param {string} path */
function isOurs(path) {
  return path === '/' || /^\/(live|calls|tools|servers|overview|chat|runs|approvals|connect|policy)(\/|$)/.test(path);
}

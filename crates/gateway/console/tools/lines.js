// The same call for a shell, rightly quoted.

/**
 * A word of a POSIX shell.
 * @param {string} text
 */
export function quoted(text) {
  if (/^[A-Za-z0-9_\-./:=@%+,]+$/.test(text)) return text;
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * @param {string} tool
 * @param {string} args as JSON
 * @param {boolean} needsToken
 */
export function curl(tool, args, needsToken) {
  const address = `${location.origin}/api/tools/${encodeURIComponent(tool)}/call`;
  // The shell puts the token in, so that it stands in no history.
  const token = needsToken ? ' -H "Authorization: Bearer $SWITCHBOARD_TOKEN"' : '';
  return `curl ${quoted(address)}${token} -d ${quoted(args)}`;
}

/**
 * @param {string} tool
 * @param {string} args as JSON
 */
export function command(tool, args) {
  // A name that looks like an option must not be taken for one.
  const dashes = tool.startsWith('-') ? '-- ' : '';
  return `switchboard call ${dashes}${quoted(tool)} ${quoted(args)}`;
}

// Every section in Debian's Firefox, over WebDriver BiDi: it opens, shows what it should, complains of nothing, and an
// accessibility audit finds nothing. `node firefox.mjs ADDRESS`

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const base = process.argv[2] ?? '';
const require = createRequire(join(process.env.SWITCHBOARD_PARTS ?? '', 'console/package.json'));
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** How long anything may take; the machine may be busy. */
const PATIENCE = 60_000;

const SECTIONS = {
  '/live': '.rows-space .call-row:not([hidden])',
  '/live?view=waterfall': '.lane-bar',
  '/overview': '.chart svg',
  '/approvals': '.held .decide',
  '/tools/scene': '.bench .fields',
  '/chat': '.chat-log .empty',
  '/runs': '.run-list .empty',
  '/servers/things': '.stderr-line',
  '/connect': '.config pre',
  '/policy': '.table-frame',
};

/** A connection to the browser: commands and their answers, and what the page logs. */
class Firefox {
  #last = 0;
  #waiting = new Map();
  complaints = [];

  /** @param {string} address */
  static async connect(address) {
    const firefox = new Firefox();
    firefox.socket = new WebSocket(`${address}/session`);
    firefox.socket.addEventListener('message', ({ data }) => firefox.#take(JSON.parse(data)));
    await new Promise((done, fail) => {
      firefox.socket.addEventListener('open', done);
      firefox.socket.addEventListener('error', fail);
    });
    await firefox.send('session.new', { capabilities: {} });
    await firefox.send('session.subscribe', { events: ['log.entryAdded'] });
    return firefox;
  }

  send(method, params) {
    this.#last += 1;
    const id = this.#last;
    const answer = new Promise((done, fail) => {
      this.#waiting.set(id, { done, fail });
    });
    this.socket.send(JSON.stringify({ id, method, params }));
    return answer;
  }

  #take({ id, type, result, error, message, params }) {
    if (type === 'event') {
      if (['error', 'warn'].includes(params.level)) this.complaints.push(params.text);
      return;
    }
    const { done, fail } = this.#waiting.get(id) ?? {};
    this.#waiting.delete(id);
    if (type === 'success') done?.(result);
    else fail?.(new Error(`${error}: ${message}`));
  }

  async evaluate(expression) {
    const { result, exceptionDetails } = await this.send('script.evaluate', {
      expression: `(async () => JSON.stringify((await (${expression})) ?? null))()`,
      target: { context: this.context },
      awaitPromise: true,
    });
    assert(!exceptionDetails, exceptionDetails?.text);
    return JSON.parse(result.value);
  }

  async open(path) {
    await this.send('browsingContext.navigate', { context: this.context, url: base + path, wait: 'complete' });
  }

  async until(what, expression) {
    const end = Date.now() + PATIENCE;
    while (!(await this.evaluate(expression))) {
      assert(Date.now() < end, `waited in vain for ${what}`);
      await new Promise((done) => {
        setTimeout(done, 50);
      });
    }
  }
}

const call = (tool, args, headers = {}) =>
  fetch(`${base}/api/tools/${tool}/call`, { method: 'POST', body: JSON.stringify(args), headers });

const folder = mkdtempSync(join(tmpdir(), 'firefox-'));
const process_ = spawn(
  '/usr/bin/firefox-esr',
  ['--headless', '--no-remote', '--remote-debugging-port', '0', '--profile', folder],
  { env: { ...process.env, HOME: folder }, stdio: ['ignore', 'ignore', 'pipe'] },
);
try {
  const firefox = await Firefox.connect(await listening(process_));
  await call('math_eval', { expression: '1+1' }, { 'X-Conversation': 'reach' });
  await fetch(`${base}/api/tokens`, { method: 'POST', body: '{"name":"reach","tools":["e*"]}' });
  const gone = new AbortController();
  const held = fetch(`${base}/api/tools/scene/call`, {
    method: 'POST',
    body: '{"room":"kitchen","lights":[]}',
    signal: gone.signal,
  }).catch(() => {});
  ({ context: firefox.context } = await firefox.send('browsingContext.create', { type: 'tab' }));
  await firefox.open('/live');
  for (const theme of ['light', 'dark']) {
    await firefox.evaluate(`localStorage.setItem('theme', '${theme}')`);
    for (const [path, sign] of Object.entries(SECTIONS)) {
      await firefox.open(path);
      await firefox.until(`${sign} of ${path}`, `Boolean(document.querySelector(${JSON.stringify(sign)}))`);
      assert.equal(await firefox.evaluate('getComputedStyle(document.documentElement).colorScheme'), theme);
      await firefox.evaluate(`(() => { ${axe}; })()`);
      const found = await firefox.evaluate(
        `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
          violations.map(({ id, nodes }) => id + ': ' + nodes[0].html + ' ' + nodes[0].failureSummary))`,
      );
      assert.deepEqual(found, [], `${path}, ${theme}`);
    }
  }
  // A call is made here too.
  await firefox.open('/tools/math_eval?args=%7B%22expression%22%3A%222%20inch%20to%20cm%22%7D');
  await firefox.until('the form', `Boolean(document.querySelector('.bench-run .main'))`);
  await firefox.evaluate(`document.querySelector('.bench-run .main').click()`);
  await firefox.until('the result', `document.querySelector('.outcome').textContent.includes('5.08 cm')`);
  assert.deepEqual(firefox.complaints, []);
  gone.abort();
  await held;
  firefox.socket.close();
} finally {
  process_.kill();
  await new Promise((done) => {
    if (process_.exitCode !== null || process_.signalCode !== null) done();
    process_.on('exit', done);
  });
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** The address at which the browser listens; it says so on stderr. */
function listening({ stderr }) {
  return new Promise((done, fail) => {
    let said = '';
    setTimeout(() => fail(new Error(`Firefox does not listen: ${said}`)), PATIENCE).unref();
    stderr.on('data', (data) => {
      said += data;
      const [, address] = /WebDriver BiDi listening on (\S+)/.exec(said) ?? [];
      if (address) done(address);
    });
  });
}

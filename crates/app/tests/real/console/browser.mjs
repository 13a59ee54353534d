// A browser in front of a gateway, for the scripts beside this one: each is run as `node NAME.mjs ADDRESS`.
//
// Whatever a page complains of (errors, its content security policy, failed requests, requests to elsewhere) fails the script.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const parts = process.env.SWITCHBOARD_PARTS;
assert(parts, 'SWITCHBOARD_PARTS is not set: run `cargo xtask test`');
const require = createRequire(join(parts, 'console/package.json'));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** The gateway's address. */
export const base = process.argv[2] ?? '';

/** How long a script waits for anything; the machine may be busy. */
const PATIENCE = 60_000;

/** Runs `work` with a browser, and ends with what it found. */
export async function visit(work) {
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
  const complaints = [];
  try {
    await work({
      /** A window of its own, with what a page of it may complain of without harm. */
      window: async (options = {}, allowed = []) => {
        const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
        context.setDefaultTimeout(PATIENCE);
        return { context, open: (path) => open(context, path, complaints, allowed) };
      },
    });
    assert.deepEqual(complaints, []);
  } finally {
    await browser.close();
  }
}

async function open(context, path, complaints, allowed) {
  const page = await context.newPage();
  const complain = (text) => {
    if (!allowed.some((pattern) => pattern.test(text))) complaints.push(`${path}: ${text}`);
  };
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complain(message.text());
  });
  page.on('pageerror', (error) => complain(String(error.stack ?? error)));
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(base))
      complain(`asks elsewhere: ${request.url()}`);
  });
  await page.exposeFunction('complain', complain);
  await page.addInitScript(() =>
    document.addEventListener('securitypolicyviolation', (event) =>
      window.complain(`policy: ${event.violatedDirective} ${event.blockedURI}`),
    ),
  );
  await page.goto(base + path);
  await page.locator('main h1').waitFor();
  return page;
}

/** What an audit finds. */
export async function audit(page) {
  const found = await page.evaluate(`${axe}; axe.run(document, { resultTypes: ['violations'] })`);
  assert(found.passes.length > 10, 'the audit looked at nothing');
  return found.violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes
        .slice(0, 3)
        .map((node) => `${node.html.slice(0, 160)} (${node.failureSummary})`)
        .join(' | ')}`,
  );
}

/** Calls a tool over REST. */
export async function call(tool, args, headers = {}) {
  const response = await fetch(`${base}/api/tools/${tool}/call`, {
    method: 'POST',
    body: JSON.stringify(args),
    headers,
  });
  return response.json();
}

/** Waits until `look` finds something. */
export async function until(what, look) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    assert(Date.now() < end, `waited in vain for ${what}`);
    await new Promise((done) => {
      setTimeout(done, 50);
    });
  }
}

/** The text of an element, once it contains `part`. */
export async function says(page, selector, part) {
  await page.locator(selector).filter({ hasText: part }).first().waitFor();
  return page.locator(selector).first().innerText();
}

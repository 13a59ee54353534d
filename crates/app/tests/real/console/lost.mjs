// The connection is lost: the page says so, and when it is back it shows what happened meanwhile.

import net from 'node:net';
import { base as gateway, call, says, visit } from './browser.mjs';

const { hostname, port } = new URL(gateway);

/** A way to the gateway that can be cut. */
class Way {
  #open = new Set();

  constructor() {
    this.server = net.createServer((client) => {
      const behind = net.connect(Number(port), hostname);
      for (const socket of [client, behind]) {
        this.#open.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => {
          this.#open.delete(socket);
          client.destroy();
          behind.destroy();
        });
      }
      client.pipe(behind).pipe(client);
    });
  }

  listen(at = 0) {
    return new Promise((done) => {
      this.server.listen(at, '127.0.0.1', () => done(this.server.address().port));
    });
  }

  cut() {
    this.server.close();
    for (const socket of this.#open) socket.destroy();
  }
}

await visit(async ({ window }) => {
  const way = new Way();
  const at = await way.listen();
  const { context } = await window();
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${at}/live`);
  await says(page, '#link', 'Live');
  // Live is opened for the first time while nobody answers.
  const late = await context.newPage();
  await late.goto(`http://127.0.0.1:${at}/servers`);
  await says(late, '.server', 'ready');
  way.cut();
  await says(page, '#link', 'reconnecting');
  await late.getByRole('link', { name: 'Live' }).first().click();
  await late.locator('.section.live h1').waitFor();
  // A section that needs the gateway says what is wrong, and offers to try again.
  await page.getByRole('link', { name: 'Servers' }).click();
  await says(page, '.trouble', 'does not answer');
  await call('echo', { note: 'nobody saw this' });
  await way.listen(at);
  await says(page, '#link', 'Live');
  await page
    .getByRole('button', { name: 'Try again' })
    .click({ timeout: 2000 })
    .catch(() => {});
  await says(page, '.server', 'ready');
  await page.getByRole('link', { name: 'Live' }).first().click();
  for (const seen of [page, late]) await says(seen, '.rows-space .call-row', 'nobody saw this');
  way.cut();
});

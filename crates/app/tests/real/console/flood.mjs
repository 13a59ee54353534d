// A gateway whose events come as fast as one likes: everything else is asked of the real one behind it.

import http from 'node:http';

const BEAT = 100;

export class Flood {
  isPouring = false;
  calls = 0;
  #followers = new Set();

  constructor(base) {
    this.behind = new URL(base);
    this.server = http.createServer((request, response) =>
      request.url.startsWith('/api/events') ? this.#follow(response) : this.#pass(request, response),
    );
  }

  listen() {
    return new Promise((done) => {
      this.server.listen(0, '127.0.0.1', () => done(`http://127.0.0.1:${this.server.address().port}`));
    });
  }

  close() {
    this.server.close();
    this.server.closeAllConnections();
  }

  /** Tells of so many calls a second, each with a beginning and an end; returns the id of the last. */
  async pour(rate, seconds) {
    this.isPouring = true;
    const began = performance.now();
    let last = '';
    while (this.calls < rate * seconds) {
      await new Promise((done) => {
        setTimeout(done, BEAT);
      });
      const due = Math.min(rate * seconds, Math.floor(((performance.now() - began) / 1000) * rate));
      const events = [];
      for (; this.calls < due; this.calls += 1) {
        last = `7Z${String(this.calls).padStart(24, '0')}`;
        const call = {
          id: last,
          tool: 'echo',
          arguments: { number: this.calls, text: 'as long as arguments often are' },
          started: new Date().toISOString(),
          caller: 'flood',
        };
        events.push(
          { type: 'call_started', ...call },
          {
            type: 'call_ended',
            ...call,
            outcome: 'ok',
            duration_ms: 1.5,
            result: 'as long as results often are '.repeat(8),
          },
        );
      }
      for (const follower of this.#followers) follower.write(`data: ${JSON.stringify(events)}\n\n`);
    }
    this.isPouring = false;
    return last;
  }

  #follow(response) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(':\n\n');
    this.#followers.add(response);
    response.on('close', () => this.#followers.delete(response));
  }

  #pass(request, response) {
    // The headers stay as they are: the name that was asked for must be that of the page.
    const { hostname, port } = this.behind;
    const { method, url: path, headers } = request;
    const passed = http.request({ hostname, port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    request.pipe(passed);
  }
}

// Calls a tool so many times a second, over connections that stay open, and tells what came of it.

import http from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

const { base, rate, seconds } = workerData;
const agent = new http.Agent({ keepAlive: true, maxSockets: 32 });
const { hostname, port } = new URL(base);
let [sent, answered, failed] = [0, 0, 0];
const began = performance.now();

function call() {
  const request = http.request(
    {
      agent,
      hostname,
      port,
      method: 'POST',
      path: '/api/tools/echo/call',
      headers: { 'content-type': 'application/json' },
    },
    (response) => {
      response.resume();
      response.on('end', () => {
        answered += 1;
        if (response.statusCode !== 200) failed += 1;
        finish();
      });
    },
  );
  request.on('error', () => {
    answered += 1;
    failed += 1;
    finish();
  });
  request.end(JSON.stringify({ number: sent }));
}

function finish() {
  if (answered < rate * seconds) return;
  const took = (performance.now() - began) / 1000;
  parentPort.postMessage({ calls: answered, failed, calls_per_second: Math.round(answered / took) });
  agent.destroy();
}

const timer = setInterval(() => {
  const due = Math.min(rate * seconds, Math.floor(((performance.now() - began) / 1000) * rate));
  while (sent < due) {
    call();
    sent += 1;
  }
  if (sent >= rate * seconds) clearInterval(timer);
}, 10);

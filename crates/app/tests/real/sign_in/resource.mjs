// A server on the TypeScript SDK that wants tokens bound to a key (RFC 9449): `node resource.mjs ISSUER`. Prints its address.
//
// Each proof must have the nonce that this server gives out, and is taken once.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { from } from './parts.mjs';

const { McpServer, createMcpHandler } = await from('oidc', '@modelcontextprotocol/server');
const jose = await from('oidc', 'jose');
const issuer = process.argv[2];
const NONCE = 'nonce-of-the-resource';

const server = createServer();
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const origin = `http://127.0.0.1:${server.address().port}`;
const resource = `${origin}/mcp`;
const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;

const handler = createMcpHandler(({ authInfo }) => {
  const mcp = new McpServer({ name: 'resource', version: '1.0.0' });
  mcp.registerTool('whoami', { description: 'Who calls.' }, () => ({
    content: [{ type: 'text', text: `You are ${authInfo.extra.subject}, bound to a key` }],
  }));
  return mcp;
});

/** What the authorization server says of a token. */
async function introspect(token) {
  const credentials = Buffer.from('resource:introspects').toString('base64');
  const answer = await fetch(`${issuer}/token/introspection`, {
    method: 'POST',
    headers: { authorization: `Basic ${credentials}`, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token }),
  });
  return answer.json();
}

const seen = new Set();

/** Returns who calls, or throws why nobody does. */
async function check(request) {
  const [scheme, token] = (request.headers.get('authorization') ?? '').split(' ');
  assert.equal(scheme, 'DPoP', 'invalid_token');
  const { payload, protectedHeader } = await jose.jwtVerify(request.headers.get('dpop'), jose.EmbeddedJWK, {
    typ: 'dpop+jwt',
    algorithms: ['ES256'],
    maxTokenAge: '60s',
  });
  assert.equal(payload.htm, request.method, 'invalid_dpop_proof');
  assert.equal(payload.htu, resource, 'invalid_dpop_proof');
  assert.equal(payload.ath, createHash('sha256').update(token).digest('base64url'), 'invalid_dpop_proof');
  assert(!seen.has(payload.jti), 'invalid_dpop_proof');
  seen.add(payload.jti);
  assert.equal(payload.nonce, NONCE, 'use_dpop_nonce');
  const told = await introspect(token);
  assert(told.active && told.aud === resource, 'invalid_token');
  assert.equal(told.cnf.jkt, await jose.calculateJwkThumbprint(protectedHeader.jwk), 'invalid_token');
  return { token, clientId: told.client_id, scopes: told.scope.split(' '), extra: { subject: told.sub } };
}

async function answer(request) {
  if (request.url === metadata) {
    return Response.json({
      resource,
      authorization_servers: [issuer],
      scopes_supported: ['tools'],
      dpop_bound_access_tokens_required: true,
    });
  }
  if (request.url !== resource) return new Response('', { status: 404 });
  try {
    return await handler.fetch(request, { authInfo: await check(request) });
  } catch (error) {
    const code = error instanceof assert.AssertionError ? error.message.split('\n')[0] : 'invalid_dpop_proof';
    const challenge = `DPoP error="${code}", scope="tools", resource_metadata="${metadata}"`;
    return new Response('', { status: 401, headers: { 'www-authenticate': challenge, 'dpop-nonce': NONCE } });
  }
}

server.on('request', async (incoming, outgoing) => {
  const parts = [];
  for await (const part of incoming) parts.push(part);
  const { method, headers } = incoming;
  const body = parts.length ? Buffer.concat(parts) : undefined;
  const response = await answer(new Request(origin + incoming.url, { method, headers, body }));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  for await (const piece of response.body ?? []) outgoing.write(piece);
  outgoing.end();
});
console.log(resource);

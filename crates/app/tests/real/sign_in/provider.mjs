// A certified authorization server: `node provider.mjs SECRETS`. Prints its issuer.
//
// Clients register themselves; access tokens are good for a few seconds, refresh tokens once; a device flow; tokens are bound to a key if
// the client sends a proof, which needs a nonce. Whatever must stay secret is added to the file SECRETS, a line for each.

import { randomBytes } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { from } from './parts.mjs';

const { default: Provider } = await from('oidc', 'oidc-provider');
const secrets = process.argv[2];

const server = createServer();
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  // Asks about tokens for the servers.
  clients: [
    { client_id: 'resource', client_secret: 'introspects', redirect_uris: [], response_types: [], grant_types: [] },
  ],
  cookies: { keys: [randomBytes(16).toString('hex')] },
  scopes: ['openid', 'offline_access', 'tools'],
  features: {
    registration: { enabled: true },
    revocation: { enabled: true },
    introspection: { enabled: true },
    deviceFlow: { enabled: true },
    devInteractions: { enabled: true },
    dPoP: { enabled: true, nonceSecret: randomBytes(32), requireNonce: () => true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, resource) => ({ scope: 'tools', audience: resource, accessTokenFormat: 'opaque' }),
      useGrantedResource: () => true,
    },
  },
  rotateRefreshToken: true,
  ttl: { AccessToken: 8, RefreshToken: 600, Grant: 600, Session: 600, Interaction: 600, DeviceCode: 300 },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
});

provider.use(async (ctx, next) => {
  await next();
  const { access_token, refresh_token, id_token, device_code, client_secret, registration_access_token } = ctx.body ?? {};
  const { code, code_verifier } = ctx.oidc?.body ?? {};
  const found = [access_token, refresh_token, id_token, device_code, client_secret, registration_access_token];
  for (const secret of [...found, code, code_verifier]) {
    if (typeof secret === 'string') appendFileSync(secrets, `${secret}\n`);
  }
});
provider.on('server_error', (_, error) => console.error(error));
for (const event of ['registration_create.error', 'grant.error', 'authorization.error', 'introspection.error', 'revocation.error']) {
  provider.on(event, (_, error) => console.error(event, error.message, error.error_description, error.error_detail));
}

server.on('request', provider.callback());
console.log(issuer);

// The official TypeScript SDK with its own OAuth: node client.mjs MODULES auto|legacy|2026-07-28 URL PYTHON BROWSER
//
// Prints what it saw as one line of JSON: with a new client, with its tokens, and after its access token has ended.

import { execFileSync } from 'node:child_process';

const [modules, mode, url, python, browser] = process.argv.slice(2);
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = await import(
  `${modules}/@modelcontextprotocol/client/dist/index.mjs`
);
const modes = { auto: { mode: 'auto' }, legacy: { mode: 'legacy' }, '2026-07-28': { mode: { pin: '2026-07-28' } } };

let pages = 0;
let wentTo = '';
const stored = {};
const provider = {
  redirectUrl: 'http://127.0.0.1:3031/callback',
  clientMetadata: {
    client_name: 'TypeScript SDK',
    redirect_uris: ['http://127.0.0.1:3031/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  },
  state: () => 'a state',
  clientInformation: () => stored.client,
  saveClientInformation: client => void (stored.client = client),
  tokens: () => stored.tokens,
  saveTokens: tokens => void (stored.tokens = tokens),
  codeVerifier: () => stored.verifier,
  saveCodeVerifier: verifier => void (stored.verifier = verifier),
  discoveryState: () => stored.discovery,
  saveDiscoveryState: discovery => void (stored.discovery = discovery),
  redirectToAuthorization: address => {
    pages += 1;
    wentTo = execFileSync(python, [browser, address.href], { encoding: 'utf8' }).trim();
  },
};

async function call() {
  for (const isLast of [false, true]) {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: modes[mode] });
    const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
    try {
      await client.connect(transport);
      const { content } = await client.callTool({ name: 'math_eval', arguments: { expression: '6 * 7' } });
      await client.close();
      return content[0].text;
    } catch (error) {
      if (isLast || !(error instanceof UnauthorizedError)) throw error;
      await transport.finishAuth(new URL(wentTo).searchParams);
    }
  }
}

const first = await call();
const one = stored.tokens;
const again = await call();
await new Promise(done => setTimeout(done, 1000 * one.expires_in + 500));
const renewed = await call();
const secrets = [one, stored.tokens].flatMap(tokens => [tokens.access_token, tokens.refresh_token]);
const rotated = one.refresh_token !== stored.tokens.refresh_token;
console.log(JSON.stringify({ texts: [first, again, renewed], pages, secrets, rotated, went_to: wentTo }));

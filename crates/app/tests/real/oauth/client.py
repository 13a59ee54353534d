"""The official Python SDK with its own OAuth: client.py auto|legacy|2026-07-28 URL BROWSER

Prints what it saw as one line of JSON: with a new client, with its tokens, and after its access token has ended.
"""

import json
import subprocess
import sys
import urllib.parse

import anyio
import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.oauth2 import AuthorizationCodeResult
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

mode, url, browser = sys.argv[1:]
REDIRECT = "http://127.0.0.1:3030/callback"


class Storage:
    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens) -> None:
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client) -> None:
        self.client = client


class Person:
    """Opens pages, and counts them."""

    opened = 0
    went_to = ""

    async def open(self, address: str) -> None:
        self.opened += 1
        done = await anyio.to_thread.run_sync(
            lambda: subprocess.run([sys.executable, browser, address], capture_output=True, text=True, check=True)
        )
        self.went_to = done.stdout.strip()

    async def returned(self) -> AuthorizationCodeResult:
        sent = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.went_to).query))
        return AuthorizationCodeResult(code=sent["code"], state=sent.get("state"), iss=sent.get("iss"))


async def call(http: httpx2.AsyncClient) -> str:
    async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
        return (await client.call_tool("math_eval", {"expression": "6 * 7"})).content[0].text


async def main() -> None:
    storage, person = Storage(), Person()
    metadata = OAuthClientMetadata(client_name="Python SDK", redirect_uris=[REDIRECT])
    auth = OAuthClientProvider(url, metadata, storage, person.open, person.returned)
    async with httpx2.AsyncClient(auth=auth, follow_redirects=True) as http:
        first = await call(http)
        one = storage.tokens
        again = await call(http)
        await anyio.sleep(one.expires_in + 0.5)
        renewed = await call(http)
    print(json.dumps({
        "texts": [first, again, renewed],
        "pages": person.opened,
        "secrets": [one.access_token, one.refresh_token, storage.tokens.access_token, storage.tokens.refresh_token],
        "rotated": one.refresh_token != storage.tokens.refresh_token,
        "went_to": person.went_to,
    }))


anyio.run(main)

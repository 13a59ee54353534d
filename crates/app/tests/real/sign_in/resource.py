"""A server on the Python SDK that wants tokens of an authorization server: resource.py ISSUER PORT streamable-http | sse."""

import sys

import httpx
from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings

ISSUER, PORT, TRANSPORT = sys.argv[1], int(sys.argv[2]), sys.argv[3]
RESOURCE = f"http://127.0.0.1:{PORT}/{'sse' if TRANSPORT == 'sse' else 'mcp'}"


class Introspection:
    """Asks the authorization server about each token."""

    async def verify_token(self, token: str) -> AccessToken | None:
        async with httpx.AsyncClient(trust_env=False) as client:
            form = {"token": token}
            answer = await client.post(f"{ISSUER}/token/introspection", data=form, auth=("resource", "introspects"))
        told = answer.json()
        if not told.get("active"):
            return None
        return AccessToken(
            token=token,
            client_id=told["client_id"],
            scopes=told["scope"].split(),
            expires_at=told["exp"],
            resource=told["aud"],
            subject=told["sub"],
        )


server = MCPServer(
    "resource",
    token_verifier=Introspection(),
    auth=AuthSettings(
        issuer_url=ISSUER,
        resource_server_url=RESOURCE,
        required_scopes=["tools"],
        validate_token_resource=True,
    ),
)


@server.tool()
def whoami() -> str:
    """Who calls."""
    return f"You are {get_access_token().subject}"


if __name__ == "__main__":
    server.run(TRANSPORT, port=PORT)

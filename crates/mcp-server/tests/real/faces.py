"""The official Python SDK at several faces at once: faces.py auto|legacy|2026-07-28 URL

Searches at `?tools=search`, and calls what two profiles show. Prints what it saw as one line of JSON.
"""

import json
import sys
from contextlib import AsyncExitStack

import anyio
from mcp import Client
from mcp.shared.exceptions import MCPError


async def names(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


async def call(client: Client, name: str, args: dict) -> list:
    try:
        result = await client.call_tool(name, args)
    except MCPError as error:
        return ["error", str(error)]
    return ["failed" if result.is_error else "ok", result.content[0].text]


async def main() -> None:
    mode, url = sys.argv[1:]
    async with AsyncExitStack() as stack:
        faces = ["?tools=search", "/one", "/two"]
        search, one, two = [await stack.enter_async_context(Client(url + face, mode=mode)) for face in faces]
        simple = {"name": "test_simple_text"}
        seen = {
            "search": await names(search),
            "found": json.loads((await call(search, "tool_search", {"query": "a simple text"}))[1])["tools"][0]["name"],
            "called": await call(search, "tool_call", simple),
            "refused": await call(search, "tool_call_read_only", simple),
            "looked": await call(search, "tool_call_read_only", {"name": "echo", "arguments": {"text": "hi"}}),
            "one": await names(one),
            "two": await names(two),
            "one said": await call(one, "parrot", {}),
            "one hides": (await call(one, "echo", {"text": "hi"}))[0],
            "two called": await call(two, "tool_call", {"name": "echo", "arguments": {"text": "hi"}}),
            "two hides": (await call(two, "tool_call", simple))[0],
        }
    print(json.dumps(seen))


anyio.run(main)

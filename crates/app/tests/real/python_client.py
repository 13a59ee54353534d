"""The official Python SDK as a client: python_client.py auto|legacy|2026-07-28 URL | COMMAND ARGS…

Prints what it saw as one line of JSON.
"""

import json
import os
import sys

import anyio
from mcp import Client, StdioServerParameters

NOON = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}


def target(first: str, *args: str) -> str | StdioServerParameters:
    if first.startswith("http"):
        return first
    return StdioServerParameters(command=first, args=args, env=dict(os.environ), cwd=os.getcwd())


async def listed(client: Client) -> list:
    """The tools, once the server behind the gateway has started; until then there are only the others."""
    with anyio.fail_after(60):
        while True:
            tools = (await client.list_tools()).tools
            if "time__convert_time" in [tool.name for tool in tools]:
                return tools
            await anyio.sleep(0.1)


async def main() -> None:
    mode, *rest = sys.argv[1:]
    async with Client(target(*rest), mode=mode) as client:
        tools = await listed(client)
        calls = {
            "c1": await client.call_tool("math_eval", {"expression": "6*7"}),
            "c2": await client.call_tool("time__convert_time", NOON),
            "c3": await client.call_tool("math_eval", {"expresion": "1"}),
        }
        seen = {
            "version": client.protocol_version,
            "tools": sorted(tool.name for tool in tools),
            "answers": {
                id: {
                    "status": "error" if result.is_error else "success",
                    "text": result.content[0].text,
                    "structured": result.structured_content,
                }
                for id, result in calls.items()
            },
        }
    print(json.dumps(seen))


anyio.run(main)

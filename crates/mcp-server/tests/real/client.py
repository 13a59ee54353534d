"""The official Python SDK as a client: client.py auto|legacy|2026-07-28 URL | COMMAND ARGS…

Prints what it saw as one line of JSON.
"""

import json
import sys

import anyio
from mcp import Client, StdioServerParameters
from mcp.types import ElicitResult


async def main() -> None:
    mode, target, *args = sys.argv[1:]
    server = target if target.startswith("http") else StdioServerParameters(command=target, args=args)
    steps = []

    async def progress(done, total, message) -> None:
        steps.append(done)

    async def elicited(context, params) -> ElicitResult:
        return ElicitResult(action="accept", content={"username": params.message, "email": "a@b"})

    async with Client(server, mode=mode, elicitation_callback=elicited) as client:
        tools = (await client.list_tools()).tools
        text = await client.call_tool("test_simple_text", {})
        await client.call_tool("test_tool_with_progress", {}, progress_callback=progress)
        failed = await client.call_tool("test_error_handling", {})
        asked = await client.call_tool("test_elicitation", {"message": "who"})
        resource = await client.read_resource("test://static-text")
        prompt = await client.get_prompt("test_simple_prompt", {})
        seen = {
            "version": client.protocol_version,
            "tools": [tool.name for tool in tools][:2],
            "text": text.content[0].text,
            "progress": steps,
            "failed": failed.is_error,
            "asked": asked.content[0].text,
            "resource": resource.contents[0].text,
            "prompt": prompt.messages[0].content.text,
        }
    print(json.dumps(seen))


anyio.run(main)

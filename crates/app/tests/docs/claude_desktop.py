"""Claude Desktop as docs/start-claude-desktop.md meets it, where it cannot run: reads its config, starts the server that is
called `switchboard` there, from `/` as Claude does, and makes one call.

    claude TOOL ARGUMENTS
"""

import asyncio
import json
import os
import pathlib
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

CONFIG = pathlib.Path.home() / ".config/Claude/claude_desktop_config.json"


async def main(tool: str, arguments: str) -> int:
    entry = json.loads(CONFIG.read_text())["mcpServers"]["switchboard"]
    server = StdioServerParameters(
        command=entry["command"], args=entry["args"], cwd="/", env=dict(os.environ)
    )
    async with stdio_client(server) as (read, write):
        async with ClientSession(read, write) as session:
            await session.initialize()
            # Servers that were still starting announce their tools later.
            while tool not in [listed.name for listed in (await session.list_tools()).tools]:
                await asyncio.sleep(0.05)
            result = await session.call_tool(tool, json.loads(arguments))
    print("\n".join(part.text for part in result.content if part.type == "text"))
    return 1 if result.is_error else 0


sys.exit(asyncio.run(main(*sys.argv[1:])))

"""Reads a client's config with FastMCP's own reader, starts what it names, and calls a tool of a server behind it."""

import asyncio
import json
import sys
from pathlib import Path

from fastmcp import Client
from fastmcp.mcp_config import MCPConfig


async def main():
    config = MCPConfig.from_file(Path(sys.argv[1]))
    arguments = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    async with Client(config) as client:
        tools = [tool.name for tool in await client.list_tools()]
        result = await client.call_tool("time__convert_time", arguments)
        text = "".join(part.text for part in result.content)
    print(json.dumps({"servers": list(config.mcpServers), "tools": tools, "text": text}))


asyncio.run(main())

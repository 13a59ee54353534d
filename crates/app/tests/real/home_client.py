"""The official Python SDK as the client of a household: home_client.py URL

Switches the switch off, as models like to write it, and prints what it saw as one line of JSON. The SDK itself holds
structured results to the tool's output schema.
"""

import json
import sys

import anyio
from mcp import Client

TOOL = "zwave__control_zwave_device"


async def main() -> None:
    async with Client(sys.argv[1]) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        done = await client.call_tool(TOOL, {"device_name": "Switch One", "command": "off"})
        health = await client.call_tool("zwave__check_zwave_health", {})
        seen = {
            "tools": sorted(name for name in tools if name.startswith("zwave__")),
            "schema": tools[TOOL].output_schema["required"],
            "done": done.structured_content,
            "health": health.structured_content,
        }
    print(json.dumps(seen))


anyio.run(main)

"""A server on the official Python SDK, for tests: python_server.py stdio | PORT.

Its tools leave traces in the file named by TRACES, so that a test can see what reached them.
"""

import os
import sys

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("python")


def trace(line: str) -> None:
    with open(os.environ["TRACES"], "a") as traces:
        traces.write(line + "\n")


@server.tool()
def echo(text: str) -> str:
    """Returns its text."""
    return text


@server.tool()
def add(a: int, b: int) -> dict[str, int]:
    """Adds two numbers."""
    return {"sum": a + b}


@server.tool()
def fail(text: str) -> str:
    """Fails."""
    raise ToolError(text)


@server.tool()
async def count(steps: int, ctx: Context) -> str:
    """Counts, and says how far it is."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps, f"step {step}")
    return f"counted to {steps}"


@server.tool()
async def wait() -> str:
    """Waits until it is cancelled."""
    trace("waiting")
    try:
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        trace("cancelled")
        raise


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", port=int(sys.argv[1]))

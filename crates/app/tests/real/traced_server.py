"""A server on the official Python SDK that tells which trace it was called in: `python traced_server.py`."""

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("traced")


@server.tool()
def where(ctx: Context) -> dict[str, str | None]:
    """Tells the trace of this call."""
    meta = dict(ctx.request_context.meta or {})
    return {"traceparent": meta.get("traceparent"), "tracestate": meta.get("tracestate")}


@server.tool()
def fail() -> str:
    """Fails."""
    raise ToolError("the fuse is blown")


if __name__ == "__main__":
    server.run("stdio")

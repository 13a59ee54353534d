"""A server with typed tools over stdio, for tests: typed_server.py sdk1 | sdk2 | fastmcp.

The same tools on the official Python SDK 1.x and 2.x and on FastMCP 4: each sends what a function returns as text and, once
more, as `structuredContent`.
"""

import sys

from pydantic import BaseModel

match sys.argv[1]:
    case "sdk1":
        from mcp.server.fastmcp import FastMCP as Server
    case "sdk2":
        from mcp.server import MCPServer as Server
    case "fastmcp":
        from fastmcp import FastMCP as Server

server = Server("typed")


class Weather(BaseModel):
    city: str
    celsius: float
    outlook: str


@server.tool()
def weather(city: str) -> Weather:
    """The weather of a city."""
    return Weather(city=city, celsius=21.0, outlook="sunny, with \"light\" wind")


@server.tool()
def cities() -> list[str]:
    """The cities that are known."""
    return ["Berlin", "Tokyo"]


@server.tool()
def motto(city: str) -> str:
    """What a city says of itself."""
    return f"{city}:\nalways worth a visit"


@server.tool()
def closed(city: str) -> str:
    """Fails."""
    raise ValueError(f"{city} is closed")


if __name__ == "__main__":
    if sys.argv[1] == "fastmcp":
        server.run("stdio", show_banner=False)
    else:
        server.run("stdio")

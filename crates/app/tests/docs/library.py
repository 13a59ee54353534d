"""The servers `notes`, `demo` and `git` of docs/servers.md in one: resources, a template and a prompt, and nothing else."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("library")


@server.resource("file:///notes/today.md")
def today() -> str:
    return "Water the plants"


@server.resource("demo://logo", mime_type="image/png")
def logo() -> bytes:
    return b"\x89PNG\r\n\x1a\n"


@server.resource("file:///notes/{day}")
def notes(day: str) -> str:
    return f"Nothing on {day}"


@server.prompt()
def review(language: str) -> str:
    return f"Review this {language} code"


server.run()

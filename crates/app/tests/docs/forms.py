"""The server `forms` of docs/gateway.md and docs/servers.md: its tool asks for a name in the middle of the call.

The SDK asks so in the old protocol only: configs name it with `protocol = "legacy"`.
"""

from pydantic import BaseModel

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("forms")


class Who(BaseModel):
    name: str


@server.tool()
async def book(context: Context) -> str:
    answer = await context.elicit("Who are you?", Who)
    return f"booked for {answer.data.name}" if answer.action == "accept" else "not booked"


server.run()

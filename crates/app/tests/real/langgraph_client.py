"""A LangGraph agent whose tools come from a gateway: langgraph_client.py URL | COMMAND ARGS…

Its model is a list of messages; its ToolNode is the real one, with tools of langchain-mcp-adapters. Prints what it saw as
one line of JSON.
"""

import asyncio
import json
import os
import sys
from contextlib import AsyncExitStack

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


def call(id: str, name: str, args: dict) -> dict:
    return {"id": id, "name": name, "args": args, "type": "tool_call"}


NOON = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
TURNS = [
    # Two at once, as models do.
    [call("c1", "math_eval", {"expression": "6*7"}), call("c2", "time__convert_time", NOON)],
    [call("c3", "math_eval", {"expresion": "1"})],
    [],
]


def target(first: str, *args: str) -> dict:
    if first.startswith("http"):
        return {"transport": "streamable_http", "url": first}
    return {"transport": "stdio", "command": first, "args": args, "env": dict(os.environ), "cwd": os.getcwd()}


async def listed(load) -> list:
    """The tools, once the server behind the gateway has started; until then there are only the others."""
    while True:
        tools = await load()
        if "time__convert_time" in [tool.name for tool in tools]:
            return tools
        await asyncio.sleep(0.1)


async def main() -> None:
    async with AsyncExitStack() as stack:
        client = MultiServerMCPClient({"switchboard": target(*sys.argv[1:])})
        if sys.argv[1].startswith("http"):
            # Its default: a session for each list and each call.
            load = client.get_tools
        else:
            session = await stack.enter_async_context(client.session("switchboard"))

            async def load() -> list:
                return await load_mcp_tools(session)

        await converse(await asyncio.wait_for(listed(load), 60))


async def converse(tools: list) -> None:
    turns = iter(TURNS)

    def model(state: MessagesState) -> dict:
        return {"messages": [AIMessage("", tool_calls=next(turns))]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    said = (await graph.compile().ainvoke({"messages": [HumanMessage("go")]}))["messages"]

    answers = [message for message in said if isinstance(message, ToolMessage)]
    seen = {
        "tools": sorted(tool.name for tool in tools),
        "answers": {
            answer.tool_call_id: {
                "status": answer.status,
                "text": answer.text,
                "structured": (answer.artifact or {}).get("structured_content"),
            }
            for answer in answers
        },
    }
    print(json.dumps(seen))


asyncio.run(main())

"""Home Assistant's MCP server at /api/mcp, with two lamps, for docs/start-home.md.

Home Assistant itself cannot run in these tests: it needs Python 3.14 and hundreds of megabytes. This has what its integration
`mcp_server` has in 2026.11: the same version of the SDK, stateless and answering in JSON, a long-lived token, POST only; the names,
schemas and annotations of the tools that Assist offers for lights, and the shapes of their results.

    home_assistant.py PORT TOKEN
"""

import contextlib
import json
import sys

import uvicorn
from mcp import types
from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount

PORT, TOKEN = int(sys.argv[1]), sys.argv[2]
DEVICE_CLASSES = (
    "identify restart update awning blind curtain damper door garage gate shade shutter window water gas outlet switch"
    " tv speaker receiver projector"
).split()


class Lamp:
    def __init__(self, name: str, area: str, entity: str, state: str) -> None:
        self.name, self.area, self.entity, self.state = name, area, entity, state

    def matches(self, arguments: dict) -> bool:
        wanted = {"name": self.name, "area": self.area}
        return all(arguments.get(key, value).lower() == value.lower() for key, value in wanted.items())


LAMPS = [
    Lamp("Living Room Lamp", "Living Room", "light.living_room_lamp", "off"),
    Lamp("Porch Light", "Garden", "light.porch", "on"),
]


def texts(**more: object) -> dict:
    return {"type": "array", "items": {"type": "string", **more}}


def tool(name: str, title: str, description: str, properties: dict, **hints: bool) -> types.Tool:
    target = {} if hints.get("read_only_hint") else {key: {"type": "string"} for key in ("name", "area", "floor")}
    # What Home Assistant takes for granted of a tool that says nothing.
    annotations = {"read_only_hint": False, "destructive_hint": True, "idempotent_hint": False, "open_world_hint": False}
    return types.Tool(
        name=name,
        title=title,
        description=description,
        input_schema={"type": "object", "properties": target | properties},
        annotations=types.ToolAnnotations(**annotations | hints),
    )


ON_OFF = {"domain": texts(), "device_class": texts(enum=DEVICE_CLASSES)}
TOOLS = [
    tool("intent__HassTurnOn", "Turn on", "Turns on/opens/presses a device or entity.", ON_OFF),
    tool("intent__HassTurnOff", "Turn off", "Turns off/closes a device or entity.", ON_OFF, idempotent_hint=True),
    tool(
        "light__HassLightSet",
        "Set light",
        "Sets the brightness percentage or color of a light",
        {
            "domain": texts(enum=["light"]),
            "color": {"type": "string"},
            "temperature": {"type": "integer", "minimum": 0},
            "brightness": {"type": "integer", "minimum": 0, "maximum": 100},
        },
        idempotent_hint=True,
    ),
    tool(
        "homeassistant__GetLiveContext",
        "Get live context",
        "Tells the current state of devices, sensors, entities, or areas.",
        {
            "name": {"type": "string"},
            "domain": {"anyOf": [{"type": "string"}, texts()]},
            "area": {"type": "string"},
        },
        read_only_hint=True,
    ),
]


def run(name: str, arguments: dict) -> tuple[dict, bool]:
    """What the tool says, and whether it failed."""
    lamps = [lamp for lamp in LAMPS if lamp.matches(arguments)]
    if name == "homeassistant__GetLiveContext":
        if not lamps:
            return {"error": f"No exposed entities matched name '{arguments.get('name')}'"}, True
        lines = [
            f"- names: {lamp.name}\n  domain: light\n  state: '{lamp.state}'\n  areas: {lamp.area}\n" for lamp in lamps
        ]
        head = "Live Context: An overview of the areas and the devices in this smart home:\n"
        return {"result": head + "".join(lines)}, False
    if not lamps:
        raise LookupError("<MatchFailedError no_match_reason=<MatchFailedReason.NAME: 1>>")
    for lamp in lamps:
        lamp.state = "off" if name == "intent__HassTurnOff" else "on"
    success = [{"name": lamp.name, "type": "entity", "id": lamp.entity} for lamp in lamps]
    return {"speech": {}, "response_type": "action_done", "data": {"success": success, "failed": []}}, False


async def list_tools(context, params=None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=TOOLS)


async def call_tool(context, params: types.CallToolRequestParams) -> types.CallToolResult:
    try:
        said, is_error = run(params.name, params.arguments or {})
        text = json.dumps(said, ensure_ascii=False)
    except LookupError as error:
        text, is_error = f"Error calling tool: {error}", True
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)


manager = StreamableHTTPSessionManager(
    Server(name="home-assistant", on_list_tools=list_tools, on_call_tool=call_tool), json_response=True, stateless=True
)


async def api(scope, receive, send) -> None:
    headers = dict(scope["headers"])
    if headers.get(b"authorization") != f"Bearer {TOKEN}".encode():
        return await PlainTextResponse("401: Unauthorized", 401)(scope, receive, send)
    if scope["method"] != "POST":
        return await PlainTextResponse("405: Method Not Allowed", 405)(scope, receive, send)
    await manager.handle_request(scope, receive, send)


@contextlib.asynccontextmanager
async def lifespan(app):
    async with manager.run():
        yield


class Announcing(uvicorn.Server):
    async def startup(self, sockets=None) -> None:
        await super().startup(sockets)
        print("ready", flush=True)


app = Starlette(routes=[Mount("/api/mcp", app=api)], lifespan=lifespan)
Announcing(uvicorn.Config(app, host="127.0.0.1", port=PORT, log_level="warning")).run()

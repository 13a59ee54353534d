"""An MCP server over stdio with one tool, which writes down that it really ran: `python light_server.py WITNESS`."""

import json
import sys

TOOL = {
    "name": "set_light",
    "description": "Turn a light on or off",
    "inputSchema": {
        "type": "object",
        "properties": {"room": {"type": "string"}, "state": {"type": "string", "enum": ["on", "off"]}},
        "required": ["room", "state"],
    },
}


def answer(method: str, params: dict) -> dict | None:
    if method == "initialize":
        server = {"name": "lights", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        arguments = params["arguments"]
        with open(sys.argv[1], "a") as witness:
            witness.write(json.dumps(arguments, sort_keys=True) + "\n")
        return {"content": [{"type": "text", "text": f"{arguments['room']} light 7f3a is {arguments['state']}"}]}
    return None


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = answer(request["method"], request.get("params", {}))
    error = {"code": -32601, "message": "no such method"}
    reply = {"result": result} if result is not None else {"error": error}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)

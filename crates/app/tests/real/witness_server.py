"""An MCP server over stdio whose tools write down what they really did: `python witness_server.py WITNESS`.

Each call leaves `begun ID`, then `finished ID` or `cancelled ID`.
"""

import json
import os
import sys
import threading
import time

TIMED = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "secs": {"type": "number"}, "size": {"type": "integer"}},
    "required": ["id"],
}
TOOLS = [
    {"name": "do", "description": "Does it, and tells how far it is", "inputSchema": TIMED},
    {"name": "look", "description": "Only looks", "inputSchema": TIMED, "annotations": {"readOnlyHint": True}},
    {"name": "measure", "description": "Tells how long a text is", "inputSchema": {"type": "object"}},
]
STEPS = 10

cancelled: dict[object, threading.Event] = {}
output = threading.Lock()


def say(message: dict) -> None:
    with output:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def witness(what: str) -> None:
    """One line, written at once: several servers write to one file."""
    file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{what}\n".encode())
    os.close(file)


def run(id: object, params: dict) -> None:
    args, token = params.get("arguments", {}), params.get("_meta", {}).get("progressToken")
    if params["name"] == "measure":
        return answer(id, str(len(args["text"])))
    witness(f"begun {args['id']}")
    secs, stop = args.get("secs", 0), cancelled.setdefault(id, threading.Event())
    began = time.monotonic()
    for step in range(1, STEPS + 1):
        if stop.wait(max(0, began + secs * step / STEPS - time.monotonic())):
            return witness(f"cancelled {args['id']}")
        if token is not None:
            progress = {"progressToken": token, "progress": step, "total": STEPS, "message": f"step {step}"}
            say({"method": "notifications/progress", "params": progress})
    witness(f"finished {args['id']}")
    answer(id, "x" * args["size"] if "size" in args else f"done {args['id']}")


def answer(id: object, text: str) -> None:
    say({"id": id, "result": {"content": [{"type": "text", "text": text}]}})


for line in sys.stdin:
    message = json.loads(line)
    id, method, params = message.get("id"), message.get("method"), message.get("params", {})
    if method == "initialize":
        server = {"name": "witness", "version": "1"}
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server}
        say({"id": id, "result": result})
    elif method == "tools/list":
        say({"id": id, "result": {"tools": TOOLS}})
    elif method == "tools/call":
        threading.Thread(target=run, args=(id, params), daemon=True).start()
    elif method == "notifications/cancelled":
        cancelled.setdefault(params["requestId"], threading.Event()).set()
    elif id is not None:
        say({"id": id, "error": {"code": -32601, "message": "Method not found"}})

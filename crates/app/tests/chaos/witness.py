"""An MCP server whose tools write down that they were run: `python witness.py FILE`.

`act` may run only once, `put` may run twice, `look` changes nothing. Each writes `start WORD`, takes its time, and writes `end WORD`:
a line is one write to a file that is opened for appending, so it is there whole or not at all, whoever is killed.
"""

import json
import os
import sys
import threading
import time

NOTES = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
SPEAKING = threading.Lock()
PARAMETERS = {
    "type": "object",
    "properties": {"word": {"type": "string"}, "ms": {"type": "integer"}},
    "required": ["word"],
}
TOOLS = {
    "act": {},
    "put": {"idempotentHint": True},
    "look": {"readOnlyHint": True},
}


def note(what: str, word: str) -> None:
    os.write(NOTES, f"{what} {word}\n".encode())


def say(message: dict) -> None:
    with SPEAKING:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def run(number, arguments: dict) -> None:
    word = arguments["word"]
    note("start", word)
    time.sleep(arguments.get("ms", 0) / 1000)
    note("end", word)
    say({"id": number, "result": {"content": [{"type": "text", "text": f"done {word}"}]}})


def listed(name: str, annotations: dict) -> dict:
    return {"name": name, "description": f"Writes down that it was run: {name}", "inputSchema": PARAMETERS, "annotations": annotations}


def answer(message: dict) -> None:
    number, method = message.get("id"), message.get("method")
    if number is None:
        return
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "witness", "version": "1"}}
        say({"id": number, "result": result})
    elif method == "tools/list":
        say({"id": number, "result": {"tools": [listed(name, hints) for name, hints in TOOLS.items()]}})
    elif method == "tools/call":
        arguments = message["params"].get("arguments", {})
        threading.Thread(target=run, args=(number, arguments), daemon=True).start()
    elif method == "ping":
        say({"id": number, "result": {}})
    else:
        say({"id": number, "error": {"code": -32601, "message": f"no {method} here"}})


for line in sys.stdin:
    answer(json.loads(line))

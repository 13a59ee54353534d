"""Says whether requests are of the official SDKs' own types.

Reads lines `{"provider", "body"}` and answers each with `ok`, or with what is wrong on one line. Where the SDKs' types are laxer
than they look, this is stricter than they are:

- TypedDicts pass over keys that they do not have; here every such key is refused.
- pydantic checks `Iterable[...]` only when somebody iterates; here somebody does.
- Ollama's ChatRequest takes any mapping as a message; here each is read as the SDK's Message. Its models drop fields that they do
  not have, and the SDK of 2026 has not all that the server has; here those fields are named, and any other is refused.
- What a model said is, among the inputs of OpenAI's Responses API, the type of an output, with the id and status that OpenAI gave it. What
  another model said has none; the API takes it without, and other servers take no other form of it. They are filled in here.
- `temperature` is gone from Anthropic's types since version 1.0, because new models reject it. Older ones and compatible servers
  take it, through `extra_body` in that SDK; we send it only where the user has set it.
"""

import base64
import json
import sys
from collections.abc import Iterator

import anthropic.types
import ollama
import openai.types.chat
import openai.types.responses.response_create_params
import openai.types.shared_params
from pydantic import BaseModel, TypeAdapter, ValidationError
from typing_extensions import is_typeddict

# What goes through the SDK's `extra_body`.
ANTHROPIC_EXTRA_BODY = {"temperature"}

# What api/types.go of Ollama's server has and the SDK's models have not.
OLLAMA_SERVER_ONLY = {
    "ChatRequest": {"truncate", "shift"},
    "Message": {"tool_call_id"},
    "ToolCall": {"id"},
    "Message.ToolCall.Function": {"index"},
    "Property": {"anyOf", "properties", "required"},
}


def forbid_strangers(*packages) -> None:
    """Makes every TypedDict of the packages refuse keys that it does not have."""
    prefixes = tuple(package.__name__ for package in packages)
    for name, module in list(sys.modules.items()):
        if name.startswith(prefixes):
            for found in list(vars(module).values()):
                if is_typeddict(found):
                    found.__pydantic_config__ = {"extra": "forbid", "arbitrary_types_allowed": True}


def exhaust(value) -> None:
    """Iterates what is checked only then."""
    if isinstance(value, dict):
        for inner in value.values():
            exhaust(inner)
    elif isinstance(value, (list, Iterator)) or type(value).__name__ == "ValidatorIterator":
        for inner in value:
            exhaust(inner)


def strangers(model: BaseModel, given: dict, path: str = "") -> None:
    """Refuses what the models dropped without a word."""
    qualified = type(model).__qualname__
    known = {field.alias or name for name, field in type(model).model_fields.items()}
    for names, fields in OLLAMA_SERVER_ONLY.items():
        if qualified == names or qualified.endswith("." + names):
            known |= fields
    if unknown := set(given) - known:
        raise ValueError(f"{qualified} has no {sorted(unknown)} at {path or 'the top'}")
    for name, inner in given.items():
        child = getattr(model, name, None)
        if isinstance(child, BaseModel) and isinstance(inner, dict):
            strangers(child, inner, f"{path}.{name}")
        elif isinstance(child, dict) and isinstance(inner, dict):
            for key, one in child.items():
                if isinstance(one, BaseModel):
                    strangers(one, inner[key], f"{path}.{name}.{key}")
        elif isinstance(child, (list, tuple)):
            for index, one in enumerate(child):
                if isinstance(one, BaseModel) and isinstance(inner[index], dict):
                    strangers(one, inner[index], f"{path}.{name}[{index}]")


def check_anthropic(body: dict) -> None:
    typed = {key: value for key, value in body.items() if key not in ANTHROPIC_EXTRA_BODY}
    exhaust(ANTHROPIC.validate_python(typed, strict=True))


def with_images(message: dict) -> dict:
    """The message as the SDK's client reads it: images become its Image, which takes base64 with holes in it; we do not."""
    images = message.get("images")
    if images is None:
        return message
    for image in images:
        base64.b64decode(image, validate=True)
    return {**message, "images": [ollama.Image(value=image) for image in images]}


def check_ollama(body: dict) -> None:
    messages = [ollama.Message.model_validate(with_images(message), strict=True) for message in body["messages"]]
    for index, (message, given) in enumerate(zip(messages, body["messages"])):
        strangers(message, given, f"messages[{index}]")
        if message.role not in ("system", "user", "assistant", "tool"):
            raise ValueError(f"messages[{index}] has the role {message.role!r}")
    rest = {key: value for key, value in body.items() if key != "messages"}
    strangers(ollama._types.ChatRequest.model_validate({**rest, "messages": []}), rest)
    # As the SDK's client sends it: nothing may be lost or changed on the way.
    sent = ollama._types.ChatRequest(**{**body, "messages": messages}).model_dump(exclude_none=True)
    for message, given in zip(sent["messages"], body["messages"], strict=True):
        if message.get("images") != given.get("images"):
            raise ValueError(f"images go out as {message.get('images')}")
    if "options" in body:
        strangers(ollama.Options.model_validate(body["options"], strict=True), body["options"], "options")


def with_output_fields(item: dict) -> dict:
    """The item with what only OpenAI can give it, if the model said it."""
    if item.get("type") != "message" or item.get("role") != "assistant":
        return item
    parts = [{"annotations": [], **part} if part.get("type") == "output_text" else part for part in item["content"]]
    return {"id": "msg_1", "status": "completed", **item, "content": parts}


def check_responses(body: dict) -> None:
    body = {**body, "input": [with_output_fields(item) for item in body["input"]]}
    exhaust(RESPONSES.validate_python(body, strict=True))


forbid_strangers(anthropic.types, openai.types)
ANTHROPIC = TypeAdapter(anthropic.types.message_create_params.MessageCreateParams)
OPENAI = TypeAdapter(openai.types.chat.completion_create_params.CompletionCreateParams)
RESPONSES = TypeAdapter(openai.types.responses.response_create_params.ResponseCreateParams)
CHECKS = {
    "anthropic": check_anthropic,
    "openai": lambda body: exhaust(OPENAI.validate_python(body, strict=True)),
    "openai-responses": check_responses,
    "ollama": check_ollama,
}

for line in sys.stdin:
    request = json.loads(line)
    try:
        CHECKS[request["provider"]](request["body"])
        print("ok", flush=True)
    except ValidationError as error:
        # Every branch of a union has its say; one line holds them all.
        print("; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()), flush=True)
    except Exception as error:
        print(" ".join(repr(error).split()), flush=True)

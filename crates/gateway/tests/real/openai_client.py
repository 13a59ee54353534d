"""OpenAI's own client against the gateway: answers, streams, own tools, failures."""

import asyncio
import os

import openai
from pydantic import BaseModel

URL, TOKEN = os.environ["SWITCHBOARD_URL"], os.environ["SWITCHBOARD_TOKEN"]
client = openai.OpenAI(base_url=URL + "/v1", api_key=TOKEN)
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


def user(text):
    return {"role": "user", "content": text}


def ask(text, **more):
    return client.chat.completions.create(model="parrot", messages=[user(text)], **more)


def calls_so_far():
    return len(openai.DefaultHttpxClient().get(URL + "/api/calls").json())


print("models:", ", ".join(model.id for model in client.models.list()))

answer = ask('call echo {"n":1}')
choice = answer.choices[0]
print(f"answer: {choice.message.content} ({choice.finish_reason}, {answer.usage.total_tokens} tokens)")

text, finish, usage = "", None, None
asked = 'say Let me see\ncall echo {"n":2}'
for chunk in ask(asked, stream=True, stream_options={"include_usage": True}):
    for choice in chunk.choices:
        text += choice.delta.content or ""
        finish = choice.finish_reason or finish
    usage = chunk.usage or usage
print(f"stream: {text.replace(chr(10) * 2, ' | ')} ({finish}, {usage.total_tokens} tokens)")

asked = 'call get_weather {"city":"Oslo"}\ncall echo {"n":3}'
first = ask(asked, tools=[WEATHER]).choices[0]
call = first.message.tool_calls[0]
print(f"own: {call.function.name} {call.function.arguments} ({first.finish_reason})")
reply = {"role": "tool", "tool_call_id": call.id, "content": "rain"}
second = client.chat.completions.create(
    model="parrot", messages=[user(asked), first.message, reply], tools=[WEATHER]
)
print("own answer:", second.choices[0].message.content)

with client.chat.completions.stream(model="parrot", messages=[user(asked)], tools=[WEATHER]) as stream:
    whole = stream.get_final_completion().choices[0]
call = whole.message.tool_calls[0]
print(f"own stream: {call.function.name} {call.function.arguments} ({whole.finish_reason})")

try:
    client.chat.completions.create(model="gpt-9", messages=[user("hi")])
except openai.NotFoundError as error:
    print("unknown model:", error.status_code, error.code)

try:
    ask("hi", n=2)
except openai.BadRequestError as error:
    print("bad request:", error.status_code, error.param)

# The client asks again by itself after a 502, but not where tools were run.
before = calls_so_far()
try:
    ask("call echo {}\nthen\nfail")
except openai.InternalServerError as error:
    print(f"failure: {error.status_code}, tools run: {calls_so_far() - before}")

try:
    for chunk in ask("say Well\ncall echo {}\nthen\nfail", stream=True):
        pass
except openai.APIError as error:
    print("failure in the stream:", error.message)


class get_weather(BaseModel):
    city: str


tool = openai.pydantic_function_tool(get_weather)
parsed = client.chat.completions.parse(
    model="parrot", messages=[user('call get_weather {"city":"Oslo"}')], tools=[tool], tool_choice="required"
)
print("parsed:", parsed.choices[0].message.tool_calls[0].function.parsed_arguments)


async def later():
    client = openai.AsyncOpenAI(base_url=URL + "/v1", api_key=TOKEN)
    answer = await client.chat.completions.create(model="parrot", messages=[user("you")])
    print("async:", answer.choices[0].message.content)


asyncio.run(later())

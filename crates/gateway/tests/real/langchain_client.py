"""LangChain's ChatOpenAI against the gateway: invoke, stream, own tools, structured output."""

import os

from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

model = ChatOpenAI(
    model="parrot",
    base_url=os.environ["SWITCHBOARD_URL"] + "/v1",
    api_key=os.environ["SWITCHBOARD_TOKEN"],
    stream_usage=True,
)

answer = model.invoke('call echo {"n":1}')
print(f"invoke: {answer.content} ({answer.usage_metadata['total_tokens']} tokens)")

whole = None
for chunk in model.stream('say Let me see\ncall echo {"n":2}'):
    whole = chunk if whole is None else whole + chunk
text = whole.content.replace("\n\n", " | ")
print(f"stream: {text} ({whole.usage_metadata['total_tokens']} tokens)")


@tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"rain in {city}"


with_tools = model.bind_tools([get_weather])
messages = [HumanMessage('call get_weather {"city":"Oslo"}\ncall echo {"n":3}')]
messages.append(with_tools.invoke(messages))
for call in messages[-1].tool_calls:
    print("own:", call["name"], call["args"])
    messages.append(get_weather.invoke(call))
print("own answer:", with_tools.invoke(messages).content)


class City(BaseModel):
    """A city."""

    city: str


structured = model.with_structured_output(City, method="function_calling")
print("structured:", structured.invoke('call City {"city":"Oslo"}').model_dump())

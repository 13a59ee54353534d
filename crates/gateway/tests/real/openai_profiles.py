"""OpenAI's own client in two profiles at once, one of which searches, and what neither shows."""

import os

import openai

URL, TOKEN = os.environ["SWITCHBOARD_URL"], os.environ["SWITCHBOARD_TOKEN"]


def client(profile):
    return openai.OpenAI(
        base_url=URL + "/v1", api_key=TOKEN, default_headers={"X-Switchboard-Profile": profile}
    )


def ask(profile, text):
    messages = [{"role": "user", "content": text}]
    answer = profile.chat.completions.create(model="parrot", messages=messages)
    return answer.choices[0].message.content


renamed, searching = client("renamed"), client("searching")
print("renamed:", ask(renamed, 'call repeat {"n":1}'))
print("renamed hides:", ask(renamed, "call echo {}"))
print("searching:", ask(searching, 'call tool_search {"query":"weather in a city"}\nthen\ncall weather {"city":"Oslo"}'))
print("searching found:", '"name":"weather"' in ask(searching, 'call tool_search {"query":"weather in a city"}'))
print("searching hides:", ask(searching, "call repeat {}"))
try:
    ask(client("nobody"), "hi")
except openai.NotFoundError as error:
    print("no profile:", error.status_code)

"""An agent that calls tools, with a loop and a model client of its own.

OPENAI_API_KEY=... python examples/tool_calling_agent.py gpt-4o "What is the weather where I live?"
"""

import sys
from typing import Any

from openai import OpenAI

from jiyi.sync import AgentMemory
from jiyi.tools import Tool

WEATHER = Tool("weather", "The weather in a city.", {"city": {"type": "string", "description": "Where."}}, ("city",))


def weather(given: dict[str, Any]) -> str:
    """What the tool does; the text is for the model."""
    return f"It is sunny in {given['city']}."


def ask(memory: AgentMemory, client: OpenAI, model: str, text: str) -> str:
    """One turn: everything is on disk at each step, and memory tools are there beside our own."""
    turn = memory.agent("demo", own_tools=[(WEATHER, weather)]).begin(text)
    while True:
        prompt: Any = {"messages": turn.to_openai(), "tools": turn.tools.openai()}
        answer = client.chat.completions.create(model=model, **prompt)
        message = answer.choices[0].message
        if not message.tool_calls:
            break
        turn.call_all(message.tool_calls, text=message.content or "")
    turn.finish(message.content or "(no answer)")
    return message.content or "(no answer)"


if __name__ == "__main__":
    with AgentMemory.open("./data") as opened:
        print(ask(opened, OpenAI(), sys.argv[1], sys.argv[2]))

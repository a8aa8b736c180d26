"""jiyi for Pydantic AI: tools, and message histories that are kept.

    from jiyi.integrations.pydantic_ai import JiyiMessageHistory, memory_tools

    agent = Agent(model, tools=memory_tools(memory, scope="alice"))
    history = JiyiMessageHistory("monday", memory, scope="alice")
    result = await agent.run("Hello", message_history=await history.load())
    await history.add(result.new_messages())

Install it with `pip install 'jiyi[pydantic-ai]'`.
"""

from __future__ import annotations

from jiyi.integrations.opened import missing_framework

try:
    from jiyi.integrations.pydantic_ai.history import JiyiMessageHistory
    from jiyi.integrations.pydantic_ai.tools import memory_tools
except ModuleNotFoundError as error:
    raise missing_framework(error, "pydantic_ai", "Pydantic AI", "pydantic-ai") from error

__all__ = ["JiyiMessageHistory", "memory_tools"]

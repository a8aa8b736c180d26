"""jiyi for OpenAI's Agents SDK: sessions that are kept and recalled, and tools.

    from jiyi.integrations.openai_agents import JiyiSession, memory_tools

    agent = Agent(name="assistant", tools=memory_tools(memory, scope="alice"))
    await Runner.run(agent, "Hello", session=JiyiSession("monday", memory, scope="alice"))

Install it with `pip install 'jiyi[openai-agents]'`.
"""

from __future__ import annotations

from jiyi.integrations.opened import missing_framework

try:
    from jiyi.integrations.openai_agents.session import JiyiSession
    from jiyi.integrations.openai_agents.tools import memory_tools
except ModuleNotFoundError as error:
    raise missing_framework(error, "agents", "OpenAI's Agents SDK", "openai-agents") from error

__all__ = ["JiyiSession", "memory_tools"]

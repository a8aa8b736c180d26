"""The turn of an assistant: what the user said, one prompt from all rooms, tools, the reply, and what is kept of it."""

from jiyi.agent.api import Agent
from jiyi.agent.dependencies import AgentDeps, AgentOptions
from jiyi.agent.turn import Turn

__all__ = ["Agent", "AgentDeps", "AgentOptions", "Turn"]

"""AgentMemory, in groups of methods: keyed memory, conversations, administration; and the rooms."""

from jiyi.memory.agent_memory import AgentMemory

__all__ = ["AgentMemory"]

"""MemoryClient: a memory behind `jiyi serve`, with the names of `AgentMemory`.

    async with MemoryClient("https://memory.example", key="jy_…") as memory:
        await memory.store("tea", "She drinks green tea")
        hits = await memory.recall("What does she drink?")

The scope is that of the key: a scope or user that is passed is compared with it. Errors are those of `jiyi.errors`. A
request that failed on the way, or that the server could not do now, is sent again where that cannot double anything.
"""

from jiyi.client.memory import MemoryClient

__all__ = ["MemoryClient"]

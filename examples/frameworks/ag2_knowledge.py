"""An AG2 agent whose knowledge store is a memory. The model is a scripted one; give a real `config=` in its place.

Needs: pip install 'jiyi[ag2]'
"""

import asyncio
import json
import tempfile

from ag2 import Agent, KnowledgeConfig
from ag2.events import ToolCallEvent
from ag2.testing import TestConfig

from jiyi import AgentMemory
from jiyi.integrations.ag2 import JiyiKnowledgeStore


async def main() -> None:
    """The agent writes a file by its tool; the file is there afterwards, and is recalled like every other memory."""
    fact = "Paula is allergic to penicillin"
    call = json.dumps({"action": "write", "path": "/memory/family.md", "content": fact})
    script = TestConfig(ToolCallEvent(name="knowledge", arguments=call), "I will remember that.")
    with tempfile.TemporaryDirectory() as folder:
        async with AgentMemory.open(folder) as memory:
            store = JiyiKnowledgeStore(memory, scope="ann")
            agent = Agent("assistant", config=script, knowledge=KnowledgeConfig(store=store))
            reply = await agent.ask(f"Remember: {fact}")
            print(reply.body)
            print(await store.list("/memory"))
            for hit in await memory.recall("What is Paula allergic to?", scope="ann", limit=1):
                print("recalled:", hit.content)


if __name__ == "__main__":
    asyncio.run(main())

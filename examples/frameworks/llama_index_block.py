"""A memory as a block of LlamaIndex's `Memory`: what leaves the short-term memory is kept, and recalled when it fits.

Needs: pip install 'jiyi[llamaindex]'
"""

import asyncio
import tempfile

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import InsertMethod, Memory

from jiyi.integrations.llama_index import JiyiMemoryBlock
from jiyi.sync import AgentMemory


async def main() -> None:
    """Much is said after the locker; the question about it finds it all the same."""
    with tempfile.TemporaryDirectory() as folder, AgentMemory.open(folder) as kept:
        block = JiyiMemoryBlock(memory=kept, scope="ann", limit=1)
        memory = Memory.from_defaults(
            session_id="monday",
            token_limit=300,
            token_flush_size=60,
            memory_blocks=[block],
            insert_method=InsertMethod.USER,
        )
        await memory.aput(ChatMessage("My locker is number 4711", role="user"))
        for number in range(20):
            await memory.aput(ChatMessage(f"Then we talked about the weather of day {number}", role="assistant"))
        await memory.aput(ChatMessage("Which number has my locker?", role="user"))
        # An agent gets these: agent.run("…", memory=memory)
        last = (await memory.aget())[-1]
        print("\n".join(line for line in str(last.content).splitlines() if line.strip()))


if __name__ == "__main__":
    asyncio.run(main())

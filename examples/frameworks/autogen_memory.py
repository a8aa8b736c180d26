"""A memory for AutoGen's agents. With autogen-agentchat: AssistantAgent("assistant", model_client=…, memory=[memory]).

Needs: pip install 'jiyi[autogen]'
"""

import asyncio
import tempfile

from autogen_core.memory import MemoryContent, MemoryMimeType
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import UserMessage

from jiyi.integrations.autogen import JiyiMemory


async def main() -> None:
    """What was added comes into the context of a question that it fits."""
    with tempfile.TemporaryDirectory() as folder:
        memory = JiyiMemory(folder, scope="ann")
        for text in ("Paula is allergic to penicillin", "The bank closes at five"):
            await memory.add(MemoryContent(content=text, mime_type=MemoryMimeType.TEXT))
        # An AssistantAgent does this before each call of its model.
        context = UnboundedChatCompletionContext()
        await context.add_message(UserMessage(content="What is Paula allergic to?", source="ann"))
        await memory.update_context(context)
        for message in await context.get_messages():
            print(f"{message.source}: {message.content}")
        await memory.close()


if __name__ == "__main__":
    asyncio.run(main())

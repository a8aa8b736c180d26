"""A Pydantic AI agent with a history and tools on a memory. The model is a fake one; put your own in its place.

Needs: pip install 'jiyi[pydantic-ai]'
"""

import asyncio
import tempfile

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from jiyi import AgentMemory
from jiyi.integrations.pydantic_ai import JiyiMessageHistory, memory_tools


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Say how much it was given."""
    return ModelResponse(parts=[TextPart(f"{len(messages)} messages, {len(info.function_tools)} tools")])


async def main() -> None:
    """Two runs of one conversation."""
    with tempfile.TemporaryDirectory() as folder:
        async with AgentMemory.open(folder) as memory:
            agent = Agent(FunctionModel(answer), tools=memory_tools(memory, scope="ann"))
            history = JiyiMessageHistory("monday", memory, scope="ann")
            for question in ("My locker is 4711", "Which locker is mine?"):
                result = await agent.run(question, message_history=await history.load())
                await history.add(result.new_messages())
                print(result.output)


if __name__ == "__main__":
    asyncio.run(main())

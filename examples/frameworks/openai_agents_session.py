"""A session of OpenAI's Agents SDK on a memory. The model is a fake one; leave `model=` out to use OpenAI's.

Needs: pip install 'jiyi[openai-agents]'
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from jiyi import AgentMemory
from jiyi.integrations.openai_agents import JiyiSession, memory_tools


class EchoModel(Model):
    """Answers with what the user has said so far."""

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:  # noqa: A002, ARG002, D102
        said = " / ".join(str(item["content"]) for item in input if item.get("role") == "user")
        text = ResponseOutputText(type="output_text", text=f"You said: {said}", annotations=[])
        answer = ResponseOutputMessage(id="1", type="message", role="assistant", status="completed", content=[text])
        return ModelResponse(output=[answer], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:  # noqa: D102
        raise NotImplementedError


async def main() -> None:
    """Two runs of one session; the second knows the first."""
    with tempfile.TemporaryDirectory() as folder:
        async with AgentMemory.open(folder) as memory:
            agent = Agent(name="assistant", model=EchoModel(), tools=list(memory_tools(memory, scope="ann")))
            session = JiyiSession("monday", memory, scope="ann")
            quiet = RunConfig(tracing_disabled=True)
            await Runner.run(agent, "My locker is 4711", session=session, run_config=quiet)
            result = await Runner.run(agent, "Which locker is mine?", session=session, run_config=quiet)
            print(result.final_output)


if __name__ == "__main__":
    asyncio.run(main())

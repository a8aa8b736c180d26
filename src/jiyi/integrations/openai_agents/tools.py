"""The tools of a memory as tools of OpenAI's Agents SDK."""

from __future__ import annotations

from typing import Any

from agents import FunctionTool
from agents.tool_context import ToolContext

from jiyi.integrations.opened import AnyMemory, check_any_memory, finished


def memory_tools(memory: AnyMemory, *, scope: str | None = None, kind: str = "main") -> list[FunctionTool]:
    """The tools of `memory.tools()` for `Agent(tools=…)`. A mistake of the model is an answer to it, never an error."""
    toolbox = check_any_memory("memory_tools", memory).tools(scope=scope, kind=kind)

    def bound(definition: dict[str, Any]) -> FunctionTool:
        name: str = definition["name"]

        async def invoke(context: ToolContext[Any], arguments: str) -> str:  # noqa: ARG001 - the SDK passes it
            return str(await finished(toolbox.answer, name, arguments))

        return FunctionTool(
            name=name,
            description=definition["description"],
            params_json_schema=definition["parameters"],
            on_invoke_tool=invoke,
            strict_json_schema=True,
        )

    return [bound(definition) for definition in toolbox.openai_responses()]

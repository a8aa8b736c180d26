"""The tools of a memory as tools of Pydantic AI."""

from __future__ import annotations

import json
from typing import Any

from pydantic_ai import Tool

from jiyi.integrations.opened import AnyMemory, check_any_memory, finished


def memory_tools(memory: AnyMemory, *, scope: str | None = None, kind: str = "main") -> list[Tool[Any]]:
    """The tools of `memory.tools()` for `Agent(tools=…)`. A mistake of the model is an answer to it, never an error."""
    toolbox = check_any_memory("memory_tools", memory).tools(scope=scope, kind=kind)

    def bound(definition: dict[str, Any]) -> Tool[Any]:
        name: str = definition["name"]

        async def invoke(**arguments: Any) -> str:
            return str(await finished(toolbox.answer, name, json.dumps(arguments)))

        return Tool.from_schema(
            invoke, name=name, description=definition["description"], json_schema=definition["input_schema"]
        )

    return [bound(definition) for definition in toolbox.anthropic()]

"""Toolbox: the tools that a model may call now, bound to a memory and a session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeAlias

from jiyi.errors import InvalidInputError
from jiyi.tools.tool import Tool

Arguments: TypeAlias = str | Mapping[str, Any]
"""The arguments of a call as a model gives them: JSON text, or the value read from it."""
Handler: TypeAlias = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
"""Does what a call asks for, with checked arguments. Returns a JSON-ready mapping."""


class Toolbox:
    """Tools with their definitions for model APIs, and one way to call them.

    What a tool returns is data for the model to read, not instructions for it to follow.
    """

    def __init__(self, bound: Iterable[tuple[Tool, Handler]] = ()) -> None:
        self._bound = {tool.name: (tool, handler) for tool, handler in bound}

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools, in a fixed order."""
        return tuple(tool for tool, _ in self._bound.values())

    def openai(self) -> list[dict[str, Any]]:
        """Definitions for `tools=` of OpenAI-style chat completions."""
        return [tool.openai() for tool in self.tools]

    def openai_responses(self) -> list[dict[str, Any]]:
        """Definitions for `tools=` of OpenAI's Responses API, in strict mode."""
        return [tool.openai_responses() for tool in self.tools]

    def anthropic(self) -> list[dict[str, Any]]:
        """Definitions for `tools=` of Anthropic's Messages API."""
        return [tool.anthropic() for tool in self.tools]

    def mcp(self) -> list[dict[str, Any]]:
        """Definitions for the answer to `tools/list` of an MCP server."""
        return [tool.mcp() for tool in self.tools]

    async def call(self, name: str, arguments: Arguments) -> dict[str, Any]:
        """Check the arguments of a model's call and execute it. The result is ready for JSON.

        Raises `InvalidInputError` for a tool that does not exist and for arguments that its schema does not allow.
        """
        if name not in self._bound:
            known = ", ".join(self._bound) or "none"
            raise InvalidInputError(f"there is no tool {ascii(name)[:80]}; known are {known}")
        tool, handler = self._bound[name]
        return await handler(tool.check(arguments))

    def __add__(self, other: Toolbox) -> Toolbox:
        return Toolbox([*self._bound.values(), *other._bound.values()])

    def __repr__(self) -> str:
        return f"<Toolbox {', '.join(self._bound)}>"

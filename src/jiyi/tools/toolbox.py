"""Toolbox: the tools that a model may call now, bound to a memory and a session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from jiyi.errors import InvalidInputError, NotesError, SimpleModeError
from jiyi.model.limits import MAX_TOOL_ANSWER, check_whole
from jiyi.text.token_count import ESTIMATE
from jiyi.tools.answer import MIN_TOKENS, Result, ToolAnswer, bounded_text
from jiyi.tools.tool import Tool

if TYPE_CHECKING:
    from jiyi.ports import TokenCounter

Arguments: TypeAlias = str | Mapping[str, Any] | None
"""The arguments of a call as a model gives them: JSON text, or the value read from it."""
Handler: TypeAlias = Callable[[dict[str, Any]], Awaitable[Result | str] | Result | str]
"""Does what a call asks for, with checked arguments; a text is shown to the model as it is."""
BoundTools: TypeAlias = Iterable[tuple[Tool, Handler]]
"""Tools with what they do."""


class Toolbox:
    """Tools with their definitions for model APIs, and one way to call them.

    What a tool returns is data for the model to read, not instructions for it to follow.
    """

    def __init__(
        self,
        bound: BoundTools = (),
        *,
        max_tokens: int = MAX_TOOL_ANSWER,
        counter: TokenCounter = ESTIMATE,
        refused: Mapping[str, str] | None = None,
    ) -> None:
        """`refused` are names that exist and may not be called here, each with the reason."""
        self._bound = {tool.name: (tool, handler) for tool, handler in bound}
        self._max_tokens = check_whole(max_tokens, "max_tokens", MIN_TOKENS, 1 << 30)
        self._counter = counter
        self._refused = dict(refused or {})

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools, in a fixed order."""
        return tuple(tool for tool, _ in self._bound.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools, in the same order."""
        return tuple(self._bound)

    def select(self, *names: str) -> Toolbox:
        """Only the tools with these names, defined under them: the names of the tools, or their aliases."""
        chosen = []
        for name in names:
            tool, handler = self._find(name)
            chosen.append((tool.under(name), handler))
        return self._with(chosen)

    def read_only(self) -> Toolbox:
        """Only the tools that change nothing. A call of another one is refused."""
        kept = [(tool, handler) for tool, handler in self._bound.values() if tool.read_only]
        refused = {
            name: f"{name} changes the memory, and only reading is allowed here"
            for tool in self.tools
            if not tool.read_only
            for name in (tool.name, *tool.aliases)
        }
        return self._with(kept, {**self._refused, **refused})

    def _with(self, bound: list[tuple[Tool, Handler]], refused: Mapping[str, str] | None = None) -> Toolbox:
        return Toolbox(
            bound,
            max_tokens=self._max_tokens,
            counter=self._counter,
            refused=self._refused if refused is None else refused,
        )

    # --- the forms of model APIs ------------------------------------------------------------------------------------

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
        """Definitions for the answer to `tools/list` of an MCP server, with annotations."""
        return [tool.mcp() for tool in self.tools]

    # --- calls --------------------------------------------------------------------------------------------------------

    async def call(self, name: str, arguments: Arguments) -> dict[str, Any]:
        """Check the arguments of a model's call and execute it. The result is ready for JSON.

        Raises `InvalidInputError` for a tool that does not exist and for arguments that its schema does not allow.
        """
        return (await self._call(name, arguments)).data

    async def answer(self, name: str, arguments: Arguments, *, max_tokens: int | None = None) -> ToolAnswer:
        """The same as text for the model, inside a limit of tokens; its mistakes are answers too, never exceptions."""
        limit = self._max_tokens if max_tokens is None else check_whole(max_tokens, "max_tokens", MIN_TOKENS, 1 << 30)
        try:
            result = await self._call(name, arguments)
        except (InvalidInputError, NotesError, SimpleModeError) as error:
            refusal = Result({"error": str(error)}, f"Error: {error}")
            return ToolAnswer(bounded_text(refusal, self._counter, limit), refusal.data, is_error=True)
        return ToolAnswer(bounded_text(result, self._counter, limit), result.data)

    async def _call(self, name: str, arguments: Arguments) -> Result:
        tool, handler = self._find(name)
        done = handler(tool.check(arguments))
        result = await done if isinstance(done, Awaitable) else done
        return Result({"text": result}, result) if isinstance(result, str) else result

    def _find(self, name: str) -> tuple[Tool, Handler]:
        if isinstance(name, str):
            if name in self._bound:
                return self._bound[name]
            for tool, handler in self._bound.values():
                if name in tool.aliases:
                    return tool.under(name), handler
            if name in self._refused:
                raise InvalidInputError(self._refused[name])
        known = ", ".join(self._bound) or "none"
        raise InvalidInputError(f"there is no tool {ascii(name)[:80]}; known are {known}")

    def __add__(self, other: Toolbox) -> Toolbox:
        return self._with([*self._bound.values(), *other._bound.values()], {**self._refused, **other._refused})

    def __repr__(self) -> str:
        return f"<Toolbox {', '.join(self._bound)}>"

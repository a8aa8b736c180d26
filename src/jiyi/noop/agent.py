"""The agent of a memory that keeps nothing: a model is asked with the instructions and the question alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any, Self

from jiyi.chat import Compaction
from jiyi.errors import ConfigError
from jiyi.model.identity import new_id
from jiyi.model.message import Message, MessageLike, check_message
from jiyi.model.message_formats import to_anthropic, to_openai
from jiyi.model.turn import FinishedTurn, ShownMemory, TurnBudget, TurnEvent, UnfinishedTurn
from jiyi.prompts.agent import INSTRUCTIONS
from jiyi.tools import Toolbox

if TYPE_CHECKING:
    from jiyi.interfaces import TurnInterface


class NoopTurn:
    """A turn of which nothing is kept."""

    def __init__(self, question: Message, instructions: str | None, token_limit: int) -> None:
        self.id = new_id()
        self.session = ("main", "")
        self.text = question.text
        self.messages = [Message("system", instructions or INSTRUCTIONS["en"]), question]
        self.tools = Toolbox()
        self.budget = TurnBudget(token_limit, 0, ())
        self.memories: tuple[ShownMemory, ...] = ()
        self.reply: str | None = None
        self.broken_off: str | None = None

    def to_openai(self) -> list[dict[str, Any]]:
        """The messages for OpenAI and compatible servers."""
        return to_openai(self.messages)

    def to_anthropic(self) -> dict[str, Any]:
        """The messages for Anthropic."""
        return to_anthropic(self.messages)

    async def call(self, tool_call: Any) -> str:
        """There are no tools."""
        return "Error: there are no tools"

    async def call_all(self, tool_calls: Iterable[Any], *, text: str = "") -> list[str]:
        """There are no tools."""
        return ["Error: there are no tools" for _ in tool_calls]

    async def record(self, tool_call: Any, result: str) -> None:
        """Nothing is kept."""

    async def finish(self, reply: str | MessageLike, used: Iterable[Any] | None = None) -> FinishedTurn:
        """A receipt for nothing."""
        self.reply = reply if isinstance(reply, str) else check_message(reply, "reply").text
        return FinishedTurn(self.id, new_id(), None)

    async def break_off(self, partial: str, reason: str) -> FinishedTurn:
        """A receipt for nothing."""
        self.broken_off = reason or "broken off"
        return await self.finish(partial)


class NoopAgent:
    """An assistant that remembers nothing, not even this session."""

    def __init__(self, session_id: str, scope: str, kind: str, instructions: str | None, token_limit: int) -> None:
        self.session_id = session_id
        self.scope = scope
        self.kind = kind
        self.answers = False
        self._instructions = instructions
        self._token_limit = token_limit

    async def begin(
        self, message: str | MessageLike, *, name: str | None = None, request_id: str | None = None
    ) -> TurnInterface:
        """A turn with the question alone."""
        said = Message("user", message) if isinstance(message, str) else check_message(message, "message")
        return NoopTurn(said, self._instructions, self._token_limit)

    async def resume(self) -> TurnInterface | None:
        """There is nothing to go on with."""
        return None

    async def open_turn(self, turn_id: str) -> TurnInterface | None:
        """There is none."""
        return None

    async def unfinished(self) -> list[UnfinishedTurn]:
        """None."""
        return []

    def reply(
        self, message: str | MessageLike | None = None, *, name: str | None = None, request_id: str | None = None
    ) -> AsyncIterator[str]:
        """This memory has no model."""
        raise ConfigError("this memory keeps nothing and has no model; call begin, ask a model of your own, and finish")

    def stream(
        self, message: str | MessageLike | None = None, *, name: str | None = None, request_id: str | None = None
    ) -> AsyncIterator[TurnEvent]:
        """This memory has no model."""
        raise ConfigError("this memory keeps nothing and has no model; call begin, ask a model of your own, and finish")

    async def reset(self) -> int:
        """The first epoch."""
        return 1

    async def close(self) -> Compaction:
        """Nothing was searched."""
        return Compaction()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

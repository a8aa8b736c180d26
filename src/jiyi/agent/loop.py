"""The loop that a model runs through: ask, do what it asks for, ask again, until it answers."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Final

from jiyi.agent.dependencies import AgentDeps, AgentOptions
from jiyi.agent.streaming import stream_from_thread
from jiyi.agent.turn import Turn
from jiyi.errors import ContextOverflowError, ModelError, ModelReplyError
from jiyi.model.message import Message
from jiyi.model.turn import TurnEvent
from jiyi.ports.models import ChatModel, ToolCall, ToolModel

_FIRST_PAUSE: Final = 0.5
_MAX_PAUSE: Final = 30.0
_GOES_ON: Final = "what was said is stored and the turn is open: reply() without a text goes on with it"


async def run_turn(
    deps: AgentDeps, options: AgentOptions, turn: Turn, model: ChatModel
) -> AsyncGenerator[TurnEvent, None]:
    """The pieces of the reply, the calls and their results, as they come. All of them are stored at each step.

    After `max_rounds` rounds no tools are offered any more. A reader that stops, or a task that is cancelled, ends the
    turn with what was said so far, marked as broken off. A model that fails leaves the turn open.
    """
    asked_again = 0
    while True:
        offered = asked_again < options.max_rounds
        pieces: list[str] = []
        calls: list[ToolCall] = []
        try:
            async with aclosing(_ask(deps, turn, model, with_tools=offered)) as answer:
                async for piece in answer:
                    if isinstance(piece, ToolCall):
                        calls.append(piece)
                    else:
                        pieces.append(piece)
                        yield TurnEvent("piece", piece)
        except (asyncio.CancelledError, GeneratorExit) as end:
            said = "".join(pieces)
            if said.strip():
                reason = "cancelled" if isinstance(end, asyncio.CancelledError) else "the reader stopped"
                await asyncio.shield(turn.break_off(said, reason))
            raise
        except ModelError as error:
            error.add_note(_GOES_ON)
            raise
        text = "".join(pieces)
        if not calls:
            if not text.strip():
                raise ModelReplyError(f"the model answered nothing; {_GOES_ON}", reason="empty")
            await turn.finish(text)
            return
        asked_again += 1
        for call in calls:
            yield TurnEvent("call", call.arguments, call.name, call.id)
        for call, result in zip(calls, await turn.call_all(calls, text=text), strict=True):
            yield TurnEvent("result", result, call.name, call.id)


async def _ask(
    deps: AgentDeps, turn: Turn, model: ChatModel, *, with_tools: bool
) -> AsyncGenerator[str | ToolCall, None]:
    """One answer of the model. Before its first piece a failure that may pass is tried again."""
    attempt, has_overflowed = 0, False
    while True:
        begun = False
        try:
            definitions = turn.tools.openai() if with_tools else []
            call = functools.partial(_converse, model, turn.messages, definitions)
            async with aclosing(stream_from_thread(deps.run_model, call)) as stream:
                async for piece in stream:
                    begun = True
                    yield piece
        except ContextOverflowError:
            if begun or has_overflowed:
                raise
            has_overflowed = True
            await turn.compact_window()
        except ModelError as error:
            if begun or not error.retryable or attempt >= deps.retries:
                raise
            wanted = getattr(error, "retry_after", None) or _FIRST_PAUSE * 2**attempt
            attempt += 1
            await asyncio.sleep(min(wanted, _MAX_PAUSE))
        else:
            return


def _converse(model: ChatModel, messages: list[Message], tools: list[dict[str, object]]) -> Iterator[str | ToolCall]:
    """A model that knows no tools is asked without."""
    if isinstance(model, ToolModel):
        return model.converse(messages, tools=tools)
    return iter(model.stream(messages))

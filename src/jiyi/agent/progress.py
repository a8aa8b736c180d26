"""How far the turns of a session are, read from its messages alone: there is no other record of a turn.

Every message of a turn carries its id in the field `turn`: what the user said, the calls of tools, their results and
the reply. A turn without a reply was broken off, or another process is at work on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from jiyi.agent.tool_call_forms import read_tool_call
from jiyi.model.chat import StoredMessage
from jiyi.model.message import Message
from jiyi.model.turn import UnfinishedTurn
from jiyi.ports.models import ToolCall

TURN = "turn"
REQUEST = "request_id"
BROKEN_OFF = "broken_off"
ABANDONED = "the process ended"
"""Why a turn was broken off that nobody has ended. Whoever asks for it by its id can still go on with it."""


@dataclass(slots=True)
class TurnProgress:
    """What is on disk of one turn."""

    turn_id: str
    question: StoredMessage
    steps: list[StoredMessage] = field(default_factory=list)
    """Calls of tools and their results, in order."""
    reply: StoredMessage | None = None

    @property
    def request_id(self) -> str | None:
        """The id that the program gave to the message."""
        found = self.question.message.extra.get(REQUEST)
        return found if isinstance(found, str) else None

    @property
    def answer(self) -> str | None:
        """The text of its reply; `None` when it was not ended by anybody."""
        if self.reply is None or self.reply.message.extra.get(BROKEN_OFF) == ABANDONED:
            return None
        return self.reply.message.text

    @property
    def broken_off(self) -> str | None:
        """Why its reply is only a part of one, or nothing; `None` when it is whole, or not there yet."""
        return None if self.answer is None or self.reply is None else broken_off(self.reply.message)

    def pending_calls(self) -> list[ToolCall]:
        """Calls of which no result is on disk."""
        waiting: list[ToolCall] = []
        for step in self.steps:
            if step.message.tool_calls:
                waiting = [read_tool_call(call) for call in step.message.tool_calls]
            else:
                waiting = [call for call in waiting if call.id != step.message.tool_call_id]
        return waiting

    def unfinished(self) -> UnfinishedTurn:
        """For people."""
        return UnfinishedTurn(
            self.turn_id,
            self.question.message.text,
            self.question.created_at,
            sum(len(step.message.tool_calls or ()) for step in self.steps),
            self.request_id,
        )


def broken_off(reply: Message) -> str | None:
    """Why a reply was broken off; `None` when it is whole."""
    found = reply.extra.get(BROKEN_OFF)
    return found if isinstance(found, str) else None


def turn_of(message: Message) -> str | None:
    """The id of the turn that a message belongs to."""
    found = message.extra.get(TURN)
    return found if isinstance(found, str) else None


def turns_in(messages: Iterable[StoredMessage]) -> list[TurnProgress]:
    """The turns of a stretch of messages, in the order in which they were begun."""
    found: dict[str, TurnProgress] = {}
    for stored in messages:
        turn_id, message = turn_of(stored.message), stored.message
        if turn_id is None:
            continue
        if message.role == "user" and turn_id not in found:
            found[turn_id] = TurnProgress(turn_id, stored)
        elif turn_id in found and message.role == "assistant" and not message.tool_calls:
            # A reply may come after others have taken the turn for abandoned.
            if found[turn_id].answer is None:
                found[turn_id].reply = stored
        elif turn_id in found:
            found[turn_id].steps.append(stored)
    return list(found.values())


def own_last(messages: Sequence[Message], turn_id: str, question: Message) -> list[Message]:
    """The messages with those of one turn at the end: others may have spoken while it was under way."""
    own = [message for message in messages if turn_of(message) == turn_id]
    others = [message for message in messages if turn_of(message) != turn_id]
    if not any(message.role == "user" for message in own):
        # It went under a summary, because what tools brought is long; without it there is nothing to answer.
        own.insert(0, question)
    return [*others, *own]

"""One turn of a conversation with a model: the message is kept, the window asked, the answer kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from jiyi.chat.service import ChatService
from jiyi.errors import ContextOverflowError, ModelReplyError
from jiyi.model.message import Message
from jiyi.ports import ChatModel

OnText: TypeAlias = Callable[[str], None]


def answer(room: ChatService, model: ChatModel, message: Message, on_text: OnText | None) -> Message:
    """Put the message, ask the model for the next one, put that and return it.

    The message is on disk before the model is asked, so a failing model costs only its own answer. When the model finds
    the window too long, half of it goes under a summary and the model is asked once more.
    """
    room.put([message])
    try:
        spoken = _spoken(model, room, on_text)
    except ContextOverflowError:
        room.compact("overflow")
        spoken = _spoken(model, room, on_text)
    if not spoken.strip():
        raise ModelReplyError("the model answered nothing; the question is kept, ask again", reason="empty")
    reply = Message("assistant", spoken)
    room.put([reply])
    return reply


def _spoken(model: ChatModel, room: ChatService, on_text: OnText | None) -> str:
    window = room.get(0)
    if on_text is None:
        return model.complete(window)
    return "".join(_heard(model.stream(window), on_text))


def _heard(pieces: Iterator[str], on_text: OnText) -> Iterator[str]:
    for piece in pieces:
        on_text(piece)
        yield piece

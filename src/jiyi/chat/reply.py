"""One turn of a conversation with a model: store the message, ask the model, store the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from jiyi.chat.service import ChatService
from jiyi.chat.window import ChatWindow
from jiyi.errors import ContextOverflowError, ModelReplyError
from jiyi.model.message import Message
from jiyi.ports import ChatModel

OnText: TypeAlias = Callable[[str], None]


def reply_to(
    service: ChatService, model: ChatModel, message: Message, on_text: OnText | None
) -> tuple[Message, ChatWindow]:
    """Put the message, ask the model for the next one, put that and return it, with the window that was sent.

    The message is on disk before the model is asked, so a failing model costs only its own answer. When the model finds
    the window too long, half of it goes under a summary and the model is asked once more.
    """
    service.put([message])
    window = service.get(0)
    try:
        text = _ask(model, window, on_text)
    except ContextOverflowError:
        service.compact("overflow")
        window = service.get(0)
        text = _ask(model, window, on_text)
    if not text.strip():
        raise ModelReplyError("the model answered nothing; the question is kept, ask again", reason="empty")
    answer = Message("assistant", text)
    service.put([answer])
    return answer, window


def _ask(model: ChatModel, window: ChatWindow, on_text: OnText | None) -> str:
    if on_text is None:
        return model.complete(window)
    pieces = []
    for piece in model.stream(window):
        on_text(piece)
        pieces.append(piece)
    return "".join(pieces)

"""Asking a model for JSON: what does not fit is asked for once more, then it is an error, never an empty success."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from jiyi.errors import ModelReplyError
from jiyi.model.replies import parse_json_reply

if TYPE_CHECKING:
    from jiyi.model.message import Message
    from jiyi.ports import ChatModel

R = TypeVar("R")
_TRIES = 2


def ask_json(
    model: ChatModel,
    messages: Sequence[Message],
    schema: Mapping[str, Any],
    read: Callable[[Any], R],
    *,
    max_tokens: int,
    accepted: Mapping[str, Any] | None = None,
) -> R:
    """The model's reply as `read` understands it; `read` raises `ModelReplyError` for what it cannot use.

    `accepted` is the schema that the reply has to fit, where that is wider than the one that is asked for.
    """
    last: ModelReplyError | None = None
    for _ in range(_TRIES):
        reply = model.complete(messages, max_tokens=max_tokens, schema=schema)
        try:
            return read(parse_json_reply(reply, accepted or schema))
        except ModelReplyError as error:
            last = error
    assert last is not None  # noqa: S101 - the loop has run
    raise last


def wrong(model: ChatModel, what: str) -> ModelReplyError:
    """A reply that is JSON and not what was asked for."""
    return ModelReplyError(f"{model.name} replied with {what}", reason="wrong schema")


def shown(value: object) -> str:
    """A value of a reply, short enough for a message."""
    return json.dumps(value, ensure_ascii=True, default=repr)[:80]

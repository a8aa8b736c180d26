"""What a model proposes for MEMORY.md. It proposes lines; code checks them and makes the diff."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from jiyi.errors import ModelError, ModelReplyError
from jiyi.model.replies import parse_json_reply
from jiyi.model.storable import storable
from jiyi.notes.longterm_file import Addition
from jiyi.prompts.notes import CURATE_SCHEMA, curate_messages
from jiyi.text.token_count import cut_to_tokens

if TYPE_CHECKING:
    from jiyi.model.message import Message
    from jiyi.ports import ChatModel, TokenCounter

_REPLY_TOKENS: Final = 4_000
_MAX_INPUT: Final = 24_000
PAUSES: Final = (0.5, 2.0)
"""Seconds before asking again what may succeed then."""


def propose_with_model(
    model: ChatModel, counter: TokenCounter, long_term: str, notes: Sequence[str]
) -> tuple[list[Addition], list[str]]:
    """(additions, lines to take out); a reply that is not in the agreed form is an error, never an empty proposal."""
    if not any(note.strip() for note in notes):
        return [], []
    known = cut_to_tokens(long_term, _MAX_INPUT // 2, counter)
    left = _MAX_INPUT - counter.count(known)
    shown: list[str] = []
    # The newest notes first, as many as fit.
    for note in reversed(notes):
        left -= counter.count(note) + 2
        if left < 0:
            break
        shown.insert(0, note)
    question = curate_messages(known, shown)
    for pause in PAUSES:
        try:
            return _asked(model, question, long_term)
        except ModelError as error:
            if not error.retryable:
                raise
            time.sleep(pause)
    return _asked(model, question, long_term)


def _asked(model: ChatModel, question: Sequence[Message], long_term: str) -> tuple[list[Addition], list[str]]:
    reply = model.complete(question, max_tokens=_REPLY_TOKENS, schema=CURATE_SCHEMA)
    data = parse_json_reply(reply, CURATE_SCHEMA)
    lines = {line.rstrip("\r") for line in long_term.split("\n")}
    removals = [line for line in dict.fromkeys(_texts(data, "removals")) if line.strip() and not line.startswith("#")]
    unknown = [line for line in removals if line not in lines]
    if unknown:
        raise ModelReplyError(
            f"the model wants to take out a line that MEMORY.md does not have: {unknown[0][:80]!r}",
            reason="wrong schema",
        )
    return [_addition(item) for item in data["additions"]], removals


def _texts(data: Mapping[str, Any], name: str) -> list[str]:
    values = data[name]
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ModelReplyError(f"{name} of the reply is no list of texts", reason="wrong schema")
    return values


def _addition(item: Mapping[str, Any]) -> Addition:
    section, text = item.get("section"), item.get("text")
    if not isinstance(section, str) or not isinstance(text, str) or not section.strip() or not text.strip():
        raise ModelReplyError("an addition of the reply has no section or no text", reason="wrong schema")
    return Addition(" ".join(section.lstrip("#").split()), " ".join(storable(text).split()))

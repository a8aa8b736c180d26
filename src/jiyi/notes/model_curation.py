"""What a model proposes for MEMORY.md. It proposes lines; code checks them and makes the diff."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from jiyi.errors import ModelError, ModelReplyError
from jiyi.model.replies import parse_json_reply
from jiyi.model.storable import storable
from jiyi.notes.memory_file import Addition, comparable, words_of
from jiyi.prompts.notes import CURATE_SCHEMA, curate_messages
from jiyi.text.token_count import cut_to_tokens

if TYPE_CHECKING:
    from jiyi.model.message import Message
    from jiyi.ports import ChatModel, TokenCounter

_log = logging.getLogger("jiyi.notes")

_READ_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"additions": {"type": "array"}, "removals": {"type": "array"}},
    "required": ["additions", "removals"],
}
"""What a reply must have to be read; each line is checked by itself."""
_REPLY_TOKENS: Final = 4_000
_MAX_INPUT: Final = 24_000
PAUSES: Final = (0.5, 2.0)
"""Seconds before asking again what may succeed then."""


def propose_with_model(
    model: ChatModel, counter: TokenCounter, memory_file: str, notes: Sequence[str]
) -> tuple[list[Addition], list[str]]:
    """(additions, lines to take out); a reply that is not in the agreed form is an error, never an empty proposal."""
    if not any(note.strip() for note in notes):
        return [], []
    known = cut_to_tokens(memory_file, _MAX_INPUT // 2, counter)
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
            return _asked(model, question, memory_file)
        except ModelError as error:
            if not error.retryable:
                raise
            time.sleep(pause)
    return _asked(model, question, memory_file)


def _asked(model: ChatModel, question: Sequence[Message], memory_file: str) -> tuple[list[Addition], list[str]]:
    reply = model.complete(question, max_tokens=_REPLY_TOKENS, schema=CURATE_SCHEMA)
    data = parse_json_reply(reply, _READ_SCHEMA)
    additions = [addition for item in data["additions"] if (addition := _addition(item)) is not None]
    lines = {words_of(line): line.rstrip("\r") for line in memory_file.split("\n") if comparable(line)}
    asked = [line for line in data["removals"] if isinstance(line, str) and not line.lstrip().startswith("#")]
    removals = list(dict.fromkeys(lines[key] for line in asked if (key := words_of(line)) in lines))
    lost = len(data["additions"]) + len(data["removals"]) - len(additions) - len(removals)
    if lost and not additions and not removals:
        # Never an empty proposal in place of one that was not understood.
        raise ModelReplyError("no line of the model's proposal can be used", reason="wrong schema")
    if lost:
        _log.warning("%d lines of the model's proposal for MEMORY.md could not be used", lost)
    return additions, removals


def _addition(item: object) -> Addition | None:
    """An addition of the reply; `None` when it has no section or no text."""
    if not isinstance(item, Mapping):
        return None
    section, text = item.get("section"), item.get("text")
    if not isinstance(section, str) or not isinstance(text, str) or not section.strip() or not text.strip():
        return None
    return Addition(" ".join(section.lstrip("#").split()), " ".join(storable(text).split()))

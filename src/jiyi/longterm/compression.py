"""Several memories in few words, never more than asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jiyi.errors import InvalidInputError
from jiyi.longterm.structured_output import ask_json, wrong
from jiyi.longterm.untrusted import readable
from jiyi.model.entry import MemoryEntry
from jiyi.ports import ChatModel
from jiyi.prompts.longterm import COMPRESS_SCHEMA, compress_messages
from jiyi.text import sentences
from jiyi.text.extractive import summarize

_MAX_CHARACTERS_ASKED = 40_000


class _Characters:
    """Counts characters where tokens are counted otherwise."""

    name = "characters"

    def count(self, text: str) -> int:
        return len(text)


def contents_of(memories: object) -> list[str]:
    """The texts of memories: entries, mappings with `content`, or texts."""
    if isinstance(memories, str | bytes | Mapping | MemoryEntry) or not isinstance(memories, Iterable):
        raise InvalidInputError(f"memories must be a list of memories, not {type(memories).__name__}")
    return [text for memory in memories if (text := " ".join(readable(_content(memory)).split()))]


def _content(memory: object) -> str:
    content = memory.get("content") if isinstance(memory, Mapping) else getattr(memory, "content", memory)
    if not isinstance(content, str):
        raise InvalidInputError(f"a memory must have a text as content, not {type(content).__name__}")
    return content


def compress(model: ChatModel | None, memories: object, max_chars: int) -> str:
    """One summary in at most `max_chars` characters; empty only for no memories. A model that fails is an error."""
    texts = contents_of(memories)
    together = "\n".join(texts)
    if not texts or len(together) <= max_chars:
        return together
    if model is None:
        return compress_by_rules(texts, max_chars)

    def read(reply: Any) -> str:
        summary = reply.get("summary") if isinstance(reply, dict) else None
        if not isinstance(summary, str) or not readable(summary):
            raise wrong(model, "no summary")
        return fitted(readable(summary), max_chars)

    asked = _within(texts, _MAX_CHARACTERS_ASKED)
    return ask_json(model, compress_messages(asked, max_chars), COMPRESS_SCHEMA, read, max_tokens=2 * max_chars + 100)


def compress_by_rules(texts: list[str], max_chars: int) -> str:
    """The sentences that say most."""
    return fitted(summarize(texts, max_tokens=max_chars, counter=_Characters()) or "\n".join(texts), max_chars)


def fitted(text: str, max_chars: int) -> str:
    """A text in at most so many characters: whole sentences if one fits, else cut."""
    if len(text) <= max_chars:
        return text
    kept = ""
    for sentence in sentences(text):
        longer = f"{kept} {sentence}".strip() if kept.isascii() else f"{kept}{sentence}"
        if len(longer) > max_chars:
            break
        kept = longer
    return kept or (text[: max_chars - 1].rstrip() + "…" if max_chars > 1 else text[:max_chars])


def _within(texts: list[str], max_chars: int) -> list[str]:
    found: list[str] = []
    for text in texts:
        if sum(map(len, found)) + len(text) > max_chars:
            break
        found.append(text)
    return found or [texts[0][:max_chars]]

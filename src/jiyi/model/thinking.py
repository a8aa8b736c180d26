"""Reasoning that models write in tags, before or between what they say: it is no part of the answer."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["strip_thinking", "strip_thinking_blocks", "strip_thinking_reply"]

_TAG: Final = re.compile(
    r"<(?P<end>/?)(?:antml:)?(?:think|thinking|thoughts?|reasoning|reflection|scratchpad)(?:\s[^<>]{0,200})?>",
    re.IGNORECASE,
)


def strip_thinking(text: str) -> str:
    """A stored message of an assistant without its reasoning. A tag that is only mentioned further on stays."""
    kept, open_block = _without_blocks(text, lone_end=True)
    return kept + open_block if open_block is not None and kept.strip() else kept


def strip_thinking_reply(text: str) -> str:
    """A reply that has just come, without its reasoning; reasoning that was cut off has no answer behind it."""
    return _without_blocks(text, lone_end=True)[0]


def strip_thinking_blocks(text: str) -> str:
    """A text without its closed blocks of reasoning; everything else stays."""
    kept, open_block = _without_blocks(text, lone_end=False)
    return kept + (open_block or "")


def _without_blocks(text: str, *, lone_end: bool) -> tuple[str, str | None]:
    """The text without closed blocks, up to a block that is never closed; and that block, if there is one.

    With `lone_end` a closing tag without an opening one ends a block that began with the text: some servers take
    the opening tag as part of the prompt.
    """
    if "<" not in text:
        return text, None
    kept: list[str] = []
    done, begin, first = 0, None, True
    for tag in _TAG.finditer(text):
        if not tag["end"]:
            begin = tag.start() if begin is None else begin
        elif begin is not None:
            kept.append(text[done:begin])
            done, begin = tag.end(), None
        elif first and lone_end:
            done = tag.end()
        first = False
    if begin is None:
        return " ".join([*kept, text[done:]]), None
    return " ".join([*kept, text[done:begin]]), text[begin:]

"""Code in messages: blocks of it are pasted, inline code is a word of the sentence that it stands in.

A block is what stands between fences of three or more backticks or tildes on several lines, up to the end of the text
where the closing fence is missing. Inline code stands between backticks within one line.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["in_code", "inline_code", "only_code", "without_code_blocks"]

_BLOCK: Final = re.compile(
    r"(?P<ticks>`{3,})[^`\n]*\n.*?(?:(?P=ticks)`*|\Z)|^ {0,3}(?P<tildes>~{3,})[^\n]*\n.*?(?:^ {0,3}(?P=tildes)~*|\Z)",
    re.DOTALL | re.MULTILINE,
)
_INLINE: Final = re.compile(r"(?<!`)(?P<ticks>`{1,3})(?!`)[^\n]+?(?<!`)(?P=ticks)(?!`)")
_WORD: Final = re.compile(r"\w")


def without_code_blocks(text: str) -> str:
    """The text without blocks of code; inline code stays."""
    return _BLOCK.sub(" ", text) if "```" in text or "~~~" in text else text


def inline_code(text: str) -> list[tuple[int, int]]:
    """The ranges of inline code with its backticks."""
    return [match.span() for match in _INLINE.finditer(text)] if "`" in text else []


def in_code(spans: list[tuple[int, int]], place: int) -> bool:
    """Whether a place lies inside of one of the ranges: no sentence and no clause ends there."""
    return any(start < place < end for start, end in spans)


def only_code(text: str) -> bool:
    """Whether a text has no words besides inline code."""
    return "`" in text and _WORD.search(_INLINE.sub(" ", text)) is None

"""Text that every database can store, and that shows what it is."""

from __future__ import annotations

import re
from typing import Final

INVISIBLE: Final = (
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""A pattern: controls, line and paragraph separators, characters without width, those that reorder a line, and lone
surrogates."""
LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""Half of a pair: a character that has no form in UTF-8."""


def storable(text: str) -> str:
    """The text with NUL characters replaced by spaces and lone surrogates by `?`: no database takes them as text."""
    if "\x00" in text:
        text = text.replace("\x00", " ")
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def is_storable(text: str) -> bool:
    """Whether every database takes it as text."""
    return not not_storable(text)


def not_storable(text: str) -> str:
    """Why no database takes a text, and what to do about it; empty if all do."""
    if "\x00" in text:
        return f"contains a NUL character at {text.index(chr(0))}; remove it"
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            surrogate = f"the lone surrogate U+{ord(text[error.start]):04X} at {error.start}"
            return f"contains {surrogate}; decode the text with errors='replace' first"
    return ""

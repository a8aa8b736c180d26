"""Makes text safe to show: no control character of a memory reaches the terminal."""

from __future__ import annotations

import re
import unicodedata

# Controls except tab and line feed, and the characters that reorder a line.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """The text with each unsafe character replaced by a visible symbol."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_picture, text).replace("\t", " ")


def safe_json(document: str) -> str:
    """JSON leaves controls above ASCII as they are; a terminal would execute them."""
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", document)


def one_line(text: str) -> str:
    """For messages that must stay one line."""
    return " ".join(visible(text).split())


def cells(text: str) -> int:
    """How many terminal cells a line takes: East Asian wide characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if unicodedata.east_asian_width(character) in "WF":
        return 2
    return 0 if unicodedata.category(character) in {"Mn", "Me", "Cf"} else 1


def _picture(match: re.Match[str]) -> str:
    number = ord(match[0])
    if number < 0x20:
        return chr(0x2400 + number)
    return "␡" if number == 0x7F else "�"

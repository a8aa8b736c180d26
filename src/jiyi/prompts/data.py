"""Text in prompts that is not ours: shown as data that cannot pass for the words around it."""

from __future__ import annotations

import re
from typing import Final

from jiyi.model.storable import INVISIBLE

_INVISIBLE: Final = re.compile(f"{INVISIBLE}+")
_BRACKETS: Final = str.maketrans(
    {"[": "(", "]": ")", "<": "(", ">": ")", "【": "(", "】": ")", ":": " ", "：": " ", "·": " "}
)
_MAX_LABEL: Final = 60


def visible(text: str) -> str:
    """The text on one line, without characters that cannot be seen."""
    return " ".join(_INVISIBLE.sub(" ", text).split())


def label(text: str) -> str:
    """A name, a role or a level of trust inside a label of ours: short, on one line, without the signs of labels."""
    plain = visible(text.translate(_BRACKETS))
    return plain if len(plain) <= _MAX_LABEL else f"{plain[: _MAX_LABEL - 1]}…"


def quoted_lines(text: str) -> str:
    """The text as quoted lines: no text can end its own quotation."""
    return "\n".join(f"> {line}" for line in text.splitlines())

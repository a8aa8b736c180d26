"""The questions in a message that asks for several things: "How old is my son and where do I live?"."""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.patterns import has_han
from jiyi.text.questions import is_question

MAX_PARTS: Final = 3
_MAX_CHARACTERS: Final = 300
_MARKS: Final = re.compile(r"(?<=[?？])\s*")
# A second question inside of a sentence begins with its own question word, or is a clause of its own in Chinese.
_NEXT_EN: Final = re.compile(
    r",? +(?:and|or)(?: also)? +(?=(?:what|which|who|whose|where|when|why|how|do|does|did|am|is|are|was|were|can|could"
    r"|should|will|have|has)\b)",
    re.IGNORECASE,
)
_NEXT_ZH: Final = re.compile(r"[，,；;]\s*(?:还有|另外|以及|而且)?[，,]?\s*|(?:还有|以及)")
_FIRST_EN: Final = re.compile(
    r"(?:and |but |so |also |hi,? |hey,? )*(?:what|which|who|whose|where|when|why|how|do|does|did|am|is|are|was|were"
    r"|can|could|should|will|have|has)\b",
    re.IGNORECASE,
)
_MIN_WORDS: Final = 3
_MIN_HAN: Final = 3


def question_parts(text: str) -> list[str]:
    """The questions of a message with at least two, in their order, at most three; none otherwise."""
    if len(text) > _MAX_CHARACTERS:
        return []
    found: list[str] = []
    for sentence in _MARKS.split(text.strip()):
        pieces = [piece.strip() for piece in (_NEXT_ZH if has_han(sentence) else _NEXT_EN).split(sentence)]
        found += pieces if len(pieces) > 1 and all(map(_asks, pieces)) else [sentence]
    asked = [each for each in found if _asks(each)]
    return asked[:MAX_PARTS] if len(asked) > 1 else []


def _asks(piece: str) -> bool:
    """Whether a piece is a question that can be asked alone: not "and how?"."""
    if has_han(piece):
        return len(piece.strip("?？ ")) >= _MIN_HAN and is_question(piece)
    return len(piece.split()) >= _MIN_WORDS and (_FIRST_EN.match(piece) is not None or piece.endswith("?"))

"""Statements in a message that asks: what was told before the question in the same sentence."""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.patterns import has_han
from jiyi.text.statements.about.phrases_en import predicate_en
from jiyi.text.statements.replacing.change_words import (
    changes,
    ends,
    ends_life,
    hints_at_change,
    is_strong_change,
    is_wish,
)

__all__ = ["question_breaks", "tells_before_asking"]

# "I'm on warfarin and can I eat kale": a question begins without a comma.
_QUESTION_BEGINS: Final = re.compile(
    r"(?<=[\w)'’]) +(?=(?:so|and|but) (?:(?:what|which|how|where|why)\b"
    r"|(?:can|could|should|do|does|did|is|are|am|will|would|may) (?:i|we|it|there|that|this|you|he|she|they)\b))",
    re.IGNORECASE,
)
# "I've a nut allergy so is satay off the menu?", and not "so is my brother".
_SO_IS: Final = re.compile(
    r"(?<=[\w)'’])(?<!\band)(?<!\bbut) +(?=so (?:is|are) (?!my\b|our\b|his\b|her\b|i\b)[a-z]+ [a-z]+)", re.IGNORECASE
)
# Nothing is told by a condition, by a general case, or by how somebody begins to ask.
_NO_STATEMENT_EN: Final = re.compile(
    r"^(?:and |but |so |ok |also )*(?:if|when|whenever|whether|unless|for|in|at|to|by|about|regarding|people|someone"
    r"|somebody|everyone|everybody|nobody|they say|please|let|let's|imagine|suppose|say|assuming|sorry|thanks|hi"
    r"|hello|hey|quick|random|serious|silly|just|apparently|i (?:was )?wonder\w*|i want to know|i need to know"
    r"|you|your|this|that|it|these|those|there|once)\b"
)
_NO_STATEMENT_ZH: Final = re.compile(
    r"想|打算|准备|考虑|^(?:如果|假如|要是|万一|假设|听说|据说|人家|有人|别人|大家|请问|你|您|那|这(?!学期|学年|个?[月周季]|星期|礼拜|[两几]|阵|年|边)|它)"
)
_FIRST_PERSON_EN: Final = re.compile(r"\b(?:i|me|my|us|our|we)\b")
_FIRST_PERSON_DOES: Final = re.compile(r"^(?:and |but |so |ok |also |well,? )*(?:i|we)(?:'ve|'d| have| had)? [a-z]+")


def question_breaks(sentence: str) -> list[int]:
    """Where a question begins inside of a sentence without a sign before it."""
    return [match.end() for pattern in (_QUESTION_BEGINS, _SO_IS) for match in pattern.finditer(sentence)]


def tells_before_asking(folded: str) -> bool:
    """Whether a clause before a question tells that something has changed, or what the speaker has done.

    "Dad's moved back to Leeds, what's on there?", "Olives have grown on me, what goes with them?".
    """
    if has_han(folded):
        told, of_speaker = not _NO_STATEMENT_ZH.search(folded), False
    else:
        told = not _NO_STATEMENT_EN.search(folded)
        of_speaker = _FIRST_PERSON_EN.search(folded) is not None and bool(predicate_en(folded))
    change = any(says(folded) for says in (changes, ends, ends_life, is_strong_change, hints_at_change))
    does = _FIRST_PERSON_DOES.match(folded) is not None
    return told and not is_wish(folded) and (change or does or of_speaker)

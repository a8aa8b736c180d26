"""The clauses of a sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from jiyi.text.code_spans import in_code, inline_code
from jiyi.text.sentences import sentences

__all__ = ["FINITE_EN", "clauses_of", "split_clauses"]

FINITE_EN: Final = re.compile(
    r"\b(?:am|is|are|was|were|be|been|'m|'re|'s|have|has|had|'ve|do|does|did|don'?t|can|can'?t|will|won'?t"
    r"|work\w*|live\w*|play\w*|use\w*|eat\w*|drink\w*|love\w*|hate\w*|like\w*|prefer\w*|go|goes|going"
    r"|got|get\w*|run\w*|keep\w*|want\w*|need\w*|stud\w+|teach\w*|learn\w*|move\w*|left|quit|start\w*|stop\w*"
    r"|doing|working|living|saving|flying|listen\w*|own\w*|wear\w*|take\w*|took|said|says|told|turn\w*)\b"
)
"""Common verbs, in folded text."""
_BREAK: Final = re.compile(
    r"[，；;]\s*|,\s+(?=\S)|(?<=[^\x00-\x7f]),(?=\S)|(?<=\S),(?=[^\x00-\x7f])|\.{3,}|…+|\s+-\s+"
    r"|(?<=[^\W\d])\s+(?=(?:and|but|plus) (?:i|i'm|im|i've|ive|my|we|she"
    r"|he|our|his|her)\b)",
    re.IGNORECASE,
)
# "for me and my two kids, …": the second of two people, and no clause.
_ONLY_SOMEBODY: Final = re.compile(
    r"(?:and|but|plus) (?:my|our|his|her) (?:[\w'-]+ ){0,2}?(?:kids?|child(?:ren)?|sons?|daughters?|twins|baby"
    r"|wife|husband"
    r"|partner|girlfriend|boyfriend|fianc[eé]e?|mum|mom|dad|mother|father|parents|sisters?|brothers?|friends?"
    r"|family|boss"
    r"|colleagues?|flatmates?|roommates?|gran(?:dma|dpa)?|grandparents|grandchildren|dogs?|cats?)\s*(?:[,;.!?]|$)",
    re.IGNORECASE,
)
_OPENING: Final = re.compile(r"(?:^|[\s(:,])['‘](?=\w)")
_CLOSING: Final = re.compile(r"(?<=[\w.,!?])['’](?=$|[\s.,!?)])")
_MIN_CLAUSE: Final = 2
_AROUND: Final = " ,，；;、。.!！?？…-"


def split_clauses(sentence: str, also: Sequence[int] = ()) -> list[str]:
    """The clauses of a sentence with the signs that follow them; some may begin at places that are told."""
    found = (match.end() for match in _BREAK.finditer(sentence))
    breaks = {place for place in found if not _ONLY_SOMEBODY.match(sentence, place)} | set(also)
    code = inline_code(sentence)
    starts = [
        0,
        *(place for place in sorted(breaks) if not _in_quotation(sentence, place - 1) and not in_code(code, place)),
    ]
    pieces = [sentence[a:b] for a, b in zip(starts, [*starts[1:], len(sentence)], strict=True)]
    return [piece for piece in pieces if len(piece.strip(" ,，；;。.")) >= _MIN_CLAUSE]


def clauses_of(text: str) -> list[str]:
    """All clauses of a text, without the signs around them."""
    found = [clause.strip(_AROUND) for sentence in sentences(text) or [text] for clause in split_clauses(sentence)]
    return [clause for clause in found if clause]


def _in_quotation(sentence: str, place: int) -> bool:
    before = sentence[:place]
    return (
        before.count("“") > before.count("”")
        or before.count("「") > before.count("」")
        or before.count('"') % 2 == 1
        or len(_OPENING.findall(before)) > len(_CLOSING.findall(before))
    )

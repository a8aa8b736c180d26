"""Clauses that say something else without the one before: the consequence of a condition, the hotel of a journey."""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold

__all__ = ["MOVES", "TRIP", "is_bound"]

_CONDITION: Final = re.compile(
    r"^(?:但|不过|那|而且|but |and |so )?(?:如果|要是|假如|假若|倘若|万一|只要|除非)|^(?:but |and |so )?(?:if|unless) "
)
_ONLY_IF: Final = re.compile(r"^(?:只要|除非|如果|要是|if|unless|as long as|provided)\b|^(?:只要|除非|如果|要是)")
# "Since I was ten, I've played the violin": when or why, the next clause tells of what.
_REASON: Final = re.compile(
    r"^(?:and |but |so )?(?:since|because|as|given that|now that) (?:i|i'm|i've|i'd|my|we|we're|we've|our)\b"
    r"|^(?:因为|由于|既然)"
)
TRIP: Final = re.compile(
    r"出差|旅[游行]|度假|自驾|团建|去.{1,10}(?:玩|开会|培训|参加|考察|旅|几天|[两三四五]天|一周)|飞.{1,6}(?:开会|出差)"
    r"|\b(?:business trip|conference|trip|on holiday|on vacation|travel(?:l?ing)?|weekend (?:away|break)|fly(?:ing)? to"
    r"|workshop|offsite)\b"
)
"""Words that tell of a journey."""
MOVES: Final = re.compile(r"搬|定居|长住|以后就|\b(?:moved?|moving|relocat\w*|for good|permanently)\b")
"""Words that tell of another home."""
_STAYS: Final = re.compile(r"^(?:我们?)?(?:就|会|打算)?住(?!院)|^(?:we're |i'm |we'll |i'll )?(?:be )?stay(?:ing)?\b")


def is_bound(before: str, clause: str) -> bool:
    """Whether a clause must stay with the one before it."""
    first, second = fold(before).strip(), fold(clause).strip()
    if _REASON.search(first) or _CONDITION.search(first) or _ONLY_IF.search(second):
        return True
    return TRIP.search(first) is not None and MOVES.search(first) is None and _STAYS.search(second) is not None

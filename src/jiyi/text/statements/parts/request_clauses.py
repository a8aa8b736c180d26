"""Clauses that only ask for something, and words of reason, beside what somebody tells in the same sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import has_han
from jiyi.text.statements.about.subjects import relations_in

__all__ = ["without_mere_requests", "without_reason_word"]

_AROUND: Final = " ,，；;、"
_REQUEST: Final = re.compile(
    r"^(?:(?:please|pls|hey|hi|ok|can you|could you|would you|help me(?: to)?),? )*(?:recommend|suggest|find"
    r"|look up|look for"
    r"|search for|plan|book|write|draft|compose|translate|summari[sz]e|generate)\b"
    r"|^(?:请|麻烦|拜托|你|能不能|可以)*(?:帮|给|替|为)(?:我|咱)[^，。；]{0,12}?(?:推荐|找|查|订|预订|规划|设计"
    r"|想|写|起|选|挑|搜)"
    r"|^(?:请|麻烦)?(?:推荐|介绍)(?:一|几|个|点|些|下)"
)
# What holds from now on is told, not asked for.
_STANDING: Final = re.compile(
    r"\b(?:always|never|from now on|every|only|answers?|replies|reminders?)\b|以后|每次|一律|永远|只要"
)
_REASON: Final = re.compile(
    r"^(?:(?:and|but|so|ok|well),? )*(?:since|because|cos|as|given(?: that)?|seeing (?:that|as)"
    r"|considering(?: that)?|now that)"
    r" (?=(?:i|i'm|im|i've|ive|i'd|my|we|we're|we've|our)\b)"
    r"|^(?:因为|由于|既然|鉴于|考虑到)(?=我|咱|俺)",
    re.IGNORECASE,
)


def without_reason_word(clause: str) -> str:
    """A clause whose question was left out, without the word that joined them: "Since I'm left-handed, …"."""
    return _REASON.sub("", clause.strip()) or clause


def without_mere_requests(parts: Sequence[str]) -> list[str]:
    """The parts of a sentence without a request before them.

    A request that names people stays with what is told of them: "a hotel for me and my two kids, we're vegan".
    """
    if len(parts) < 2 or not _is_request(parts[0]):
        return list(parts)
    first, second, *others = parts
    if not relations_in(fold(first)):
        return [second, *others]
    return [f"{first.strip(_AROUND)}{'，' if has_han(first) else ', '}{second}", *others]


def _is_request(clause: str) -> bool:
    folded = fold(clause).strip()
    return _REQUEST.search(folded) is not None and _STANDING.search(folded) is None

"""The profile of a user for a prompt: the current facts that an answer has to respect whatever is asked. Pure.

"Plan a dinner, mind our diets" shares no word with "I'm coeliac": what always counts is not found by relevance. The
order does not depend on the question, so that servers which cache prompts find the same text again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, tzinfo
from typing import Final

from jiyi.longterm.conflicts import OpenConflicts
from jiyi.longterm.context import fenced, fitted_line
from jiyi.model.claim import USER
from jiyi.model.entry import MemoryEntry
from jiyi.ports import TokenCounter
from jiyi.prompts.agent import PROFILE_HEADING, Language
from jiyi.text.fact_kinds import HEALTH, IDENTITY, INSTRUCTION, PREFERENCE, fact_kind, is_request

MAX_FACTS: Final = 300
"""How many are read, the pinned and the most important first."""
_MAX_LINE: Final = 80
_ALWAYS: Final = (HEALTH, IDENTITY)
_STANDING: Final = (INSTRUCTION, PREFERENCE)
_SCHEDULE: Final = "tasks_and_schedules"


def in_order(facts: Iterable[MemoryEntry]) -> list[MemoryEntry]:
    """The facts that state something, in the order in which a profile is filled.

    Pinned, health and identity; instructions and preferences; other facts; appointments. Inside of each those about
    the user first, then the more important and the newer.
    """
    return sorted((fact for fact in facts if fact.pinned or not is_request(fact.content)), key=_place)


def _place(fact: MemoryEntry) -> tuple[float | str, ...]:
    claim = fact.source.claim
    kind = fact_kind(fact.content, "" if claim is None else claim.attribute)
    about_others = claim is not None and claim.subject != USER
    if fact.pinned:
        part = 0
    elif kind in _ALWAYS:
        part = 1 + _ALWAYS.index(kind)
    elif kind in _STANDING:
        part = 3 + _STANDING.index(kind)
    else:
        part = 6 if fact.domain == _SCHEDULE else 5
    return (part, about_others, -round(fact.importance_score, 1), -_seconds(fact.created_at), fact.id)


def _seconds(moment: datetime) -> float:
    return moment.timestamp()


def build_profile(
    facts: Sequence[MemoryEntry],
    language: Language,
    *,
    scope: str,
    budget: int,
    counter: TokenCounter,
    zone: tzinfo,
    said: Callable[[MemoryEntry], bool],
    conflicts: OpenConflicts,
) -> tuple[str, list[MemoryEntry]]:
    """The block in at most `budget` tokens, and the facts in it; those of which `said` is true are left out.

    A fact that does not fit is left out, and shorter ones after it may still be in. A fact that a newer one may
    contradict is marked, also when the newer one stands elsewhere, and stands after it otherwise.
    """
    lines: list[str] = []
    shown: list[MemoryEntry] = []
    left = budget - counter.count(fenced(PROFILE_HEADING[language], [""]))
    for fact in conflicts.newer_first(in_order(facts)):
        if left <= 0:
            break
        if said(fact):
            continue
        line = fitted_line(fact, language, zone, scope, counter, _MAX_LINE, outdated=fact.id in conflicts)
        # The end of the line is a token of its own at most.
        cost = counter.count(line) + 1
        if cost <= left:
            lines.append(line)
            shown.append(fact)
            left -= cost
    while lines and counter.count(fenced(PROFILE_HEADING[language], lines)) > budget:
        lines.pop()
        shown.pop()
    return (fenced(PROFILE_HEADING[language], lines), shown) if lines else ("", [])

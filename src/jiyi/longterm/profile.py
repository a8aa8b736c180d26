"""The profile of a user for a prompt: the current facts that an answer has to respect whatever is asked. Pure.

"Plan a dinner, mind our diets" shares no word with "I'm coeliac": what always counts is not found by relevance. The
order does not depend on the question, so that servers which cache prompts find the same text again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Final

from jiyi.longterm.conflicts import OpenConflicts
from jiyi.longterm.context import fenced, fitted_line
from jiyi.model.claim import USER
from jiyi.model.entry import MemoryEntry
from jiyi.ports import TokenCounter
from jiyi.prompts.agent import PROFILE_HEADING, Language
from jiyi.text.fact_kinds import (
    HEALTH,
    IDENTITY,
    INSTRUCTION,
    PREFERENCE,
    begins_with_another_person,
    fact_kind,
    is_request,
)

MAX_FACTS: Final = 300
"""How many are read, the pinned and the most important first."""
_MAX_LINE: Final = 80
_SCHEDULE: Final = "tasks_and_schedules"
_SHARE: Final = 3
"""Each of the user's own health, their identity and standing instructions gets a third at first, other people a third
at most."""
_OF_OTHERS: Final = "other people"


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of facts in a profile."""

    place: int
    share: str = ""
    """The facts with the same word have one share; without one they take what is left."""


_PINNED: Final = _Kind(0)
_OWN: Final = {HEALTH: _Kind(1, HEALTH), IDENTITY: _Kind(2, IDENTITY), PREFERENCE: _Kind(5)}
_STANDING: Final = _Kind(3, INSTRUCTION)
_OTHERS: Final = {HEALTH: _Kind(4, _OF_OTHERS), IDENTITY: _Kind(6, _OF_OTHERS), PREFERENCE: _Kind(7, _OF_OTHERS)}
_REST: Final = _Kind(8)
_REST_OF_OTHERS: Final = _Kind(9, _OF_OTHERS)
_APPOINTMENT: Final = _Kind(10)


def in_order(facts: Iterable[MemoryEntry]) -> list[MemoryEntry]:
    """The facts that state something, in the order in which a profile is filled.

    Pinned; the user's own health, then identity; standing instructions; other people's health; the user's preferences;
    other people's identity and preferences; other facts; appointments. Inside of each the more important and the newer
    first.
    """
    return sorted((fact for fact in facts if fact.pinned or not is_request(fact.content)), key=_place)


def _place(fact: MemoryEntry) -> tuple[float | str, ...]:
    return (_kind(fact).place, -round(fact.importance_score, 1), -_seconds(fact.created_at), fact.id)


def _kind(fact: MemoryEntry) -> _Kind:
    claim = fact.source.claim
    kind = fact_kind(fact.content, "" if claim is None else claim.attribute)
    if fact.pinned:
        return _PINNED
    if kind == INSTRUCTION:
        return _STANDING
    about_others = (claim is not None and claim.subject != USER) or begins_with_another_person(fact.content)
    known = (_OTHERS if about_others else _OWN).get(kind)
    if known is not None:
        return known
    if fact.domain == _SCHEDULE:
        return _APPOINTMENT
    return _REST_OF_OTHERS if about_others else _REST


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

    What is above the share of its kind comes after everything else, and what is above the share of other people not at
    all. A fact that does not fit is left out, and shorter ones after it may still be in. A fact that a newer one may
    contradict is marked, also when the newer one stands elsewhere, and stands after it otherwise.
    """
    left = budget - counter.count(fenced(PROFILE_HEADING[language], [""]))
    whole_share = left // _SHARE
    shares = dict.fromkeys((HEALTH, IDENTITY, INSTRUCTION, _OF_OTHERS), whole_share)
    lines: list[str] = []
    shown: list[MemoryEntry] = []
    postponed: list[tuple[MemoryEntry, str, int]] = []

    def add(fact: MemoryEntry, line: str, cost: int) -> None:
        nonlocal left
        if cost <= left:
            lines.append(line)
            shown.append(fact)
            left -= cost

    for fact in conflicts.newer_first(in_order(facts)):
        if left <= 0:
            break
        if said(fact):
            continue
        line = fitted_line(fact, language, zone, scope, counter, _MAX_LINE, outdated=fact.id in conflicts)
        # The end of the line is a token of its own at most.
        cost = counter.count(line) + 1
        share = _kind(fact).share
        if share and cost > shares[share] and shares[share] < whole_share:
            # The first of each kind may be longer than its share.
            if share != _OF_OTHERS:
                postponed.append((fact, line, cost))
            continue
        if share:
            shares[share] -= cost
        add(fact, line, cost)
    for each in postponed:
        add(*each)
    while lines and counter.count(fenced(PROFILE_HEADING[language], lines)) > budget:
        lines.pop()
        shown.pop()
    return (fenced(PROFILE_HEADING[language], lines), shown) if lines else ("", [])

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
from jiyi.prompts.agent import PROFILE_HEADING
from jiyi.text.language import Language
from jiyi.text.statements.fact_kinds import (
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
_OF_OTHERS: Final = "other people"
_SHARES: Final = {HEALTH: 4, IDENTITY: 4, INSTRUCTION: 4, _OF_OTHERS: 3}
"""Which part of the profile: a quarter is kept for each of the user's own health, their identity and standing
instructions, and other people have a third at most."""
_RESERVED: Final = (HEALTH, IDENTITY, INSTRUCTION)


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

    The user's own health, their identity and standing instructions have their shares whatever else there is. A fact
    that does not fit is left out, and shorter ones after it may still be in. A fact that a newer one may contradict is
    marked, and stands after it.
    """
    heading = PROFILE_HEADING[language]
    selection = _Selection(
        budget - counter.count(fenced(heading, [""])),
        lambda fact: fitted_line(fact, language, zone, scope, counter, _MAX_LINE, outdated=fact.id in conflicts),
        counter,
        lambda fact: [newer for newer in conflicts.newer_than(fact) if not said(newer)],
    )
    ordered = [fact for fact in in_order(facts) if not said(fact)]
    selection.fill([fact for fact in ordered if _kind(fact) is _PINNED or _kind(fact).share in _RESERVED])
    selection.fill(ordered)
    selection.fill(ordered, above_shares=True)
    shown = conflicts.newer_first(fact for fact in ordered if fact.id in selection.lines)
    shown = [fact for fact in shown if fact.id in selection.lines]
    lines = [selection.lines[fact.id] for fact in shown]
    while lines and counter.count(fenced(heading, lines)) > budget:
        lines.pop()
        shown.pop()
    return (fenced(heading, lines), shown) if lines else ("", [])


class _Selection:
    """The facts that go into a profile, with their lines, inside its tokens."""

    def __init__(
        self,
        room: int,
        line: Callable[[MemoryEntry], str],
        counter: TokenCounter,
        newer: Callable[[MemoryEntry], Sequence[MemoryEntry]],
    ) -> None:
        self.lines: dict[str, str] = {}
        self._left = room
        self._shares = {name: room // part for name, part in _SHARES.items()}
        self._whole = dict(self._shares)
        self._line = line
        self._counter = counter
        self._newer = newer

    def fill(self, facts: Iterable[MemoryEntry], *, above_shares: bool = False) -> None:
        """Take what fits, in this order; with `above_shares` also what is above the share of its kind."""
        for fact in facts:
            if self._left <= 0:
                return
            if fact.id not in self.lines:
                self._take(fact, above_shares=above_shares)

    def _take(self, fact: MemoryEntry, *, above_shares: bool) -> None:
        lines = {each.id: self._line(each) for each in (*self._newer(fact), fact)}
        lines = {each: line for each, line in lines.items() if each not in self.lines}
        # The end of a line is a token of its own at most.
        cost = sum(self._counter.count(line) + 1 for line in lines.values())
        share = _kind(fact).share
        # The first of each kind may be longer than its share.
        above = bool(share) and cost > self._shares[share] and self._shares[share] < self._whole[share]
        if above and (share == _OF_OTHERS or not above_shares):
            return
        if cost <= self._left:
            self.lines |= lines
            self._left -= cost
            if share:
                self._shares[share] -= cost

"""The profile of a user for a prompt: the current facts that an answer has to respect whatever is asked. Pure.

"Plan a dinner, mind our diets" shares no word with "I'm coeliac": what always counts is not found by relevance. The
order of these does not depend on the question, so that servers which cache prompts find the same text again; what is
left goes to the facts nearest to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import partial
from typing import Final

from jiyi.longterm.conflicts import OpenConflicts
from jiyi.longterm.context import fenced, fitted_line
from jiyi.model.claim import USER
from jiyi.model.entry import MemoryEntry
from jiyi.ports import TokenCounter
from jiyi.prompts.agent import PROFILE_HEADING
from jiyi.text.language import Language
from jiyi.text.statements.keeping.fact_kinds import (
    HEALTH,
    IDENTITY,
    INSTRUCTION,
    PREFERENCE,
    begins_with_another_person,
    fact_kind,
    is_about_answers,
    is_request,
    states_own_name,
)
from jiyi.text.statements.keeping.upcoming import is_over

MAX_FACTS: Final = 300
"""How many are read, the pinned and the most important first."""
_MAX_LINE: Final = 80
_SCHEDULE: Final = "tasks_and_schedules"
_OF_OTHERS: Final = "other people"
_ALWAYS: Final = "always"
_SHARES: Final = {_ALWAYS: 2, HEALTH: 4, IDENTITY: 4, INSTRUCTION: 4, _OF_OTHERS: 3}
"""Which part of the profile: up to a half is kept for how the assistant is to answer and what the user is called; a
quarter for each of the user's own health, their identity and other standing instructions; other people have a third
at most."""
_RESERVED: Final = (_ALWAYS, HEALTH, IDENTITY, INSTRUCTION)


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of facts in a profile."""

    place: int
    share: str = ""
    """The facts with the same word have one share; without one they take what is left."""


_PINNED: Final = _Kind(0)
_ANSWERING: Final = _Kind(1, _ALWAYS)
_NAME: Final = _Kind(2, _ALWAYS)
_OWN: Final = {HEALTH: _Kind(3, HEALTH), IDENTITY: _Kind(4, IDENTITY), PREFERENCE: _Kind(7)}
_STANDING: Final = _Kind(5, INSTRUCTION)
_OTHERS: Final = {HEALTH: _Kind(6, _OF_OTHERS), IDENTITY: _Kind(8, _OF_OTHERS), PREFERENCE: _Kind(9, _OF_OTHERS)}
_REST: Final = _Kind(11)
_REST_OF_OTHERS: Final = _Kind(12, _OF_OTHERS)
_APPOINTMENT: Final = _Kind(13)
_OVER: Final = _Kind(14)
_REMAINING: Final = (_REST, _REST_OF_OTHERS, _APPOINTMENT)
_MAX_NEAR: Final = 10_000
_ASKED_FOR: Final = 10
"""What is over is shown with the rest only where it is among so many that are nearest to the question."""


def in_order(
    facts: Iterable[MemoryEntry],
    nearness: Callable[[MemoryEntry], int | None] = lambda _: None,
    now: datetime | None = None,
) -> list[MemoryEntry]:
    """The facts that state something, in the order in which a profile is filled.

    Pinned; how the assistant is to answer; what the user is called; the user's own health, then identity; other
    standing instructions; other people's health; the user's preferences; other people's identity and preferences; other
    facts; appointments; what was to come on a day that has passed. Inside of each the more important and the newer
    first; of other facts and appointments those with the smallest `nearness`, their place among what is found for the
    question, come before all.
    """

    def place(fact: MemoryEntry) -> tuple[float | str, ...]:
        kind = _kind(fact, now)
        near = nearness(fact) if kind in _REMAINING or kind is _OVER else None
        reach = _ASKED_FOR if kind is _OVER else _MAX_NEAR
        by_question = (_REST.place - 1 + near / _MAX_NEAR,) if near is not None and near < reach else (kind.place,)
        return (*by_question, -round(fact.importance_score, 1), -fact.created_at.timestamp(), fact.id)

    return sorted((fact for fact in facts if fact.pinned or not is_request(fact.content)), key=place)


def _kind(fact: MemoryEntry, now: datetime | None) -> _Kind:
    if fact.pinned:
        return _PINNED
    claim = fact.source.claim
    attribute = "" if claim is None else claim.attribute
    kind = fact_kind(fact.content, attribute)
    if kind == INSTRUCTION or is_about_answers(fact.content, attribute):
        return _ANSWERING if is_about_answers(fact.content, attribute) else _STANDING
    about_others = (claim is not None and claim.subject != USER) or begins_with_another_person(fact.content)
    if kind == IDENTITY and not about_others and states_own_name(fact.content):
        return _NAME
    rest = _APPOINTMENT if fact.domain == _SCHEDULE else _REST_OF_OTHERS if about_others else _REST
    found = (_OTHERS if about_others else _OWN).get(kind, rest)
    over = now is not None and found in _REMAINING and is_over(fact.content, fact.event_time, now.date())
    return _OVER if over else found


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
    nearness: Callable[[MemoryEntry], int | None] = lambda _: None,
    now: datetime | None = None,
) -> tuple[str, list[MemoryEntry]]:
    """The block in at most `budget` tokens, and the facts in it; those of which `said` is true are left out.

    How to answer, what the user is called, their own health and identity and standing instructions have their shares
    whatever else there is; the first two come above their share before anything else does. A fact
    that does not fit is left out, and shorter ones after it may still be in. A fact that a newer one may contradict is
    marked, and stands after it.
    """
    heading = PROFILE_HEADING[language]
    kind = partial(_kind, now=now)
    selection = _Selection(
        budget - counter.count(fenced(heading, [""])),
        lambda fact: fitted_line(fact, language, zone, scope, counter, _MAX_LINE, outdated=fact.id in conflicts),
        counter,
        lambda fact: [newer for newer in conflicts.newer_than(fact) if not said(newer)],
        lambda fact: kind(fact).share,
    )
    ordered = [fact for fact in in_order(facts, nearness, now) if not said(fact)]
    reserved = [fact for fact in ordered if kind(fact) is _PINNED or kind(fact).share in _RESERVED]
    selection.fill(reserved)
    selection.fill([fact for fact in reserved if kind(fact).share == _ALWAYS], above_shares=True)
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
        share: Callable[[MemoryEntry], str],
    ) -> None:
        self.lines: dict[str, str] = {}
        self._left = room
        self._shares = {name: room // part for name, part in _SHARES.items()}
        self._whole = dict(self._shares)
        self._line = line
        self._counter = counter
        self._newer = newer
        self._share = share

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
        share = self._share(fact)
        # The first fact of each kind is taken even if it is longer than the share.
        above = bool(share) and cost > self._shares[share] and self._shares[share] < self._whole[share]
        if above and (share == _OF_OTHERS or not above_shares):
            return
        if cost <= self._left:
            self.lines |= lines
            self._left -= cost
            if share:
                self._shares[share] -= cost

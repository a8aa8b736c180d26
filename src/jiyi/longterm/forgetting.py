"""Forgetting by the curve: in small steps, with a dry run, and never for good."""

from __future__ import annotations

import heapq
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from jiyi.longterm.dependencies import LongtermDeps
from jiyi.longterm.superseding import linked, superseded_by
from jiyi.model import clock
from jiyi.model.entry import FACT_TYPE, MemoryEntry
from jiyi.model.forgetting_curve import EbbinghausForgetting, exempt_kind
from jiyi.model.rest_of_fact import is_rest_of
from jiyi.ports import Amendment, ForgettingCandidate
from jiyi.text.statements.keeping.upcoming import is_upcoming

PAGE: Final = 1_000
MAX_LISTED: Final = 1_000
ACTOR: Final = "forgetting"
UPCOMING: Final = "upcoming"
_FIRST_BATCH: Final = 50
_MAX_IN_BATCH: Final = 300
# Other writers wait for the write lock: a batch aims at an eighth of the time for which it may be held. Some commits
# also checkpoint the write-ahead log, which takes several times as long.
_AIMED_SECONDS: Final = 0.012


@dataclass(frozen=True, slots=True)
class FadingMemory:
    """A memory on the curve."""

    entry: MemoryEntry
    retention: float
    """What is left of it now."""
    falls_below_at: datetime | None
    """When it falls, or fell, below the threshold if nobody recalls it; `None` if never."""
    goes: bool
    """Whether a clean-up would forget it now."""
    reason: str = ""
    """Why it goes or stays."""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "entry": self.entry.to_dict(),
            "retention": self.retention,
            "falls_below_at": None if self.falls_below_at is None else clock.to_text(self.falls_below_at),
            "goes": self.goes,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class ForgettingPlan:
    """What a clean-up would do: how many would go, and the memories that go first, in that order."""

    count: int
    """How many would be forgotten now."""
    considered: int
    """How many were looked at: long-term memories that are neither pinned, exempt nor of an excluded type."""
    memories: tuple[FadingMemory, ...]
    """Those nearest to being forgotten, at most 1,000."""
    exempt: Mapping[str, int] = field(default_factory=dict)
    """How many are kept whatever the curve says, by kind: health, identity, safety, instruction, requested, decision;
    and `upcoming`, what names a day that is still ahead."""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "count": self.count,
            "considered": self.considered,
            "memories": [memory.to_dict() for memory in self.memories],
            "exempt": dict(self.exempt),
        }


class Forgetter:
    """Looks at one user's long-term memories page by page: memory is bounded however many there are."""

    def __init__(self, deps: LongtermDeps, *, timer: Callable[[], float] = time.monotonic) -> None:
        self._deps = deps
        self._timer = timer

    def cleanup(self, scope: str, curve: EbbinghausForgetting, threshold: float, excluded: Sequence[str]) -> int:
        """Forget what has fallen below the threshold; returns how many."""
        forgotten = 0
        size = _FIRST_BATCH
        for page in self._pages(scope, excluded):
            now = self._deps.now()
            faded = [
                each
                for each in page
                if self._retention(curve, each, now) < threshold
                and not self.exempt(each.attribute, each.statement, each.lasting)
                and not is_upcoming(each.content, each.event_time or each.created_at, now)
            ]
            while faded:
                batch, faded = faded[:size], faded[size:]
                begun = self._timer()
                forgotten += self._deps.store.forget_candidates(scope, batch, actor=ACTOR)
                size = _next_size(size, self._timer() - begun)
        return forgotten

    def plan(
        self, scope: str, curve: EbbinghausForgetting, threshold: float, excluded: Sequence[str]
    ) -> ForgettingPlan:
        """What a clean-up would do; changes nothing."""
        now = self._deps.now()
        count = considered = 0
        exempt: Counter[str] = Counter()
        # The largest of the nearest is on top, so that the next nearer one can push it out.
        nearest: list[tuple[float, str, float]] = []
        for page in self._pages(scope, excluded):
            for each in page:
                kind = self.exempt(each.attribute, each.statement, each.lasting)
                if kind:
                    exempt[kind] += 1
                    continue
                left = self._retention(curve, each, now)
                if left < threshold and is_upcoming(each.content, each.event_time or each.created_at, now):
                    exempt[UPCOMING] += 1
                    continue
                considered += 1
                count += left < threshold
                hours = curve.hours_until(threshold, each.access_count, each.importance_score)
                moment = each.last_accessed_at.timestamp() + 3600 * hours
                heapq.heappush(nearest, (-moment, each.id, left))
                if len(nearest) > MAX_LISTED:
                    heapq.heappop(nearest)
        order = sorted(nearest, key=lambda item: (-item[0], item[1]))
        entries = {entry.id: entry for entry in self._deps.store.by_ids(scope, [entry_id for _, entry_id, _ in order])}
        memories = tuple(
            self.on_curve(entries[entry_id], curve, threshold, now) for _, entry_id, _ in order if entry_id in entries
        )
        return ForgettingPlan(count, considered, memories, dict(exempt))

    def exempt(self, attribute: str, statement: str, lasting: str) -> str:
        """The kind for which a fact is not forgotten, by what it is about or by its words; empty when it may be.

        `lasting` is what was read from its message when it was made.
        """
        kinds = self._deps.exempt
        known = exempt_kind(attribute, kinds)
        if known or not statement:
            return known
        # Their patterns take a while to load, and only what was said in words needs them.
        from jiyi.text.statements.keeping.fact_kinds import fact_kind
        from jiyi.text.statements.keeping.lasting import DECISION, states_decision

        # Facts of earlier versions have only their words.
        words = DECISION if states_decision(statement) else ""
        return next((kind for kind in (fact_kind(statement, attribute), lasting, words) if kind and kind in kinds), "")

    @staticmethod
    def on_curve(entry: MemoryEntry, curve: EbbinghausForgetting, threshold: float, now: datetime) -> FadingMemory:
        """Where an entry stands on the curve."""
        left = curve.calculate_retention(
            _hours(entry.last_accessed_at, now), entry.access_count, entry.importance_score
        )
        falls = curve.falls_below_at(threshold, entry.last_accessed_at, entry.access_count, entry.importance_score)
        days = _hours(entry.last_accessed_at, now) / 24
        reason = (
            f"not used for {days:.0f} days, used {entry.access_count} times, importance {entry.importance_score:.2f}: "
            f"{left:.2f} is left of it, {'below' if left < threshold else 'not below'} {threshold:g}"
        )
        return FadingMemory(entry, left, falls, goes=left < threshold, reason=reason)

    def restore(self, scope: str, names: Sequence[str] | None) -> list[MemoryEntry]:
        """Bring forgotten memories back, by id or key; `None` means all that the curve has taken.

        They count as accessed now, or the next clean-up would take them again. A fact that was superseded is linked
        with the one that took its place, as a possible conflict; what was kept of it as a fact of its own is superseded
        by it.
        """
        store, now = self._deps.store, self._deps.now()
        if names is None:
            gone = [entry for entry in self._inactive(scope) if entry.superseded_by is None]
            found = [entry for entry in gone if not entry.has_expired(now)]
        else:
            found = store.by_ids(scope, names)
            keys = store.by_keys(scope, names)
            found += [entry for entry in keys.values() if entry.id not in {each.id for each in found}]
        values = {"is_active": True, "superseded_by": None, "last_accessed_at": now}
        restored: list[MemoryEntry] = []
        inactive = [entry for entry in found if not entry.is_active]
        for start in range(0, len(inactive), _FIRST_BATCH):
            changes = [
                # Whoever names a memory that has expired wants it to be seen again.
                Amendment(entry.id, values | ({"expires_at": None} if entry.has_expired(now) else {}), "restore")
                for entry in inactive[start : start + _FIRST_BATCH]
            ]
            restored += store.amend(scope, changes, actor=self._deps.actor)
        self._link(scope, [entry for entry in inactive if entry.superseded_by is not None])
        return restored

    def _link(self, scope: str, replaced: Sequence[MemoryEntry]) -> None:
        """Link facts that hold again with what had replaced them, and withdraw what was left of them."""
        store = self._deps.store
        for old in replaced:
            if old.memory_type != FACT_TYPE:
                continue
            changes: list[Amendment] = []
            for part in store.rests(old):
                changes += superseded_by(store, part, old.id)
            new = self._holding(scope, old)
            # A rest comes back beside its whole: nobody has said that one of them has changed.
            if new is not None and not is_rest_of(old, new):
                changes += linked(old, new)
            store.amend(scope, changes, actor=self._deps.actor)

    def _holding(self, scope: str, old: MemoryEntry) -> MemoryEntry | None:
        """The current fact that took the place of another one, or of what did."""
        known = {old.id}
        found = old
        while found.superseded_by is not None and found.superseded_by not in known:
            known.add(found.superseded_by)
            by = self._deps.store.by_ids(scope, [found.superseded_by])
            if not by or by[0].is_active:
                return by[0] if by and by[0].memory_type == FACT_TYPE else None
            found = by[0]
        return None

    def _inactive(self, scope: str) -> list[MemoryEntry]:
        return self._deps.store.inactive(scope, limit=1_000_000)

    def _pages(self, scope: str, excluded: Sequence[str]) -> Iterator[list[ForgettingCandidate]]:
        after = None
        while page := self._deps.store.forgetting_candidates(scope, excluded, after=after, limit=PAGE):
            after = page[-1].position
            yield page

    @staticmethod
    def _retention(curve: EbbinghausForgetting, each: ForgettingCandidate, now: datetime) -> float:
        return curve.calculate_retention(_hours(each.last_accessed_at, now), each.access_count, each.importance_score)


def _hours(since: datetime, now: datetime) -> float:
    return (now - since).total_seconds() / 3600.0


def _next_size(size: int, seconds: float) -> int:
    """Smaller batches where they take long, larger ones where they do not: at most twice the last one."""
    return max(1, min(_MAX_IN_BATCH, 2 * size, int(size * _AIMED_SECONDS / max(seconds, 1e-9))))

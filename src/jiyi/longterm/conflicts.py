"""Possible conflicts between facts: listed, and settled by a person or a model. Nothing is hidden before that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from jiyi.errors import InvalidInputError
from jiyi.execution import Lazy
from jiyi.longterm.dependencies import LongtermDeps
from jiyi.longterm.superseding import superseded_by, without_reflection
from jiyi.model.entry import REFLECTION_TYPE, MemoryEntry
from jiyi.model.rest_of_fact import is_rest_of
from jiyi.ports import Amendment, LongtermStore
from jiyi.text.patterns import has_han

if TYPE_CHECKING:
    from jiyi.longterm.replacement import ReplacementModel

Winner: TypeAlias = Literal["newer", "older", "both"]
_WINNERS = ("newer", "older", "both")
_MAX_FACTS = 100_000
_HOLDS = {"is_active": True, "superseded_by": None}
_MAX_NEWER = 2
"""How many facts are shown because they may contradict one that is shown."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two facts that may contradict each other; both are current."""

    newer: MemoryEntry
    older: MemoryEntry

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {"newer": self.newer.to_dict(), "older": self.older.to_dict()}


@dataclass(frozen=True, slots=True)
class Replaced:
    """A fact that was superseded, and the one that took its place."""

    entry: MemoryEntry
    by: MemoryEntry | None

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {"entry": self.entry.to_dict(), "by": None if self.by is None else self.by.to_dict()}


@dataclass(frozen=True, slots=True)
class OpenConflicts:
    """Which current facts may contradict which older ones."""

    newer: Mapping[str, Sequence[MemoryEntry]] = field(default_factory=dict)
    """Id of the older fact, or of a reflection that repeats it -> the newer ones, newest first."""

    @classmethod
    def among(cls, newer: Iterable[MemoryEntry]) -> OpenConflicts:
        """Those that these facts name."""
        found: dict[str, list[MemoryEntry]] = {}
        for fact in sorted(newer, key=lambda fact: (fact.created_at, fact.id), reverse=True):
            claim = fact.source.claim
            for older in () if claim is None else claim.conflicts_with:
                found.setdefault(older, []).append(fact)
        return cls(found)

    def __contains__(self, fact_id: object) -> bool:
        """Whether a newer fact may contradict this one."""
        return fact_id in self.newer

    def with_reflections(self, hits: Iterable[MemoryEntry]) -> OpenConflicts:
        """With the reflections among some hits: what contradicts one of its facts contradicts a reflection."""
        found = dict(self.newer)
        for hit in hits:
            if hit.memory_type == REFLECTION_TYPE:
                newer = {each.id: each for fact in hit.source.references for each in self.newer.get(fact, ())}
                if newer:
                    found[hit.id] = list(newer.values())
        return OpenConflicts(found)

    def newer_than(self, fact: MemoryEntry) -> Sequence[MemoryEntry]:
        """The newest facts that may contradict this one."""
        return self.newer.get(fact.id, ())[:_MAX_NEWER]

    def newer_first(self, facts: Iterable[MemoryEntry]) -> list[MemoryEntry]:
        """The facts in their order, each after all that may contradict it, also where those are not among them."""
        placed: dict[str, MemoryEntry] = {}
        waiting: set[str] = set()

        def place(fact: MemoryEntry) -> None:
            if fact.id in placed or fact.id in waiting:
                return
            waiting.add(fact.id)
            for number, newer in enumerate(self.newer.get(fact.id, ())):
                if number < _MAX_NEWER or newer.id in given:
                    place(given.get(newer.id, newer))
            placed[fact.id] = fact

        # The given objects are returned, not those of the store: a hit carries its score.
        given = {fact.id: fact for fact in facts}
        for fact in given.values():
            place(fact)
        return list(placed.values())


def open_conflicts(deps: LongtermDeps, scopes: Iterable[str]) -> OpenConflicts:
    """The open conflicts of these scopes, for blocks of a prompt."""
    now = deps.now()
    named = (fact for scope in scopes for fact in deps.store.conflicting(scope, limit=_MAX_FACTS))
    return OpenConflicts.among(fact for fact in named if not fact.has_expired(now))


class Conflicts:
    """Lists and settles the conflicts of one scope at a time."""

    def __init__(self, deps: LongtermDeps) -> None:
        self._deps = deps
        self._replacement: Lazy[ReplacementModel] = Lazy(self._new_replacement)

    def open_ones(self, scope: str, limit: int) -> list[Conflict]:
        """The open conflicts, newest first."""
        found: list[Conflict] = []
        for newer in self._deps.store.conflicting(scope, limit=_MAX_FACTS):
            claim = newer.source.claim
            if claim is None or not claim.conflicts_with:
                continue
            olders = self._deps.store.by_ids(scope, claim.conflicts_with)
            found += [Conflict(newer, older) for older in olders if self._is_current(newer, older)]
            if len(found) >= limit:
                break
        return found[:limit]

    def of_scopes(self, scopes: Iterable[str]) -> OpenConflicts:
        """The open conflicts of these scopes, for blocks of a prompt."""
        return open_conflicts(self._deps, scopes)

    def replaced(self, scope: str, limit: int, *, reflections: bool) -> list[Replaced]:
        """What was superseded, the last first; reflections only if they are wanted."""
        store = self._deps.store
        gone = [
            entry
            for entry in store.inactive(scope, limit=_MAX_FACTS)
            if entry.superseded_by is not None and (reflections or entry.memory_type != "reflection")
        ][:limit]
        ids = list(dict.fromkeys(entry.superseded_by for entry in gone if entry.superseded_by is not None))
        by = {entry.id: entry for entry in store.by_ids(scope, ids)}
        return [Replaced(entry, by.get(entry.superseded_by or "")) for entry in gone]

    def settle(self, scope: str, newer: MemoryEntry, older: MemoryEntry, keep: str) -> list[MemoryEntry]:
        """Settle one conflict; returns the entries that were changed, and none when there is no such conflict.

        What the older one says besides stays, as after any correction. Where that cannot be told from what is replaced,
        its words stay as what was so earlier.
        """
        if keep not in _WINNERS:
            raise InvalidInputError(f"keep {keep!r} must be one of {', '.join(_WINNERS)}")
        claim = newer.source.claim
        if claim is None or older.id not in claim.conflicts_with or not self._is_current(newer, older):
            return []
        named = dict.fromkeys(each for each in claim.conflicts_with if each != older.id)
        if keep == "newer":
            named |= dict.fromkeys(each for each in inherited(self._deps.store, older) if each != newer.id)
        settled = replace(claim, conflicts_with=tuple(named))
        values: dict[str, Any] = {"source": replace(newer.source, claim=settled)}
        changes: list[Amendment] = []
        back: list[Amendment] = []
        if keep == "older":
            values |= {"is_active": False, "superseded_by": older.id, "summarized_by": None}
            changes = without_reflection(self._deps.store, newer, older.id)
        elif keep == "newer":
            changes = superseded_by(self._deps.store, older, newer.id)
            # What a restored fact had taken in again holds as before.
            parts = self._deps.store.replaced_by(scope, older.id, limit=_MAX_FACTS)
            back = [Amendment(part.id, _HOLDS) for part in parts if is_rest_of(part, older)]
            changes += back
        changes.insert(0, Amendment(newer.id, values))
        rest = self._rest(newer, older) if keep == "newer" and not back else None
        if rest is not None:
            return self._deps.store.commit(scope, [rest], changes, actor=self._deps.actor) or []
        return self._deps.store.amend(scope, changes, actor=self._deps.actor)

    def _rest(self, newer: MemoryEntry, older: MemoryEntry) -> MemoryEntry | None:
        """What the older one says besides, as a fact of its own; `None` where it says nothing else."""
        # Their patterns take a fifth of a second to load: listing conflicts does without.
        from jiyi.longterm.corrections import KnownFact, rest_if_replaced
        from jiyi.longterm.duplicates import lexical_features
        from jiyi.longterm.rests import rest_of

        deps = self._deps
        old = KnownFact(older, lexical_features(older.content, deps.analyzer))
        left = rest_if_replaced(newer.content, old, self._replacement())
        if left is None:
            left = f"以前：{older.content}" if has_han(older.content) else f"Earlier: {older.content}"
        return rest_of(deps.store, older, left, deps.now()) if left and left != older.content else None

    def _new_replacement(self) -> ReplacementModel:
        from jiyi.longterm.replacement import ReplacementModel

        return ReplacementModel(self._deps.analyzer, self._deps.judging, self._deps.pairs)

    def _is_current(self, *facts: MemoryEntry) -> bool:
        """Whether all of them hold: none was superseded, forgotten, or has expired."""
        now = self._deps.now()
        return all(fact.is_active and not fact.has_expired(now) for fact in facts)


def inherited(store: LongtermStore, gone: MemoryEntry) -> list[str]:
    """The ids of facts that were in conflict with one that is replaced: they may contradict what replaces it too.

    Otherwise a fact that was marked as possibly outdated would look current as soon as the newer one is corrected.
    """
    older = () if gone.source.claim is None else gone.source.claim.conflicts_with
    known = OpenConflicts.among(store.conflicting(gone.scope, limit=_MAX_FACTS))
    return [*older, *(newer.id for newer in known.newer.get(gone.id, ()))]

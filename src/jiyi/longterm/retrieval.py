"""Hybrid recall of the long-term room: candidates, metadata, decay, weighing, and what counts as use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

from jiyi.errors import SimpleModeError
from jiyi.longterm.conflicts import open_conflicts
from jiyi.longterm.dependencies import LongtermDeps
from jiyi.longterm.reflection import without_repetition
from jiyi.longterm.router import Route, route
from jiyi.model.domain import GENERAL_CHAT
from jiyi.model.entry import MESSAGE_TYPE, MemoryEntry
from jiyi.model.filters import Filters
from jiyi.model.recalled import notes_of
from jiyi.model.relevance import fitting
from jiyi.model.scope import visible_scopes
from jiyi.model.scoring import FinalWeights
from jiyi.recall.last_access import note_access
from jiyi.recall.request import Answer, Request

if TYPE_CHECKING:
    from jiyi.longterm.recently_recalled import RecentlyRecalled
    from jiyi.recall import RecallEngine

_MAX_SUPERSEDED = 1_000
# A recalled memory counts as asked for from this similarity, or this share of the question's information, on.
_MIN_SIMILARITY = 0.4
_MIN_COVERAGE = 0.34
_SKIPPED = "small talk: nothing was searched"
_WIDENED = "nothing was found in {}: all domains were searched"


class RelevantMemories(list[MemoryEntry]):
    """The recalled memories, best first, and where they were looked for."""

    def __init__(
        self,
        hits: Iterable[MemoryEntry] = (),
        *,
        domains: tuple[str, ...] = (),
        routed_by: str = "",
        notes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(hits)
        self.domains = domains
        """The domains that the question is about."""
        self.routed_by = routed_by
        """Who said so: `rules`, `model:NAME`, `caller`, or `fallback` after a failure."""
        self.notes = notes
        """What the caller should know, such as that the router failed and everything was searched."""

    @property
    def skipped(self) -> bool:
        """Whether nothing was searched, because the question is small talk."""
        return not self and self.domains == (GENERAL_CHAT,)


class Retriever:
    """Asks the recall engine, and touches what was selected."""

    def __init__(self, deps: LongtermDeps, recalled: RecentlyRecalled) -> None:
        self._deps = deps
        self._recalled = recalled

    def route(self, query: str) -> Route:
        """The domains of a question."""
        return route(self._deps.models.router, query)

    def retrieve(
        self,
        scope: str,
        query: str,
        weights: FinalWeights,
        *,
        candidates: int,
        limit: int,
        domains: tuple[str, ...] | None = None,
        as_of: datetime | None = None,
        fused: bool = False,
        zone: tzinfo | None = None,
        min_relevance: float = 0.0,
    ) -> RelevantMemories:
        """The memories that answer best; relevance is the cosine, or with `fused` that of `AgentMemory.recall`.

        With `as_of` the same of what stood then: without what has come since, with what was corrected since. What is
        less relevant than `min_relevance` is left out before the best are chosen.
        """
        engine = self._deps.engine
        if engine is None:
            # Refused before the router is called, which may be a model.
            raise SimpleModeError.of(
                "recall of long-term memories is", "use memory.runtime for what is to be found by tags"
            )
        where = self.route(query) if domains is None else Route(domains, "caller")
        notes = [where.note] if where.note else []
        if where.skips:
            return RelevantMemories(domains=where.domains, routed_by=where.by, notes=(*notes, _SKIPPED))
        # What does not fit may be newer or more important: where it is left out, all that are weighed are looked at.
        asked = max(candidates, limit) if min_relevance > 0 else limit

        def search(among: tuple[str, ...]) -> Answer:
            return self._search(engine, scope, query, weights, candidates, asked, among, as_of, fused=fused, zone=zone)

        answer = search(where.filter)
        if not (answer.hits or answer.reflections) and where.filter and where.by != "caller":
            answer = search(())
            if answer.hits or answer.reflections:
                notes.append(_WIDENED.format(", ".join(where.domains)))
        notes += notes_of(answer.coverage)
        hits, reflections = answer.hits, list(answer.reflections)
        if min_relevance > 0:
            hits, reflections = fitting(hits, min_relevance), fitting(reflections, min_relevance)
        found = without_repetition(hits, reflections, limit, lambda facts: self._unopposed(scope, facts))
        self._recalled.note(scope, [hit.content for hit in found])
        return RelevantMemories(found, domains=where.domains, routed_by=where.by, notes=tuple(notes))

    def _search(
        self,
        engine: RecallEngine,
        scope: str,
        query: str,
        weights: FinalWeights,
        candidates: int,
        limit: int,
        domains: tuple[str, ...],
        as_of: datetime | None,
        *,
        fused: bool,
        zone: tzinfo | None,
    ) -> Answer:
        filters = Filters(visible_scopes(scope), without_types=(MESSAGE_TYPE,), domains=domains, known_at=as_of)
        request = Request(
            query=query,
            filters=filters,
            limit=limit,
            weights=weights,
            candidates=candidates,
            now=as_of or self._deps.now(),
            zone=zone,
            by_similarity=not fused,
            restored=() if as_of is None else self._corrected_since(filters.scopes, as_of),
        )
        return engine.answer_apart(request)

    def _unopposed(self, scope: str, facts: Sequence[MemoryEntry]) -> bool:
        """Whether none of these facts is in an open conflict, which a reflection in its place would not show."""
        conflicts = open_conflicts(self._deps, visible_scopes(scope))
        opposing = {newer.id for each in conflicts.newer.values() for newer in each}
        return not any(fact.id in conflicts or fact.id in opposing for fact in facts)

    def _corrected_since(self, scopes: Sequence[str], as_of: datetime) -> tuple[MemoryEntry, ...]:
        """What stood then and was corrected since: no index holds it any more."""
        return tuple(entry for entry, _ in self._deps.store.superseded(scopes, as_of, limit=_MAX_SUPERSEDED))

    def note_shown(self, scope: str, hits: Sequence[MemoryEntry]) -> None:
        """Note that memories were shown: the time of access moves, and that counts little.

        Only for the user's own memories that the question was about: what is shown beside them was of no use. What a
        reflection stands in for is shown with it.
        """
        said = [each for hit in hits for each in (hit, *hit.context)]
        shown = [hit.id for hit in said if hit.scope == scope and _was_asked_for(hit)]
        note_access(self._deps.records, scope, shown, at=self._deps.now())

    def note_used(self, scope: str, names: Sequence[str]) -> list[str]:
        """Count that memories were used, by id or key: cited in an answer, or confirmed. Returns ids.

        That a public one was used counts for this user alone.
        """
        store = self._deps.store
        found: list[MemoryEntry] = []
        for each in visible_scopes(scope):
            # An own memory stands before a public one with the same key.
            known = {name for entry in found for name in (entry.id, entry.key)}
            left = [name for name in names if name not in known]
            found += [*store.by_ids(each, left), *store.by_keys(each, left).values()]
        ids = list(dict.fromkeys(entry.id for entry in found if entry.is_active))
        note_access(self._deps.records, scope, ids, at=self._deps.now(), used=True)
        return ids


def _was_asked_for(hit: MemoryEntry) -> bool:
    """Whether the question was about this memory, by the parts of its score; never where no prompt would show it."""
    information = hit.score_parts.get("information", 0.0)
    if not fitting([hit]):
        return False
    return (hit.similarity or 0.0) >= _MIN_SIMILARITY or information >= _MIN_COVERAGE

"""Hybrid recall of the long-term room: candidates, metadata, decay, weighing, and what counts as use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

from jiyi.errors import SimpleModeError
from jiyi.longterm.dependencies import LongtermDeps
from jiyi.longterm.reflection import without_repetition
from jiyi.longterm.router import Route, route
from jiyi.model.domain import GENERAL_CHAT
from jiyi.model.entry import MESSAGE_TYPE, Explanation, MemoryEntry
from jiyi.model.filters import Filters
from jiyi.model.recalled import RecalledEntries
from jiyi.model.relevance import MIN_RELEVANCE
from jiyi.model.scope import visible_scopes
from jiyi.model.scoring import FinalWeights, time_decay
from jiyi.recall.last_access import note_access
from jiyi.recall.request import Request
from jiyi.text import fold

if TYPE_CHECKING:
    from jiyi.longterm.recently_recalled import RecentlyRecalled
    from jiyi.recall import RecallEngine

_MAX_SUPERSEDED = 1_000
_MAX_REFLECTIONS = 5
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


def fitting(hits: Sequence[MemoryEntry], min_relevance: float = MIN_RELEVANCE) -> list[MemoryEntry]:
    """The hits that are relevant enough; what states the attribute that is asked for is, whatever stands before it."""
    return [
        hit for hit in hits if (hit.relevance_score or 0.0) >= min_relevance or hit.score_parts.get("attribute", 0) > 0
    ]


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
    ) -> RelevantMemories:
        """The memories that answer best; relevance is the cosine, or with `fused` that of `AgentMemory.recall`."""
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
        hits = self._search(
            engine, scope, query, weights, candidates, limit, where.filter, as_of, fused=fused, zone=zone
        )
        if not hits and where.filter and where.by != "caller":
            hits = self._search(engine, scope, query, weights, candidates, limit, (), as_of, fused=fused, zone=zone)
            if hits:
                notes.append(_WIDENED.format(", ".join(where.domains)))
        notes += hits.notes
        self._recalled.note(scope, [hit.content for hit in hits])
        return RelevantMemories(hits, domains=where.domains, routed_by=where.by, notes=tuple(notes))

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
    ) -> RecalledEntries:
        filters = Filters(visible_scopes(scope), without_types=(MESSAGE_TYPE,), domains=domains)
        request = Request(
            query=query,
            filters=filters,
            # More than asked for: a reflection must not push a fact out.
            limit=limit + _MAX_REFLECTIONS if as_of is None else max(candidates, limit),
            weights=weights,
            candidates=candidates,
            now=as_of or self._deps.now(),
            zone=zone,
            by_similarity=not fused,
        )
        hits = engine.answer(request)
        found = (
            without_repetition(hits, limit)
            if as_of is None
            else self._as_of(query, hits, filters, weights, limit, as_of)
        )
        return RecalledEntries(found, notes=hits.notes)

    def note_shown(self, scope: str, hits: Sequence[MemoryEntry]) -> None:
        """Note that memories were shown: the time of access moves, and that counts little.

        Only for the user's own memories that the question was about: what is shown beside them was of no use.
        """
        shown = [hit.id for hit in hits if hit.scope == scope and _was_asked_for(hit)]
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

    # --- looking back -----------------------------------------------------------------------------------------------

    def _as_of(
        self,
        query: str,
        hits: list[MemoryEntry],
        filters: Filters,
        weights: FinalWeights,
        limit: int,
        as_of: datetime,
    ) -> list[MemoryEntry]:
        """What stood then: what has come since is left out, what was corrected since is put back.

        The indexes no longer hold what was corrected, so that all are compared with the question directly.
        """
        corrected = self._deps.store.superseded(filters.scopes, as_of, limit=_MAX_SUPERSEDED)
        past = [replace(entry, is_active=True) for entry, _ in corrected]
        # A memory that was imported later counts from the time at which it was said.
        known = [hit for hit in hits if min(hit.created_at, hit.event_time) <= as_of]
        found = [*known, *(entry for entry in past if filters.admits(entry))]
        relevances = self._relevance(query, [entry.content for entry in found])
        weighed = []
        for entry, (similarity, coverage) in zip(found, relevances, strict=True):
            relevance = max(similarity, coverage)
            if relevance <= 0:
                continue
            decay = time_decay(entry.last_accessed_at, as_of, weights.decay_rate)
            parts = {
                "similarity": similarity,
                "coverage": coverage,
                "relevance": relevance,
                "decay": decay,
                "importance": entry.importance_score,
                "final": weights.final_score(relevance, decay, entry.importance_score),
            }
            shown = entry if entry in known else replace(entry, is_active=False)
            weighed.append(shown.as_hit(relevance, Explanation(parts)))
        weighed.sort(key=lambda hit: (-(hit.final_score or 0.0), hit.id))
        return weighed[:limit]

    def _relevance(self, query: str, texts: list[str]) -> list[tuple[float, float]]:
        """For each text how similar its meaning is, and which share of the question's words it has."""
        wanted = set(self._deps.analyzer.query(fold(query)).words)
        coverage = [
            len(wanted & set(self._deps.analyzer.analyze(fold(text)).words)) / len(wanted) if wanted else 0.0
            for text in texts
        ]
        if self._deps.embedder is None or not texts:
            return [(0.0, share) for share in coverage]
        vectors = self._deps.embedder.embed([query, *texts])
        return [
            (min(1.0, max(0.0, float(vectors[0] @ vector))), share)
            for vector, share in zip(vectors[1:], coverage, strict=True)
        ]


def _was_asked_for(hit: MemoryEntry) -> bool:
    """Whether the question was about this memory, by the parts of its score; never where no prompt would show it."""
    information = hit.score_parts.get("information", 0.0)
    if not fitting([hit]):
        return False
    return (hit.similarity or 0.0) >= _MIN_SIMILARITY or information >= _MIN_COVERAGE

"""The synchronous core of the runtime: everything that both runtimes have in common, except how memories are found."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Any

from jiyi.model import clock
from jiyi.model.entry import MESSAGE_TYPE, REFLECTION_TYPE, EntryVersion, IndexCoverage, MemoryEntry
from jiyi.model.feedback import FeedbackOrder
from jiyi.model.filters import Filters, make_filters
from jiyi.model.recalled import notes_of
from jiyi.model.relevance import MIN_RELEVANCE, check_min_relevance
from jiyi.model.scope import check_scope, missing_scope, visible_scopes
from jiyi.model.strength_decay import DecayRules
from jiyi.recall.last_access import note_access, to_be_noted
from jiyi.recall.reflections import in_free_places, split
from jiyi.runtime.answer_shares import chained_shares, fair_shares
from jiyi.runtime.consolidation import consolidate
from jiyi.runtime.dependencies import RuntimeDeps
from jiyi.runtime.values import BaseMemory, ConsolidationReport, FeedbackResult, MemoryLink, RecalledMemories

log = logging.getLogger("jiyi.runtime")

MAX_FOLLOWED = 5
"""So many of the direct answers are followed one step further."""


@dataclass(frozen=True, slots=True)
class Question:
    """A checked question."""

    text: str
    limit: int
    filters: Filters
    min_relevance: float = 0.0
    """Memories that are less relevant are left out."""
    zone: tzinfo | None = None
    """Of whoever asks; `None` means the one of the settings."""


@dataclass(frozen=True, slots=True)
class RankedMemories:
    """Memories in order, out of how many candidates."""

    hits: Sequence[MemoryEntry]
    candidates: int
    coverage: Sequence[IndexCoverage] = ()
    """What each index contributed, also where nothing was found."""


@dataclass(frozen=True, slots=True)
class PendingRecall:
    """An answer, and what is to be noted when it was given."""

    memories: RecalledMemories
    scope: str
    stale: Sequence[str]
    """Ids of the scope's own memories of which it was not noted for an hour that they were recalled."""


class RuntimeService(ABC):
    """Every method blocks; arguments are checked by the caller."""

    name = "MemoryRuntime"
    """What log lines call the runtime."""

    def __init__(self, deps: RuntimeDeps) -> None:
        self.deps = deps

    # --- how memories are found -----------------------------------------------------------------------------------

    @abstractmethod
    def find(
        self, query: str, filters: Filters, limit: int, min_relevance: float = 0.0, zone: tzinfo | None = None
    ) -> RankedMemories:
        """The best ones for the query."""

    @abstractmethod
    def find_each_type(
        self, query: str, filters: Filters, limit: int, min_relevance: float = 0.0, zone: tzinfo | None = None
    ) -> RankedMemories:
        """The best ones of every memory type, up to `limit` each, in one order."""

    @abstractmethod
    def find_linked(
        self, first: Sequence[MemoryEntry], filters: Filters, limit: int
    ) -> list[tuple[MemoryEntry, MemoryLink]]:
        """Memories one step from the first ones and not among them, best first."""

    @abstractmethod
    def warn_unfindable(self, entries: Sequence[MemoryEntry]) -> None:
        """Log the memories that this runtime will not find; they are stored all the same."""

    # --- remembering and recalling --------------------------------------------------------------------------------

    def scope(self, scope: str | None) -> str:
        """The scope of a call: the one it names, else the configured one, which strict mode refuses."""
        if scope is not None:
            return check_scope(scope)
        if self.deps.strict_scope:
            raise missing_scope("memory_scope")
        return self.deps.scope

    def question(
        self,
        query: str,
        limit: int,
        scope: str | None,
        memory_types: str | Iterable[str] | None,
        min_relevance: float,
        time_zone: str | tzinfo | None = None,
    ) -> Question:
        """The arguments of a recall, checked. Messages of conversations are left out unless they are asked for."""
        own = self.scope(scope)
        text = self.deps.limits.check_query(query)
        count = self.deps.limits.check_limit(limit)
        excluded = (MESSAGE_TYPE,) if memory_types is None else ()
        filters = make_filters(visible_scopes(own), memory_types=memory_types, without_types=excluded)
        return Question(text, count, filters, check_min_relevance(min_relevance), clock.check_zone(time_zone))

    def add(self, entries: Sequence[MemoryEntry]) -> None:
        """Store new memories in one transaction."""
        self.warn_unfindable(entries)
        self.deps.store.add(entries, actor=self.deps.actor)

    def recall(self, question: Question) -> PendingRecall:
        """The best answers."""
        found = self._timed("recall", self.find, *_asked(question))
        return self._as_recalled(question, found, {})

    def comprehensive_recall(self, question: Question) -> PendingRecall:
        """The best answers with a fair share for every memory type."""
        return self._as_recalled(question, self._timed("comprehensive_recall", self._find_fairly, question), {})

    def chained_recall(self, question: Question) -> PendingRecall:
        """The best answers, then those one step further on."""
        links: dict[str, MemoryLink] = {}
        found = self._timed("chained_recall", self._find_chained, question, links)
        return self._as_recalled(question, found, links)

    def _as_recalled(self, question: Question, found: RankedMemories, links: Mapping[str, MemoryLink]) -> PendingRecall:
        of_hits = (index for hit in found.hits if hit.explanation is not None for index in hit.explanation.coverage)
        notes = notes_of((*found.coverage, *of_hits))
        for note in notes:
            log.warning("runtime=%s %s", self.name, note)
        memories = RecalledMemories([BaseMemory.of(hit, links.get(hit.id)) for hit in found.hits], notes=notes)
        own = question.filters.scopes[0]
        return PendingRecall(memories, own, to_be_noted(_answering(found.hits, links), own))

    def note_recalled(self, recalled: Sequence[tuple[str, str]]) -> None:
        """Note by scope and id what was recalled just now: what is recalled again and again does not fade."""
        by_scope: dict[str, list[str]] = {}
        for scope, memory_id in recalled:
            by_scope.setdefault(scope, []).append(memory_id)
        for scope, ids in by_scope.items():
            note_access(self.deps.records, scope, ids)

    def _find_fairly(self, question: Question) -> RankedMemories:
        found = self.find_each_type(*_asked(question))
        hits, reflections = split(found.hits)
        fair = fair_shares(hits, lambda hit: hit.memory_type, question.limit)
        return replace(found, hits=in_free_places(fair, reflections, question.limit))

    def _find_chained(self, question: Question, links: dict[str, MemoryLink]) -> RankedMemories:
        direct = self.find(*_asked(question))
        hits, reflections = split(direct.hits)
        further = self.find_linked(hits[:MAX_FOLLOWED], question.filters, question.limit + len(hits))
        known = {hit.id for hit in direct.hits}
        linked = [(entry, link) for entry, link in further if entry.id not in known]
        beside = [(entry, link) for entry, link in linked if entry.memory_type != REFLECTION_TYPE]
        first, second = chained_shares([(hit, None) for hit in hits], beside, question.limit)
        links.update({entry.id: link for entry, link in second if link is not None})
        found = [entry for entry, _ in (*first, *second)]
        return RankedMemories(
            in_free_places(found, reflections, question.limit), direct.candidates + len(linked), direct.coverage
        )

    def _timed(self, request: str, find: Callable[..., RankedMemories], *args: Any) -> RankedMemories:
        begin = time.perf_counter()
        found = find(*args)
        log.info(
            "runtime=%s request=%s candidates=%d returned=%d query_ms=%.1f",
            *(self.name, request, found.candidates, len(found.hits), 1_000 * (time.perf_counter() - begin)),
        )
        return found

    # --- feedback and upkeep --------------------------------------------------------------------------------------

    def feedback(self, order: FeedbackOrder) -> FeedbackResult:
        """Do what the feedback asks for, in one transaction."""
        self.warn_unfindable(order.new)
        store = self.deps.store
        outcome = store.give_feedback(order, actor=self.deps.actor, now=clock.utc_now())
        made = (*outcome.created, *(new for new, _ in outcome.merged))
        entries = store.fetch(made, order.visible)
        log.info(
            "runtime=%s request=feedback strengthened=%d created=%d merged=%d unknown=%d refused=%d",
            self.name,
            len(outcome.strengthened),
            len(outcome.created),
            len(outcome.merged),
            len(outcome.unknown),
            len(outcome.refused),
        )
        return FeedbackResult(
            memories=tuple(BaseMemory.of(entry) for entry in entries.values()),
            strengthened=outcome.strengthened,
            created=outcome.created,
            merged=dict(outcome.merged),
            unknown_ids=outcome.unknown,
            refused=outcome.refused,
            repeated=outcome.repeated,
        )

    def consolidate(
        self, scope: str | None, now: datetime, rules: DecayRules | None, *, dry_run: bool
    ) -> ConsolidationReport:
        """Consolidate one scope, or every scope by itself."""
        deps = self.deps
        report = consolidate(
            deps.store,
            deps.analyzer,
            deps.store.scopes() if scope is None else [scope],
            rules=rules or DecayRules(),
            now=now,
            actor=deps.actor,
            dry_run=dry_run,
        )
        log.info(
            "runtime=%s request=consolidate dry_run=%s merged=%d faded=%d archived=%d",
            *(self.name, report.dry_run, report.merged, report.faded, report.archived),
        )
        return report

    def update(
        self, scope: str, memory_id: str, values: Mapping[str, Any], if_version: int | None = None
    ) -> BaseMemory | None:
        """Change one of the scope's own memories: a new version; `None` when the scope has none by this id."""
        changed = self.deps.store.update(
            scope, memory_id, values, actor=self.deps.actor, now=clock.utc_now(), if_version=if_version
        )
        return None if changed is None else BaseMemory.of(changed)

    # --- single memories ------------------------------------------------------------------------------------------

    def get(self, scope: str, memory_id: str) -> BaseMemory | None:
        """One memory that the scope sees."""
        entry = self.deps.store.fetch([memory_id], visible_scopes(scope)).get(memory_id)
        return None if entry is None else BaseMemory.of(entry)

    def history(self, scope: str, memory_id: str) -> list[EntryVersion]:
        """Every version of one memory, oldest first."""
        return self.deps.store.versions(visible_scopes(scope), memory_id)

    def forget(self, scope: str, memory_id: str, *, erase: bool, if_version: int | None = None) -> bool:
        """Remove one of the scope's own memories."""
        return self.deps.store.forget(scope, memory_id, actor=self.deps.actor, erase=erase, if_version=if_version)

    def restore(self, scope: str, memory_id: str) -> BaseMemory | None:
        """Make one of the scope's own memories active again."""
        back = self.deps.store.restore(scope, memory_id, actor=self.deps.actor, now=clock.utc_now())
        return None if back is None else BaseMemory.of(back)

    def list_tags(self, scope: str, limit: int, offset: int) -> Sequence[tuple[str, int]]:
        """The tags that the scope sees, the most used first."""
        return self.deps.records.tag_usage(visible_scopes(scope), limit=limit, offset=offset)


def _answering(hits: Sequence[MemoryEntry], links: Mapping[str, MemoryLink]) -> list[MemoryEntry]:
    """The hits that count as recalled: what is no answer, and what only such a hit led to, was of no use to anybody.

    What shares tags with an answer has no relevance of its own.
    """
    relevant = {hit.id for hit in hits if hit.relevance_score is None or hit.relevance_score >= MIN_RELEVANCE}
    return [hit for hit in hits if hit.id in relevant and (hit.id not in links or links[hit.id].memory_id in relevant)]


def _asked(question: Question) -> tuple[str, Filters, int, float, tzinfo | None]:
    return question.text, question.filters, question.limit, question.min_relevance, question.zone

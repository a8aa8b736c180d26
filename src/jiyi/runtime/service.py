"""What both runtimes have in common: everything but how memories are found."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jiyi.execution import Run
from jiyi.model import clock
from jiyi.model.entry import MESSAGE_TYPE, EntryVersion, MemoryEntry
from jiyi.model.filters import Filters, make_filters
from jiyi.model.limits import Limits, check_whole
from jiyi.model.scope import check_scope, visible_scopes
from jiyi.model.strength_decay import FadingRules
from jiyi.ports import RecordStore
from jiyi.ports.runtime import RuntimeStore
from jiyi.runtime import checks
from jiyi.runtime.api import (
    BaseMemory,
    ConsolidationReport,
    FeedbackResult,
    MemoryLink,
    MergeLike,
    NewMemory,
)
from jiyi.runtime.consolidation import consolidate
from jiyi.runtime.text_rules import chained_shares, fair_shares
from jiyi.text import Analyzer

log = logging.getLogger("jiyi.runtime")

FIRST_STEPS = 5
"""So many of the direct answers are followed one step further."""


@dataclass(frozen=True, slots=True)
class RuntimeDeps:
    """What a runtime works with."""

    records: RecordStore
    store: RuntimeStore
    analyzer: Analyzer
    limits: Limits
    scope: str
    """The scope that is meant when a call names none."""
    actor: str


@dataclass(frozen=True, slots=True)
class Found:
    """Memories in order, out of how many candidates."""

    hits: Sequence[MemoryEntry]
    candidates: int


class Runtime(ABC):
    """A memory runtime; how memories are found is left to the two below."""

    def __init__(self, parts: RuntimeDeps, run: Run, written: Callable[[], None]) -> None:
        self._parts = parts
        self._run = run
        self._written = written

    @property
    def name(self) -> str:
        """What is below."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<{self.name} scope={self._parts.scope!r}>"

    # --- how memories are found -----------------------------------------------------------------------------------

    @abstractmethod
    def _find(self, query: str, filters: Filters, limit: int) -> Found:
        """The best ones for the query."""

    @abstractmethod
    def _find_each_type(self, query: str, filters: Filters, limit: int) -> Found:
        """The best ones of every memory type, up to `limit` each, in one order."""

    @abstractmethod
    def _linked(
        self, first: Sequence[MemoryEntry], filters: Filters, limit: int
    ) -> list[tuple[MemoryEntry, MemoryLink]]:
        """Memories one step from the first ones and not among them, best first."""

    # --- remembering and recalling --------------------------------------------------------------------------------

    async def remember(
        self,
        memory_type: str,
        judgment: str,
        reasoning: str = "",
        tags: Iterable[str] = (),
        *,
        strength: int = 1,
        is_active: bool = True,
        memory_scope: str | None = None,
    ) -> str:
        """Keep a judgment; on disk when this returns. Returns the id of the memory."""
        entry = checks.new_memory(
            self._parts.limits,
            self._scope(memory_scope),
            memory_type=memory_type,
            judgment=judgment,
            reasoning=reasoning,
            tags=tags,
            strength=strength,
            is_active=is_active,
        )
        self._accept([entry])
        await self._run(self._parts.store.add, [entry], actor=self._parts.actor)
        self._written()
        return entry.id

    @abstractmethod
    def _accept(self, entries: Sequence[MemoryEntry]) -> None:
        """A word about memories that this runtime will not find; they are stored all the same."""

    async def recall(
        self,
        query: str,
        limit: int = 10,
        *,
        memory_scope: str | None = None,
        memory_types: str | Iterable[str] | None = None,
    ) -> Sequence[BaseMemory]:
        """The memories that answer the query best, best first. The query may be a whole chat record."""
        text, count, filters = self._question(query, limit, memory_scope, memory_types)
        found = await self._asked("recall", self._find, text, filters, count)
        return [BaseMemory.of(hit) for hit in found.hits]

    async def comprehensive_recall(
        self, query: str, limit: int = 10, *, memory_scope: str | None = None
    ) -> Sequence[BaseMemory]:
        """The same with a fair share for every memory type: each is asked, and each gives its best in turn."""
        text, count, filters = self._question(query, limit, memory_scope, None)
        found = await self._asked("comprehensive_recall", self._fairly, text, filters, count)
        return [BaseMemory.of(hit) for hit in found.hits]

    async def chained_recall(
        self, query: str, limit: int = 10, *, memory_scope: str | None = None
    ) -> Sequence[BaseMemory]:
        """The memories that answer the query, then those one step further on, each with the `link` it came by."""
        text, count, filters = self._question(query, limit, memory_scope, None)
        links: dict[str, MemoryLink] = {}
        found = await self._asked("chained_recall", self._chained, text, filters, count, links)
        return [BaseMemory.of(hit, links.get(hit.id)) for hit in found.hits]

    def _fairly(self, query: str, filters: Filters, limit: int) -> Found:
        found = self._find_each_type(query, filters, limit)
        return Found(fair_shares(found.hits, lambda hit: hit.memory_type, limit), found.candidates)

    def _chained(self, query: str, filters: Filters, limit: int, links: dict[str, MemoryLink]) -> Found:
        direct = self._find(query, filters, limit)
        further = self._linked(direct.hits[:FIRST_STEPS], filters, limit + len(direct.hits))
        known = {hit.id for hit in direct.hits}
        linked = [(entry, link) for entry, link in further if entry.id not in known]
        first, second = chained_shares([(hit, None) for hit in direct.hits], linked, limit)
        links.update({entry.id: link for entry, link in second if link is not None})
        return Found([entry for entry, _ in (*first, *second)], direct.candidates + len(linked))

    # --- feedback and upkeep --------------------------------------------------------------------------------------

    async def feedback(
        self,
        useful_memory_ids: Iterable[str] = (),
        recalled_memory_ids: Iterable[str] = (),
        new_memories: Iterable[NewMemory] = (),
        merge_groups: Iterable[MergeLike] = (),
        *,
        memory_scope: str | None = None,
        request_id: str | None = None,
    ) -> FeedbackResult:
        """Strengthen what was useful, note what was recalled for nothing, add, and merge: in one transaction."""
        order = checks.feedback_order(
            self._parts.limits,
            self._scope(memory_scope),
            useful=useful_memory_ids,
            recalled=recalled_memory_ids,
            new=new_memories,
            merges=merge_groups,
            request_id=request_id,
        )
        self._accept(order.new)
        store = self._parts.store
        outcome = await self._run(store.give_feedback, order, actor=self._parts.actor, now=clock.utc_now())
        self._written()
        made = (*outcome.created, *(new for new, _ in outcome.merged))
        entries: Mapping[str, MemoryEntry] = await self._run(store.fetch, made, order.visible)
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

    async def consolidate_memories(
        self,
        *,
        memory_scope: str | None = None,
        dry_run: bool = False,
        now: datetime | None = None,
        rules: FadingRules | None = None,
    ) -> ConsolidationReport:
        """Merge near-duplicates, let unused weak memories fade, archive what has long been inactive."""
        moment = clock.utc_now() if now is None else clock.require_aware(now, "now")
        own = None if memory_scope is None else self._scope(memory_scope)
        report: ConsolidationReport = await self._run(self._consolidate, own, moment, rules, dry_run=bool(dry_run))
        self._written()
        log.info(
            "runtime=%s request=consolidate dry_run=%s merged=%d faded=%d archived=%d",
            *(self.name, report.dry_run, report.merged, report.faded, report.archived),
        )
        return report

    def _consolidate(
        self, scope: str | None, now: datetime, rules: FadingRules | None, *, dry_run: bool
    ) -> ConsolidationReport:
        parts = self._parts
        scopes = parts.store.scopes() if scope is None else [scope]
        return consolidate(
            parts.store,
            parts.analyzer,
            scopes,
            rules=rules or FadingRules(),
            now=now,
            actor=parts.actor,
            dry_run=dry_run,
        )

    # --- single memories ------------------------------------------------------------------------------------------

    async def get(self, memory_id: str, *, memory_scope: str | None = None) -> BaseMemory | None:
        """One memory by its id, active or not; `None` when the scope sees none."""
        checked = checks.memory_id(self._parts.limits, memory_id)
        visible = visible_scopes(self._scope(memory_scope))
        entry = (await self._run(self._parts.store.fetch, [checked], visible)).get(checked)
        return None if entry is None else BaseMemory.of(entry)

    async def history(self, memory_id: str, *, memory_scope: str | None = None) -> Sequence[EntryVersion]:
        """Every version of one memory, oldest first; also of one that was merged, archived or forgotten."""
        checked = checks.memory_id(self._parts.limits, memory_id)
        visible = visible_scopes(self._scope(memory_scope))
        versions: Sequence[EntryVersion] = await self._run(self._parts.store.versions, visible, checked)
        return versions

    async def forget(self, memory_id: str, *, memory_scope: str | None = None, erase: bool = False) -> bool:
        """Remove one of the scope's own memories; with `erase` its texts and those it was merged from, for good."""
        checked = checks.memory_id(self._parts.limits, memory_id)
        own = self._scope(memory_scope)
        gone = await self._run(self._parts.store.forget, own, checked, actor=self._parts.actor, erase=bool(erase))
        self._written()
        return bool(gone)

    async def restore(self, memory_id: str, *, memory_scope: str | None = None) -> BaseMemory | None:
        """Bring one of the scope's own memories back that faded, was merged away, archived or forgotten."""
        checked = checks.memory_id(self._parts.limits, memory_id)
        own = self._scope(memory_scope)
        back = await self._run(self._parts.store.restore, own, checked, actor=self._parts.actor, now=clock.utc_now())
        self._written()
        return None if back is None else BaseMemory.of(back)

    # --- tags -----------------------------------------------------------------------------------------------------

    async def list_tags(
        self, limit: int = 100, offset: int = 0, *, memory_scope: str | None = None
    ) -> Sequence[tuple[str, int]]:
        """The tags that the scope sees, with how many active memories have each; the most used first."""
        most = self._parts.limits.check_limit(limit)
        check_whole(offset, "offset", 0, 2**31 - 1)
        visible = visible_scopes(self._scope(memory_scope))
        found: Sequence[tuple[str, int]] = await self._run(
            self._parts.records.tag_usage, visible, limit=most, offset=offset
        )
        return found

    async def collect_tags(self) -> int:
        """Remove the tags that no memory of any scope has; returns how many."""
        return int(await self._run(self._parts.records.collect_tags))

    # --- inside ---------------------------------------------------------------------------------------------------

    def _scope(self, scope: str | None) -> str:
        return self._parts.scope if scope is None else check_scope(scope)

    def _question(
        self, query: str, limit: int, scope: str | None, memory_types: str | Iterable[str] | None
    ) -> tuple[str, int, Filters]:
        own = self._scope(scope)
        text = self._parts.limits.check_query(query)
        count = self._parts.limits.check_limit(limit)
        # What was said in conversations is no judgment of anybody.
        unasked = (MESSAGE_TYPE,) if memory_types is None else ()
        return text, count, make_filters(visible_scopes(own), memory_types=memory_types, without_types=unasked)

    async def _asked(self, request: str, find: Callable[..., Found], *args: Any) -> Found:
        begin = time.perf_counter()
        found: Found = await self._run(find, *args)
        log.info(
            "runtime=%s request=%s candidates=%d returned=%d query_ms=%.1f",
            *(self.name, request, found.candidates, len(found.hits), 1_000 * (time.perf_counter() - begin)),
        )
        return found

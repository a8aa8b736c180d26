"""The runtime as callers see it: the `MemoryRuntime` protocol, and the asynchronous class that implements it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo
from typing import Protocol, runtime_checkable

from jiyi.model import clock
from jiyi.model.entry import EntryVersion
from jiyi.model.limits import check_version, check_whole
from jiyi.model.strength_decay import DecayRules
from jiyi.runtime import checks
from jiyi.runtime.dependencies import RuntimeCalls
from jiyi.runtime.service import PendingRecall, RuntimeService
from jiyi.runtime.values import (
    BaseMemory,
    ConsolidationReport,
    FeedbackResult,
    MergeLike,
    NewMemory,
    RecalledMemories,
)


@runtime_checkable
class MemoryRuntime(Protocol):
    """What an agent needs of a memory. `memory_scope=None` is the scope the memory was opened with.

    `public` sees what is public; any other scope sees itself and `public`; an empty or invalid one is refused and
    logged. Every method may be called from any number of tasks at once.
    """

    @property
    def name(self) -> str:
        """What is below: `SimpleMemoryRuntime` or `VectorMemoryRuntime`."""
        ...

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
        ...

    async def recall(
        self,
        query: str,
        limit: int = 10,
        *,
        memory_scope: str | None = None,
        memory_types: str | Iterable[str] | None = None,
        min_relevance: float = 0.0,
        touch: bool = True,
        time_zone: str | tzinfo | None = None,
    ) -> RecalledMemories:
        """The memories that answer the query best, best first. The query may be a whole chat record.

        Those whose relevance is at least 0.02 count as recalled and do not fade; without `touch` nothing counts.
        `score` is the probability that a memory answers, and those below `min_relevance` are left out; 0.02 is a good
        value for a prompt. A runtime that finds by tags does not measure relevance and leaves nothing out. Days in the
        query are those of `time_zone`, or of the settings.
        """
        ...

    async def comprehensive_recall(
        self,
        query: str,
        limit: int = 10,
        *,
        memory_scope: str | None = None,
        min_relevance: float = 0.0,
        touch: bool = True,
        time_zone: str | tzinfo | None = None,
    ) -> RecalledMemories:
        """The same with a fair share for every memory type: each is asked, and each gives its best in turn."""
        ...

    async def chained_recall(
        self,
        query: str,
        limit: int = 10,
        *,
        memory_scope: str | None = None,
        min_relevance: float = 0.0,
        touch: bool = True,
        time_zone: str | tzinfo | None = None,
    ) -> RecalledMemories:
        """The memories that answer the query, then those one step further on, each with the `link` it came by.

        At most half of the answer is linked, unless the question itself has fewer answers.
        """
        ...

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
        """Strengthen what was useful, note what was recalled for nothing, add, and merge: in one transaction.

        Unknown ids are reported in the result and the rest is done. The same `request_id` again gives the same answer
        and changes nothing.
        """
        ...

    async def consolidate_memories(
        self,
        *,
        memory_scope: str | None = None,
        dry_run: bool = False,
        now: datetime | None = None,
        rules: DecayRules | None = None,
    ) -> ConsolidationReport:
        """Merge near-duplicates, let unused weak memories fade, archive what has long been inactive.

        Without a scope every scope is looked after, each by itself. A dry run changes nothing and tells the same.
        """
        ...

    async def get(self, memory_id: str, *, memory_scope: str | None = None) -> BaseMemory | None:
        """One memory by its id, active or not; `None` when the scope sees none."""
        ...

    async def update(
        self,
        memory_id: str,
        *,
        judgment: str | None = None,
        reasoning: str | None = None,
        tags: Iterable[str] | None = None,
        strength: int | None = None,
        if_version: int | None = None,
        memory_scope: str | None = None,
    ) -> BaseMemory | None:
        """Change one of the scope's own memories; what is not given stays. `None` when there is no such one.

        `VersionConflictError` when it has another version than `if_version`.
        """
        ...

    async def history(self, memory_id: str, *, memory_scope: str | None = None) -> Sequence[EntryVersion]:
        """Every version of one memory, oldest first; also of one that was merged, archived or forgotten."""
        ...

    async def forget(
        self,
        memory_id: str,
        *,
        memory_scope: str | None = None,
        erase: bool = False,
        if_version: int | None = None,
    ) -> bool:
        """Remove one of the scope's own memories; with `erase` its texts and those it was merged from, for good.

        `VersionConflictError` when it has another version than `if_version`.
        """
        ...

    async def restore(self, memory_id: str, *, memory_scope: str | None = None) -> BaseMemory | None:
        """Bring one of the scope's own memories back that faded, was merged away, archived or forgotten."""
        ...

    async def list_tags(
        self, limit: int = 100, offset: int = 0, *, memory_scope: str | None = None
    ) -> Sequence[tuple[str, int]]:
        """The tags that the scope sees, with how many active memories have each; the most used first."""
        ...

    async def collect_tags(self) -> int:
        """Remove the tags that no memory of any scope has; returns how many. For administration only."""
        ...


class Runtime:
    """A memory runtime. How memories are found is the service's part; the name says which one it is."""

    def __init__(self, service: RuntimeService, calls: RuntimeCalls) -> None:
        self._service = service
        self._calls = calls
        self._run = calls.run
        self._write = calls.write
        self._written = calls.written
        service.name = self.name

    @property
    def name(self) -> str:
        """The class of the runtime, as the settings chose it."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<{self.name} scope={self._service.deps.scope!r}>"

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
            self._service.deps.limits,
            self._service.scope(memory_scope),
            memory_type=memory_type,
            judgment=judgment,
            reasoning=reasoning,
            tags=tags,
            strength=strength,
            is_active=is_active,
        )
        await self._write(self._service.add, [entry])
        self._written()
        return entry.id

    async def recall(
        self,
        query: str,
        limit: int = 10,
        *,
        memory_scope: str | None = None,
        memory_types: str | Iterable[str] | None = None,
        min_relevance: float = 0.0,
        touch: bool = True,
        time_zone: str | tzinfo | None = None,
    ) -> RecalledMemories:
        """The memories that answer the query best, best first. The query may be a whole chat record."""
        question = self._service.question(query, limit, memory_scope, memory_types, min_relevance, time_zone)
        return self._noted(await self._calls.run_unordered(self._service.recall, question), touch=touch)

    async def comprehensive_recall(
        self,
        query: str,
        limit: int = 10,
        *,
        memory_scope: str | None = None,
        min_relevance: float = 0.0,
        touch: bool = True,
        time_zone: str | tzinfo | None = None,
    ) -> RecalledMemories:
        """The same with a fair share for every memory type: each is asked, and each gives its best in turn."""
        question = self._service.question(query, limit, memory_scope, None, min_relevance, time_zone)
        return self._noted(await self._calls.run_unordered(self._service.comprehensive_recall, question), touch=touch)

    async def chained_recall(
        self,
        query: str,
        limit: int = 10,
        *,
        memory_scope: str | None = None,
        min_relevance: float = 0.0,
        touch: bool = True,
        time_zone: str | tzinfo | None = None,
    ) -> RecalledMemories:
        """The memories that answer the query, then those one step further on, each with the `link` it came by."""
        question = self._service.question(query, limit, memory_scope, None, min_relevance, time_zone)
        return self._noted(await self._calls.run_unordered(self._service.chained_recall, question), touch=touch)

    def _noted(self, answer: PendingRecall, *, touch: bool) -> RecalledMemories:
        """The answer; that it was given is written behind it."""
        if touch and answer.stale:
            self._calls.defer_batched(self._service.note_recalled, [(answer.scope, each) for each in answer.stale])
        return answer.memories

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
            self._service.deps.limits,
            self._service.scope(memory_scope),
            useful=useful_memory_ids,
            recalled=recalled_memory_ids,
            new=new_memories,
            merges=merge_groups,
            request_id=request_id,
        )
        result: FeedbackResult = await self._write(self._service.feedback, order)
        self._written()
        return result

    async def consolidate_memories(
        self,
        *,
        memory_scope: str | None = None,
        dry_run: bool = False,
        now: datetime | None = None,
        rules: DecayRules | None = None,
    ) -> ConsolidationReport:
        """Merge near-duplicates, let unused weak memories fade, archive what has long been inactive."""
        moment = clock.utc_now() if now is None else clock.require_aware(now, "now")
        own = None if memory_scope is None else self._service.scope(memory_scope)
        report: ConsolidationReport = await self._run(
            self._service.consolidate, own, moment, rules, dry_run=bool(dry_run)
        )
        self._written()
        return report

    # --- single memories ------------------------------------------------------------------------------------------

    async def get(self, memory_id: str, *, memory_scope: str | None = None) -> BaseMemory | None:
        """One memory by its id, active or not; `None` when the scope sees none."""
        found: BaseMemory | None = await self._run(
            self._service.get, self._service.scope(memory_scope), self._checked(memory_id)
        )
        return found

    async def update(
        self,
        memory_id: str,
        *,
        judgment: str | None = None,
        reasoning: str | None = None,
        tags: Iterable[str] | None = None,
        strength: int | None = None,
        if_version: int | None = None,
        memory_scope: str | None = None,
    ) -> BaseMemory | None:
        """Change one of the scope's own memories; what is not given stays. `None` when there is no such one.

        `VersionConflictError` when it has another version than `if_version`.
        """
        values = checks.changed_values(
            self._service.deps.limits, judgment=judgment, reasoning=reasoning, tags=tags, strength=strength
        )
        changed: BaseMemory | None = await self._write(
            self._service.update,
            self._service.scope(memory_scope),
            self._checked(memory_id),
            values,
            check_version(if_version),
        )
        self._written()
        return changed

    async def history(self, memory_id: str, *, memory_scope: str | None = None) -> Sequence[EntryVersion]:
        """Every version of one memory, oldest first; also of one that was merged, archived or forgotten."""
        versions: Sequence[EntryVersion] = await self._run(
            self._service.history, self._service.scope(memory_scope), self._checked(memory_id)
        )
        return versions

    async def forget(
        self,
        memory_id: str,
        *,
        memory_scope: str | None = None,
        erase: bool = False,
        if_version: int | None = None,
    ) -> bool:
        """Remove one of the scope's own memories; with `erase` its texts and those it was merged from, for good.

        `VersionConflictError` when it has another version than `if_version`.
        """
        gone = await self._write(
            self._service.forget,
            self._service.scope(memory_scope),
            self._checked(memory_id),
            erase=bool(erase),
            if_version=check_version(if_version),
        )
        self._written()
        return bool(gone)

    async def restore(self, memory_id: str, *, memory_scope: str | None = None) -> BaseMemory | None:
        """Bring one of the scope's own memories back that faded, was merged away, archived or forgotten."""
        back: BaseMemory | None = await self._write(
            self._service.restore, self._service.scope(memory_scope), self._checked(memory_id)
        )
        self._written()
        return back

    # --- tags -----------------------------------------------------------------------------------------------------

    async def list_tags(
        self, limit: int = 100, offset: int = 0, *, memory_scope: str | None = None
    ) -> Sequence[tuple[str, int]]:
        """The tags that the scope sees, with how many active memories have each; the most used first."""
        max_tags = self._service.deps.limits.check_limit(limit)
        check_whole(offset, "offset", 0, 2**31 - 1)
        found: Sequence[tuple[str, int]] = await self._run(
            self._service.list_tags, self._service.scope(memory_scope), max_tags, offset
        )
        return found

    async def collect_tags(self) -> int:
        """Remove the tags that no memory of any scope has; returns how many. For administration only."""
        return int(await self._run(self._service.deps.records.collect_tags))

    def _checked(self, memory_id: str) -> str:
        return checks.memory_id(self._service.deps.limits, memory_id)

"""NoopRuntime: the same calls, nothing kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from jiyi.model.entry import EntryVersion
from jiyi.model.identity import new_id
from jiyi.runtime.values import BaseMemory, ConsolidationReport, FeedbackResult, MergeLike, NewMemory


class NoopRuntime:
    """Drops what is remembered and finds nothing."""

    asynchronous: ClassVar = True

    @property
    def name(self) -> str:
        """What is below: nothing."""
        return type(self).__name__

    async def remember(
        self, memory_type: str, judgment: str, reasoning: str = "", tags: Iterable[str] = (), **_: Any
    ) -> str:
        """Drop it; the id that it would have had is returned."""
        return new_id()

    async def recall(self, query: str, limit: int = 10, **_: Any) -> Sequence[BaseMemory]:
        """Nothing."""
        return []

    async def comprehensive_recall(self, query: str, limit: int = 10, **_: Any) -> Sequence[BaseMemory]:
        """Nothing."""
        return []

    async def chained_recall(self, query: str, limit: int = 10, **_: Any) -> Sequence[BaseMemory]:
        """Nothing."""
        return []

    async def feedback(
        self,
        useful_memory_ids: Iterable[str] = (),
        recalled_memory_ids: Iterable[str] = (),
        new_memories: Iterable[NewMemory] = (),
        merge_groups: Iterable[MergeLike] = (),
        **_: Any,
    ) -> FeedbackResult:
        """Nothing is known here: every id is unknown."""
        ids = dict.fromkeys((*useful_memory_ids, *recalled_memory_ids))
        return FeedbackResult(merged={}, unknown_ids=tuple(ids))

    async def consolidate_memories(self, *, dry_run: bool = False, **_: Any) -> ConsolidationReport:
        """There is nothing to do."""
        return ConsolidationReport(dry_run=dry_run, examples={"merged": (), "faded": (), "archived": ()})

    async def update(self, memory_id: str, **_: Any) -> BaseMemory | None:
        """There is nothing to change."""
        return None

    async def get(self, memory_id: str, **_: Any) -> BaseMemory | None:
        """Nothing."""
        return None

    async def history(self, memory_id: str, **_: Any) -> Sequence[EntryVersion]:
        """Nothing."""
        return []

    async def forget(self, memory_id: str, **_: Any) -> bool:
        """There was nothing to forget."""
        return False

    async def restore(self, memory_id: str, **_: Any) -> BaseMemory | None:
        """Nothing."""
        return None

    async def list_tags(self, limit: int = 100, offset: int = 0, **_: Any) -> Sequence[tuple[str, int]]:
        """Nothing."""
        return []

    async def collect_tags(self) -> int:
        """There is nothing to collect."""
        return 0

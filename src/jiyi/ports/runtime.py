"""What the runtime needs of a record store beyond the common contract in `jiyi.ports`.

Everything here is synchronous and safe to call from several threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from datetime import datetime

    from jiyi.model.entry import EntryVersion, MemoryEntry
    from jiyi.model.feedback import FeedbackOrder, FeedbackOutcome, MergeGroup
    from jiyi.model.strength_decay import DecayedStrength, TrackedMemory


class Sorter(Protocol):
    """Many small rows in order, on disk and not in memory; gone afterwards."""

    def add(self, rows: Iterable[tuple[str, str, str]]) -> None:
        """Take rows in: (group, text to sort by, id)."""
        ...

    def groups(self, prefix: str, *, limit: int) -> Iterator[list[tuple[str, str]]]:
        """(text, id) of each group of several that begins so, in pieces of at most so many, without what was taken."""
        ...

    def take(self, ids: Iterable[str]) -> None:
        """Leave these out of what follows."""
        ...

    def taken(self, ids: Sequence[str]) -> set[str]:
        """Which of these were taken."""
        ...


class RuntimeStore(Protocol):
    """The memories of the runtime: ordinary records, with counts of how often each was useful."""

    def add(self, entries: Sequence[MemoryEntry], *, actor: str) -> None:
        """Store new memories in one transaction."""
        ...

    def give_feedback(self, order: FeedbackOrder, *, actor: str, now: datetime) -> FeedbackOutcome:
        """Do all of it in one transaction; a request that was answered before changes nothing."""
        ...

    def fetch(self, ids: Sequence[str], scopes: Sequence[str]) -> dict[str, MemoryEntry]:
        """Memories by id inside these scopes, active or not."""
        ...

    def versions(self, scopes: Sequence[str], memory_id: str) -> list[EntryVersion]:
        """Every version of one memory, oldest first; also of one that is gone."""
        ...

    def forget(self, scope: str, memory_id: str, *, actor: str, erase: bool, if_version: int | None = None) -> bool:
        """Remove a memory; its versions stay readable unless `erase`.

        `VersionConflictError` when it has another version than `if_version`.
        """
        ...

    def update(
        self,
        scope: str,
        memory_id: str,
        values: Mapping[str, Any],
        *,
        actor: str,
        now: datetime,
        if_version: int | None = None,
    ) -> MemoryEntry | None:
        """Change fields of an own memory: `content`, `reasoning`, `tags`, `strength`; a new version.

        `VersionConflictError` when it has another version than `if_version`.
        """
        ...

    def restore(self, scope: str, memory_id: str, *, actor: str, now: datetime) -> MemoryEntry | None:
        """Make a memory active again that faded, was superseded, archived or forgotten; `None` if it cannot be."""
        ...

    def memory_types(self, scopes: Sequence[str]) -> list[str]:
        """The memory types that the runtime has used in these scopes."""
        ...

    def scopes(self) -> list[str]:
        """The scopes that have memories of the runtime."""
        ...

    def page(self, scope: str, *, active: bool, after_id: str = "", limit: int) -> list[TrackedMemory]:
        """The scope's memories in the order of their ids."""
        ...

    def merge(self, scope: str, groups: Sequence[MergeGroup], *, actor: str, now: datetime) -> list[MergeGroup]:
        """Merge groups of this scope's own active memories in one transaction; returns those that were merged."""
        ...

    def write_decay(self, decayed: Mapping[str, DecayedStrength], *, actor: str, now: datetime) -> None:
        """Write down what decay made of these memories, in one transaction."""
        ...

    def archive(self, ids: Sequence[str], *, actor: str, now: datetime) -> None:
        """Take inactive memories out of the records, in one transaction; their versions stay."""
        ...

    def forget_requests(self, before: datetime) -> int:
        """Drop the answers to requests that are so old that nobody repeats them."""
        ...

    def sorter(self) -> AbstractContextManager[Sorter]:
        """Room for sorting what does not fit in memory."""
        ...

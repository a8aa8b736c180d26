"""The contracts that rooms speak to. Backends and providers implement them; `jiyi.testing` checks them.

Everything here is synchronous and safe to call from several threads; `AgentMemory` runs it off the event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from jiyi.model.entry import EntryVersion, MemoryEntry
    from jiyi.model.filters import Filters
    from jiyi.model.message import Message
    from jiyi.text import Analysis

    Vectors: TypeAlias = NDArray[np.float32]

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with (done, total or None)."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry to be stored."""

    entry: MemoryEntry
    """Complete as a new entry. Where its key is taken, that entry's id and creation time are kept."""
    keep: frozenset[str] = frozenset()
    """Fields that an existing entry keeps, because the caller said nothing about them."""


@dataclass(frozen=True, slots=True)
class Change:
    """One line of the change log, as indexers read it."""

    sequence: int
    entry_id: str
    scope: str
    version: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in the change log. The fingerprint tells two logs apart that have the same length."""

    sequence: int
    fingerprint: str


START = Mark(0, "")


class RecordStore(Protocol):
    """The truth: entries, their versions, conversations, and the change log that feeds every index."""

    @property
    def store_id(self) -> str: ...

    def put(self, drafts: Sequence[Draft], *, actor: str) -> list[MemoryEntry]:
        """Insert or update by (scope, key) in one transaction; returns them as stored, durable."""
        ...

    def forget(self, scope: str, key: str, *, actor: str, erase: bool = False) -> bool:
        """Remove the entry with this key; its versions stay readable unless `erase`."""
        ...

    def get(self, scopes: Sequence[str], key: str) -> MemoryEntry | None:
        """The entry with this key in the first of `scopes` that has it."""
        ...

    def fetch(self, ids: Sequence[str], filters: Filters | None) -> dict[str, MemoryEntry]:
        """Entries by id; with filters only those they admit. `None` is for indexers, never for callers."""
        ...

    def matching_ids(self, filters: Filters) -> list[str]:
        """Ids of all entries that the filters admit."""
        ...

    def count(self, filters: Filters) -> int: ...

    def page(self, filters: Filters, *, limit: int, offset: int) -> list[MemoryEntry]:
        """Entries newest first."""
        ...

    def versions(self, scope: str, key: str) -> list[EntryVersion]:
        """All versions of the entries that had this key, oldest first."""
        ...

    def touch(self, ids: Sequence[str], at: datetime) -> None:
        """Count an access to each of these entries."""
        ...

    def head(self) -> Mark:
        """The last place of the change log."""
        ...

    def mark_at(self, sequence: int) -> Mark | None: ...

    def changes_after(self, sequence: int, *, limit: int) -> list[Change]: ...

    def pending(self, sequence: int, scopes: Sequence[str] | None = None) -> int:
        """How many changes follow this place."""
        ...

    def scan(self, *, after_id: str = "", limit: int) -> list[MemoryEntry]:
        """All active entries of all scopes in id order, for rebuilding and comparing."""
        ...

    def save_history(
        self, scope: str, session_id: str, messages: Sequence[Message], *, actor: str
    ) -> int: ...

    def load_history(self, scope: str, session_id: str) -> list[Message]: ...

    def sessions(self, scope: str) -> list[str]: ...

    def export_rows(self, scope: str | None) -> Iterator[dict[str, Any]]: ...

    def import_rows(self, rows: Iterable[Mapping[str, Any]], *, actor: str) -> ImportCounts: ...

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`: versions, sizes, settings of the engine."""
        ...

    def check(self) -> list[str]:
        """Problems of the store itself, in words; empty when sound."""
        ...

    def maintain(self) -> None:
        """Small regular upkeep, such as a checkpoint."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """What an import did."""

    entries: int = 0
    versions: int = 0
    messages: int = 0
    unchanged: int = 0

    def __add__(self, other: ImportCounts) -> ImportCounts:
        return ImportCounts(
            self.entries + other.entries,
            self.versions + other.versions,
            self.messages + other.messages,
            self.unchanged + other.unchanged,
        )


@dataclass(frozen=True, slots=True)
class IndexBatch:
    """What an index takes in at once: the current state of what changed."""

    upserts: Sequence[MemoryEntry]
    removals: Sequence[tuple[str, str]]
    """(scope, id) of what is gone."""
    mark: Mark
    """Where the index stands after this batch."""


@runtime_checkable
class DerivedIndex(Protocol):
    """Anything that can be deleted and rebuilt from the records. Its mark is committed together with its data."""

    @property
    def name(self) -> str: ...

    @property
    def batch_size(self) -> int:
        """How many changes one commit should take."""
        ...

    def mark(self) -> Mark | None:
        """How far the index has come; `None` when it is missing, foreign or made by other rules: rebuild it."""
        ...

    def apply(self, batch: IndexBatch) -> None:
        """Take the batch in, durably and idempotently, mark included."""
        ...

    def rebuild(self, store: RecordStore, *, progress: Progress | None = None) -> None:
        """Build a new index beside the old one from all records, then swap."""
        ...

    def contents(self) -> Iterator[tuple[str, str]]:
        """(id, fingerprint) of everything held, for comparing with the records."""
        ...

    def check(self) -> list[str]:
        """Problems of the files themselves, in words; empty when sound."""
        ...

    def exclusive(self, timeout: float | None = None) -> AbstractContextManager[None]:
        """Only one process drains or rebuilds this index at a time; `StoreBusyError` after the timeout."""
        ...

    def fingerprint(self, entry: MemoryEntry) -> str:
        """The hash by which `contents` shows this state of an entry."""
        ...

    def describe(self) -> dict[str, Any]: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Proposal:
    """An id that an index proposes, with the index's own score."""

    entry_id: str
    score: float


class TextIndex(DerivedIndex, Protocol):
    """Finds entries by their words."""

    def search(self, query: Analysis, filters: Filters, *, limit: int) -> list[Proposal]: ...


class VectorIndex(DerivedIndex, Protocol):
    """Finds entries by meaning, exactly, inside the visible scopes."""

    def search(
        self, vector: Vectors, scopes: Sequence[str], *, limit: int, allowed: Sequence[str] | None = None
    ) -> list[Proposal]: ...


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Which model made a vector; vectors of two identities are never ranked together."""

    name: str
    dimension: int
    revision: str

    def __str__(self) -> str:
        return f"{self.name}@{self.revision}/{self.dimension}"


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def identity(self) -> ModelIdentity: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text, in order, each of length 1."""
        ...

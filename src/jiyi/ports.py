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
    fingerprint: str

    @property
    def mark(self) -> Mark:
        """This place of the log."""
        return Mark(self.sequence, self.fingerprint)


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in the change log. The fingerprint tells two logs apart that have the same length."""

    sequence: int
    fingerprint: str


START = Mark(0, "")


@dataclass(frozen=True, slots=True)
class TagMark:
    """A state of the set of tags: tags are only added, until a collection begins a new generation."""

    generation: int
    last_id: int


@dataclass(frozen=True, slots=True)
class TagPage:
    """Tags that somebody who knew an earlier state has not seen."""

    mark: TagMark
    tags: Sequence[tuple[int, str]]
    """(id, name)."""
    whole: bool
    """Whether these are all tags there are, and not only the new ones."""


@dataclass(frozen=True, slots=True)
class Tagged:
    """Entries found by tags."""

    found: Sequence[tuple[MemoryEntry, int]]
    """Each with how many of the tags it has, in order."""
    candidates: int
    """How many entries of the scopes have any of the tags, whatever else the filters ask for."""


class RecordStore(Protocol):
    """The truth: entries, their versions, conversations, and the change log that feeds every index."""

    @property
    def store_id(self) -> str:
        """Which store this is."""
        ...

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

    def count(self, filters: Filters) -> int:
        """How many entries the filters admit."""
        ...

    def page(self, filters: Filters, *, limit: int, offset: int) -> list[MemoryEntry]:
        """Entries newest first."""
        ...

    def versions(self, scope: str, key: str) -> list[EntryVersion]:
        """All versions of the entries that had this key, oldest first."""
        ...

    def time_range(self, scopes: Sequence[str]) -> tuple[datetime, datetime] | None:
        """When the first and the last of these scopes' entries happened; `None` when there are none."""
        ...

    def tags_since(self, known: TagMark | None) -> TagPage:
        """Tags that were added after this state; all of them when it is none or some were removed since."""
        ...

    def tagged(self, tag_ids: Iterable[int], filters: Filters, *, limit: int, each_type: bool = False) -> Tagged:
        """Entries with any of these tags: most tags first, then newer day, strength, newest.

        With `each_type` the limit holds for every memory type by itself.
        """
        ...

    def tag_usage(self, scopes: Sequence[str], *, limit: int, offset: int) -> list[tuple[str, int]]:
        """Tags of the active entries of these scopes with how many have each; the most used first."""
        ...

    def collect_tags(self) -> int:
        """Remove the tags that no entry has; returns how many."""
        ...

    def touch(self, ids: Sequence[str], at: datetime) -> None:
        """Count an access to each of these entries."""
        ...

    def head(self) -> Mark:
        """The last place of the change log."""
        ...

    def mark_at(self, sequence: int) -> Mark | None:
        """The mark of one place of the change log; `None` when there is no such place."""
        ...

    def changes_after(self, sequence: int, *, limit: int) -> list[Change]:
        """What follows this place of the change log."""
        ...

    def pending(self, sequence: int, scopes: Sequence[str] | None = None) -> int:
        """How many changes follow this place."""
        ...

    def scan(self, *, after_id: str = "", limit: int) -> list[MemoryEntry]:
        """All active entries of all scopes in id order, for rebuilding and comparing."""
        ...

    def save_history(
        self, scope: str, session_id: str, messages: Sequence[Message], *, actor: str, recallable: bool = True
    ) -> int:
        """Make `messages` the record of the session; with `recallable` what was said becomes entries as well."""
        ...

    def load_history(self, scope: str, session_id: str) -> list[Message]:
        """The record of the session, exactly as saved."""
        ...

    def sessions(self, scope: str) -> list[str]:
        """Ids of the sessions, the one last written to first."""
        ...

    def export_rows(self, scope: str | None) -> Iterator[dict[str, Any]]:
        """Everything, or everything of one scope, as JSON-ready rows."""
        ...

    def import_rows(self, rows: Iterable[Mapping[str, Any]], *, actor: str) -> ImportCounts:
        """Take exported rows in, all or nothing."""
        ...

    def user_words(self) -> list[str]:
        """Words that the segmenter shall take as words."""
        ...

    def add_user_word(self, word: str) -> bool:
        """Add one; whether it is new."""
        ...

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`: versions, sizes, settings of the engine."""
        ...

    def check(self) -> list[str]:
        """Problems of the store itself, in words; empty when sound."""
        ...

    def maintain(self) -> None:
        """Small regular upkeep, such as a checkpoint."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """What an import did."""

    entries: int = 0
    versions: int = 0
    messages: int = 0
    unchanged: int = 0
    words: int = 0

    def __add__(self, other: ImportCounts) -> ImportCounts:
        return ImportCounts(
            self.entries + other.entries,
            self.versions + other.versions,
            self.messages + other.messages,
            self.unchanged + other.unchanged,
            self.words + other.words,
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
    def name(self) -> str:
        """What it is called in reports."""
        ...

    @property
    def batch_size(self) -> int:
        """How many changes one commit should take."""
        ...

    def mark(self) -> Mark | None:
        """How far the index has come; `None` when it is missing, foreign or made by other rules: rebuild it."""
        ...

    def apply(self, batch: IndexBatch) -> None:
        """Take the batch in, durably and idempotently, mark included.

        `IndexDamagedError` when there is no mark: an index that knows only this batch would claim to know everything.
        """
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

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """Numbers about the visible texts together; the tuples follow the question's terms."""

    entries: int
    mean_length: float
    """Harmonic, of lengths of at least 25: as near to the usual length as the median, and kept up to date by a sum."""
    mean_bigram_length: float
    word_df: tuple[int, ...]
    bigram_df: tuple[int, ...]
    conversations: int
    mean_conversation_length: float
    conversation_df: tuple[int, ...]


CONVERSATION, TIMED, ALONE = "c:", "t:", "e:"
"""How the name of a thread begins: a conversation, records in order of time, an entry by itself."""


@dataclass(frozen=True, slots=True)
class TermRow:
    """What the scorer knows of one text: its place, and 32-bit term ids (little-endian) with one byte of count each."""

    scope: str
    thread: str
    """What it stands in line with: entries of one thread are neighbours."""
    event_time: int
    """Microseconds since 1970 in UTC."""
    entry_id: str
    length: int
    bigram_length: int
    question_share: float
    words: bytes
    word_counts: bytes
    bigrams: bytes
    bigram_counts: bytes

    @property
    def in_conversation(self) -> bool:
        """Whether its thread is a conversation."""
        return self.thread.startswith(CONVERSATION)


class TextIndex(DerivedIndex, Protocol):
    """Finds entries by their words, and knows the numbers by which texts are compared."""

    def propose(
        self, field: str, terms: Sequence[str], filters: Filters, *, limit: int, labels: bool = False
    ) -> list[str]:
        """Ids of the best matches in `words` or `bigrams`, best first; with `labels` also by keys and tags."""
        ...

    def statistics(self, scopes: Sequence[str], words: Sequence[str], bigrams: Sequence[str]) -> TermStatistics:
        """Numbers of these scopes together."""
        ...

    def windows(self, ids: Sequence[str], *, reach: int) -> list[TermRow]:
        """Texts by id with up to `reach` others before and after each in its conversation, in order."""
        ...

    def conversations(
        self, threads: Iterable[tuple[str, str]], words: Sequence[str]
    ) -> dict[tuple[str, str], tuple[int, tuple[int, ...]]]:
        """For each (scope, thread) of a conversation its length and how often each word stands in it."""
        ...

    def term_ids(self, terms: Sequence[str]) -> list[int]:
        """The numbers under which `windows` shows these terms."""
        ...


class VectorScan(Protocol):
    """The similarities of one question to every text of the visible scopes."""

    @property
    def count(self) -> int:
        """How many texts were compared."""
        ...

    @property
    def mean(self) -> float:
        """The mean similarity."""
        ...

    def best(
        self,
        limit: int,
        *,
        allowed: Sequence[str] | None = None,
        periods: Sequence[tuple[datetime, datetime]] = (),
    ) -> list[str]:
        """Ids of the most similar, best first; only the allowed ones, and inside one of the periods if any."""
        ...

    def of(self, ids: Sequence[str]) -> Vectors:
        """The similarity of each of these; NaN where there is no vector."""
        ...


class VectorIndex(DerivedIndex, Protocol):
    """Finds entries by meaning, exactly, inside the visible scopes."""

    def scan(self, vector: Vectors, scopes: Sequence[str]) -> VectorScan:
        """Compare a question with every text of these scopes."""
        ...


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Which model made a vector; vectors of two identities are never ranked together."""

    name: str
    dimension: int
    revision: str

    def __str__(self) -> str:
        return f"{self.name}@{self.revision}/{self.dimension}"


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def identity(self) -> ModelIdentity:
        """Which model this is."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text, in order, each of length 1."""
        ...

"""Derived indexes: text and vectors. They follow the change log and can be rebuilt from the records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from datetime import datetime

    from jiyi.model.entry import MemoryEntry
    from jiyi.model.filters import Filters
    from jiyi.ports.changelog import LogPosition
    from jiyi.ports.models import Vectors
    from jiyi.ports.progress import Progress
    from jiyi.ports.records import RecordStore


@dataclass(frozen=True, slots=True)
class IndexBatch:
    """What an index takes in at once: the current state of what changed."""

    upserts: Sequence[MemoryEntry]
    removals: Sequence[tuple[str, str]]
    """(scope, id) of what is gone."""
    log_position: LogPosition
    """Where the index stands after this batch."""


@runtime_checkable
class DerivedIndex(Protocol):
    """Anything that can be deleted and rebuilt from the records. Its log position is committed with its data."""

    @property
    def name(self) -> str:
        """What it is called in reports."""
        ...

    @property
    def batch_size(self) -> int:
        """How many changes one commit should take."""
        ...

    def log_position(self) -> LogPosition | None:
        """How far the index has come; `None` when it is missing, foreign or made by other rules: rebuild it."""
        ...

    def apply(self, batch: IndexBatch) -> None:
        """Take the batch in, durably and idempotently, log position included.

        `IndexDamagedError` when there is no log position: an index that knows only this batch would claim to be
        complete.
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
        """The hash by which `contents` shows this state of an entry; empty for one that it does not hold."""
        ...

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`."""
        ...

    def close(self) -> None:
        """Close files and connections."""
        ...


@runtime_checkable
class SharesFiles(Protocol):
    """An index whose files keep the words of removed entries as long as they also hold others."""

    def beside_removed(self, removed: Sequence[str], limit: int) -> list[str]:
        """Ids of the entries whose files also hold these: when they are written again, the files are deleted.

        The same for entries that were removed before, if that makes no more than `limit` ids.
        """
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


class TermRow(NamedTuple):
    """What the scorer knows of one text: its place, and its terms with one byte of count each.

    Terms are the numbers of `jiyi.text.term_ids`, as 32-bit integers (little-endian).

    A tuple: every recall makes a hundred of them.
    """

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


class TextSource(Protocol):
    """Finds entries by their words, and knows the numbers by which texts are compared."""

    def propose(
        self, field: str, terms: Sequence[str], filters: Filters, *, limit: int, labels: bool = False
    ) -> list[str]:
        """Ids of the best matches in `words` or `bigrams`, best first; with `labels` also by keys and tags."""
        ...

    def statistics(self, scopes: Sequence[str], words: Sequence[str], bigrams: Sequence[str]) -> TermStatistics:
        """Numbers of these scopes together."""
        ...

    def windows(self, ids: Sequence[str], *, reach: int, scopes: Sequence[str] = ()) -> list[TermRow]:
        """Texts by id with up to `reach` others before and after each in its conversation, in order.

        `scopes` is a hint where they stand: they are found sooner by it.
        """
        ...

    def conversations(
        self, threads: Iterable[tuple[str, str]], words: Sequence[str]
    ) -> dict[tuple[str, str], tuple[int, tuple[int, ...]]]:
        """For each (scope, thread) of a conversation its length and how often each word stands in it."""
        ...


class TextIndex(TextSource, DerivedIndex, Protocol):
    """A text source that follows the change log."""


@runtime_checkable
class ReadForRecall(Protocol):
    """A text index that is asked several times by one recall, and need not look at its files each time."""

    def for_recall(self) -> TextSource:
        """The same index for one recall, which has just asked for the log position."""
        ...


@runtime_checkable
class OverlaidText(Protocol):
    """A text index that can answer as if it had taken in a few more changes."""

    def overlaid(self, batch: IndexBatch) -> TextSource:
        """The index together with the batch. Nothing is written."""
        ...


@runtime_checkable
class StatesMode(Protocol):
    """An index that answers in one of several ways, and says in which."""

    @property
    def mode(self) -> str:
        """How it answers, in words for the coverage of an answer."""
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

    def of(self, ids: Sequence[str], *, rough: bool = False) -> Vectors:
        """The similarity of each of these; NaN where there is no vector.

        With `rough` they are only averaged, and may differ in the last digit between equal texts.
        """
        ...


@runtime_checkable
class ComparesLists(Protocol):
    """A `VectorScan` that may keep the vectors of a list of entries, which many questions ask for, in memory."""

    def best_listed(
        self, limit: int, listed: frozenset[str], *, periods: Sequence[tuple[datetime, datetime]] = ()
    ) -> list[str] | None:
        """Ids of the most similar of these, inside one of the periods if any; `None` if they are not in memory."""
        ...


class VectorIndex(DerivedIndex, Protocol):
    """Finds entries by meaning, exactly, inside the visible scopes."""

    def scan(self, vector: Vectors, scopes: Sequence[str]) -> VectorScan:
        """Compare a question with every text of these scopes."""
        ...


@runtime_checkable
class ComparesEntries(Protocol):
    """A vector index that compares entries which it has not taken in yet."""

    def similarities(self, vector: Vectors, entries: Sequence[MemoryEntry]) -> Vectors:
        """The similarity of each entry to a question, to the last digit as a scan will tell it. Nothing is written."""
        ...


@runtime_checkable
class PreparesBatches(Protocol):
    """An index that can do the slow part of a batch before its lock is taken."""

    def prepare(self, batch: IndexBatch, timeout: float | None = None) -> None:
        """Compute what `apply` of this batch will write; `StoreBusyError` if other threads keep it waiting longer."""
        ...


class VectorComparison(NamedTuple):
    """The similarities of the texts of some scopes to a vector."""

    scan: VectorScan
    scanned_at: LogPosition | None = None
    """Where the vectors stand in the log, if these scopes have later changes: the scan lacks them."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything that a recall asks of its scopes, as it was at one moment after the question was put."""

    text: TextSource
    mode: str
    """How the text index answers, in words."""
    compared: VectorComparison | None
    """`None` where meaning was not asked."""
    corrected: bool = True
    """Whether a fact of a conversation may have been corrected in these scopes."""
    reflections: frozenset[str] = frozenset()
    """Ids of the reflections of these scopes."""


class ScopeReader(Protocol):
    """Reads small scopes whole, in one round trip, where an engine keeps the records and every index."""

    def worthwhile(self, scopes: Sequence[str]) -> bool:
        """Whether these scopes are small, as far as it is known without asking."""
        ...

    def read(self, filters: Filters, vector: Vectors | None, *, fields: AbstractSet[str]) -> Reading | None:
        """All of these scopes, compared with the vector if there is one, with these `fields`: `words`, `bigrams`.

        `None` when they are too large for that, or the text index is behind in them, or an index is missing or not to
        be trusted: then each index has to be brought up to date and asked by itself.
        """
        ...

    def last_read(self, filters: Filters) -> TextSource | None:
        """The texts of these scopes as they were read last, perhaps not the current ones; `None` if they are unknown.

        They tell how the question will be worded, so that its vector can be compared in the round trip that reads them.
        """
        ...

    def compare(self, filters: Filters, vector: Vectors) -> VectorComparison | None:
        """The same scopes, compared with another vector: nothing else is read again. `None` as for `read`."""
        ...

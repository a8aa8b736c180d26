"""The record store: entries, their versions, and what every room reads and writes there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from jiyi.model.listing import NEWEST_FIRST, Order, Place
from jiyi.ports.changelog import ChangeLog
from jiyi.ports.history import HistoryStore
from jiyi.ports.notes import NoteStore
from jiyi.ports.tags import TagStore

if TYPE_CHECKING:
    from datetime import datetime

    from jiyi.errors import ImportFormatError
    from jiyi.model.entry import EntryVersion, MemoryEntry
    from jiyi.model.filters import Filters
    from jiyi.model.limits import Limits


EXPORT_FORMAT: Final = 1
"""The version of the lines that `TransferStore` writes and reads."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry to be stored."""

    entry: MemoryEntry
    """Complete as a new entry. Where its key is taken, that entry's id and creation time are kept."""
    keep: frozenset[str] = frozenset()
    """Fields that an existing entry keeps, because the caller said nothing about them."""


class EntryStore(Protocol):
    """Entries by key, by id and by filters."""

    def put(self, drafts: Sequence[Draft], *, actor: str) -> list[MemoryEntry]:
        """Insert or update by (scope, key) in one transaction; returns them as stored, durable."""
        ...

    def update(
        self,
        scope: str,
        key_or_id: str,
        changes: Mapping[str, Any],
        *,
        actor: str,
        if_version: int | None = None,
        by_id: bool = False,
    ) -> MemoryEntry | None:
        """A new version of the entry with this key, or else this id, with these fields changed.

        With `by_id` no key is looked at.

        `None` when the scope has no such entry; `VersionConflictError` when it has another version than `if_version`.
        """
        ...

    def forget(
        self,
        scope: str,
        key: str | None,
        *,
        actor: str,
        erase: bool = False,
        entry_id: str | None = None,
        if_version: int | None = None,
    ) -> bool:
        """Remove the entry with this id, or else with this key; its versions stay readable unless `erase`."""
        ...

    def forget_some(self, filters: Filters, *, actor: str, limit: int, erase: bool = False) -> int:
        """Forget at most `limit` entries that the filters admit, in one transaction; returns how many."""
        ...

    def count_expired(self, scopes: Sequence[str] | None, at: datetime) -> int:
        """How many active entries of these scopes, or of all, have expired."""
        ...

    def archive_expired(self, scopes: Sequence[str] | None, at: datetime, *, actor: str, limit: int) -> int:
        """Make at most `limit` entries inactive that have expired, in one transaction; returns how many."""
        ...

    def archived(self, filters: Filters, *, limit: int) -> list[MemoryEntry]:
        """Entries that were archived because they had expired, and that the filters admit as of `alive_at`."""
        ...

    def get(self, scopes: Sequence[str], key: str | None, *, entry_id: str | None = None) -> MemoryEntry | None:
        """The entry with this id, or else with this key, in the first of `scopes` that has it."""
        ...

    def fetch(self, ids: Sequence[str], filters: Filters | None) -> dict[str, MemoryEntry]:
        """Entries by id; with filters only those they admit. `None` is for indexers, never for callers."""
        ...

    def admitted(self, ids: Sequence[str], filters: Filters) -> set[str]:
        """Which of these ids the filters admit; quicker than `fetch` where the entries are not needed."""
        ...

    def reflections(self, scopes: Sequence[str]) -> list[str]:
        """Ids of the active reflections of these scopes."""
        ...

    def few_matching(self, filters: Filters, *, limit: int) -> list[str] | None:
        """Ids of all entries that the filters admit, if they are at most so many and that is known without a scan."""
        ...

    def estimate(self, filters: Filters, *, limit: int) -> int | None:
        """About how many entries meet the conditions; `None` if unknown, more than `limit`, or few and listed."""
        ...

    def listed_matches(self, filters: Filters, *, limit: int) -> frozenset[str] | None:
        """Ids among which are all entries that the filters admit; `None` if there are more, or nothing lists them.

        To be asked after `estimate`. More are listed where they are asked for again while nothing changes.
        """
        ...

    def matching_ids(self, filters: Filters) -> list[str]:
        """Ids of all entries that the filters admit."""
        ...

    def count(self, filters: Filters) -> int:
        """How many entries the filters admit."""
        ...

    def page(
        self,
        filters: Filters,
        *,
        limit: int,
        offset: int = 0,
        order: Order = NEWEST_FIRST,
        after: Place | None = None,
    ) -> list[MemoryEntry]:
        """Entries in order, from the one that follows the place `after`."""
        ...

    def namespaces(self, scopes: Sequence[str], *, now: datetime) -> list[tuple[str, ...]]:
        """The different namespaces of the entries of these scopes that have not expired."""
        ...

    def versions(self, scope: str, key: str | None, *, entry_id: str | None = None) -> list[EntryVersion]:
        """All versions of the entry with this id, or of the entries that had this key, oldest first."""
        ...

    def known_keys(self, scope: str, keys: Sequence[str]) -> set[str]:
        """Which of these keys entries of the scope have or had; those of forgotten entries too."""
        ...

    def time_range(self, scopes: Sequence[str]) -> tuple[datetime, datetime] | None:
        """When the first and the last of these scopes' entries happened; `None` when there are none."""
        ...

    def corrections(
        self, scopes: Sequence[str], conversation_ids: Sequence[str]
    ) -> list[tuple[MemoryEntry, MemoryEntry]]:
        """Facts made of these conversations that were corrected, each with the active fact that holds now."""
        ...

    def touch(self, ids: Sequence[str], at: datetime, *, used: bool = True, scope: str | None = None) -> None:
        """Note the time of access to each of these entries, and with `used` count it.

        With a `scope` only the scope's own entries are changed; that it used public ones is noted for itself alone.
        """
        ...

    def scan(self, *, after_id: str = "", limit: int) -> list[MemoryEntry]:
        """All active entries of all scopes in id order, for rebuilding and comparing."""
        ...


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """What an import did."""

    entries: int = 0
    versions: int = 0
    messages: int = 0
    unchanged: int = 0
    words: int = 0
    chat: int = 0
    """Epochs, summaries, flush positions and candidates of conversations."""
    jobs: int = 0
    refused: tuple[str, ...] = ()
    """The rows that were left out because something is wrong with them: line and reason."""
    erased: int = 0
    """Lines whose text was erased here (`forget_scope`, `forget(erase=True)`): an older file does not bring it back."""

    def __add__(self, other: ImportCounts) -> ImportCounts:
        return ImportCounts(
            self.entries + other.entries,
            self.versions + other.versions,
            self.messages + other.messages,
            self.unchanged + other.unchanged,
            self.words + other.words,
            self.chat + other.chat,
            self.jobs + other.jobs,
            (*self.refused, *other.refused),
            self.erased + other.erased,
        )


class TransferStore(Protocol):
    """Export to JSON-ready rows and import of them."""

    def export_rows(self, scope: str | None) -> Iterator[dict[str, Any]]:
        """Everything, or everything of one scope, as JSON-ready rows."""
        ...

    def import_rows(
        self,
        rows: Iterable[Mapping[str, Any]],
        *,
        actor: str,
        update: bool = False,
        limits: Limits | None = None,
        refuse: Callable[[ImportFormatError], None] | None = None,
        dry_run: bool = False,
    ) -> ImportCounts:
        """Take exported rows in, in one transaction; a dry run rolls it back.

        What is there stays as it is; with `update` the newer of two states of an entry or a conversation wins, and
        what was forgotten there is forgotten here. A bad row means that nothing is imported, unless `refuse` takes it.
        """
        ...


class UserWordStore(Protocol):
    """What the whole store is searched by: the user dictionary of the segmenter, and fields of the metadata."""

    def user_words(self) -> list[str]:
        """Words that the segmenter shall take as words."""
        ...

    def add_user_word(self, word: str) -> bool:
        """Add one; whether it is new."""
        ...

    def indexed_metadata(self) -> list[str]:
        """The fields of metadata that are searched as well as the content."""
        ...

    def set_indexed_metadata(self, names: Sequence[str]) -> bool:
        """Search these fields from now on; whether they are others than before."""
        ...


class RecordStore(EntryStore, TagStore, ChangeLog, HistoryStore, NoteStore, TransferStore, UserWordStore, Protocol):
    """The truth: entries, their versions, conversations, and the change log that feeds every index."""

    @property
    def store_id(self) -> str:
        """Which store this is."""
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
        """Close files and connections."""
        ...

"""SqliteRecordStore: the record store in a SQLite file, which answers the questions of a recall by the shortest way."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from jiyi.execution import Lazy
from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters
from jiyi.ports import Change, LogPosition

if TYPE_CHECKING:
    from jiyi.backends.embedded.database import SqliteDatabase
    from jiyi.backends.records.store import SqlRecordStore
else:
    # It has all the methods of that store, and loads it when one is called that is not here.
    SqlRecordStore = object


class SqliteRecordStore(SqlRecordStore):
    """What a recall asks goes to the driver; everything else to `SqlRecordStore`, loaded when it is first needed."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._whole = Lazy(self._make_whole)
        self._database = database
        self._reads = database.reads
        self._store_id = self._reads.store_id()
        if self._reads.was_migrated():
            # Whether the migration was completed is for the whole store to say.
            self._whole()

    def _make_whole(self) -> SqlRecordStore:
        from jiyi.backends.records.store import SqlRecordStore as Whole

        return Whole(self._database)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            # What Python itself looks for is no reason to load anything.
            raise AttributeError(name)
        return getattr(self._whole(), name)

    @property
    def store_id(self) -> str:
        """Which store this is, so that an index of another one is recognised."""
        return self._store_id

    def fetch(self, ids: Sequence[str], filters: Filters | None) -> dict[str, MemoryEntry]:
        """Entries by id; with filters only those they admit."""
        return self._reads.fetch(ids, filters)

    def admitted(self, ids: Sequence[str], filters: Filters) -> set[str]:
        """Which of these ids the filters admit."""
        return self._reads.admitted(ids, filters)

    def matching_ids(self, filters: Filters) -> list[str]:
        """Ids of all entries that the filters admit."""
        return self._reads.matching_ids(filters)

    def count(self, filters: Filters) -> int:
        """How many entries the filters admit."""
        return self._reads.count(filters)

    def time_range(self, scopes: Sequence[str]) -> tuple[datetime, datetime] | None:
        """When the first and the last of these scopes' entries happened."""
        return self._reads.time_range(scopes)

    def head(self) -> LogPosition:
        """The last place of the change log."""
        return self._reads.head()

    def log_position_at(self, sequence: int) -> LogPosition | None:
        """The mark of one place of the change log; `None` when there is no such place."""
        return self._reads.log_position_at(sequence)

    def changes_after(self, sequence: int, *, limit: int) -> list[Change]:
        """What follows this place of the change log."""
        return self._reads.changes_after(sequence, limit=limit)

    def pending(self, sequence: int, scopes: Sequence[str] | None = None) -> int:
        """How many changes follow this place."""
        return self._reads.pending(sequence, scopes)

    def user_words(self) -> list[str]:
        """Words that the segmenter shall take as words."""
        return self._reads.user_words()

    def close(self) -> None:
        """Give the connections back."""
        self._database.close()

"""LogBuffer: the lines of the change log that one transaction writes at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from jiyi.backends.postgres.connection import PostgresConnection
from jiyi.backends.records.changelog import LINE, fingerprint
from jiyi.ports import LogPosition

_LINE_TYPES: Final = {"version": "bigint[]", "changed_at": "timestamptz[]"}
# The lock, the hint for those who watch, and the lines in one round trip. A line gets its number when its row is made,
# so after the lock is held.
_INSERT_LINES: Final = (
    "WITH held AS MATERIALIZED (SELECT {}, pg_notify('{}', '')) "
    f"INSERT INTO memory_changes ({', '.join(LINE)}) SELECT line.* FROM held CROSS JOIN unnest("
    + ", ".join(f":{name}::{_LINE_TYPES.get(name, 'text[]')}" for name in LINE)
    + ") AS line RETURNING sequence, entry_id, version, changed_at"
)


class LogBuffer:
    """The lines of one transaction, and the locks that it takes on its way."""

    def __init__(self, connection: PostgresConnection, lock: int | None, tags_lock: int, channel: str) -> None:
        """`lock` is the one under which lines are written; a transaction that has the whole store needs none.

        Those who listen to `channel` are told when the transaction has committed.
        """
        self._channel = channel
        self._connection = connection
        self.lock = lock
        self._tags_lock = tags_lock
        self.waiting: list[Mapping[str, Any]] = []
        self.written: list[tuple[str, str]] = []
        """(scope, entry id) of every line that was written."""
        self.head: LogPosition | None = None
        self.last_line: dict[str, Any] = {"sequence": 0, "entry_id": "", "version": 0}
        """What tells the last line that was written from all others."""

    @property
    def changed(self) -> list[tuple[str, str]]:
        """(scope, entry id) of every line, written or not."""
        return [*self.written, *((line["scope"], line["entry_id"]) for line in self.waiting)]

    def add(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Add lines."""
        self.waiting += lines
        if self.lock is None:
            self.write()

    def lock_tags(self) -> bool:
        """Take the lock of the set of tags; whether it was needed."""
        if self.lock is None:
            return False
        self._connection.driver.execute(f"SELECT pg_advisory_xact_lock({self._tags_lock})".encode())
        return True

    def write(self) -> None:
        """Write the lines that wait."""
        if not self.waiting:
            return
        lock = "NULL" if self.lock is None else f"pg_advisory_xact_lock({self.lock})"
        columns = {name: [line[name] for line in self.waiting] for name in LINE}
        cursor = self._connection.driver.execute(_INSERT_LINES.format(lock, self._channel), columns)
        sequence, entry_id, version, changed_at = max(cursor.fetchall())
        self.head = LogPosition(sequence, fingerprint(entry_id, version, changed_at))
        self.last_line = {"sequence": sequence, "entry_id": entry_id, "version": version}
        self.written += [(line["scope"], line["entry_id"]) for line in self.waiting]
        self.waiting = []

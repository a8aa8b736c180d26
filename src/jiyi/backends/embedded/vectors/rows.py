"""The SQLite file of `SqliteVectors`: its tables, and the statements that read and write them."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from jiyi.backends.records.sql import sqlite_list, sqlite_many, sqlite_text
from jiyi.backends.shared.derived_file import open_derived
from jiyi.backends.shared.embedding import without_record
from jiyi.contexts import on_error
from jiyi.model.entry import MemoryEntry
from jiyi.ports import LogPosition, RecordStore

_CREATE = """
CREATE TABLE IF NOT EXISTS memory_vectors (
    scope TEXT NOT NULL,
    entry_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    event_time INTEGER NOT NULL,
    hash TEXT,
    checksum INTEGER,
    data BLOB,               -- NULL: the entry was removed (the row tells the caches of other processes)
    PRIMARY KEY (scope, entry_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS ix_memory_vectors_sequence ON memory_vectors (scope, sequence);
CREATE TABLE IF NOT EXISTS vector_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
_UPSERT = sqlite_many(
    "INSERT INTO memory_vectors (scope, entry_id, sequence, event_time, hash, checksum, data) "
    "VALUES (:scope, :entry_id, :sequence, :event_time, :hash, :checksum, :data) "
    "ON CONFLICT (scope, entry_id) DO UPDATE SET sequence = excluded.sequence, "
    "event_time = excluded.event_time, hash = excluded.hash, "
    "checksum = excluded.checksum, data = excluded.data"
)
_PUT_META = sqlite_many("INSERT OR REPLACE INTO vector_meta VALUES (:name, :value)")
_DELETE = sqlite_many("DELETE FROM memory_vectors WHERE scope = :scope AND entry_id = :entry_id")
StoredVector: TypeAlias = tuple[Any, Any, Any, Any, bytes | None]
"""Id, sequence, event time, checksum, data."""

_ALL = (
    "SELECT entry_id, sequence, event_time, checksum, data FROM memory_vectors "
    "WHERE scope = :scope AND +sequence > :after"
)
_SINCE = _ALL.replace("+sequence", "sequence")
"""The first read of a scope goes in the order of the table, later reads by the index on the sequence."""
_BY_IDS = sqlite_text(
    "SELECT entry_id, hash, checksum, data FROM memory_vectors WHERE scope = :scope AND entry_id IN :ids"
)
_PAGE = (
    "SELECT scope, entry_id FROM memory_vectors WHERE (scope, entry_id) > (:scope, :entry_id) "
    "ORDER BY scope, entry_id LIMIT :limit"
)


def connect(path: Path, *, create: bool = False) -> sqlite3.Connection:
    """Open the file; with `create`, make it and its tables."""
    return open_derived(
        path,
        # A commit that is lost in a crash is applied again from the change log.
        synchronous="OFF",
        first_read="SELECT name FROM vector_meta LIMIT 1",
        create=_CREATE if create else None,
    )


def read_meta(connection: sqlite3.Connection) -> dict[str, str]:
    """Identity and log position of the vectors."""
    return dict(connection.execute("SELECT name, value FROM vector_meta").fetchall())


def write_rows(
    connection: sqlite3.Connection, rows: Iterable[tuple[Any, ...]], identity: str, log_position: LogPosition | None
) -> None:
    """Write rows, and the log position if it changes, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    with on_error(connection.rollback):
        connection.executemany(_UPSERT, rows)
        meta = {"identity": identity}
        if log_position is not None:
            meta |= {"sequence": str(log_position.sequence), "fingerprint": log_position.fingerprint}
        connection.executemany(_PUT_META, meta.items())
        connection.execute("COMMIT")


def scope_rows(connection: sqlite3.Connection, scope: str, after: int) -> list[StoredVector]:
    """The rows of a scope that changed after this change of the log; all rows for 0."""
    return connection.execute(_SINCE if after else _ALL, {"scope": scope, "after": after}).fetchall()


def all_rows(connection: sqlite3.Connection) -> Iterator[tuple[str, str, int, bytes]]:
    """Id, hash, checksum and data of every vector."""
    return connection.execute("SELECT entry_id, hash, checksum, data FROM memory_vectors WHERE data IS NOT NULL")


def integrity_problems(connection: sqlite3.Connection) -> list[str]:
    """The result of SQLite's integrity check."""
    found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
    return [problem for problem in found if problem != "ok"]


def text_hashes(connection: sqlite3.Connection, entries: Sequence[MemoryEntry]) -> dict[str, str]:
    """The hashes of those texts that have a vector, by id."""
    return {entry_id: digest for entry_id, digest, _, data in entry_rows(connection, entries) if data is not None}


def entry_rows(
    connection: sqlite3.Connection, entries: Sequence[MemoryEntry]
) -> Iterator[tuple[str, str, int, bytes | None]]:
    """Id, hash, checksum and data of those entries that have a row."""
    ids: defaultdict[str, list[str]] = defaultdict(list)
    for entry in entries:
        ids[entry.scope].append(entry.id)
    for scope, of_scope in ids.items():
        yield from connection.execute(_BY_IDS, {"scope": scope, "ids": sqlite_list(of_scope)}).fetchall()


def drop_others(connection: sqlite3.Connection, store: RecordStore, size: int) -> None:
    """Delete the vectors that an interrupted rebuild left behind and that no longer have a record."""
    scope = entry_id = ""
    while rows := connection.execute(_PAGE, {"scope": scope, "entry_id": entry_id, "limit": size}).fetchall():
        connection.executemany(_DELETE, without_record(store, rows))
        scope, entry_id = rows[-1]

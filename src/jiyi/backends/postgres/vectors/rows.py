"""Writes the rows of `PostgresVectors` and the totals of each scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from jiyi.backends.postgres.session import Connection
from jiyi.backends.postgres.vectors.halfvec import Floats, Reals, from_halfvec, from_vector, halfvec_bytes
from jiyi.backends.postgres.vectors.tables import NEXT, named, scopes_table, vectors_table
from jiyi.backends.shared.embedding import vector_fingerprint, without_record
from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.ports import RecordStore

Key: TypeAlias = tuple[str, str]
"""Scope and id."""

_KEYS = "unnest(:scopes::text[], :ids::text[]) AS w (scope, entry_id)"
_MATCHES = 'v.scope = w.scope COLLATE "C" AND v.entry_id = w.entry_id COLLATE "C"'
_FINGERPRINTS = sql.SQL(
    f"SELECT v.scope, v.entry_id, v.fingerprint FROM {_KEYS} JOIN {{}} v ON {_MATCHES} WHERE v.chunk = 0"
)
_DELETE = sql.SQL(f"DELETE FROM {{}} v USING {_KEYS} WHERE {_MATCHES} RETURNING v.scope, v.entry_id, v.embedding")
_COPY_CURRENT = sql.SQL(f"INSERT INTO {{}} SELECT v.* FROM {_KEYS} JOIN {{}} v ON {_MATCHES}")
_COPY = sql.SQL("COPY {} (scope, entry_id, chunk, event_time, fingerprint, embedding) FROM STDIN (FORMAT BINARY)")
_COPIED = ("text", "text", "int2", "int8", "text", "bytea")
"""The last column is written in the binary format of its own type."""
_PAGE = sql.SQL(
    "SELECT scope, entry_id FROM {} WHERE (scope, entry_id) > (:scope, :entry_id) AND chunk = 0 "
    "ORDER BY scope, entry_id LIMIT :limit"
)


def combined(block: Floats) -> Floats:
    """The rows of a text: each chunk averaged with the mean of all chunks."""
    return block if len(block) == 1 else (block + block.mean(axis=0)) / 2


def fingerprints(connection: Connection, table: str, entries: Sequence[MemoryEntry]) -> dict[Key, str]:
    """The fingerprints of those entries that the table has."""
    if not entries:
        return {}
    rows = connection.execute(_FINGERPRINTS.format(named(table)), _arrays(_keys(entries)))
    return {(scope, entry_id): fingerprint for scope, entry_id, fingerprint in rows}


def delete(connection: Connection, table: str, keys: Sequence[Key]) -> list[tuple[str, str, bytes]]:
    """Delete rows; returns scope, id and vector of each."""
    if not keys:
        return []
    with connection.cursor(binary=True) as cursor:
        cursor.execute(_DELETE.format(named(table)), _arrays(keys))
        return [(scope, entry_id, embedding) for scope, entry_id, embedding in cursor]


def copy_current(connection: Connection, entries: Sequence[MemoryEntry]) -> None:
    """Copy the rows of these entries from the current table into the next one."""
    if entries:
        statement = _COPY_CURRENT.format(named(vectors_table(NEXT)), named(vectors_table()))
        connection.execute(statement, _arrays(_keys(entries)))


def copy_in(connection: Connection, table: str, entries: Sequence[MemoryEntry], blocks: Sequence[Floats]) -> None:
    """Add the rows of entries that the table does not have."""
    if not entries:
        return
    with connection.cursor() as cursor, cursor.copy(_COPY.format(named(table))) as copy:
        copy.set_types(_COPIED)
        for entry, block in zip(entries, blocks, strict=True):
            moment, fingerprint = clock.microseconds(entry.event_time), vector_fingerprint(entry)
            for chunk, row in enumerate(block):
                copy.write_row((entry.scope, entry.id, chunk, moment, fingerprint, halfvec_bytes(row)))


def drop_others(connection: Connection, store: RecordStore, size: int) -> None:
    """Delete rows of the next table that an interrupted rebuild left behind and that no longer have a record."""
    scope = entry_id = ""
    table = vectors_table(NEXT)
    page = _PAGE.format(named(table))
    while rows := connection.execute(page, {"scope": scope, "entry_id": entry_id, "limit": size}).fetchall():
        delete(connection, table, without_record(store, rows))
        scope, entry_id = rows[-1]


@dataclass(frozen=True, slots=True)
class _Sum:
    """Numbers of entries and rows, and the sum of the vectors of the entries."""

    entries: int
    held: int
    total: NDArray[np.float64]

    def __add__(self, other: _Sum) -> _Sum:
        return _Sum(self.entries + other.entries, self.held + other.held, self.total + other.total)


class ScopeTotals:
    """How a batch changes the number of vectors of each scope and their center."""

    def __init__(self) -> None:
        self._changes: dict[str, _Sum] = {}

    def add(self, entries: Sequence[MemoryEntry], blocks: Sequence[Floats]) -> None:
        """Count entries that are added."""
        for entry, block in zip(entries, blocks, strict=True):
            # Rounded as they are stored, so that removing them later subtracts the same values.
            stored = block.astype(np.float16).astype(np.float64)
            self._change(entry.scope, _Sum(1, len(block), stored.mean(axis=0)))

    def remove(self, rows: Sequence[tuple[str, str, bytes]]) -> None:
        """Count rows that are removed."""
        texts: dict[Key, list[Floats]] = {}
        for scope, entry_id, data in rows:
            texts.setdefault((scope, entry_id), []).append(from_halfvec(data))
        for (scope, _), block in texts.items():
            self._change(scope, _Sum(-1, -len(block), -np.stack(block).astype(np.float64).mean(axis=0)))

    def write(self, connection: Connection, exact_rows: int) -> bool:
        """Write the new totals; returns whether a scope has become so large that it needs an HNSW index."""
        if not self._changes:
            return False
        known = self._known(connection)
        updates, empty, needs_index = [], [], False
        for scope, change in self._changes.items():
            before, has_hnsw = known.get(scope, (None, False))
            now = change if before is None else before + change
            if now.entries > 0:
                updates.append((scope, now.entries, now.held, Reals((now.total / now.entries).astype(np.float32))))
                needs_index = needs_index or (now.held > exact_rows and not has_hnsw)
            else:
                empty.append(scope)
        table = named(scopes_table())
        with connection.cursor() as cursor:
            cursor.executemany(
                sql.SQL(
                    "INSERT INTO {} (scope, entries, held, center) VALUES (:scope, :entries, :held, :center::real[]) "
                    "ON CONFLICT (scope) DO UPDATE SET entries = excluded.entries, held = excluded.held, "
                    "center = excluded.center"
                ).format(table),
                updates,
            )
            if empty:
                cursor.execute(sql.SQL("DELETE FROM {} WHERE scope = ANY (:scopes)").format(table), {"scopes": empty})
        return needs_index

    def _known(self, connection: Connection) -> Mapping[str, tuple[_Sum, bool]]:
        statement = sql.SQL("SELECT scope, entries, held, center, has_hnsw FROM {} WHERE scope = ANY (:scopes)")
        with connection.cursor(binary=True) as cursor:
            cursor.execute(statement.format(named(scopes_table())), {"scopes": list(self._changes)})
            return {
                scope: (_Sum(entries, held, entries * from_vector(center).astype(np.float64)), has_hnsw)
                for scope, entries, held, center, has_hnsw in cursor
            }

    def _change(self, scope: str, change: _Sum) -> None:
        before = self._changes.get(scope)
        self._changes[scope] = change if before is None else before + change


def _keys(entries: Sequence[MemoryEntry]) -> list[Key]:
    return [(entry.scope, entry.id) for entry in entries]


def _arrays(keys: Sequence[Key]) -> dict[str, list[str]]:
    return {"scopes": [scope for scope, _ in keys], "ids": [entry_id for _, entry_id in keys]}

"""PostgresVectors: half-precision vectors beside the records, by pgvector.

A graph over all vectors (HNSW) loses most of the right answers for a user who owns a small part of them. So there is no
such graph: a scope is found by the btree of the primary key and compared as a whole, exactly, and only a scope with
more than `exact_rows` vectors has a graph of its own, a partial index. A vector of a small scope costs no graph when it
is written, and the search of a large scope's graph meets no vector of another.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import psycopg
import sqlalchemy as sa
from psycopg import sql
from psycopg.abc import QueryNoTemplate

from jiyi.backends.embedded_texts import CHUNK_COLUMNS, embed_entries, parted, vector_fingerprint
from jiyi.backends.postgres_graphs import ScopeGraphs
from jiyi.backends.postgres_halfvec import Floats, Reals, from_halfvec, from_vector, halfvec_bytes
from jiyi.backends.postgres_session import Connection, SessionLock, Sessions, ask
from jiyi.backends.postgres_vector_scan import LargeScope, PostgresScan
from jiyi.backends.postgres_vector_tables import (
    CURRENT,
    META,
    NEXT,
    VectorTables,
    find_extension,
    missing_extension,
    need_extension,
    prepare,
    scopes_table,
    swap,
    vectors_table,
)
from jiyi.errors import IndexDamagedError, IndexingError
from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.ports import Embedder, IndexBatch, Mark, Progress, RecordStore

_log = logging.getLogger("jiyi.index")

SCHEMA_VERSION = 1
EXACT_ROWS = 20_000
"""Up to so many vectors of a scope are compared one by one: tens of milliseconds, and nothing is missed."""
_MISSING = (
    psycopg.errors.UndefinedTable,
    psycopg.errors.InvalidSchemaName,
    psycopg.errors.UndefinedColumn,
    # A question of another number of dimensions than the vectors, which were replaced a moment ago.
    psycopg.errors.DataException,
)
_NO_EXTENSION = (psycopg.errors.UndefinedObject, psycopg.errors.UndefinedFunction)


class PostgresVectors:
    """The vectors of one store, shared by any number of processes and machines."""

    name = "vectors"
    batch_size = 256

    def __init__(
        self,
        engine: sa.Engine,
        embedder: Embedder,
        store_id: str,
        *,
        lock_timeout: float = 30.0,
        exact_rows: int = EXACT_ROWS,
    ) -> None:
        self._embedder = embedder
        self._store_id = store_id
        self._dimension = embedder.identity.dimension
        self._exact_rows = exact_rows
        self._sessions = Sessions(engine)
        self._lock = SessionLock(self._sessions, "vector index", timeout=lock_timeout)
        self._graphs = ScopeGraphs(self._sessions, exact_rows, lock_timeout)
        self._tables: VectorTables | None = None
        self._guard = threading.Lock()

    @property
    def identity(self) -> str:
        """What the vectors depend on: another store, model or way of cutting means another index."""
        return f"{self._store_id}/{SCHEMA_VERSION}/{CHUNK_COLUMNS}/{self._embedder.identity}"

    # --- the mark -------------------------------------------------------------------------------------------------

    def mark(self) -> Mark | None:
        """How far the index has come; `None` when it has to be rebuilt."""
        with self._session() as connection:
            return self._mark(connection)

    def _mark(self, connection: Connection) -> Mark | None:
        try:
            row = connection.execute(
                f"SELECT sequence, fingerprint FROM {META} WHERE generation = %s AND identity = %s "
                "AND to_regclass(%s) IS NOT NULL AND to_regclass(%s) IS NOT NULL",
                [CURRENT, self.identity, vectors_table(), scopes_table()],
            ).fetchone()
        except _MISSING:
            return None
        return None if row is None else Mark(int(row[0]), str(row[1]))

    # --- writing --------------------------------------------------------------------------------------------------

    @contextmanager
    def exclusive(self, timeout: float | None = None) -> Iterator[None]:
        """Only one process drains or rebuilds at a time."""
        with self._writing(timeout):
            yield

    def fingerprint(self, entry: MemoryEntry) -> str:
        """What the index keeps to recognise the text it has a vector of; nothing where a reflection speaks for it."""
        return vector_fingerprint(entry)

    def apply(self, batch: IndexBatch) -> None:
        """Embed what is new and write it with the mark in one transaction."""
        with self._writing() as connection:
            if self._mark(connection) is None:
                raise IndexDamagedError("the vector index is missing or made by other rules")
            held, left = parted(batch.upserts)
            known = _fingerprints(connection, vectors_table(), held)
            fresh = [entry for entry in held if known.get((entry.scope, entry.id)) != self.fingerprint(entry)]
            blocks = [combined(block) for block in embed_entries(self._embedder, fresh)]
            gone = [*batch.removals, *((entry.scope, entry.id) for entry in [*left, *fresh])]
            with connection.transaction():
                # What a crash takes of it is drained again: a derived table need not wait for the disk.
                connection.execute("SET LOCAL synchronous_commit = off")
                totals = _Totals(self._dimension)
                totals.take(_delete(connection, vectors_table(), gone))
                totals.give([entry.scope for entry in fresh], blocks)
                _copy(connection, vectors_table(), fresh, blocks)
                crowded = totals.write(connection, self._exact_rows)
                moved = connection.execute(
                    f"UPDATE {META} SET sequence = %s, fingerprint = %s WHERE generation = %s AND identity = %s",
                    [batch.mark.sequence, batch.mark.fingerprint, CURRENT, self.identity],
                )
                if not moved.rowcount:
                    raise IndexDamagedError("the vector index was removed while it was written")
        if crowded:
            self._graphs.build_later(self._known_tables)

    def rebuild(self, store: RecordStore, *, progress: Progress | None = None) -> None:
        """Build anew beside the old index, then swap. Vectors made before, even by a run that broke off, are used."""
        with self._writing() as connection:
            tables = self._new_tables(need_extension(connection))
            prepare(connection)
            head = store.head()
            resumed = self._begin(connection, tables)
            self._fill(connection, store, progress)
            if resumed:
                _drop_others(connection, store, self.batch_size)
            connection.execute(f"ANALYZE {vectors_table(NEXT)}")
            tables.fill_scopes(connection)
            self._graphs.build_all(connection, tables, NEXT)
            # Whoever makes a graph of the old table holds it for long; readers must not queue up behind the swap.
            with self._graphs.kept_away():
                swap(connection, self.identity, head.sequence, head.fingerprint)

    def _begin(self, connection: Connection, tables: VectorTables) -> bool:
        """Make the next tables, or go on with those of a run that broke off; whether there were any."""
        with connection.transaction():
            row = connection.execute(
                f"SELECT identity = %s FROM {META} WHERE generation = %s AND to_regclass(%s) IS NOT NULL",
                [self.identity, NEXT, vectors_table(NEXT)],
            ).fetchone()
            resumed = row == (True,)
            if resumed:
                connection.execute(f"TRUNCATE {scopes_table(NEXT)}")
            else:
                connection.execute(f"DROP TABLE IF EXISTS {vectors_table(NEXT)}, {scopes_table(NEXT)}")
                connection.execute(f"DELETE FROM {META} WHERE generation = %s", [NEXT])
                tables.create(connection)
                connection.execute(f"INSERT INTO {META} VALUES (%s, %s, 0, '')", [NEXT, self.identity])
        return resumed

    def _fill(self, connection: Connection, store: RecordStore, progress: Progress | None) -> None:
        usable = self._mark(connection) is not None
        done, after = 0, ""
        while page := store.scan(after_id=after, limit=self.batch_size):
            entries, _ = parted(page)
            there = _fingerprints(connection, vectors_table(NEXT), entries)
            wanted = [e for e in entries if there.get((e.scope, e.id)) != self.fingerprint(e)]
            reusable = _fingerprints(connection, vectors_table(), wanted) if usable else {}
            reused = [e for e in wanted if reusable.get((e.scope, e.id)) == self.fingerprint(e)]
            fresh = [e for e in wanted if reusable.get((e.scope, e.id)) != self.fingerprint(e)]
            blocks = [combined(block) for block in embed_entries(self._embedder, fresh)]
            with connection.transaction():
                connection.execute("SET LOCAL synchronous_commit = off")
                _delete(connection, vectors_table(NEXT), [(e.scope, e.id) for e in wanted if (e.scope, e.id) in there])
                _take_over(connection, reused)
                _copy(connection, vectors_table(NEXT), fresh, blocks)
            done, after = done + len(page), page[-1].id
            if progress is not None:
                progress(done, None)

    # --- reading --------------------------------------------------------------------------------------------------

    def scan(self, vector: Floats, scopes: Sequence[str]) -> PostgresScan:
        """Compare a question with the texts of these scopes: exactly, or by a graph where a scope is very large."""
        tables = self._known_tables()
        parameters = {
            "vector": Reals(vector),
            "scopes": list(scopes),
            "exact_rows": self._exact_rows,
            "identity": self.identity,
        }
        rows = self._asked((), tables.everything, parameters)
        if not rows:
            raise IndexDamagedError("the vector index is missing or made by another model")
        small, large = [], []
        for scope, entries, mean, graph, ids, similarities, times in rows:
            if ids is not None:
                small.append((ids, similarities, times))
            elif scope is not None:
                large.append(LargeScope(scope, entries, mean, graph))
        return PostgresScan(self._asked, tables, vector, small, large)

    def contents(self) -> Iterator[tuple[str, str]]:
        """(id, fingerprint) of every text."""
        with self._session() as connection, connection.transaction():
            if self._mark(connection) is None:
                return
            with connection.cursor("jiyi_vector_contents") as cursor:
                cursor.itersize = 10_000
                cursor.execute(f"SELECT entry_id, fingerprint FROM {vectors_table()} WHERE chunk = 0")
                yield from cursor

    def check(self) -> list[str]:
        """Whether the tables are there, agree with each other, and have no broken graph."""
        with self._session() as connection:
            if find_extension(connection) is None:
                return [str(missing_extension(connection, "it is not installed"))]
            if self._mark(connection) is None:
                return ["there is no vector index of this model; run: jiyi rebuild"]
            found = [
                f"the index {name} of the vectors is not valid; run: jiyi rebuild"
                for (name,) in connection.execute(
                    "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = %s::regclass AND NOT indisvalid "
                    # One that is being made is not broken.
                    "AND indexrelid NOT IN (SELECT index_relid FROM pg_stat_progress_create_index)",
                    [vectors_table()],
                )
            ]
            wrong = connection.execute(
                f"SELECT count(*) FROM (SELECT scope, count(*) AS held FROM {vectors_table()} GROUP BY scope) v "
                f"FULL JOIN {scopes_table()} s USING (scope) WHERE v.held IS DISTINCT FROM s.held"
            ).fetchone()
            if wrong is not None and wrong[0]:
                found.append(f"{wrong[0]} scopes do not hold as many vectors as were counted; run: jiyi rebuild")
            return found

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`."""
        with self._session() as connection:
            extension = find_extension(connection)
            facts: dict[str, Any] = {
                "engine": "postgresql, pgvector" if extension else "postgresql, extension vector is missing",
                "model": str(self._embedder.identity),
                "exact_up_to": self._exact_rows,
            }
            if extension is not None:
                facts["extension_version"] = ".".join(map(str, extension.version))
                facts["iterative_scan"] = extension.iterative
            if self._mark(connection) is not None:
                row = connection.execute(
                    f"SELECT pg_total_relation_size(%s::regclass), count(*) FILTER (WHERE graph), "
                    f"count(*) FILTER (WHERE held > %s AND NOT graph) FROM {scopes_table()}",
                    [vectors_table(), self._exact_rows],
                ).fetchone()
                assert row is not None
                facts |= {"bytes": int(row[0]), "graphs": int(row[1]), "large_scopes_without_graph": int(row[2])}
            return facts

    def close(self) -> None:
        """End what is being made in the background; the connections are those of the record store."""
        self._graphs.close()

    # --- connections ----------------------------------------------------------------------------------------------

    def _asked(
        self, settings: Sequence[tuple[str, str]], statement: QueryNoTemplate, parameters: dict[str, Any]
    ) -> list[tuple[Any, ...]]:
        with self._session() as connection:
            return ask(connection, settings, (statement, parameters))

    def _session(self) -> AbstractContextManager[Connection]:
        return self._explained(self._sessions.borrow())

    def _writing(self, timeout: float | None = None) -> AbstractContextManager[Connection]:
        return self._explained(self._lock.hold(timeout))

    @contextmanager
    def _explained(self, session: AbstractContextManager[Connection]) -> Iterator[Connection]:
        """What the server says, in words of this index."""
        try:
            with session as connection:
                yield connection
        except _MISSING as error:
            raise IndexDamagedError(f"the vector index was removed or replaced: {_first_line(error)}") from error
        except _NO_EXTENSION as error:
            with self._guard:
                self._tables = None
            raise IndexingError(
                f"the extension vector has gone from the database ({_first_line(error)}); run there: "
                "CREATE EXTENSION vector"
            ) from error
        except (psycopg.Error, sa.exc.DBAPIError) as error:
            raise IndexingError(
                f"the vectors in PostgreSQL could not be asked: {_first_line(error)}; try again"
            ) from error

    def _known_tables(self) -> VectorTables:
        with self._guard:
            if self._tables is not None:
                return self._tables
        with self._session() as connection:
            return self._new_tables(need_extension(connection))

    def _new_tables(self, extension: Any) -> VectorTables:
        tables = VectorTables(extension, self._dimension)
        with self._guard:
            if self._tables is None and not tables.graphs:
                _log.warning(
                    "the embedder's vectors have %d dimensions, and pgvector makes graphs of up to 4,000: every scope "
                    "is compared vector by vector, and large ones slowly",
                    self._dimension,
                )
            self._tables = tables
        return tables


def combined(block: Floats) -> Floats:
    """The rows of a text: each chunk together with the mean of all."""
    return block if len(block) == 1 else (block + block.mean(axis=0)) / 2


class _Totals:
    """How a batch changes the number and the center of the vectors of each scope."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._changes: dict[str, tuple[int, int, np.ndarray[Any, np.dtype[np.float64]]]] = {}

    def give(self, scopes: Sequence[str], blocks: Sequence[Floats]) -> None:
        """Texts that come."""
        for scope, block in zip(scopes, blocks, strict=True):
            self._add(scope, 1, len(block), block.astype(np.float16).astype(np.float64).mean(axis=0))

    def take(self, gone: Sequence[tuple[str, str, bytes]]) -> None:
        """Rows that go."""
        texts: dict[tuple[str, str], list[Floats]] = {}
        for scope, entry_id, data in gone:
            texts.setdefault((scope, entry_id), []).append(from_halfvec(data))
        for (scope, _), rows in texts.items():
            self._add(scope, -1, -len(rows), -np.mean(rows, axis=0, dtype=np.float64))

    def write(self, connection: Connection, exact_rows: int) -> bool:
        """Write the new numbers; whether a scope has become so large that it needs a graph."""
        if not self._changes:
            return False
        with connection.cursor(binary=True) as cursor:
            cursor.execute(
                f"SELECT scope, entries, held, graph, center FROM {scopes_table()} WHERE scope = ANY (%s)",
                [list(self._changes)],
            )
            known = {row[0]: row[1:] for row in cursor}
        updates, empty, crowded = [], [], False
        for scope, (entries, held, total) in self._changes.items():
            if scope in known:
                entries_before, held_before, graph, center = known[scope]
                total = total + entries_before * from_vector(center).astype(np.float64)
                entries, held = entries + entries_before, held + held_before
                crowded = crowded or (held > exact_rows and not graph)
            else:
                crowded = crowded or held > exact_rows
            if entries > 0:
                updates.append((scope, entries, held, Reals((total / entries).astype(np.float32))))
            else:
                empty.append(scope)
        with connection.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO {scopes_table()} (scope, entries, held, center) VALUES (%s, %s, %s, %s::real[]) "
                "ON CONFLICT (scope) DO UPDATE SET entries = excluded.entries, held = excluded.held, "
                "center = excluded.center",
                updates,
            )
            if empty:
                cursor.execute(f"DELETE FROM {scopes_table()} WHERE scope = ANY (%s)", [empty])
        return crowded

    def _add(self, scope: str, entries: int, held: int, total: Any) -> None:
        if scope in self._changes:
            entries_before, held_before, total_before = self._changes[scope]
            entries, held, total = entries + entries_before, held + held_before, total + total_before
        self._changes[scope] = (entries, held, total)


def _fingerprints(connection: Connection, table: str, entries: Sequence[MemoryEntry]) -> dict[tuple[str, str], str]:
    """What is there of these entries."""
    if not entries:
        return {}
    rows = connection.execute(
        f"SELECT v.scope, v.entry_id, v.fingerprint FROM unnest(%s::text[], %s::text[]) AS w (scope, entry_id) "
        f'JOIN {table} v ON v.scope = w.scope COLLATE "C" AND v.entry_id = w.entry_id COLLATE "C" WHERE v.chunk = 0',
        [[entry.scope for entry in entries], [entry.id for entry in entries]],
    )
    return {(scope, entry_id): fingerprint for scope, entry_id, fingerprint in rows}


def _delete(connection: Connection, table: str, gone: Sequence[tuple[str, str]]) -> list[tuple[str, str, bytes]]:
    """Take rows out; returns them."""
    if not gone:
        return []
    with connection.cursor(binary=True) as cursor:
        cursor.execute(
            f"DELETE FROM {table} v USING unnest(%s::text[], %s::text[]) AS w (scope, entry_id) "
            'WHERE v.scope = w.scope COLLATE "C" AND v.entry_id = w.entry_id COLLATE "C" '
            "RETURNING v.scope, v.entry_id, v.embedding",
            [[scope for scope, _ in gone], [entry_id for _, entry_id in gone]],
        )
        return cursor.fetchall()


def _take_over(connection: Connection, entries: Sequence[MemoryEntry]) -> None:
    """Copy what the current table has of these entries into the next one."""
    if entries:
        connection.execute(
            f"INSERT INTO {vectors_table(NEXT)} SELECT v.* FROM unnest(%s::text[], %s::text[]) AS w (scope, entry_id) "
            f'JOIN {vectors_table()} v ON v.scope = w.scope COLLATE "C" AND v.entry_id = w.entry_id COLLATE "C"',
            [[entry.scope for entry in entries], [entry.id for entry in entries]],
        )


def _copy(connection: Connection, table: str, entries: Sequence[MemoryEntry], blocks: Sequence[Floats]) -> None:
    if not entries:
        return
    columns = "scope, entry_id, chunk, event_time, fingerprint, embedding"
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY {table} ({columns}) FROM STDIN (FORMAT BINARY)") as copy,
    ):
        copy.set_types(["text", "text", "int2", "int8", "text", "bytea"])
        for entry, block in zip(entries, blocks, strict=True):
            moment, fingerprint = clock.microseconds(entry.event_time), vector_fingerprint(entry)
            for chunk, row in enumerate(block):
                copy.write_row((entry.scope, entry.id, chunk, moment, fingerprint, halfvec_bytes(row)))


def _drop_others(connection: Connection, store: RecordStore, size: int) -> None:
    """Take out what a broken-off run left behind and no record has any more."""
    after = ("", "")
    while True:
        rows = connection.execute(
            f"SELECT scope, entry_id FROM {vectors_table(NEXT)} WHERE (scope, entry_id) > (%s, %s) AND chunk = 0 "
            "ORDER BY scope, entry_id LIMIT %s",
            (*after, size),
        ).fetchall()
        if not rows:
            return
        present = store.fetch([entry_id for _, entry_id in rows], None)
        gone = [
            (scope, entry_id)
            for scope, entry_id in rows
            if (entry := present.get(entry_id)) is None
            or not entry.is_active
            or entry.scope != scope
            or entry.summarized_by is not None
        ]
        _delete(connection, vectors_table(NEXT), gone)
        after = rows[-1]


def _first_line(error: Exception) -> str:
    """Without the lines that can hold values of rows."""
    return str(error).partition("\n")[0]

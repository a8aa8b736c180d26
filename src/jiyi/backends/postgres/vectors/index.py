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
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql
from psycopg.abc import Params, QueryNoTemplate

from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.postgres.errors import meaning
from jiyi.backends.postgres.session import SCHEMA, Connection, SessionLock, Sessions, Settings
from jiyi.backends.postgres.vectors.halfvec import Floats, Reals
from jiyi.backends.postgres.vectors.hnsw import HnswIndexes
from jiyi.backends.postgres.vectors.rows import Totals, combined, copy_in, delete, drop_others, fingerprints, take_over
from jiyi.backends.postgres.vectors.scan import LargeScope, PostgresScan
from jiyi.backends.postgres.vectors.tables import (
    CURRENT,
    META,
    NEXT,
    Extension,
    VectorTables,
    find_extension,
    missing_extension,
    named,
    need_extension,
    prepare,
    scopes_table,
    swap,
    vectors_table,
)
from jiyi.backends.shared.embedding import CHUNK_COLUMNS, embed_entries, vector_fingerprint
from jiyi.errors import IndexDamagedError, IndexingError
from jiyi.model.entry import MemoryEntry
from jiyi.ports import Embedder, IndexBatch, LogPosition, Progress, RecordStore

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
_PLACE = sql.SQL(
    "SELECT sequence, fingerprint FROM {} WHERE generation = %s AND identity = %s "
    "AND to_regclass(%s) IS NOT NULL AND to_regclass(%s) IS NOT NULL"
).format(named(META))
_NO_EXTENSION = (psycopg.errors.UndefinedObject, psycopg.errors.UndefinedFunction)


class PostgresVectors:
    """The vectors of one store, shared by any number of processes and machines."""

    name = "vectors"
    batch_size = 256

    def __init__(
        self,
        database: PostgresDatabase,
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
        self._where = database.where
        self._sessions = Sessions(database)
        lock, graphs = (database.key(SCHEMA, name) for name in ("vectors", "graphs"))
        self._lock = SessionLock(self._sessions, lock, "vector index", timeout=lock_timeout)
        self._graphs = HnswIndexes(self._sessions, graphs, exact_rows, lock_timeout)
        self._tables: VectorTables | None = None
        self._guard = threading.Lock()

    @property
    def identity(self) -> str:
        """What the vectors depend on: another store, model or way of cutting means another index."""
        return f"{self._store_id}/{SCHEMA_VERSION}/{CHUNK_COLUMNS}/{self._embedder.identity}"

    # --- the mark -------------------------------------------------------------------------------------------------

    def log_position(self) -> LogPosition | None:
        """How far the index has come; `None` when it has to be rebuilt."""
        try:
            rows = self._asked((), *self._place())
        except IndexDamagedError:
            return None
        return _as_mark(rows)

    def _mark(self, connection: Connection) -> LogPosition | None:
        try:
            return _as_mark(connection.execute(*self._place()).fetchall())
        except _MISSING:
            return None

    def _place(self) -> tuple[QueryNoTemplate, Sequence[Any]]:
        return _PLACE, [CURRENT, self.identity, vectors_table(), scopes_table()]

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
            known = fingerprints(connection, vectors_table(), batch.upserts)
            fresh = [entry for entry in batch.upserts if known.get((entry.scope, entry.id)) != self.fingerprint(entry)]
            blocks = [combined(block) for block in embed_entries(self._embedder, fresh)]
            gone = [*batch.removals, *((entry.scope, entry.id) for entry in fresh)]
            with connection.transaction():
                # What a crash takes of it is drained again: a derived table need not wait for the disk.
                connection.execute("SET LOCAL synchronous_commit = off")
                totals = Totals()
                totals.take(delete(connection, vectors_table(), gone))
                totals.give(fresh, blocks)
                copy_in(connection, vectors_table(), fresh, blocks)
                crowded = totals.write(connection, self._exact_rows)
                moved = connection.execute(
                    f"UPDATE {META} SET sequence = %s, fingerprint = %s WHERE generation = %s AND identity = %s",
                    [batch.log_position.sequence, batch.log_position.fingerprint, CURRENT, self.identity],
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
                drop_others(connection, store, self.batch_size)
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
            there = fingerprints(connection, vectors_table(NEXT), page)
            wanted = [e for e in page if there.get((e.scope, e.id)) != self.fingerprint(e)]
            reusable = fingerprints(connection, vectors_table(), wanted) if usable else {}
            reused = [e for e in wanted if reusable.get((e.scope, e.id)) == self.fingerprint(e)]
            fresh = [e for e in wanted if reusable.get((e.scope, e.id)) != self.fingerprint(e)]
            blocks = [combined(block) for block in embed_entries(self._embedder, fresh)]
            with connection.transaction():
                connection.execute("SET LOCAL synchronous_commit = off")
                delete(connection, vectors_table(NEXT), [(e.scope, e.id) for e in wanted if (e.scope, e.id) in there])
                take_over(connection, reused)
                copy_in(connection, vectors_table(NEXT), fresh, blocks)
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

    def tables(self) -> VectorTables:
        """The statements for the vectors as they are."""
        return self._known_tables()

    def scan_of(self, vector: Floats, rows: Sequence[tuple[str, float, int]]) -> PostgresScan:
        """The answer to a question out of (id, similarity, time) of every vector of its scopes."""
        ids, similarities, times = zip(*rows, strict=True) if rows else ((), (), ())
        return PostgresScan(self._asked, self._known_tables(), vector, [(ids, similarities, times)], ())

    def contents(self) -> Iterator[tuple[str, str]]:
        """(id, fingerprint) of every text."""
        if self.log_position() is None:
            return
        with (
            self._session() as connection,
            connection.transaction(),
            connection.cursor("jiyi_vector_contents") as cursor,
        ):
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
                ((size,),) = connection.execute("SELECT pg_total_relation_size(%s)", [vectors_table()]).fetchall()
                ((graphs, without),) = connection.execute(
                    f"SELECT count(*) FILTER (WHERE graph), count(*) FILTER (WHERE held > %s AND NOT graph) "
                    f"FROM {scopes_table()}",
                    [self._exact_rows],
                ).fetchall()
                facts |= {"bytes": int(size), "graphs": graphs, "large_scopes_without_graph": without}
            return facts

    def wait_for_graphs(self) -> None:
        """Until the graphs that this process makes in the background are there."""
        self._graphs.wait()

    def close(self) -> None:
        """End what is being made in the background; the connections are those of the record store."""
        self._graphs.close()

    # --- connections ----------------------------------------------------------------------------------------------

    def _asked(self, settings: Settings, statement: QueryNoTemplate, parameters: Params) -> list[tuple[Any, ...]]:
        with self._explained():
            return self._sessions.ask(statement, parameters, settings)

    @contextmanager
    def _session(self) -> Iterator[Connection]:
        with self._explained(), self._sessions.borrow() as connection:
            yield connection

    @contextmanager
    def _writing(self, timeout: float | None = None) -> Iterator[Connection]:
        with self._explained(), self._lock.hold(timeout) as connection:
            yield connection

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """What the server says, in words of this index."""
        try:
            yield
        except _MISSING as error:
            reason = error.diag.message_primary
            raise IndexDamagedError(f"the vector index was removed or replaced ({reason})") from error
        except _NO_EXTENSION as error:
            with self._guard:
                self._tables = None
            raise IndexingError(
                f"the extension vector has gone from the database ({error.diag.message_primary}); let a superuser run "
                "there: CREATE EXTENSION vector; then run: jiyi rebuild"
            ) from error
        except psycopg.Error as error:
            raise meaning(self._where, error) from error

    def _known_tables(self) -> VectorTables:
        with self._guard:
            if self._tables is not None:
                return self._tables
        with self._session() as connection:
            return self._new_tables(need_extension(connection))

    def _new_tables(self, extension: Extension) -> VectorTables:
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


def _as_mark(rows: Sequence[tuple[Any, ...]]) -> LogPosition | None:
    return LogPosition(int(rows[0][0]), str(rows[0][1])) if rows else None

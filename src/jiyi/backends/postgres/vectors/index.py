"""`PostgresVectors`: half-precision vectors beside the records, by pgvector.

An HNSW index over all vectors loses most of the right answers for a user who owns a small part of them. So there is no
such index: a scope is found by the primary key and scanned exactly. Only a scope with more than `exact_rows` vectors
has an HNSW index, a partial one: vectors of small scopes are written without it, and a search of it meets no vector of
another scope.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import psycopg

from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.postgres.errors import storage_error
from jiyi.backends.postgres.session import SCHEMA, Connection, IndexConnections
from jiyi.backends.postgres.vectors.dated import DatedEntries
from jiyi.backends.postgres.vectors.halfvec import Floats, Reals
from jiyi.backends.postgres.vectors.hnsw import HnswIndexes
from jiyi.backends.postgres.vectors.listed import ListedVectors, VectorState
from jiyi.backends.postgres.vectors.rows import (
    ScopeTotals,
    combined,
    copy_current,
    copy_in,
    delete,
    drop_others,
    fingerprints,
)
from jiyi.backends.postgres.vectors.scan import LargeScope, PostgresScan
from jiyi.backends.postgres.vectors.tables import (
    CURRENT,
    META,
    NEXT,
    Extension,
    VectorTables,
    find_extension,
    missing_extension,
    need_extension,
    prepare,
    scopes_table,
    swap,
    vectors_table,
)
from jiyi.backends.shared.embedding import CHUNK_COLUMNS, PreparedVectors, embed_entries, vector_fingerprint
from jiyi.backends.shared.vector_matrix import MatrixScan
from jiyi.errors import IndexDamagedError, IndexingError
from jiyi.model.entry import MemoryEntry
from jiyi.model.searched_text import CONTENT_ONLY, SearchedText
from jiyi.ports import Embedder, IndexBatch, LogPosition, Progress, RecordStore

_log = logging.getLogger("jiyi.index")

SCHEMA_VERSION = 2
EXACT_ROWS = 20_000
"""Up to so many vectors of a scope are scanned exactly, in tens of milliseconds."""
_MISSING = (
    psycopg.errors.UndefinedTable,
    psycopg.errors.InvalidSchemaName,
    psycopg.errors.UndefinedColumn,
    # The vectors were replaced a moment ago by others with another number of dimensions.
    psycopg.errors.DataException,
)
_LOG_POSITION = (
    f"SELECT sequence, fingerprint FROM {META} WHERE generation = '{CURRENT}' AND identity = :identity "
    f"AND to_regclass('{vectors_table()}') IS NOT NULL AND to_regclass('{scopes_table()}') IS NOT NULL"
)
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
        searched: SearchedText = CONTENT_ONLY,
        cache_bytes: int = 256 << 20,
    ) -> None:
        self._embedder = embedder
        self._store_id = store_id
        self._searched = searched
        self._dimension = embedder.identity.dimension
        self._exact_rows = exact_rows
        self._where = database.where
        self._lock_timeout = lock_timeout
        self._prepared = PreparedVectors(embedder)
        self._connections = IndexConnections(database, self.name, self._translated, lock_timeout=lock_timeout)
        self._dated = DatedEntries(database)
        self._listed = ListedVectors(database, self._connections.fetch, self._dimension, cache_bytes)
        self._hnsw = HnswIndexes(self._connections.driver, database.key(SCHEMA, "hnsw"), exact_rows, lock_timeout)
        self._tables: VectorTables | None = None
        self._guard = threading.Lock()

    @property
    def identity(self) -> str:
        """What the vectors depend on: another store, model, chunk size or searched text."""
        return f"{self._store_id}/{SCHEMA_VERSION}/{CHUNK_COLUMNS}/{self._embedder.identity}{self._searched.identity}"

    # --- log position -------------------------------------------------------------------------------------------------

    def log_position(self) -> LogPosition | None:
        """How far the index has come; `None` when it has to be rebuilt."""
        try:
            found = _position(self._connections.fetch(_LOG_POSITION, {"identity": self.identity}))
            if found is None and self._searched.refresh():
                # Another process has changed which metadata is searched.
                found = _position(self._connections.fetch(_LOG_POSITION, {"identity": self.identity}))
        except IndexDamagedError:
            return None
        return found

    def _read_position(self, connection: Connection) -> LogPosition | None:
        try:
            return _position(connection.execute(_LOG_POSITION, {"identity": self.identity}).fetchall())
        except _MISSING:
            return None

    # --- writing --------------------------------------------------------------------------------------------------

    @contextmanager
    def exclusive(self, timeout: float | None = None) -> Iterator[None]:
        """Only one process drains or rebuilds at a time."""
        with self._connections.locked(timeout):
            yield

    def fingerprint(self, entry: MemoryEntry) -> str:
        """The hash by which the index recognises a text."""
        return vector_fingerprint(self._searched.entry(entry))

    def prepare(self, batch: IndexBatch, timeout: float | None = None) -> None:
        """Embed the new texts of a batch, so that nobody waits for the model while the lock is held."""
        with self._connections.connection() as connection:
            fresh = self._fresh(connection, batch)
        self._prepared.prepare(fresh, self._lock_timeout if timeout is None else timeout)

    def _fresh(self, connection: Connection, batch: IndexBatch) -> list[MemoryEntry]:
        """The entries of the batch whose vectors the index does not have."""
        known = fingerprints(connection, vectors_table(), batch.upserts)
        entries = self._searched.entries(batch.upserts)
        return [entry for entry in entries if known.get((entry.scope, entry.id)) != vector_fingerprint(entry)]

    def apply(self, batch: IndexBatch) -> None:
        """Write the vectors of the new texts with the log position in one transaction.

        What was not prepared is embedded now.
        """
        with self._connections.locked() as connection:
            if self._read_position(connection) is None:
                raise IndexDamagedError("the vector index is missing or made by other rules")
            fresh = self._fresh(connection, batch)
            blocks = [combined(block) for block in self._prepared.of(fresh)]
            replaced = [*batch.removals, *((entry.scope, entry.id) for entry in fresh)]
            with connection.transaction():
                # A commit that is lost in a crash is applied again from the change log.
                connection.execute("SET LOCAL synchronous_commit = off")
                totals = ScopeTotals()
                totals.remove(delete(connection, vectors_table(), replaced))
                totals.add(fresh, blocks)
                copy_in(connection, vectors_table(), fresh, blocks)
                needs_index = totals.write(connection, self._exact_rows)
                updated = connection.execute(
                    f"UPDATE {META} SET sequence = :sequence, fingerprint = :fingerprint "
                    f"WHERE generation = '{CURRENT}' AND identity = :identity",
                    {
                        "sequence": batch.log_position.sequence,
                        "fingerprint": batch.log_position.fingerprint,
                        "identity": self.identity,
                    },
                )
                if not updated.rowcount:
                    raise IndexDamagedError("the vector index was removed while it was written")
            self._prepared.clear()
        if needs_index:
            self._hnsw.build_later(self._known_tables)

    def rebuild(self, store: RecordStore, *, progress: Progress | None = None) -> None:
        """Build a new index beside the old one, then swap. Existing vectors are reused, also of an interrupted run."""
        with self._connections.locked() as connection:
            tables = self._new_tables(need_extension(connection))
            prepare(connection)
            head = store.head()
            resumed = self._begin(connection, tables)
            self._fill(connection, store, progress)
            if resumed:
                drop_others(connection, store, self.batch_size)
            connection.execute(f"ANALYZE {vectors_table(NEXT)}")
            tables.fill_scopes(connection)
            self._hnsw.build_all(connection, tables, NEXT)
            # The build of an HNSW index locks the old table for long; readers must not queue up behind the swap.
            with self._hnsw.paused():
                swap(connection, self.identity, head.sequence, head.fingerprint)

    def _begin(self, connection: Connection, tables: VectorTables) -> bool:
        """Create the next tables, or continue with those of an interrupted run; returns whether there were any."""
        with connection.transaction():
            row = connection.execute(
                f"SELECT identity = :identity FROM {META} WHERE generation = '{NEXT}' "
                f"AND to_regclass('{vectors_table(NEXT)}') IS NOT NULL",
                {"identity": self.identity},
            ).fetchone()
            resumed = row == (True,)
            if resumed:
                connection.execute(f"TRUNCATE {scopes_table(NEXT)}")
            else:
                connection.execute(f"DROP TABLE IF EXISTS {vectors_table(NEXT)}, {scopes_table(NEXT)}")
                connection.execute(f"DELETE FROM {META} WHERE generation = '{NEXT}'")
                tables.create(connection)
                connection.execute(
                    f"INSERT INTO {META} VALUES ('{NEXT}', :identity, 0, '')", {"identity": self.identity}
                )
        return resumed

    def _fill(self, connection: Connection, store: RecordStore, progress: Progress | None) -> None:
        usable = self._read_position(connection) is not None
        done, after = 0, ""
        while page := self._searched.entries(store.scan(after_id=after, limit=self.batch_size)):
            done_before = fingerprints(connection, vectors_table(NEXT), page)
            wanted = [e for e in page if done_before.get((e.scope, e.id)) != vector_fingerprint(e)]
            reusable = fingerprints(connection, vectors_table(), wanted) if usable else {}
            reused = [e for e in wanted if reusable.get((e.scope, e.id)) == vector_fingerprint(e)]
            fresh = [e for e in wanted if reusable.get((e.scope, e.id)) != vector_fingerprint(e)]
            blocks = [combined(block) for block in embed_entries(self._embedder, fresh)]
            with connection.transaction():
                connection.execute("SET LOCAL synchronous_commit = off")
                outdated = [(e.scope, e.id) for e in wanted if (e.scope, e.id) in done_before]
                delete(connection, vectors_table(NEXT), outdated)
                copy_current(connection, reused)
                copy_in(connection, vectors_table(NEXT), fresh, blocks)
            done, after = done + len(page), page[-1].id
            if progress is not None:
                progress(done, None)

    # --- reading --------------------------------------------------------------------------------------------------

    def scan(self, vector: Floats, scopes: Sequence[str]) -> PostgresScan:
        """Compare a query with the texts of these scopes: exactly, or by an HNSW index if a scope is very large."""
        tables = self._known_tables()
        parameters = {
            "vector": Reals(vector),
            "scopes": list(scopes),
            "exact_rows": self._exact_rows,
            "identity": self.identity,
        }
        rows = self._connections.fetch(tables.scopes_and_similarities, parameters)
        if not rows:
            raise IndexDamagedError("the vector index is missing or made by another model")
        small, large = [], []
        for scope, entries, mean, has_hnsw, ids, similarities, times, *_ in rows:
            if ids is not None:
                small.append((ids, similarities, times))
            elif scope is not None:
                large.append(LargeScope(scope, entries, mean, has_hnsw))
        state = VectorState(*rows[0][-3:])

        def compare_listed(vector: Floats, listed: frozenset[str]) -> MatrixScan | None:
            return self._listed.scan(vector, scopes, listed, state)

        return PostgresScan(self._connections.fetch, tables, vector, small, large, compare_listed, self._dated)

    def similarities(self, vector: Floats, entries: Sequence[MemoryEntry]) -> Floats:
        """The similarity of each entry, as a scan will tell it when the entries are written."""
        blocks = [combined(block) for block in embed_entries(self._embedder, self._searched.entries(entries))]
        if not blocks:
            return np.empty(0, dtype=np.float32)
        # Rounded as the table does it.
        rows = np.concatenate(blocks).astype(np.float16).astype(np.float32)
        parameters = {"vector": Reals(vector), "rows": Reals(rows.reshape(-1)), "count": len(rows)}
        found = self._connections.fetch(self._known_tables().given_similarities, parameters)
        lengths = [len(block) for block in blocks]
        products = np.asarray([similarity for (similarity,) in found], dtype=np.float32)
        best: Floats = np.maximum.reduceat(products, np.cumsum([0, *lengths[:-1]]))
        return np.clip(best, -1.0, 1.0)

    def tables(self) -> VectorTables:
        """The statements for the vectors."""
        return self._known_tables()

    def scan_of(self, vector: Floats, rows: Sequence[tuple[str, float, int]]) -> PostgresScan:
        """The scan for the (id, similarity, time) of every vector of its scopes."""
        ids, similarities, times = zip(*rows, strict=True) if rows else ((), (), ())
        return PostgresScan(self._connections.fetch, self._known_tables(), vector, [(ids, similarities, times)], ())

    def contents(self) -> Iterator[tuple[str, str]]:
        """(id, fingerprint) of every text."""
        if self.log_position() is None:
            return
        with (
            self._connections.connection() as connection,
            connection.transaction(),
            connection.cursor("jiyi_vector_contents") as cursor,
        ):
            cursor.itersize = 10_000
            cursor.execute(f"SELECT entry_id, fingerprint FROM {vectors_table()} WHERE chunk = 0")
            yield from cursor

    def check(self) -> list[str]:
        """Whether the tables exist and agree with each other, and all indexes are valid."""
        with self._connections.connection() as connection:
            if find_extension(connection) is None:
                return [str(missing_extension(connection, "it is not installed"))]
            if self._read_position(connection) is None:
                return ["there is no vector index of this model; run: jiyi rebuild"]
            found = [
                f"the index {name} of the vectors is not valid; run: jiyi rebuild"
                for (name,) in connection.execute(
                    "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = :table::regclass "
                    "AND NOT indisvalid "
                    # An index that is being built is not valid yet.
                    "AND indexrelid NOT IN (SELECT index_relid FROM pg_stat_progress_create_index)",
                    {"table": vectors_table()},
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
        with self._connections.connection() as connection:
            extension = find_extension(connection)
            facts: dict[str, Any] = {
                "engine": "postgresql, pgvector" if extension else "postgresql, extension vector is missing",
                "model": str(self._embedder.identity),
                "exact_up_to": self._exact_rows,
            }
            if extension is not None:
                facts["extension_version"] = ".".join(map(str, extension.version))
                facts["iterative_scan"] = extension.iterative
            if self._read_position(connection) is not None:
                ((size,),) = connection.execute(f"SELECT pg_total_relation_size('{vectors_table()}')").fetchall()
                ((indexes, without),) = connection.execute(
                    f"SELECT count(*) FILTER (WHERE has_hnsw), count(*) FILTER (WHERE held > :most AND NOT has_hnsw) "
                    f"FROM {scopes_table()}",
                    {"most": self._exact_rows},
                ).fetchall()
                facts |= {"bytes": int(size), "hnsw_indexes": indexes, "large_scopes_without_index": without}
            return facts

    def wait_for_hnsw(self) -> None:
        """Wait until the HNSW indexes that this process builds in the background are complete."""
        self._hnsw.wait()

    def close(self) -> None:
        """Cancel the builds in the background; the connections belong to the record store."""
        self._hnsw.close()

    # --- connections ----------------------------------------------------------------------------------------------

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Translate errors of the server."""
        try:
            yield
        except _MISSING as error:
            reason = error.diag.message_primary
            raise IndexDamagedError(f"the vector index was removed or replaced ({reason})") from error
        except _NO_EXTENSION as error:
            with self._guard:
                self._tables = None
            raise IndexingError(
                f"the extension vector was removed from the database ({error.diag.message_primary}); let a superuser "
                "run there: CREATE EXTENSION vector; then run: jiyi rebuild"
            ) from error
        except psycopg.Error as error:
            raise storage_error(self._where, error) from error

    def _known_tables(self) -> VectorTables:
        with self._guard:
            if self._tables is not None:
                return self._tables
        with self._connections.connection() as connection:
            return self._new_tables(need_extension(connection))

    def _new_tables(self, extension: Extension) -> VectorTables:
        tables = VectorTables(extension, self._dimension)
        with self._guard:
            if self._tables is None and not tables.can_index:
                _log.warning(
                    "the embedder's vectors have %d dimensions, and pgvector has HNSW indexes for up to 4,000: every "
                    "scope is scanned exactly, and large ones slowly",
                    self._dimension,
                )
            self._tables = tables
        return tables


def _position(rows: Sequence[tuple[Any, ...]]) -> LogPosition | None:
    return LogPosition(int(rows[0][0]), str(rows[0][1])) if rows else None

"""`PostgresTextIndex`: finds entries by their words, in tables of the same database as the records.

It is written in the transactions that change the records (`follow`); the change log is only needed for changes that
were made while there was no index.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.postgres.errors import storage_error
from jiyi.backends.postgres.session import Connection, IndexConnections
from jiyi.backends.postgres.text import scorer_queries, tables
from jiyi.backends.postgres.text.check import table_problems
from jiyi.backends.postgres.text.compared_texts import NamedTextsProposer
from jiyi.backends.postgres.text.hooks import CORRUPTED, TransactionHooks, error_reason
from jiyi.backends.postgres.text.pg_search import PgSearchProposer
from jiyi.backends.postgres.text.recall_view import RecallTextView
from jiyi.backends.postgres.text.small_scopes import MAX_SMALL_SCOPE, SmallScopeProposer
from jiyi.backends.postgres.text.tables import NEXT, PG_SEARCH, TEXTS, TSVECTOR, State
from jiyi.backends.postgres.text.tsvector import TsvectorProposer
from jiyi.backends.postgres.text.writer import TextWriter, write_current
from jiyi.backends.records.changelog import fingerprint as line_fingerprint
from jiyi.backends.shared.term_rows import CollectionStatistics, analyse, text_fingerprint
from jiyi.errors import IndexDamagedError
from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters
from jiyi.ports import IndexBatch, LogPosition, Progress, RecordStore, TermRow, TermStatistics
from jiyi.text import Analyzer, Vocabulary

_log = logging.getLogger("jiyi.index")

SCHEMA_VERSION = 3
_CHANGES = (
    "SELECT sequence, entry_id, version, changed_at FROM memory_changes WHERE sequence > :after ORDER BY sequence "
    "LIMIT :limit"
)
_LINE = "SELECT entry_id, version, changed_at FROM memory_changes WHERE sequence = :sequence"
_CATCH_UP_BATCH = 1_000
# pg_search was measured to be many times slower with parallel workers on a small machine.
_NO_WORKERS = (("max_parallel_workers_per_gather", "0"),)


class PostgresTextIndex:
    """The text index of one store, shared by any number of processes and machines."""

    name = "text"
    batch_size = 2_000

    def __init__(
        self,
        database: PostgresDatabase,
        analyzer: Analyzer,
        store_id: str,
        *,
        lock_timeout: float = 30.0,
        pg_search: bool = True,
        small_scope: int = MAX_SMALL_SCOPE,
    ) -> None:
        """`pg_search=False` does not use the extension. Scopes of up to `small_scope` texts are read as a whole."""
        self._database = database
        self._analyzer = analyzer
        self._store_id = store_id
        self._pg_search = pg_search
        self._connections = IndexConnections(database, self.name, self._translated, lock_timeout=lock_timeout)
        self._small_scopes = SmallScopeProposer(self._connections.fetch_pipelined, small_scope)
        self._by_pg_search = PgSearchProposer(self._fetch_without_workers)
        self._by_tsvector = TsvectorProposer(self._fetch)
        self._named_texts = NamedTextsProposer(self._fetch)
        self._hooks = TransactionHooks(analyzer, self.usable_state)
        self._mode = PG_SEARCH if pg_search else TSVECTOR
        self._obstacle = ""
        """What prevents the use of pg_search."""
        self._broken = ""
        """A BM25 index that turned out to be damaged; it is not read again."""

    def follow(self) -> None:
        """Write the index from now on in the transactions that change the records."""
        self._database.before_log(self._hooks.before_log)
        self._database.before_commit(self._hooks.before_commit)

    # --- log position ---------------------------------------------------------------------------------------------

    def log_position(self) -> LogPosition | None:
        """How far the index has come; `None` when it has to be rebuilt."""
        state = self._fetch_state()
        return state.log_position if state is not None and self._is_usable(state) else None

    def usable_state(self, rows: Sequence[Sequence[Any]]) -> State | None:
        """The state in the rows of `STATE_QUERY`; `None` if the index has to be repaired or rebuilt."""
        state = self._own_state(rows)
        return state if state is not None and self._is_usable(state) else None

    def _fetch_state(self) -> State | None:
        """The state, in one round trip."""
        with self._translated():
            try:
                rows = self._connections.driver.fetch(tables.STATE_QUERY)
            except tables.MISSING:
                return None
            return self._own_state(rows)

    def _read_state(self, connection: Connection) -> State | None:
        """The state, on a connection that is in use."""
        if not tables.present(connection):
            return None
        return self._own_state(connection.execute(tables.STATE_QUERY).fetchall())

    def _own_state(self, rows: Sequence[Sequence[Any]]) -> State | None:
        """The state of the tables, if they belong to this store and were made by the same rules."""
        state = tables.state_of(rows)
        if state is None or not self._has_best_mode(state):
            return None
        # Another process may have added a user word: load it before taking the index for one of other rules.
        if state.identity != self._identity() and not self._matches_new_words(state.identity):
            return None
        self._mode = state.mode
        return state

    def _has_best_mode(self, state: State) -> bool:
        """Whether the tables were made for the best mode; the extension may have been installed or removed since."""
        return state.mode == (PG_SEARCH if self._pg_search and state.extension else TSVECTOR)

    def _is_usable(self, state: State) -> bool:
        return state.intact and not (state.bm25 and state.bm25 == self._broken)

    def _matches_new_words(self, identity: str) -> bool:
        return isinstance(self._analyzer, Vocabulary) and self._analyzer.refresh() and identity == self._identity()

    def _identity(self) -> str:
        return f"{self._store_id}/{SCHEMA_VERSION}/{self._analyzer.identity}"

    # --- writing from the log -------------------------------------------------------------------------------------

    @contextmanager
    def exclusive(self, timeout: float | None = None) -> Iterator[None]:
        """Only one process drains or rebuilds at a time."""
        with self._connections.locked(timeout):
            yield

    def fingerprint(self, entry: MemoryEntry) -> str:
        """The hash by which the index recognises the state of an entry."""
        return text_fingerprint(self._analyzer, entry)

    def apply(self, batch: IndexBatch) -> None:
        """Write the batch with its log position, and all later changes of the log: nobody writes meanwhile."""
        with self._connections.locked():
            analysed = [analyse(self._analyzer, entry) for entry in batch.upserts]
            with self._transaction() as connection:
                state = self._read_state(connection)
                if state is None or not self._is_usable(state):
                    raise IndexDamagedError("the text index is missing or made by other rules")
                writer = TextWriter(connection, state.mode)
                writer.apply(analysed, [entry_id for _, entry_id in batch.removals])
                log_position = self._catch_up(connection, state.mode, batch.log_position)
                tables.set_log_position(connection, state.identity, log_position)

    def rebuild(self, store: RecordStore, *, progress: Progress | None = None) -> None:
        """Build a new index beside the old one from all records, then swap.

        If only the BM25 index is lost, after a crash of the server, only that is rebuilt.
        """
        with self._connections.locked() as connection:
            tables.prepare(connection)
            state = self._read_state(connection)
            if state is not None and not self._is_usable(state):
                _log.warning("the BM25 index is rebuilt: the server has crashed, or the index is damaged")
                tables.rebuild_bm25(connection, state.bm25)
                return
            self._build(connection, store, progress)

    def _build(self, connection: Connection, store: RecordStore, progress: Progress | None) -> None:
        mode = self._choose_mode(connection)
        identity = self._identity()
        log_position = store.head()
        tables.create_next(connection, mode)
        done, after = 0, ""
        while entries := store.scan(after_id=after, limit=self.batch_size):
            analysed = [analyse(self._analyzer, entry) for entry in entries]
            with connection.transaction():
                # Rows that are lost in a crash are built again.
                connection.execute("SET LOCAL synchronous_commit = off")
                TextWriter(connection, mode, NEXT).fill(analysed)
            done, after = done + len(entries), entries[-1].id
            if progress is not None:
                progress(done, None)
        bm25 = tables.finish_next(connection, mode)
        with self._transaction() as last:
            reached = self._catch_up(last, mode, log_position, NEXT)
            tables.swap(last, State(identity, mode, reached.sequence, reached.fingerprint, bm25))
        self._mode = mode

    def _choose_mode(self, connection: Connection) -> str:
        self._obstacle = tables.need_extension(connection) if self._pg_search else "pg_search is switched off"
        if self._obstacle:
            _log.warning("text is searched without BM25 index: %s", self._obstacle)
            return TSVECTOR
        return PG_SEARCH

    def _catch_up(self, connection: Connection, mode: str, log_position: LogPosition, suffix: str = "") -> LogPosition:
        """Apply the changes after this position, if it is a position of this log; returns the new position."""
        if log_position.sequence:
            line = connection.execute(_LINE, {"sequence": log_position.sequence}).fetchone()
            if line is None or line_fingerprint(*line) != log_position.fingerprint:
                return log_position
        while rows := connection.execute(
            _CHANGES, {"after": log_position.sequence, "limit": _CATCH_UP_BATCH}
        ).fetchall():
            write_current(connection, self._analyzer, mode, [row[1] for row in rows], suffix)
            log_position = LogPosition(rows[-1][0], line_fingerprint(*rows[-1][1:]))
        return log_position

    # --- reading --------------------------------------------------------------------------------------------------

    @property
    def mode(self) -> str:
        """How proposals are made, for `doctor` and the coverage of an answer."""
        return self._proposer().mode

    def propose(
        self,
        field: str,
        terms: Sequence[str],
        filters: Filters,
        *,
        limit: int,
        labels: bool = False,
        counted: CollectionStatistics | None = None,
    ) -> list[str]:
        """Ids of the best matches, best first.

        `counted` are the numbers of the terms, each of them once, if they were read before.
        """
        if not terms:
            return []
        found = None
        if filters.exact_ids is None:
            found = self._small_scopes.propose(field, terms, filters, limit=limit, labels=labels)
        if found is not None:
            return found
        unique = list(dict.fromkeys(terms))
        numbers = counted or scorer_queries.collection(self._fetch, field, unique, filters.scopes)
        if filters.exact_ids is not None:
            return self._named_texts.propose(field, unique, filters, numbers, limit=limit)
        return self._proposer().propose(field, unique, filters, numbers, limit=limit, labels=labels)

    def for_recall(self) -> RecallTextView:
        """The same index for one recall."""
        return RecallTextView(self)

    def _proposer(self) -> PgSearchProposer | TsvectorProposer:
        return self._by_pg_search if self._mode == PG_SEARCH else self._by_tsvector

    def statistics(self, scopes: Sequence[str], words: Sequence[str], bigrams: Sequence[str]) -> TermStatistics:
        """Numbers of these scopes together."""
        return scorer_queries.statistics(self._fetch, scopes, words, bigrams)

    def windows(self, ids: Sequence[str], *, reach: int, scopes: Sequence[str] = ()) -> list[TermRow]:
        """Texts by id with up to `reach` others before and after each in its conversation, in order."""
        del scopes
        return scorer_queries.windows(self._fetch, ids, reach) if ids else []

    def conversations(
        self, threads: Iterable[tuple[str, str]], words: Sequence[str]
    ) -> dict[tuple[str, str], tuple[int, tuple[int, ...]]]:
        """For each (scope, conversation) its length and how often each word occurs in it."""
        return scorer_queries.conversations(self._fetch, threads, words)

    def contents(self) -> Iterator[tuple[str, str]]:
        """(id, hash) of every text; a wrong hash where the BM25 index lacks it."""
        with self._connections.connection() as connection:
            state = self._read_state(connection)
            if state is None:
                return
            found: set[str] | None = None
            if state.mode == PG_SEARCH and self._is_usable(state):
                everything = connection.execute(f"SELECT entry_id FROM {TEXTS} WHERE entry_id @@@ paradedb.all()")
                found = {row[0] for row in everything}
            with connection.transaction(), connection.cursor("jiyi_text_contents") as cursor:
                cursor.itersize = 10_000
                cursor.execute(f"SELECT entry_id, hash FROM {TEXTS}")
                for entry_id, digest in cursor:
                    yield entry_id, digest if found is None or entry_id in found else "not in the BM25 index"

    def check(self) -> list[str]:
        """Whether the tables exist, the statistics follow from the texts, and the BM25 index is intact."""
        with self._connections.connection() as connection:
            state = self._read_state(connection)
            if state is None:
                return ["there is no text index; run: jiyi rebuild"]
            return table_problems(connection, state if self._is_usable(state) else None)

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`."""
        facts: dict[str, Any] = {"engine": "postgresql", "analyzer": self._analyzer.identity}
        with self._connections.connection() as connection:
            state = self._read_state(connection)
            facts["mode"] = self.mode
            if state is not None:
                if state.extension:
                    facts["pg_search"] = ".".join(map(str, state.extension))
                row = connection.execute(
                    "SELECT sum(pg_total_relation_size(name::regclass))::bigint FROM unnest(:names::text[]) AS name",
                    {"names": tables.TABLES},
                ).fetchone()
                facts["bytes"] = int(row[0]) if row is not None else 0
        if self._mode == TSVECTOR:
            reason = self._obstacle or "the extension pg_search is not installed"
            facts["lesser_mode"] = (
                f"{reason}: texts that have only very frequent words of a question are not found by them. Install "
                "pg_search on the server, then run: CREATE EXTENSION pg_search; the next recall rebuilds the index"
            )
        return facts

    def close(self) -> None:
        """Nothing: the connections belong to the record store."""

    # --- connections ----------------------------------------------------------------------------------------------

    def _fetch(self, statement: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
        return self._connections.fetch(statement, parameters)

    def _fetch_without_workers(self, statement: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
        return self._connections.fetch(statement, parameters, _NO_WORKERS)

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """A transaction that sees the whole store, while nobody else writes to it."""
        with self._database.write() as connection:
            yield connection.driver

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Translate errors of the server."""
        try:
            yield
        except tables.MISSING as error:
            raise IndexDamagedError(f"the text index was removed or replaced ({error_reason(error)})") from error
        except CORRUPTED as error:
            self._mark_broken()
            raise IndexDamagedError(f"the text index is damaged ({error_reason(error)})") from error
        except psycopg.Error as error:
            raise storage_error(self._database.where, error) from error

    def _mark_broken(self) -> None:
        """Do not read the current BM25 index again."""
        state = self._fetch_state()
        if state is not None:
            self._broken = state.bm25

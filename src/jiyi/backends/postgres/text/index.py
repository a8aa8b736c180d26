"""PostgresTextIndex: finds entries by their words, in the tables of the same database as the records.

It is written in the transaction that changes an entry (`follow`), so a recall after an acknowledged write finds it
without any draining; the change log is only needed for what was written while there was no index. The part of a
transaction that writes the index stands behind a savepoint: if the index cannot take a change, the records are kept
all the same, the mark stays where it is, and the change is taken in later from the log.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from jiyi.backends.postgres.connection import PostgresConnection
from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.postgres.errors import meaning
from jiyi.backends.postgres.session import SCHEMA, Connection, SessionLock, Sessions
from jiyi.backends.postgres.text import reader, tables
from jiyi.backends.postgres.text.check import table_problems
from jiyi.backends.postgres.text.proposers import WHOLE_SCOPE, PgSearchProposer, SmallScopes, TsvectorProposer
from jiyi.backends.postgres.text.rows import COPIED_FROM, TextWriter
from jiyi.backends.postgres.text.small_batch import SmallBatchWriter
from jiyi.backends.postgres.text.tables import NEXT, PG_SEARCH, TEXTS, TSVECTOR, State
from jiyi.backends.records.changelog import fingerprint as line_fingerprint
from jiyi.backends.records.codec import SELECT_ENTRY, entry_of
from jiyi.backends.shared.term_rows import Features, analyse, term_id
from jiyi.errors import IndexDamagedError
from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters
from jiyi.ports import IndexBatch, LogPosition, Progress, RecordStore, TermRow, TermStatistics, TextProposer
from jiyi.text import Analyzer, Vocabulary

_log = logging.getLogger("jiyi.index")

LAYOUT = 1
_ENTRIES = f"{SELECT_ENTRY} WHERE id = ANY (%s)"
_CHANGES = (
    "SELECT sequence, entry_id, version, changed_at FROM memory_changes WHERE sequence > %s ORDER BY sequence LIMIT %s"
)
_LINE = "SELECT entry_id, version, changed_at FROM memory_changes WHERE sequence = %s"
# One worker: pg_search was measured to be many times slower with several on a small machine.
_ALONE = (("max_parallel_workers_per_gather", "0"),)
_SEE_ALL = (
    "SELECT set_config('jiyi.seen_before', current_setting('jiyi.whole_store', true), true), "
    "set_config('jiyi.whole_store', 'on', true)"
)
_SEE_AS_BEFORE = "SELECT set_config('jiyi.whole_store', current_setting('jiyi.seen_before'), true)"
_TAKEN = "jiyi.text_taken"
_CATCH_UP = 1_000
# Broken inside the server, as an index is that a crash has left in pieces.
_BROKEN = (psycopg.errors.InternalError_, psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted)


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
        beside: TextProposer | None = None,
        whole_scope: int = WHOLE_SCOPE,
    ) -> None:
        """`pg_search=False` does without the extension. Scopes of up to `whole_scope` texts are read whole.

        Where there is no extension, `beside` proposes texts of larger scopes as well: another engine that has BM25.
        """
        self._database = database
        self._analyzer = analyzer
        self._store_id = store_id
        self._pg_search = pg_search
        self._sessions = Sessions(database)
        self._lock = SessionLock(self._sessions, database.key(SCHEMA, "text"), "text index", timeout=lock_timeout)
        small = SmallScopes(self._asked, whole_scope)
        self._bm25 = PgSearchProposer(self._asked_alone, small)
        self._lesser = TsvectorProposer(self._asked, small, beside)
        self._mode = PG_SEARCH if pg_search else TSVECTOR
        self._obstacle = ""
        self._broken = ""

    def follow(self) -> None:
        """From now on take changes in with the transactions that make them."""
        self._database.before_log(self._before_log)
        self._database.before_commit(self._before_commit)

    # --- the mark -------------------------------------------------------------------------------------------------

    def log_position(self) -> LogPosition | None:
        """How far the index has come; `None` when it has to be rebuilt."""
        state = self._known_state()
        return None if state is None or not self._usable(state) else LogPosition(state.sequence, state.fingerprint)

    def usable_mark(self, rows: Sequence[Sequence[Any]]) -> LogPosition | None:
        """The mark in what `STATE_QUERY` was answered with; `None` when the index has to be mended or rebuilt."""
        state = self._own(rows)
        return None if state is None or not self._usable(state) else LogPosition(state.sequence, state.fingerprint)

    def _known_state(self) -> State | None:
        """The state, in one round trip."""
        with self._explained():
            try:
                rows = self._sessions.ask(tables.STATE_QUERY.encode(), ())
            except tables.MISSING:
                return None
            return self._own(rows)

    def _state(self, connection: Connection) -> State | None:
        """The state, on a connection that is in use."""
        return self._own(connection.execute(tables.STATE_QUERY).fetchall()) if tables.present(connection) else None

    def _own(self, rows: Sequence[Sequence[Any]]) -> State | None:
        """The state of the tables, if they are those of this store and made by these rules."""
        state = tables.state_of(rows)
        if state is None or not self._is_wanted(state):
            return None
        # Another process may have taught the segmenter a word: hear of it before thinking the index is foreign.
        if state.identity != self._identity() and not self._learned(state.identity):
            return None
        self._mode = state.mode
        return state

    def _is_wanted(self, state: State) -> bool:
        """Whether proposals are made in the best way there is: an extension may have come or gone since."""
        return state.mode == (PG_SEARCH if self._pg_search and state.extension else TSVECTOR)

    def _usable(self, state: State) -> bool:
        return state.trusted and not (state.bm25 and state.bm25 == self._broken)

    def _learned(self, identity: str) -> bool:
        return isinstance(self._analyzer, Vocabulary) and self._analyzer.refresh() and identity == self._identity()

    def _identity(self) -> str:
        return f"{self._store_id}/{LAYOUT}/{self._analyzer.identity}"

    # --- writing with the records ---------------------------------------------------------------------------------

    def _before_log(self, connection: PostgresConnection, changed: Sequence[tuple[str, str]]) -> None:
        """Take the changed entries in, in the transaction that changes them; the mark follows in `_before_commit`.

        The log is not locked yet, so transactions of different scopes do this at the same time.
        """
        driver = connection.driver
        connection.info.pop(_TAKEN, None)
        ids = list(dict.fromkeys(entry_id for _, entry_id in changed))
        try:
            if len(ids) < COPIED_FROM:
                state = self._take_few(SmallBatchWriter(connection.wire, ids))
            else:
                state = self._take_many(driver, ids)
        except tables.MISSING:
            return  # There is no index, or only a part of one: it is built from the records when it is needed.
        except psycopg.OperationalError as error:
            if not isinstance(error, psycopg.errors.DiskFull):
                # The connection, a lock or the time ran out: that is for the caller of the transaction to know.
                raise
            # No room for the index: the records may have some, and if not they say so themselves.
            self._condemn(driver, error)
        except psycopg.Error as error:
            self._condemn(driver, error)
        else:
            if state is not None:
                connection.info[_TAKEN] = state.identity

    def _take_few(self, few: SmallBatchWriter) -> State | None:
        """Take entries in; returns the state of the tables, `None` when there are none to be written."""
        with few.undone_on_error():
            state = self._own(few.look())
            if state is None or not self._usable(state):
                return None
            few.write(state.mode, lambda entry: analyse(self._analyzer, entry))
            return state

    def _take_many(self, connection: Connection, ids: Sequence[str]) -> State | None:
        """The same for more than a few."""
        with connection.transaction():
            state = self._own(connection.execute(tables.STATE_QUERY).fetchall())
            if state is None or not self._usable(state):
                return None
            for start in range(0, len(ids), self.batch_size):
                self._take(connection, state.mode, ids[start : start + self.batch_size])
            return state

    def _before_commit(
        self, connection: PostgresConnection, changed: Sequence[tuple[str, str]], head: LogPosition
    ) -> None:
        """Move the mark to the new head of the log, unless something before this transaction is not taken in yet."""
        identity = connection.info.pop(_TAKEN, None)
        if identity is None:
            return
        driver = connection.driver
        # The log is seen as a whole for a moment: what others have written before is not of these scopes.
        with driver.pipeline():
            driver.execute(_SEE_ALL)
            driver.execute(
                f"UPDATE {tables.STATE} SET sequence = %s, fingerprint = %s WHERE identity = %s AND sequence >= "
                "coalesce((SELECT max(sequence) FROM memory_changes WHERE sequence <= %s), 0)",
                [head.sequence, head.fingerprint, identity, head.sequence - len(changed)],
            )
            driver.execute(_SEE_AS_BEFORE)

    def _take(self, connection: Connection, mode: str, ids: Sequence[str], suffix: str = "") -> None:
        """Bring these entries into the tables in the state that this transaction sees."""
        wanted = list(dict.fromkeys(ids))
        writer = TextWriter(connection, mode, suffix)
        rows = connection.execute(_ENTRIES, [wanted])
        held = writer.ask_held(wanted)
        found = [entry_of(row) for row in rows]
        old = [Features(*row) for row in held]
        active = {entry.id: analyse(self._analyzer, entry) for entry in found if entry.is_active}
        writer.change(old, list(active.values()))

    def _condemn(self, connection: Connection, error: psycopg.Error) -> None:
        """Remember that the index has failed, so that it is made anew; the records go their way."""
        _log.warning("the text index has not taken a change in and will be mended: %s", _reason(error))
        if isinstance(error, _BROKEN):
            # Said in a transaction that is about to be committed: then everybody knows.
            with connection.transaction():
                if tables.present(connection):
                    connection.execute(f"DELETE FROM {tables.ALIVE}")

    # --- writing from the log -------------------------------------------------------------------------------------

    @contextmanager
    def exclusive(self, timeout: float | None = None) -> Iterator[None]:
        """Only one process drains or rebuilds at a time."""
        with self._writing(timeout):
            yield

    def fingerprint(self, entry: MemoryEntry) -> str:
        """What the index keeps to recognise the state of an entry that it holds."""
        return entry.index_hash()

    def apply(self, batch: IndexBatch) -> None:
        """Take the batch in with its mark, and what the log has after it: nobody writes meanwhile."""
        with self._writing():
            analysed = [analyse(self._analyzer, entry) for entry in batch.upserts]
            with self._transaction() as connection:
                state = self._state(connection)
                if state is None or not self._usable(state):
                    raise IndexDamagedError("the text index is missing or made by other rules")
                writer = TextWriter(connection, state.mode)
                writer.apply(analysed, [entry_id for _, entry_id in batch.removals])
                log_position = self._caught_up(connection, state.mode, batch.log_position)
                tables.set_mark(connection, state.identity, log_position.sequence, log_position.fingerprint)

    def rebuild(self, store: RecordStore, *, progress: Progress | None = None) -> None:
        """Build a new index beside the old one from all records, then swap.

        Where only the BM25 index is lost, after a crash of the server, it alone is made anew.
        """
        with self._writing() as connection:
            tables.prepare(connection)
            state = self._state(connection)
            if state is not None and not self._usable(state):
                _log.warning("the BM25 index is made anew: the server has crashed, or the index was found broken")
                tables.renew_bm25(connection, state.bm25)
                return
            self._build(connection, store, progress)

    def _build(self, connection: Connection, store: RecordStore, progress: Progress | None) -> None:
        mode = self._new_mode(connection)
        identity = self._identity()
        log_position = store.head()
        tables.create_next(connection, mode)
        done, after = 0, ""
        while entries := store.scan(after_id=after, limit=self.batch_size):
            analysed = [analyse(self._analyzer, entry) for entry in entries]
            with connection.transaction():
                # What a crash takes of it is built again.
                connection.execute("SET LOCAL synchronous_commit = off")
                TextWriter(connection, mode, NEXT).fill(analysed)
            done, after = done + len(entries), entries[-1].id
            if progress is not None:
                progress(done, None)
        bm25 = tables.finish_next(connection, mode)
        with self._transaction() as last:
            log_position = self._caught_up(last, mode, log_position, NEXT)
            tables.swap(
                last,
                State(
                    identity, mode, log_position.sequence, log_position.fingerprint, bm25, trusted=True, extension=()
                ),
            )
        self._mode = mode

    def _new_mode(self, connection: Connection) -> str:
        self._obstacle = tables.need_extension(connection) if self._pg_search else "pg_search is switched off"
        if self._obstacle:
            _log.warning("text is searched without BM25 index: %s", self._obstacle)
            return TSVECTOR
        return PG_SEARCH

    def _caught_up(self, connection: Connection, mode: str, log_position: LogPosition, suffix: str = "") -> LogPosition:
        """Take in what the log has after this mark, if it is a place of this log; returns the mark then."""
        if log_position.sequence:
            line = connection.execute(_LINE, [log_position.sequence]).fetchone()
            if line is None or line_fingerprint(*line) != log_position.fingerprint:
                return log_position
        while rows := connection.execute(_CHANGES, [log_position.sequence, _CATCH_UP]).fetchall():
            self._take(connection, mode, [row[1] for row in rows], suffix)
            log_position = LogPosition(rows[-1][0], line_fingerprint(*rows[-1][1:]))
        return log_position

    # --- reading --------------------------------------------------------------------------------------------------

    @property
    def mode(self) -> str:
        """How proposals are made, in words."""
        return self._proposer().mode

    def propose(
        self, field: str, terms: Sequence[str], filters: Filters, *, limit: int, labels: bool = False
    ) -> list[str]:
        """Ids of the best matches, filters applied where they are looked for."""
        if not terms:
            return []
        return self._proposer().propose(field, terms, filters, limit=limit, labels=labels)

    def _proposer(self) -> TextProposer:
        return self._bm25 if self._mode == PG_SEARCH else self._lesser

    def statistics(self, scopes: Sequence[str], words: Sequence[str], bigrams: Sequence[str]) -> TermStatistics:
        """Numbers of these scopes together."""
        return reader.statistics(self._asked, scopes, words, bigrams)

    def windows(self, ids: Sequence[str], *, reach: int, scopes: Sequence[str] = ()) -> list[TermRow]:
        """Texts by id with up to `reach` others before and after each in its conversation, in order."""
        del scopes
        return reader.windows(self._asked, ids, reach) if ids else []

    def conversations(
        self, threads: Iterable[tuple[str, str]], words: Sequence[str]
    ) -> dict[tuple[str, str], tuple[int, tuple[int, ...]]]:
        """For each (scope, conversation) its length and how often each word stands in it."""
        return reader.conversations(self._asked, threads, words)

    def term_ids(self, terms: Sequence[str]) -> list[int]:
        """The numbers under which `windows` shows these terms."""
        return [term_id(term) for term in terms]

    def contents(self) -> Iterator[tuple[str, str]]:
        """(id, hash) of every text; the hash is another where the BM25 index does not have it."""
        with self._session() as connection:
            state = self._state(connection)
            if state is None:
                return
            found: set[str] | None = None
            if state.mode == PG_SEARCH and self._usable(state):
                everything = connection.execute(f"SELECT entry_id FROM {TEXTS} WHERE entry_id @@@ paradedb.all()")
                found = {row[0] for row in everything}
            with connection.transaction(), connection.cursor("jiyi_text_contents") as cursor:
                cursor.itersize = 10_000
                cursor.execute(f"SELECT entry_id, hash FROM {TEXTS}")
                for entry_id, digest in cursor:
                    yield entry_id, digest if found is None or entry_id in found else "not in the BM25 index"

    def check(self) -> list[str]:
        """Whether the tables are there, their numbers add up, and the BM25 index is whole."""
        with self._session() as connection:
            state = self._state(connection)
            if state is None:
                return ["there is no text index; run: jiyi rebuild"]
            return table_problems(connection, state if self._usable(state) else None)

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`."""
        facts: dict[str, Any] = {"engine": "postgresql", "analyzer": self._analyzer.identity}
        with self._session() as connection:
            state = self._state(connection)
            facts["mode"] = self.mode
            if state is not None:
                if state.extension:
                    facts["pg_search"] = ".".join(map(str, state.extension))
                row = connection.execute(
                    "SELECT sum(pg_total_relation_size(name::regclass))::bigint FROM unnest(%s::text[]) AS name",
                    [list(tables.TABLES)],
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
        """Nothing: the connections are those of the record store."""

    # --- connections ----------------------------------------------------------------------------------------------

    def _asked(self, statement: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
        with self._explained():
            return self._sessions.ask(statement.encode(), parameters)

    def _asked_alone(self, statement: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
        with self._explained():
            return self._sessions.ask(statement.encode(), parameters, _ALONE)

    @contextmanager
    def _session(self) -> Iterator[Connection]:
        with self._explained(), self._sessions.borrow() as connection:
            yield connection

    @contextmanager
    def _writing(self, timeout: float | None = None) -> Iterator[Connection]:
        with self._explained(), self._lock.hold(timeout) as connection:
            yield connection

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """A transaction in which nobody else writes to the store, and which sees all of it."""
        with self._database.write() as connection:
            yield connection.driver

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """What the server says, in words of this index."""
        try:
            yield
        except tables.MISSING as error:
            raise IndexDamagedError(f"the text index was removed or replaced ({_reason(error)})") from error
        except _BROKEN as error:
            self._mourn()
            raise IndexDamagedError(f"the text index is broken ({_reason(error)})") from error
        except psycopg.Error as error:
            raise meaning(self._database.where, error) from error

    def _mourn(self) -> None:
        """The BM25 index in use has failed: it is not asked again."""
        state = self._known_state()
        if state is not None:
            self._broken = state.bm25


def _reason(error: psycopg.Error) -> str:
    """The first line of the server's words: the others can hold values of rows."""
    return error.diag.message_primary or type(error).__name__

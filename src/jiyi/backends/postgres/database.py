"""PostgreSQL as the engine of the record store: many processes and machines, each scope written by one at a time.

Isolation. A write is one transaction, READ COMMITTED, under advisory locks that it takes with its first round trip:
`write(scopes)` shares the lock of the store and has the locks of its scopes for itself; `write()` has the store for
itself. So what a transaction reads of its scopes stays as it is until it has committed: reading a row and then writing
it loses no update, and different scopes are written at the same time. A read is one snapshot (REPEATABLE READ, read
only).

No deadlocks. Locks are taken in one order: the store, scopes in the order of their numbers, the set of tags, the log.
Rows are changed only under the lock of their scope, so nobody waits for a row.

The change log. Its lines are written at the end of a transaction under the last lock, which is held to the commit: the
order of the lines is the order in which they became visible.

Fences. Each transaction says which scopes it is about, and row-level security keeps it there (see `postgres_schema`).
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, cast

import psycopg
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from jiyi.backends.postgres import schema as postgres_schema
from jiyi.backends.postgres.errors import is_lost, storage_error
from jiyi.backends.records import migrations, versions
from jiyi.backends.records.changelog import GATHERED, LINE, fingerprint
from jiyi.errors import CommitUnknownError, ConfigError, StorageError, StoreBusyError, StoreUnavailableError
from jiyi.ports import LogPosition

_MAX_SCOPES = 64
_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# A commit that was answered is on disk, whatever the server's default is.
_DURABLE = (
    "set_config('synchronous_commit', CASE current_setting('synchronous_commit') "
    "WHEN 'off' THEN 'local' ELSE current_setting('synchronous_commit') END, true)"
)
_LINE_TYPES = {"version": "bigint[]", "changed_at": "timestamptz[]"}
# The lock and the lines in one round trip. A line gets its number when its row is there, so after the lock is held.
_INSERT_LINES = (
    "WITH held AS MATERIALIZED (SELECT {}) "
    f"INSERT INTO memory_changes ({', '.join(LINE)}) SELECT line.* FROM held CROSS JOIN unnest("
    + ", ".join(f"%s::{_LINE_TYPES.get(name, 'text[]')}" for name in LINE)
    + ") AS line RETURNING sequence, entry_id, version, changed_at"
)
_KEPT = "SELECT 1 FROM memory_changes WHERE sequence = %s AND entry_id = %s AND version = %s"
_PATIENCE_AFTER_COMMIT = 5.0
_SECONDS_IDLE = 300

BeforeCommit: TypeAlias = Callable[[sa.Connection, Sequence[tuple[str, str]], LogPosition], None]
"""Called with the connection, the (scope, entry id) of every new line of the log, and the place of the last one."""

BeforeLog: TypeAlias = Callable[[sa.Connection, Sequence[tuple[str, str]]], None]
"""Called with the connection and the (scope, entry id) of every line that the transaction writes into the log."""


class PostgresDatabase:
    """Connections to one PostgreSQL database, with the transactions that the record store asks for."""

    dialect = "postgresql"

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 8,
        lock_timeout: float = 30.0,
        statement_timeout: float = 60.0,
        connect_timeout: float = 10.0,
    ) -> None:
        """Open it, and make or migrate the tables if that is needed.

        `lock_timeout` is how long a transaction waits for others and for a free connection, `statement_timeout` how
        long one statement may take; work on the whole store has ten times as long. All are in seconds.
        """
        self._url, prepare_threshold = _checked(url)
        self.where = self._url.set(drivername="postgresql", query={}).render_as_string(hide_password=True)
        """The address without what is secret."""
        self._lock_timeout = lock_timeout
        self._statement_timeout = statement_timeout
        self._pool_size = pool_size
        self._before_log: list[BeforeLog] = []
        self._hooks: list[BeforeCommit] = []
        self._schema = ""
        self._engine = sa.create_engine(
            self._url,
            pool_size=pool_size,
            max_overflow=pool_size,
            pool_timeout=lock_timeout,
            pool_use_lifo=True,  # what was opened for a rush is closed again
            hide_parameters=True,
            use_native_hstore=False,
            connect_args={**_connect_args(self._url, connect_timeout), "prepare_threshold": prepare_threshold},
        )
        event.listen(self._engine, "connect", _configure)
        event.listen(self._engine, "checkout", _own_process)
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def read(self, scopes: Sequence[str] | None = None) -> Iterator[sa.Connection]:
        """One consistent snapshot; `scopes` are those that it may see beside `public`, `None` means all."""
        with self._translated():
            connection = self._begin(lambda driver: self._start(driver, _READ, scopes))
            try:
                yield connection
                _say(_driver(connection), b"COMMIT")
            except BaseException:
                _abandon(connection)
                raise
            connection.close()

    @contextmanager
    def write(self, scopes: Sequence[str] | None = None, *, durable: bool = True) -> Iterator[sa.Connection]:
        """One transaction; durable when the block has ended without an error.

        `scopes` are those that it may change; nobody else changes them meanwhile. `None` means the whole store. Without
        `durable` a crash of the server may lose it: for what is only bookkeeping.
        """
        whole = scopes is None or len(set(scopes)) > _MAX_SCOPES
        locks = self._store_lock() if whole else self._scope_locks(scopes or ())
        with self._translated():
            connection = self._begin(lambda driver: self._start(driver, _WRITE, scopes, locks, durable=durable))
            gathered = _Gathered(None if whole else self.key("log"), self.key("tags"))
            try:
                connection.info[GATHERED] = gathered
                yield connection
                if gathered.touched:
                    for prepare in self._before_log:
                        prepare(connection, gathered.touched)
                gathered.write(connection)
                if gathered.head is not None:
                    for hook in self._hooks:
                        hook(connection, gathered.changed, gathered.head)
            except BaseException:
                _abandon(connection)
                raise
            self._commit(connection, gathered)

    def before_log(self, hook: BeforeLog) -> None:
        """Call `hook` in every transaction that has changed entries, before it waits for its turn to write the log.

        Transactions of different scopes do it at the same time.
        """
        self._before_log.append(hook)

    def before_commit(self, hook: BeforeCommit) -> None:
        """Call `hook` in every transaction that has changed entries, when its lines are in the log."""
        self._hooks.append(hook)

    def key(self, *names: str) -> int:
        """The number of an advisory lock of this store."""
        name = "\x00".join(("jiyi", self._schema, *names)).encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), signed=True)

    @property
    def limits(self) -> dict[str, str]:
        """How long a statement about some scopes may wait and take, as settings of PostgreSQL."""
        return {
            "statement_timeout": f"{round(1_000 * self._statement_timeout)}",
            "lock_timeout": f"{round(1_000 * self._lock_timeout)}",
        }

    @property
    def engine(self) -> sa.Engine:
        """The pool of connections; each is in autocommit mode until it says BEGIN."""
        return self._engine

    @property
    def schema(self) -> str:
        """The PostgreSQL schema in which the tables are."""
        return self._schema

    def maintain(self) -> None:
        """Nothing: PostgreSQL vacuums by itself."""

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`."""
        facts = sa.text(
            "SELECT current_setting('server_version') AS engine_version, current_database() AS database, "
            "current_user AS role, current_setting('synchronous_commit') AS synchronous_commit, "
            "current_setting('fsync') AS fsync, pg_database_size(current_database()) AS bytes, "
            "(SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) AS bypasses_row_security"
        )
        with self.read() as connection:
            version = migrations.current_version(connection)
            row = connection.execute(facts).one()
        return {
            "engine": "postgresql",
            "address": self.where,
            **row._mapping,
            "schema": self._schema,
            "schema_version": version,
            "isolation": "read committed under a lock for each scope; snapshots for reading",
            "pool_size": self._pool_size,
        }

    def check(self) -> list[str]:
        """What is wrong with the database, as far as it knows itself."""
        problems: list[str] = []
        with self.read() as connection:
            if connection.exec_driver_sql("SHOW fsync").scalar() != "on":
                problems.append("fsync is off: a crash of the server can lose or damage what was stored; turn it on")
            problems += _missing(connection)
        return problems

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    # --- transactions -----------------------------------------------------------------------------------------------

    def _begin(self, start: Callable[[psycopg.Connection[Any]], None]) -> sa.Connection:
        """A connection on which `start` has been done.

        The first words on a connection show whether it still lives. If it does not, nothing has been done yet, and the
        next one is taken: a restart of the server is noticed by nobody who did not speak with it just then.
        """
        for attempt in range(2 * self._pool_size + 1):
            connection = self._connect()
            driver = _driver(connection)
            try:
                connection.begin()
                start(driver)
            except psycopg.Error as error:
                lost = is_lost(driver, error)
                _abandon(connection)
                if not lost or attempt == 2 * self._pool_size:
                    raise
            except BaseException:
                _abandon(connection)
                raise
            else:
                return connection
        raise AssertionError("unreachable")

    def _connect(self) -> sa.Connection:
        try:
            return self._engine.connect()
        except DBAPIError as error:
            raise storage_error(self.where, error.orig, connected=False) from error
        except PoolTimeoutError as error:
            raise StoreBusyError(
                f"{self.where}: no connection of the pool became free in {self._lock_timeout:g} s; try again, "
                "or use a larger pool"
            ) from error

    def _start(
        self,
        driver: psycopg.Connection[Any],
        begin: str,
        scopes: Sequence[str] | None,
        locks: Sequence[str] = (),
        *,
        durable: bool = True,
    ) -> None:
        """Begin, say what the transaction is about, and take its locks: one round trip."""
        patience = self._statement_timeout * (10 if scopes is None else 1)
        settings = {
            "statement_timeout": f"{round(1_000 * patience)}",
            "lock_timeout": f"{round(1_000 * self._lock_timeout)}",
            "idle_in_transaction_session_timeout": f"{1_000 * _SECONDS_IDLE}",
            postgres_schema.WHOLE_STORE: "on" if scopes is None else "off",
            postgres_schema.SCOPES: "" if scopes is None else _array(scopes),
        }
        calls = [f"set_config('{name}', {_quoted(driver, value)}, true)" for name, value in settings.items()]
        if begin is _WRITE:
            calls.append(_DURABLE if durable else "set_config('synchronous_commit', 'off', true)")
        taken = f"; SELECT {', '.join(locks)}" if locks else ""
        words = f"{begin}; SELECT {', '.join(calls)}{taken}".encode()
        if locks:
            # This may wait for others, and must hear of an interruption meanwhile.
            driver.execute(words, prepare=False)
        else:
            _say(driver, words)

    def _store_lock(self) -> list[str]:
        return [f"pg_advisory_xact_lock({self.key('store')})"]

    def _scope_locks(self, scopes: Sequence[str]) -> list[str]:
        keys = sorted({self.key("scope", scope) for scope in scopes})
        return [
            f"pg_advisory_xact_lock_shared({self.key('store')})",
            *(f"pg_advisory_xact_lock({key})" for key in keys),
        ]

    def _commit(self, connection: sa.Connection, gathered: _Gathered) -> None:
        driver = _driver(connection)
        try:
            connection.commit()
        except (DBAPIError, psycopg.Error) as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            lost = is_lost(driver, cause)
            _abandon(connection)
            if not lost:
                raise
            self._look_for(gathered, error)
        else:
            connection.info.pop(GATHERED, None)
            connection.close()

    def _look_for(self, gathered: _Gathered, cause: Exception) -> None:
        """The answer to a commit was lost: find out whether it was kept, by the last line of the log that it wrote."""
        deadline = time.monotonic() + _PATIENCE_AFTER_COMMIT
        pause = 0.05
        while gathered.head is not None:
            try:
                if self._is_kept(gathered):
                    return
            except StoreUnavailableError:
                if time.monotonic() + pause > deadline:
                    break
                time.sleep(pause)
                pause *= 2
            except StorageError:
                break
            else:
                raise StoreUnavailableError(
                    f"{self.where}: the connection was lost during the commit; nothing was kept, try again"
                ) from cause
        raise CommitUnknownError(
            f"{self.where}: the connection was lost during the commit, and it is not known whether the write was kept; "
            "look before you write again"
        ) from cause

    def _is_kept(self, gathered: _Gathered) -> bool:
        # Whoever commits holds the lock of the log: when it can be had, the commit has ended one way or the other.
        wait = f"pg_advisory_xact_lock_shared({self.key('log')})"
        if gathered.lock is None:
            wait = f"pg_advisory_xact_lock_shared({self.key('store')})"
        with self._translated():
            connection = self._begin(lambda driver: self._start(driver, _WRITE, None, [wait]))
            try:
                return _driver(connection).execute(_KEPT, gathered.last_line).fetchone() is not None
            finally:
                _abandon(connection)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise storage_error(self.where, error.orig) from error
        except psycopg.Error as error:
            raise storage_error(self.where, error) from error

    # --- the tables -------------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        with self.read() as connection:
            encoding, schema = connection.exec_driver_sql(
                "SELECT current_setting('server_encoding'), current_schema()"
            ).one()
            if encoding != "UTF8":
                raise StorageError(f"{self.where} has the encoding {encoding}; make the database with ENCODING 'UTF8'")
            if schema is None:
                raise StorageError(f"{self.where}: no schema of the search_path is there; create it, or name another")
            found = migrations.current_version(connection, self.where)
            versions.refuse_newer(found, self.where)
        self._schema = schema
        if found < migrations.MIGRATIONS[-1].version:
            # Under the lock of the store: of several who find no tables one makes them, and the others find them.
            with self.write() as connection:
                migrations.migrate(connection, self.where)


class _Gathered:
    """The lines of the change log of one transaction, and the locks that it takes on its way."""

    def __init__(self, lock: int | None, tags_lock: int) -> None:
        """`lock` is the one under which they are written; a transaction that has the store for itself needs none."""
        self.lock = lock
        self._tags_lock = tags_lock
        self.waiting: list[Mapping[str, Any]] = []
        self.changed: list[tuple[str, str]] = []
        self.head: LogPosition | None = None
        self.last_line = (0, "", 0)
        """What identifies the last line that was written."""

    @property
    def touched(self) -> list[tuple[str, str]]:
        """(scope, entry id) of every line, written or not."""
        return [*self.changed, *((line["scope"], line["entry_id"]) for line in self.waiting)]

    def add(self, connection: sa.Connection, lines: Sequence[Mapping[str, Any]]) -> None:
        """Take lines in."""
        self.waiting += lines
        if self.lock is None:
            self.write(connection)

    def lock_tags(self, connection: sa.Connection) -> bool:
        """Take the lock of the set of tags; whether it was needed."""
        if self.lock is None:
            return False
        _driver(connection).execute(f"SELECT pg_advisory_xact_lock({self._tags_lock})".encode())
        return True

    def write(self, connection: sa.Connection) -> None:
        """Write what waits."""
        if not self.waiting:
            return
        lock = "NULL" if self.lock is None else f"pg_advisory_xact_lock({self.lock})"
        lines = [[line[name] for line in self.waiting] for name in LINE]
        cursor = _driver(connection).execute(_INSERT_LINES.format(lock).encode(), lines)
        sequence, entry_id, version, moment = max(cursor.fetchall())
        self.head = LogPosition(sequence, fingerprint(entry_id, version, moment))
        self.last_line = (sequence, entry_id, version)
        self.changed += [(line["scope"], line["entry_id"]) for line in self.waiting]
        self.waiting = []


def _checked(url: str) -> tuple[sa.URL, int | None]:
    """The URL for SQLAlchemy's driver; wrong ones are told before anybody waits for a server.

    Beside it, after how many uses a statement is prepared on the server: `prepare_threshold` of the URL, 0 for never,
    which poolers need that give every transaction another connection and do not know prepared statements.
    """
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError:
        # Not shown: it may hold a password.
        raise ConfigError("storage is no URL; it looks like postgresql://user:password@host:5432/database") from None
    if parsed.drivername not in {"postgresql", "postgres", "postgresql+psycopg"}:
        raise ConfigError(f"storage begins with {parsed.drivername}://; jiyi knows postgresql://")
    threshold = parsed.query.get("prepare_threshold", "5")
    if not isinstance(threshold, str) or not threshold.isdecimal():
        raise ConfigError(
            f"prepare_threshold {threshold!r} in the URL of the storage is no whole number; 0 means never"
        )
    plain = parsed.difference_update_query(["prepare_threshold"])
    return plain.set(drivername="postgresql+psycopg"), int(threshold) or None


def _connect_args(url: sa.URL, connect_timeout: float) -> dict[str, Any]:
    wanted = {
        "application_name": "jiyi",
        "connect_timeout": max(2, round(connect_timeout)),
        "client_encoding": "utf8",
        # A server that vanished without a word is noticed in about a minute, also by a call that waits for it.
        "keepalives": 1,
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "tcp_user_timeout": 60_000,
    }
    # What the URL says counts.
    return {name: value for name, value in wanted.items() if name not in url.query}


class _ServerCursor(psycopg.ServerCursor[Any]):
    """An answer that is read piece by piece; the end of the transaction closes it for who stops in the middle."""

    def __del__(self, *arguments: Any) -> None:
        psycopg.Cursor.close(self)
        super().__del__(*arguments)


def _configure(connection: psycopg.Connection[Any], _record: object) -> None:
    connection.server_cursor_factory = _ServerCursor
    connection.autocommit = True  # transactions begin with words of our own
    connection.execute("SET TIME ZONE 'UTC'")


_inherited: list[object] = []


def _own_process(_connection: object, record: Any, _proxy: object) -> None:
    """After a fork the child makes connections of its own and leaves the parent's alone."""
    owner = record.info.setdefault("pid", os.getpid())
    if owner != os.getpid():
        # Kept, because closing it would end the parent's session.
        _inherited.append(record.dbapi_connection)
        record.dbapi_connection = None
        raise DisconnectionError("the connection belongs to another process")


def _driver(connection: sa.Connection) -> psycopg.Connection[Any]:
    return cast("psycopg.Connection[Any]", connection.connection.driver_connection)


def _say(driver: psycopg.Connection[Any], words: bytes) -> None:
    """Say what waits for nobody, without the machinery around a cursor: that takes longer than the server does."""
    result = driver.pgconn.exec_(words)
    if result.status not in {psycopg.pq.ExecStatus.COMMAND_OK, psycopg.pq.ExecStatus.TUPLES_OK}:
        raise psycopg.errors.error_from_result(result)


def _abandon(connection: sa.Connection) -> None:
    """Undo the transaction and give the connection back; a broken one is thrown away."""
    if not connection.invalidated:
        connection.info.pop(GATHERED, None)
        try:
            if not _driver(connection).closed:
                connection.rollback()
        except (DBAPIError, psycopg.Error):
            connection.invalidate()
        else:
            if _driver(connection).closed:
                connection.invalidate()
    connection.close()


def _quoted(driver: psycopg.Connection[Any], text: str) -> str:
    return psycopg.pq.Escaping(driver.pgconn).escape_literal(text.encode("utf-8")).decode("utf-8")


def _array(texts: Sequence[str]) -> str:
    """An array as PostgreSQL writes it."""
    escaped = (text.replace("\\", "\\\\").replace('"', '\\"') for text in dict.fromkeys(texts))
    return "{" + ",".join(f'"{text}"' for text in escaped) + "}"


def _missing(connection: sa.Connection) -> list[str]:
    """Tables without their fence, and indexes that PostgreSQL itself does not trust."""
    fenced = connection.exec_driver_sql(
        "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace "
        "AND relrowsecurity AND relforcerowsecurity"
    ).scalars()
    open_tables = sorted(set(postgres_schema.fenced_tables()) - set(fenced))
    invalid = connection.exec_driver_sql(
        "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
        "WHERE c.relnamespace = current_schema()::regnamespace AND NOT i.indisvalid ORDER BY 1"
    ).scalars()
    return [
        *(f"table {name} is not fenced by row-level security; enable and force it again" for name in open_tables),
        *(f"index {name} is not valid; run REINDEX INDEX {name}" for name in invalid),
    ]

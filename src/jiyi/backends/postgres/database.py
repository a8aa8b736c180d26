"""PostgreSQL as the engine of the record store: many processes and machines, each scope written by one at a time.

Isolation. A write is one transaction, READ COMMITTED, under advisory locks that it takes with its first round trip:
`write(scopes)` shares the lock of the store and has the locks of its scopes for itself; `write()` has the store for
itself. So what a transaction reads of its scopes stays as it is until it has committed: reading a row and then writing
it loses no update, and different scopes are written at the same time. A read is one snapshot (REPEATABLE READ, read
only).

No deadlocks. Locks are taken in one order: the store, scopes in the order of their numbers, the set of tags, the log.
Rows are changed only under the lock of their scope, so no transaction waits for a row.

The change log. Its lines are written at the end of a transaction under the last lock, which is held to the commit: the
order of the lines is the order in which they became visible.

Fences. Each transaction names its scopes, and row-level security confines it to them (see `postgres.schema`).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import psycopg

from jiyi.backends.postgres.connection import PostgresConnection, bound_statement
from jiyi.backends.postgres.errors import is_lost, storage_error
from jiyi.backends.postgres.listening import ChangeListener
from jiyi.backends.postgres.log import LogBuffer
from jiyi.backends.postgres.pool import Address, ConnectionPool
from jiyi.backends.postgres.schema import SCOPES, WHOLE_STORE, add_policies, tables_with_policies
from jiyi.backends.postgres.wire import BoundStatement, settings, text_array
from jiyi.backends.records import migrations, versions
from jiyi.backends.records.sql import NO_PARAMS, Connection, Dialect, Params, Row
from jiyi.contexts import on_error
from jiyi.errors import CommitUnknownError, StorageError, StoreUnavailableError
from jiyi.ports import LogPosition

_MAX_SCOPES: Final = 64
_WRITE: Final = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# A commit that was acknowledged is on disk, whatever the server's default is.
_DURABLE: Final = (
    "set_config('synchronous_commit', CASE current_setting('synchronous_commit') "
    "WHEN 'off' THEN 'local' ELSE current_setting('synchronous_commit') END, true)"
)
_LOG_LINE: Final = (
    "SELECT 1 FROM memory_changes WHERE sequence = :sequence AND entry_id = :entry_id AND version = :version"
)
_MAX_SECONDS_AFTER_COMMIT = 5.0
_MAX_SECONDS_IDLE: Final = 300
_FACTS: Final = {
    "engine_version": "current_setting('server_version')",
    "database": "current_database()",
    "role": "current_user",
    "synchronous_commit": "current_setting('synchronous_commit')",
    "fsync": "current_setting('fsync')",
    "bytes": "pg_database_size(current_database())",
    "bypasses_row_security": "(SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user)",
}
_WITH_POLICIES: Final = (
    "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace "
    "AND relrowsecurity AND relforcerowsecurity"
)
_INVALID: Final = (
    "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
    "WHERE c.relnamespace = current_schema()::regnamespace AND NOT i.indisvalid ORDER BY 1"
)

BeforeCommit: TypeAlias = Callable[[PostgresConnection, Sequence[tuple[str, str]], LogPosition], None]
"""Called with the connection, the (scope, entry id) of every new line of the log, and the position of the last one."""

BeforeLog: TypeAlias = Callable[[PostgresConnection, Sequence[tuple[str, str]]], None]
"""Called with the connection and the (scope, entry id) of every line that the transaction writes into the log."""


class PostgresDatabase:
    """Connections to one PostgreSQL database, with the transactions that the record store asks for."""

    dialect: Dialect = "postgresql"

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
        self._address = address = Address(url)
        self.where = address.shown
        """The address without what is secret."""
        self.pool = ConnectionPool(address, size=pool_size, timeout=lock_timeout, connect_timeout=connect_timeout)
        self._lock_timeout = lock_timeout
        self._statement_timeout = statement_timeout
        self._pool_size = pool_size
        self._connect_timeout = connect_timeout
        self._before_log: list[BeforeLog] = []
        self._before_commit: list[BeforeCommit] = []
        self._schema = ""
        self._settings_of_scopes = {
            prepare: (
                BoundStatement(settings({**self.limits, WHOLE_STORE: "on"}, generic_plans=prepare)),
                settings({**self.limits, WHOLE_STORE: "off"}, {SCOPES: "scopes"}, generic_plans=prepare),
            )
            for prepare in (True, False)
        }
        with on_error(self.close):
            self._prepare()

    @contextmanager
    def read(self, scopes: Sequence[str] | None = None) -> Iterator[PostgresConnection]:
        """One consistent snapshot; `scopes` are those that it may see beside `public`, `None` means all."""
        with self._translated():
            connection, _ = self.pool.begin(lambda new: self._start(new.driver, _READ, scopes))
            with on_error(lambda: self.pool.abandon(connection)):
                yield connection
                _send(connection.driver, b"COMMIT")
            self.pool.release(connection)

    def query(
        self, sql: str, params: Params = NO_PARAMS, scopes: Sequence[str] | None = None, *, prepare: bool = True
    ) -> list[Row]:
        """The rows of one statement in one round trip: the scopes and the statement are sent together."""
        whole, some = self._settings_of_scopes[prepare]
        scoped = whole if scopes is None else some.bound({"scopes": text_array(scopes)})
        bound = bound_statement(sql, params, prepare=prepare)
        with self._translated():
            connection, answers = self.pool.begin(lambda new: new.wire.execute([scoped, bound]))
            self.pool.release(connection)
        return answers[1]

    @contextmanager
    def write(self, scopes: Sequence[str] | None = None, *, durable: bool = True) -> Iterator[PostgresConnection]:
        """One transaction; durable when the block has ended without an error.

        `scopes` are those that it may change; no other transaction changes them meanwhile. `None` means the whole
        store. Without `durable` a crash of the server may lose it: for bookkeeping only.
        """
        whole = scopes is None or len(set(scopes)) > _MAX_SCOPES
        locks = self._store_lock() if whole else self._scope_locks(scopes or ())
        with self._translated():
            connection, _ = self.pool.begin(lambda new: self._start(new.driver, _WRITE, scopes, locks, durable=durable))
            log = LogBuffer(connection, None if whole else self.key("log"), self.key("tags"), self._channel)
            with on_error(lambda: self.pool.abandon(connection)):
                connection.pending_log = log
                yield connection
                self._finish(connection, log)
            self._commit(connection, log)

    def _finish(self, connection: PostgresConnection, log: LogBuffer) -> None:
        """Write the lines of the log, and call the hooks around that."""
        if log.changed:
            for before_log in self._before_log:
                before_log(connection, log.changed)
        log.write()
        if log.head is not None:
            for before_commit in self._before_commit:
                before_commit(connection, log.written, log.head)

    def before_log(self, hook: BeforeLog) -> None:
        """Call `hook` in every transaction that has changed entries, before it waits for its turn to write the log.

        Transactions of different scopes do it at the same time.
        """
        self._before_log.append(hook)

    def before_commit(self, hook: BeforeCommit) -> None:
        """Call `hook` in every transaction that has changed entries, when its lines are in the log."""
        self._before_commit.append(hook)

    @property
    def _channel(self) -> str:
        """The channel of this store's changes: another schema of the same database has another one."""
        return f"jiyi_changes_{self.key('changes') & 0xFFFFFFFFFFFFFFFF:x}"

    def listen(self) -> ChangeListener:
        """A signal for changes, on a connection of its own."""
        with self._translated():
            connection = self._address.connect(self._connect_timeout)
            with on_error(connection.close):
                return ChangeListener(connection, self._channel)

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
    def schema(self) -> str:
        """The PostgreSQL schema in which the tables are."""
        return self._schema

    def maintain(self) -> None:
        """Nothing: PostgreSQL vacuums by itself."""

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`."""
        with self.read() as connection:
            version = migrations.current_version(connection)
            row = connection.rows(f"SELECT {', '.join(_FACTS.values())}")[0]
        return {
            "engine": "postgresql",
            "address": self.where,
            **dict(zip(_FACTS, row, strict=True)),
            "schema": self._schema,
            "schema_version": version,
            "isolation": "read committed under a lock for each scope; snapshots for reading",
            "pool_size": self._pool_size,
        }

    def check(self) -> list[str]:
        """Problems of the database, as far as the server knows them itself."""
        problems: list[str] = []
        with self.read() as connection:
            if connection.scalar("SHOW fsync") != "on":
                problems.append("fsync is off: a crash of the server can lose or damage what was stored; turn it on")
            problems += _missing(connection)
        return problems

    def close(self) -> None:
        """Close every connection."""
        self.pool.close()

    # --- transactions -----------------------------------------------------------------------------------------------

    def _start(
        self,
        driver: psycopg.Connection[Any],
        begin: str,
        scopes: Sequence[str] | None,
        locks: Sequence[str] = (),
        *,
        durable: bool = True,
    ) -> None:
        """Begin, name the scopes of the transaction, and take its locks: one round trip."""
        timeout = self._statement_timeout * (10 if scopes is None else 1)
        values = {
            "statement_timeout": f"{round(1_000 * timeout)}",
            "lock_timeout": f"{round(1_000 * self._lock_timeout)}",
            "idle_in_transaction_session_timeout": f"{1_000 * _MAX_SECONDS_IDLE}",
            WHOLE_STORE: "on" if scopes is None else "off",
            SCOPES: "" if scopes is None else text_array(list(dict.fromkeys(scopes))).decode(),
        }
        calls = [f"set_config('{name}', {_quoted(driver, value)}, true)" for name, value in values.items()]
        if begin is _WRITE:
            calls.append(_DURABLE if durable else "set_config('synchronous_commit', 'off', true)")
        taken = f"; SELECT {', '.join(locks)}" if locks else ""
        command = f"{begin}; SELECT {', '.join(calls)}{taken}".encode()
        if locks:
            # This may wait for others, and must be interruptible meanwhile.
            driver.execute(command, prepare=False)
        else:
            _send(driver, command)

    def _store_lock(self) -> list[str]:
        return [f"pg_advisory_xact_lock({self.key('store')})"]

    def _scope_locks(self, scopes: Sequence[str]) -> list[str]:
        keys = sorted({self.key("scope", scope) for scope in scopes})
        return [
            f"pg_advisory_xact_lock_shared({self.key('store')})",
            *(f"pg_advisory_xact_lock({key})" for key in keys),
        ]

    def _commit(self, connection: PostgresConnection, log: LogBuffer) -> None:
        try:
            connection.driver.commit()
        except psycopg.Error as error:
            lost = is_lost(connection.driver, error)
            self.pool.abandon(connection)
            if not lost:
                raise
            self._resolve_lost_commit(log, error)
        else:
            self.pool.release(connection)

    def _resolve_lost_commit(self, log: LogBuffer, cause: Exception) -> None:
        """The answer to a commit was lost: find out whether it was done, by the last line of the log that it wrote."""
        deadline = time.monotonic() + _MAX_SECONDS_AFTER_COMMIT
        pause = 0.05
        while log.head is not None:
            try:
                if self._is_committed(log):
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

    def _is_committed(self, log: LogBuffer) -> bool:
        # A commit holds the lock of the log: when it can be had, the commit has ended one way or the other.
        wait = f"pg_advisory_xact_lock_shared({self.key('store' if log.lock is None else 'log')})"
        with self._translated():
            connection, _ = self.pool.begin(lambda new: self._start(new.driver, _WRITE, None, [wait]))
            try:
                return connection.row(_LOG_LINE, log.last_line) is not None
            finally:
                self.pool.abandon(connection)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Errors of the driver as those of a store."""
        try:
            yield
        except psycopg.Error as error:
            raise storage_error(self.where, error) from error

    # --- the tables -------------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        with self.read() as connection:
            encoding, schema = connection.rows("SELECT current_setting('server_encoding'), current_schema()")[0]
            if encoding != "UTF8":
                raise StorageError(f"{self.where} has the encoding {encoding}; make the database with ENCODING 'UTF8'")
            if schema is None:
                raise StorageError(f"{self.where}: no schema of the search_path is there; create it, or name another")
            found = migrations.current_version(connection, self.where)
            versions.refuse_newer(found, self.where)
        self._schema = schema
        if found < versions.NEWEST:
            # Under the lock of the store: of several processes that find no tables one makes them.
            with self.write() as connection:
                migrations.migrate(connection, self.where, add_policies)


def _send(driver: psycopg.Connection[Any], command: bytes) -> None:
    """Run a command that waits for no lock. A cursor of psycopg takes longer than the server does."""
    result = driver.pgconn.exec_(command)
    if result.status not in {psycopg.pq.ExecStatus.COMMAND_OK, psycopg.pq.ExecStatus.TUPLES_OK}:
        raise psycopg.errors.error_from_result(result)


def _quoted(driver: psycopg.Connection[Any], text: str) -> str:
    return psycopg.pq.Escaping(driver.pgconn).escape_literal(text.encode("utf-8")).decode("utf-8")


def _missing(connection: Connection) -> list[str]:
    """Tables without row-level security, and indexes that PostgreSQL itself does not trust."""
    open_tables = sorted(set(tables_with_policies()) - set(connection.column(_WITH_POLICIES)))
    return [
        *(f"table {name} has no row-level security; enable and force it again" for name in open_tables),
        *(f"index {name} is not valid; run REINDEX INDEX {name}" for name in connection.column(_INVALID)),
    ]

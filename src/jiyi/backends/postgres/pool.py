"""Connections to a PostgreSQL database: how they are opened, and the pool that keeps them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict

from jiyi.backends.postgres.connection import PostgresConnection
from jiyi.backends.postgres.cursors import NamedCursor, NamedServerCursor
from jiyi.backends.postgres.errors import is_lost, storage_error
from jiyi.backends.shared.pool import Pool, PoolTimeoutError
from jiyi.contexts import on_error
from jiyi.errors import ConfigError, StoreBusyError
from jiyi.model.address import mask_passwords

T = TypeVar("T")
_SCHEMES: Final = ("postgresql", "postgres", "postgresql+psycopg")
_SETTINGS: Final[Mapping[str, Any]] = {
    "application_name": "jiyi",
    "client_encoding": "utf8",
    # A server that vanished silently is noticed in about a minute, also by a call that waits for it.
    "keepalives": 1,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}


class Address:
    """The URL of a database, checked before a server is asked."""

    def __init__(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            query = parse_qsl(parts.query, keep_blank_values=True)
        except ValueError:
            parts, query = urlsplit(""), []
        if not parts.scheme or "://" not in url:
            # Not shown: it may hold a password.
            raise ConfigError("storage is no URL; it looks like postgresql://user:password@host:5432/database")
        if parts.scheme not in _SCHEMES:
            raise ConfigError(f"storage begins with {parts.scheme}://; jiyi knows postgresql://")
        self.prepare_threshold = _threshold(dict(query).get("prepare_threshold", "5"))
        own = urlencode([(name, value) for name, value in query if name != "prepare_threshold"])
        try:
            self.settings = conninfo_to_dict(urlunsplit(("postgresql", parts.netloc, parts.path, own, "")))
        except psycopg.ProgrammingError:
            raise ConfigError(
                "storage is no address of PostgreSQL; it looks like postgresql://user:password@host:5432/database, "
                "and special characters of a password are written as %40 and the like"
            ) from None
        self.shown = mask_passwords(f"postgresql://{parts.netloc}{parts.path}")
        """Without what is secret."""

    def connect(self, connect_timeout: float) -> psycopg.Connection[Any]:
        """A new connection in autocommit mode: transactions are begun explicitly."""
        wanted = {**_SETTINGS, "connect_timeout": max(2, round(connect_timeout))}
        # What the URL says has precedence.
        connection = psycopg.connect(
            **{**wanted, **self.settings},
            autocommit=True,
            prepare_threshold=self.prepare_threshold,
            cursor_factory=NamedCursor,
        )
        with on_error(connection.close):
            connection.server_cursor_factory = NamedServerCursor
            connection.execute("SET TIME ZONE 'UTC'")
        return connection


def _threshold(text: str) -> int | None:
    """After how many uses a statement is prepared on the server; 0 is never.

    Poolers need that which give every transaction another connection and do not know prepared statements.
    """
    if not text.isdecimal():
        raise ConfigError(f"prepare_threshold {text!r} in the URL of the storage is no whole number; 0 means never")
    return int(text) or None


class ConnectionPool:
    """The connections of one database."""

    def __init__(self, address: Address, *, size: int, timeout: float, connect_timeout: float) -> None:
        """`size` connections stay open; as many more are opened for a peak."""
        self.where = address.shown
        self._timeout = timeout
        self._pool = Pool(
            lambda: PostgresConnection(address.connect(connect_timeout)),
            _close,
            kept=size,
            max_size=2 * size,
            timeout=timeout,
        )

    def begin(self, first: Callable[[PostgresConnection], T]) -> tuple[PostgresConnection, T]:
        """A connection, and what `first` returned for it.

        The first statement on a connection shows whether its session is still alive. If it is not, nothing has been
        done yet, and the next connection is tried: a restart of the server goes unnoticed between two transactions.
        """
        while True:
            connection, new = self._take()
            try:
                return connection, first(connection)
            except psycopg.Error as error:
                lost = is_lost(connection.driver, error)
                self.abandon(connection)
                if not lost or new:
                    raise
            except BaseException:
                self.abandon(connection)
                raise

    def _take(self) -> tuple[PostgresConnection, bool]:
        try:
            return self._pool.take()
        except psycopg.Error as error:
            raise storage_error(self.where, error, connected=False) from error
        except PoolTimeoutError as error:
            raise StoreBusyError(
                f"{self.where}: no connection of the pool became free in {self._timeout:g} s; try again, "
                "or use a larger pool"
            ) from error

    def abandon(self, connection: PostgresConnection) -> None:
        """Undo the transaction and give the connection back; a broken one is closed."""
        try:
            connection.driver.rollback()
        except psycopg.Error:
            connection.driver.close()
        self.release(connection)

    def release(self, connection: PostgresConnection) -> None:
        """Give the connection back; one that is lost, or still in a transaction, is closed."""
        connection.pending_log = None
        # For a lost connection the status is `UNKNOWN`.
        if connection.driver.pgconn.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            self._pool.give_back(connection)
        else:
            self._pool.discard(connection)

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()


def _close(connection: PostgresConnection) -> None:
    connection.driver.close()

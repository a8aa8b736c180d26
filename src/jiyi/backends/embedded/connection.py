"""SqliteConnection: statements for the driver of SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial

from jiyi.backends.records.sql import (
    CHUNK,
    NO_PARAMS,
    Connection,
    Params,
    Row,
    sqlite_params,
    sqlite_positional,
    sqlite_row,
    sqlite_text,
)


class SqliteConnection(Connection):
    """A connection to a SQLite file."""

    dialect = "sqlite"

    def __init__(self, driver: sqlite3.Connection) -> None:
        self.driver = driver

    def execute(self, sql: str, params: Params = NO_PARAMS) -> sqlite3.Cursor:
        """Run a statement."""
        return self.driver.execute(sqlite_text(sql), sqlite_params(params))

    def executemany(self, sql: str, rows: Sequence[Params]) -> None:
        """Run a statement once for each of these parameters."""
        text, names = sqlite_positional(sql)
        self.driver.executemany(text, map(partial(sqlite_row, names), rows))

    @contextmanager
    def stream(self, sql: str, params: Params = NO_PARAMS, *, batch: int = CHUNK) -> Iterator[Iterator[Row]]:  # noqa: ARG002
        """Rows that are fetched as they are read; SQLite fetches them one by one."""
        with closing(self.execute(sql, params)) as cursor:
            yield cursor

"""SqliteConnection: statements for the driver of SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Final

from jiyi.backends.records.sql import (
    CHUNK,
    NO_PARAMS,
    Connection,
    Params,
    Row,
    sqlite_block,
    sqlite_inserted,
    sqlite_params,
    sqlite_positional,
    sqlite_row,
    sqlite_text,
)

if TYPE_CHECKING:
    from jiyi.backends.records.tables import Table

_BLOCKS: Final = (64, 32, 16, 8, 4, 2, 1)
"""How many rows one insert has. The driver gives up the interpreter lock for each statement: with `executemany` that is
for each row, and the thread that writes and an event loop would take it from each other all the time."""


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
        text, values = sqlite_positional(sql)
        self.driver.executemany(text, [sqlite_row(values(row)) for row in rows])

    def insert(self, table: Table, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows, each with the values of `table.insert` in their order."""
        if not rows:
            return
        text, _ = sqlite_positional(table.insert)
        values, width = sqlite_inserted(table.inserted_times, rows), len(rows[0])
        if len(rows) == 1:
            self.driver.execute(text, values)
            return
        start = 0
        for size in _BLOCKS:
            while len(values) - start >= size * width:
                end = start + size * width
                self.driver.execute(sqlite_block(text, size), values[start:end])
                start = end

    @contextmanager
    def stream(self, sql: str, params: Params = NO_PARAMS, *, batch: int = CHUNK) -> Iterator[Iterator[Row]]:  # noqa: ARG002
        """Rows that are fetched as they are read; SQLite fetches them one by one."""
        with closing(self.execute(sql, params)) as cursor:
            yield cursor

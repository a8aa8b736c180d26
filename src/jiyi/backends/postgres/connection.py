"""PostgresConnection: statements for psycopg, and for the server in as few round trips as possible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import psycopg

from jiyi.backends.postgres.wire import (
    FLOAT8,
    INT8,
    INT8_ARRAY,
    TEXT,
    TEXT_ARRAY,
    BoundStatement,
    PipelineConnection,
    Statement,
    integer_array,
    text_array,
    text_parameter,
)
from jiyi.backends.records.sql import (
    CHUNK,
    NO_PARAMS,
    Connection,
    Params,
    Row,
    postgres_numbered,
)

if TYPE_CHECKING:
    from jiyi.backends.records.tables import Table

_BOOL, _TIMESTAMPTZ = 16, 1184
_numbers: Final = count(1)


class PostgresConnection(Connection):
    """A connection of the pool of a `PostgresDatabase`."""

    dialect = "postgresql"

    def __init__(self, driver: psycopg.Connection[Any]) -> None:
        self.driver = driver
        self.wire = PipelineConnection(driver)
        """For several statements in one round trip."""
        self.info: dict[str, Any] = {}
        """What others remember about this connection."""

    def execute(self, sql: str, params: Params = NO_PARAMS) -> psycopg.Cursor[Any]:
        """Run a statement."""
        return self.driver.execute(sql, params)

    def executemany(self, sql: str, rows: Sequence[Params]) -> None:
        """Run a statement once for each of these parameters."""
        with self.driver.cursor() as cursor:
            cursor.executemany(sql, rows)

    def insert(self, table: Table, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows, each with the values of `table.insert` in their order."""
        if len(rows) == 1:
            self.driver.execute(table.insert, rows[0])
        elif rows:
            with self.driver.cursor() as cursor:
                cursor.executemany(table.insert, rows)

    @contextmanager
    def stream(self, sql: str, params: Params = NO_PARAMS, *, batch: int = CHUNK) -> Iterator[Iterator[Row]]:
        """Rows that are fetched in batches: an ordinary cursor of psycopg would hold the whole answer."""
        with self.driver.cursor(name=f"jiyi_stream_{next(_numbers)}") as cursor:
            cursor.itersize = batch
            cursor.execute(sql, params)
            yield iter(cursor)


def bound_statement(sql: str, params: Params, *, prepare: bool) -> BoundStatement:
    """A statement for `PipelineConnection`. The types of its parameters follow from their values."""
    names = postgres_numbered(sql)[1]
    values = [params[name] for name in names]
    return BoundStatement(_statement(sql, tuple(map(_type_of, values)), prepare), list(map(_encoded, values)))


@lru_cache(maxsize=1_024)
def _statement(sql: str, types: tuple[int, ...], prepare: bool) -> Statement:  # noqa: FBT001
    return Statement(sql, dict(zip(postgres_numbered(sql)[1], types, strict=True)), prepare)


def _type_of(value: Any) -> int:  # noqa: PLR0911 - a list of types
    match value:
        case str():
            return TEXT
        case bool():
            return _BOOL
        case int():
            return INT8
        case float():
            return FLOAT8
        case datetime():
            return _TIMESTAMPTZ
        case [int(), *_]:
            return INT8_ARRAY
        case list() | tuple():
            return TEXT_ARRAY
        case _:
            raise TypeError(f"a {type(value).__name__} cannot be a value of a statement")


def _encoded(value: Any) -> bytes:
    match value:
        case str():
            return text_parameter(value)
        case datetime():
            return value.isoformat().encode()
        case [int(), *_]:
            return integer_array(value)
        case list() | tuple():
            return text_array(value)
        case _:
            return str(value).encode()

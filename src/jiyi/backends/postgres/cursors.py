"""Cursors of psycopg for statements with parameters `:name`.

The text is translated once to the `$1` of the server, by the same function as for the pipelines of `wire`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import psycopg
from psycopg import sql
from psycopg.abc import Params, Query
from psycopg.rows import TupleRow

from jiyi.backends.records.sql import postgres_numbered


class NamedCursor(psycopg.RawCursor[TupleRow]):
    """A cursor that takes the values of the parameters by name, or in the order in which the names first occur.

    Without values the statement is sent as it is.
    """

    def execute(
        self, query: Query, params: Params | None = None, *, prepare: bool | None = None, binary: bool | None = None
    ) -> Self:
        """Run a statement."""
        if not params:
            return super().execute(query, prepare=prepare, binary=binary)
        command, names = postgres_numbered(_text(query, self.connection))
        return super().execute(command, _values(params, names), prepare=prepare, binary=binary)

    def executemany(self, query: Query, params_seq: Iterable[Params], *, returning: bool = False) -> None:
        """Run a statement once for each of these parameters."""
        command, names = postgres_numbered(_text(query, self.connection))
        super().executemany(command, (_values(params, names) for params in params_seq), returning=returning)


class NamedServerCursor(psycopg.RawServerCursor[TupleRow]):
    """The same on the server; one that is not read to the end is closed by the end of the transaction."""

    def execute(self, query: Query, params: Params | None = None, *, binary: bool | None = None, **kwargs: Any) -> Self:
        """Open the cursor for a statement."""
        if not params:
            return super().execute(query, binary=binary, **kwargs)
        command, names = postgres_numbered(_text(query, self.connection))
        return super().execute(command, _values(params, names), binary=binary, **kwargs)

    def __del__(self, *arguments: Any) -> None:
        psycopg.Cursor.close(self)
        super().__del__(*arguments)


def _text(query: Query, connection: psycopg.Connection[Any]) -> str:
    if isinstance(query, str):
        return query
    if isinstance(query, sql.Composable):
        return query.as_string(connection)
    raise TypeError(f"a statement with parameters is a text, not a {type(query).__name__}")


def _values(params: Params, names: Sequence[str]) -> Sequence[Any]:
    """The values in the order of the server. By name a tuple is a list: to psycopg it would be a composite value."""
    if isinstance(params, Mapping):
        return [list(value) if type(value := params[name]) is tuple else value for name in names]
    return params

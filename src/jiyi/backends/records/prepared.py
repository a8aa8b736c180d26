"""Statements that are compiled once for each engine.

SQLAlchemy prepares and wraps a statement anew for every execution, which takes ten times as long as SQLite needs to run
a small one. What every `store` runs is kept ready instead, and goes to the driver as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import sqlalchemy as sa

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import DBAPICursor

_Convert: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class _Ready:
    """A statement in the words of one engine."""

    sql: str
    names: tuple[str, ...]
    converted: tuple[tuple[int, _Convert], ...]
    """The places of those parameters that the driver does not take as they are."""
    fixed: dict[str, Any]
    """Values that stand in the statement itself."""
    positional: bool

    def row(self, given: Mapping[str, Any]) -> Any:
        values = {**self.fixed, **given} if self.fixed else given
        row = [values[name] for name in self.names]
        for place, convert in self.converted:
            row[place] = convert(row[place])
        return row if self.positional else dict(zip(self.names, row, strict=True))


class Prepared:
    """A statement inside the caller's transaction; its parameters are converted by their column types.

    Values that it selects, and errors, come as the driver gives them.
    """

    def __init__(self, statement: sa.Insert | sa.Select[Any], columns: Sequence[str] | None = None) -> None:
        """`columns` are those that an insert names."""
        self._statement = statement
        self._columns = columns
        self._ready: dict[str, _Ready] = {}

    def run(self, connection: sa.Connection, *rows: Mapping[str, Any]) -> DBAPICursor:
        """Execute it once for each row of parameters."""
        ready = self._ready.get(connection.dialect.name) or self._prepare(connection.dialect)
        cursor = connection.connection.cursor()
        if len(rows) == 1:
            cursor.execute(ready.sql, ready.row(rows[0]))
        else:
            cursor.executemany(ready.sql, [ready.row(row) for row in rows])
        return cursor

    @contextmanager
    def stream(self, connection: sa.Connection, row: Mapping[str, Any]) -> Iterator[DBAPICursor]:
        """Execute it, for rows that are read until there are enough: the others need not be fetched."""
        if connection.dialect.name == "sqlite":
            yield self.run(connection, row)
            return
        ready = self._ready.get(connection.dialect.name) or self._prepare(connection.dialect)
        # An ordinary cursor of PostgreSQL's driver holds the whole answer; one with a name fetches it piece by piece.
        with cast(Any, connection.connection.driver_connection).cursor(name="jiyi_stream") as cursor:
            cursor.execute(ready.sql, ready.row(row))
            yield cursor

    def _prepare(self, dialect: sa.Dialect) -> _Ready:
        compiled = self._statement.compile(dialect=dialect, column_keys=self._columns)
        names = compiled.positiontup if compiled.positiontup is not None else list(compiled.binds)
        processors = [compiled.binds[name].type.dialect_impl(dialect).bind_processor(dialect) for name in names]
        converted = tuple((place, convert) for place, convert in enumerate(processors) if convert is not None)
        fixed = {name: bind.value for name, bind in compiled.binds.items() if not bind.required}
        self._ready[dialect.name] = _Ready(compiled.string, tuple(names), converted, fixed, compiled.positional)
        return self._ready[dialect.name]

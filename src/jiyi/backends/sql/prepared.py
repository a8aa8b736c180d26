"""Statements that are compiled once for each engine.

SQLAlchemy prepares and wraps a statement anew for every execution, which takes ten times as long as SQLite needs to run
a small one. What every `store` runs is kept ready instead, and goes to the driver as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import sqlalchemy as sa

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import DBAPICursor

_Convert: TypeAlias = Callable[[Any], Any] | None


class Prepared:
    """A statement inside the caller's transaction; its parameters are converted by their column types.

    Values that it selects, and errors, come as the driver gives them.
    """

    def __init__(self, statement: sa.Insert | sa.Select[Any], columns: Sequence[str] | None = None) -> None:
        """`columns` are those that an insert names."""
        self._statement = statement
        self._columns = columns
        self._ready: dict[str, tuple[str, tuple[tuple[str, _Convert], ...], bool]] = {}

    def run(self, connection: sa.Connection, *rows: Mapping[str, Any]) -> DBAPICursor:
        """Execute it once for each row of parameters."""
        ready = self._ready.get(connection.dialect.name) or self._prepare(connection.dialect)
        sql, parameters, positional = ready
        converted: list[Any] = [
            [row[name] if convert is None else convert(row[name]) for name, convert in parameters] for row in rows
        ]
        if not positional:
            converted = [dict(zip(dict(parameters), row, strict=True)) for row in converted]
        cursor = connection.connection.cursor()
        if len(converted) == 1:
            cursor.execute(sql, converted[0])
        else:
            cursor.executemany(sql, converted)
        return cursor

    def _prepare(self, dialect: sa.Dialect) -> tuple[str, tuple[tuple[str, _Convert], ...], bool]:
        compiled = self._statement.compile(dialect=dialect, column_keys=self._columns)
        names = compiled.positiontup if compiled.positiontup is not None else list(compiled.binds)
        parameters = tuple(
            (name, compiled.binds[name].type.dialect_impl(dialect).bind_processor(dialect)) for name in names
        )
        self._ready[dialect.name] = (compiled.string, parameters, compiled.positional)
        return self._ready[dialect.name]

"""Descriptions of tables, from which their SQL follows: definitions, inserts, and the reading of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias

from jiyi.backends.records.sql import Dialect, moment
from jiyi.model.limits import Limits


class ColumnType(NamedTuple):
    """What a column holds: its SQL type in SQLite and in PostgreSQL."""

    sqlite: str
    postgres: str

    def sql(self, dialect: Dialect) -> str:
        """The type in a definition."""
        return self.sqlite if dialect == "sqlite" else self.postgres


# Texts of PostgreSQL compare by the numbers of their characters, as in SQLite and in Python.
TEXT: Final = ColumnType("TEXT", 'TEXT COLLATE "C"')
INTEGER: Final = ColumnType("INTEGER", "BIGINT")
LARGE: Final = ColumnType("BIGINT", "BIGINT")
"""The same as `INTEGER` under another name; kept for tables that were made with it."""
REAL: Final = ColumnType("DOUBLE", "DOUBLE PRECISION")
BOOLEAN: Final = ColumnType("BOOLEAN", "BOOLEAN")
TIME: Final = ColumnType("TEXT", "TIMESTAMP WITH TIME ZONE")
_CONVERTED: Final[dict[ColumnType, Callable[[Any], Any]]] = {
    TIME: moment,
    BOOLEAN: lambda value: None if value is None else bool(value),
}


Check: TypeAlias = Callable[[Limits, Any, str], object]
"""Raises an error for a wrong value of the column with that name."""


class Column(NamedTuple):
    """One column. What follows `default` is for columns of entries, see `codec`."""

    name: str
    type: ColumnType
    nullable: bool = False
    default: str | None = None
    """The SQL literal that older rows get when the column is added to a table."""
    to_db: Callable[[Any], Any] | None = None
    """Makes the stored value of the field's value; `None` when they are the same."""
    from_db: Callable[[Any], Any] | None = None
    """The inverse, for values that are not NULL. Times and truth values are converted by their type."""
    versioned: bool = False
    """Whether a change of it is shown in the history of an entry; the others are bookkeeping."""
    derived: bool = False
    """Whether it is written for indexes only, and not read."""
    check: Check | None = None
    """What an imported value has to be. Where there is none, its type says so, see `column_checks`."""

    def definition(self, dialect: Dialect) -> str:
        """The column in a CREATE TABLE or ADD COLUMN."""
        default = "" if self.default is None else f" DEFAULT {self.default}"
        return f"{self.name} {self.type.sql(dialect)}{default}{'' if self.nullable else ' NOT NULL'}"


class Index(NamedTuple):
    """An index; with a condition it holds only the rows that meet it, and other writes do not pay for it."""

    name: str
    columns: tuple[str, ...]
    where: str | None = None
    gin: str | None = None
    """An expression for a GIN index of PostgreSQL, instead of the columns; SQLite has no such index."""

    def fits(self, dialect: Dialect) -> bool:
        """Whether the engine can have this index."""
        return self.gin is None or dialect == "postgresql"


class ForeignKey(NamedTuple):
    """A column whose values are ids of another table."""

    column: str
    table: str
    on_delete: str = ""


@dataclass(frozen=True, eq=False)
class Table:
    """One table."""

    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    unique: tuple[tuple[str, ...], ...] = ()
    """Columns of unique constraints."""
    indexes: tuple[Index, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    numbered: bool = False
    """Whether the engine counts the primary key up, without giving out a number twice."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns in their order."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def select(self) -> str:
        """`SELECT` of every column `FROM` this table, to be followed by conditions."""
        return f"SELECT {', '.join(self.names)} FROM {self.name}"

    @cached_property
    def insert(self) -> str:
        """`INSERT` of a whole row; the number of a numbered table is left to the engine."""
        return self.insert_of(self.names[1:] if self.numbered else self.names)

    def insert_of(self, names: Sequence[str]) -> str:
        """`INSERT` of these columns."""
        return f"INSERT INTO {self.name} ({', '.join(names)}) VALUES ({', '.join(f':{name}' for name in names)})"

    def update_of(self, names: Sequence[str]) -> str:
        """`UPDATE` of these columns, to be followed by a condition."""
        return f"UPDATE {self.name} SET {', '.join(f'{name} = :{name}' for name in names)}"

    @cached_property
    def inserted_times(self) -> tuple[int, ...]:
        """The places of times among the values of `insert`."""
        columns = self.columns[1:] if self.numbered else self.columns
        return tuple(place for place, column in enumerate(columns) if column.type is TIME)

    @cached_property
    def _conversions(self) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
        return tuple((column.name, _CONVERTED[column.type]) for column in self.columns if column.type in _CONVERTED)

    def values(self, row: Sequence[Any]) -> dict[str, Any]:
        """A row of `select` by the names of its columns."""
        found = dict(zip(self.names, row, strict=True))
        for name, converted in self._conversions:
            found[name] = converted(found[name])
        return found

    # --- definitions ------------------------------------------------------------------------------------------------

    def create(self, dialect: Dialect) -> list[str]:
        """The statements that make the table and its indexes."""
        lines = [column.definition(dialect) for column in self.columns]
        if not self.numbered:
            lines.append(f"PRIMARY KEY ({', '.join(self.primary_key)})")
        elif dialect == "sqlite":
            lines[0] += " PRIMARY KEY AUTOINCREMENT"
        else:
            # Unlike a column of type `serial` it needs no rights of its own.
            lines[0] += " GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"
        lines += [f"UNIQUE ({', '.join(columns)})" for columns in self.unique]
        lines += [
            f"FOREIGN KEY ({key.column}) REFERENCES {key.table} (id){key.on_delete and f' ON DELETE {key.on_delete}'}"
            for key in self.foreign_keys
        ]
        return [f"CREATE TABLE {self.name} ({', '.join(lines)})", *map(self.create_index, self.indexes_in(dialect))]

    def indexes_in(self, dialect: Dialect) -> list[Index]:
        """The indexes that the table has in this engine."""
        return [index for index in self.indexes if index.fits(dialect)]

    def create_index(self, index: Index) -> str:
        """The statement that makes an index."""
        condition = f" WHERE {index.where}" if index.where else ""
        indexed = f"({', '.join(index.columns)})" if index.gin is None else f"USING gin ({index.gin})"
        return f"CREATE INDEX {index.name} ON {self.name} {indexed}{condition}"

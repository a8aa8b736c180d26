"""Copying a whole store into another database, page by page.

Every page is one transaction of the target, together with the last key that was copied: a copy that broke off goes on
from there. Until the last comparison has shown that both stores are equal, the target is marked, and nobody opens it.
The source is read in one snapshot. What an earlier run had copied of an older state is found by the comparison, and
that table is copied again.

The target is a store of its own, with an identity of its own: both can live on, and no index of the one is ever taken
for an index of the other. Everything else is the same, the numbers of the change log included.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import zip_longest
from typing import Any, Final, Protocol

import sqlalchemy as sa

from jiyi.backends.records import schema
from jiyi.backends.records.schema import store_meta
from jiyi.errors import InvalidInputError, StorageError, StoreBusyError, StoreIncompleteError
from jiyi.model import clock
from jiyi.model.identity import new_id
from jiyi.model.migration import MigrationReport
from jiyi.ports import Progress

_ROW: Final = "migration"
"""The row of `store_meta` in the target that says how far a migration has come."""
_STORE_ID: Final = "store_id"
_OWN = (_ROW, _STORE_ID)
"""What the bookkeeping of a store says about itself alone."""
# A row can hold 64 KiB of text twice: this many fit into memory anywhere.
_PAGE: Final = 500
_TABLES = [t for t in schema.metadata.sorted_tables if t not in (schema.store_meta, schema.schema_migrations)]
"""In an order in which nothing refers to what is not there yet."""


class Database(Protocol):
    """What copying needs of an engine."""

    def read(self) -> AbstractContextManager[sa.Connection]:
        """One consistent snapshot."""
        ...

    def write(self) -> AbstractContextManager[sa.Connection]:
        """One durable transaction."""
        ...


@dataclass(slots=True)
class _State:
    """How far a migration has come; kept in the target."""

    source: str
    run: str
    done: dict[str, list[Any]] = field(default_factory=dict)
    """The last key copied of each table that was begun."""
    finished_at: str | None = None

    def to_json(self) -> str:
        return json.dumps(
            {"source": self.source, "run": self.run, "done": self.done, "finished_at": self.finished_at},
            ensure_ascii=False,
        )


def refuse_unfinished(bookkeeping: Mapping[str, str]) -> None:
    """Refuse a store into which a migration was begun and not completed."""
    state = _state(bookkeeping.get(_ROW))
    if state is not None and state.finished_at is None:
        raise StoreIncompleteError(
            "a migration into this store has not been completed; run 'jiyi migrate SOURCE TARGET' again with the same "
            "source and target: it goes on where it stopped"
        )


def copy_store(
    source: Database, target: Database, *, names: tuple[str, str], progress: Progress | None = None
) -> MigrationReport:
    """Make `target`, which is empty or was begun by a copy of the same source, equal to `source`.

    `names` says what both are called in messages. Writes to the source meanwhile are noticed: the copy is then not
    completed, and the next run takes them in.
    """
    with source.read() as snapshot:
        refuse_unfinished({row.name: row.value for row in snapshot.execute(sa.select(store_meta))})
        state, resumed = _begin(snapshot, target, names)
        totals = {table.name: _count(snapshot, table) for table in _TABLES}
        total = sum(totals.values())
        told = _Told(progress, total)
        for table in _TABLES:
            _copy_table(snapshot, target, table, state, told)
        digests, differing = _compare(snapshot, target, progress, total)
        again: tuple[str, ...] = ()
        if differing:
            if not resumed:
                raise StorageError(
                    f"{names[1]} does not hold what was copied into it ({', '.join(differing)} differ): something else "
                    "writes there; stop it, empty the target and run the migration again"
                )
            again = _clear(target, differing, state)
            for table in _TABLES:
                _copy_table(snapshot, target, table, state, told)
            digests, differing = _compare(snapshot, target, progress, total)
            if differing:
                raise StorageError(f"{names[1]} differs from {names[0]} in {', '.join(differing)} after the copy")
        activity = _activity(snapshot)
        meta = _meta(snapshot)
        numbers = {table.name: _last_number(snapshot, table) for table in _TABLES if _numbered(table) is not None}
    with source.read() as later:
        if _activity(later) != activity or _meta(later) != meta:
            raise StoreBusyError(
                f"{names[0]} was written to while it was copied; stop the programs that use it and run the migration "
                "again: it goes on where it stopped, and takes in what is new"
            )
    _complete(target, state, meta, numbers)
    return MigrationReport(names[0], names[1], totals, digests, resumed, again)


def _begin(snapshot: sa.Connection, target: Database, names: tuple[str, str]) -> tuple[_State, bool]:
    """Mark the target as begun, or take over what an earlier run has begun."""
    source_id = _identity(snapshot)
    with target.write() as connection:
        if _identity(connection) == source_id:
            raise InvalidInputError(f"{names[0]} and {names[1]} are the same store; name another target")
        found = _read_state(connection)
        if found is not None and found.finished_at is None:
            if found.source != source_id:
                raise InvalidInputError(
                    f"{names[1]} holds the begun copy of another store; finish that one, or name an empty target"
                )
            state = _State(source_id, new_id(), found.done)
            _write_state(connection, state)
            return state, bool(state.done)
        held = [table.name for table in _TABLES if _any(connection, table)]
        held += [name for name in _meta(connection) if name not in held]
        if held:
            since = f" (copied there at {found.finished_at})" if found and found.source == source_id else ""
            raise InvalidInputError(
                f"{names[1]} is not empty: it has rows in {', '.join(held[:3])}{since}; a copy needs a target of its "
                "own, and two stores with memories are put together by 'jiyi export' and 'jiyi import'"
            )
        state = _State(source_id, new_id())
        _write_state(connection, state)
    return state, False


def _copy_table(snapshot: sa.Connection, target: Database, table: sa.Table, state: _State, told: _Told) -> None:
    key = list(table.primary_key.columns)
    for page in _pages(snapshot, table, state.done.get(table.name)):
        last = [page[-1][column.name] for column in key]
        with target.write() as connection:
            _still_ours(connection, state)
            connection.execute(table.insert(), page)
            _write_state(connection, _State(state.source, state.run, {**state.done, table.name: last}))
        # Only now: what was not committed is copied again.
        state.done[table.name] = last
        told.advance(len(page))


def _pages(
    connection: sa.Connection, table: sa.Table, after: Sequence[Any] | None = None
) -> Iterator[list[dict[str, Any]]]:
    """The rows of a table in the order of its key."""
    key = list(table.primary_key.columns)
    while True:
        statement = sa.select(table).order_by(*key).limit(_PAGE)
        if after is not None:
            # One column by itself: every engine finds the place by the index.
            statement = statement.where(key[0] > after[0] if len(key) == 1 else sa.tuple_(*key) > sa.tuple_(*after))
        page = [dict(row) for row in connection.execute(statement).mappings()]
        if page:
            yield page
        if len(page) < _PAGE:
            return
        after = [page[-1][column.name] for column in key]


def _compare(
    snapshot: sa.Connection, target: Database, progress: Progress | None, total: int
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The digests of all tables of the source, and the names of those that differ in the target."""
    digests: dict[str, str] = {}
    differing = []
    told = _Told(progress, total)
    with target.read() as copy:
        for table in _TABLES:
            sides = _Digest(), _Digest()
            # In turns: a server ends a session that stands idle in a transaction for too long.
            for pages in zip_longest(_pages(snapshot, table), _pages(copy, table)):
                for side, page in zip(sides, pages, strict=True):
                    side.add(page or ())
                told.advance(len(pages[0] or ()))
            digests[table.name] = sides[0].text
            if sides[1].text != sides[0].text:
                differing.append(table.name)
    return digests, tuple(differing)


class _Digest:
    """What the rows of a table come down to, the same for every engine."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, page: Sequence[Mapping[str, Any]]) -> None:
        """Take in more rows."""
        for row in page:
            values = [clock.to_text(value) if isinstance(value, datetime) else value for value in row.values()]
            self._hash.update(json.dumps(values, separators=(",", ":")).encode() + b"\n")

    @property
    def text(self) -> str:
        """In hexadecimal."""
        return self._hash.hexdigest()


def _clear(target: Database, differing: Sequence[str], state: _State) -> tuple[str, ...]:
    """Empty tables, with those that refer to them; returns their names."""
    wanted = set(differing)
    for table in _TABLES:
        if {key.column.table.name for key in table.foreign_keys} & wanted:
            wanted.add(table.name)
    with target.write() as connection:
        _still_ours(connection, state)
        for table in reversed(_TABLES):
            if table.name in wanted:
                connection.execute(table.delete())
                state.done.pop(table.name, None)
        _write_state(connection, state)
    return tuple(table.name for table in _TABLES if table.name in wanted)


def _complete(target: Database, state: _State, meta: Mapping[str, str], numbers: Mapping[str, int]) -> None:
    with target.write() as connection:
        _still_ours(connection, state)
        connection.execute(store_meta.delete().where(store_meta.c.name.not_in(_OWN)))
        if meta:
            connection.execute(store_meta.insert(), [{"name": name, "value": value} for name, value in meta.items()])
        for table in _TABLES:
            if table.name in numbers:
                _set_last_number(connection, table, numbers[table.name])
        _write_state(connection, _State(state.source, state.run, finished_at=clock.to_text(clock.utc_now())))


class _Told:
    """Counts rows for the caller's progress."""

    def __init__(self, progress: Progress | None, total: int | None) -> None:
        self._progress = progress
        self._total = total
        self._done = 0

    def advance(self, rows: int) -> None:
        """So many more are done."""
        self._done += rows
        if self._progress is not None:
            self._progress(self._done, self._total)


# --- the row of the bookkeeping -------------------------------------------------------------------------------------


def _read_state(connection: sa.Connection) -> _State | None:
    return _state(connection.execute(sa.select(store_meta.c.value).where(store_meta.c.name == _ROW)).scalar())


def _state(value: str | None) -> _State | None:
    return None if value is None else _State(**json.loads(value))


def _write_state(connection: sa.Connection, state: _State) -> None:
    named = store_meta.c.name == _ROW
    if not connection.execute(store_meta.update().where(named).values(value=state.to_json())).rowcount:
        connection.execute(store_meta.insert().values(name=_ROW, value=state.to_json()))


def _still_ours(connection: sa.Connection, state: _State) -> None:
    """Of two processes that copy into one target, the one that came last goes on."""
    found = _read_state(connection)
    if found is None or found.run != state.run:
        raise StoreBusyError("another process has taken over the migration into this target; let it finish")


def _identity(connection: sa.Connection) -> str:
    return str(connection.execute(sa.select(store_meta.c.value).where(store_meta.c.name == _STORE_ID)).scalar_one())


def _meta(connection: sa.Connection) -> dict[str, str]:
    """The bookkeeping that moves with the memories: the user dictionary, the generation of the tags."""
    statement = sa.select(store_meta.c.name, store_meta.c.value).where(store_meta.c.name.not_in(_OWN))
    return {row.name: row.value for row in connection.execute(statement.order_by(store_meta.c.name))}


# --- looking at tables ------------------------------------------------------------------------------------------------


def _any(connection: sa.Connection, table: sa.Table) -> bool:
    return connection.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).first() is not None


def _count(connection: sa.Connection, table: sa.Table) -> int:
    return int(connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())


def _activity(connection: sa.Connection) -> list[tuple[str, ...]]:
    """Sums over every column of every table: whatever is written changes one of them."""
    found = []
    for table in _TABLES:
        parts: list[sa.ColumnElement[Any]] = [sa.func.count()]
        for column in table.c:
            if isinstance(column.type, schema.UtcTime | sa.Double):
                # Sums of fractions depend on the order in which an engine goes through a table.
                parts += [sa.func.count(column), sa.func.max(column)]
            elif isinstance(column.type, sa.Text):
                parts.append(sa.func.sum(sa.func.length(column)))
            elif isinstance(column.type, sa.Boolean):
                parts.append(sa.func.sum(sa.cast(column, sa.Integer)))
            else:
                # Times of files in nanoseconds add up to more than 64 bits; PostgreSQL adds up numbers of any length.
                exact = connection.dialect.name == "postgresql"
                parts.append(sa.func.sum(column if exact else sa.cast(column, sa.Double)))
        row = connection.execute(sa.select(*parts).select_from(table)).one()
        found.append(tuple(str(value) for value in row))
    return found


def _numbered(table: sa.Table) -> sa.Column[Any] | None:
    """The column that the engine counts up by itself."""
    column = table.autoincrement_column
    return column if column is not None and table.dialect_options["sqlite"]["autoincrement"] else None


def _last_number(connection: sa.Connection, table: sa.Table) -> int:
    """The greatest number that was ever given out: it is not given out again, even if its row is gone."""
    column = _numbered(table)
    assert column is not None  # noqa: S101 - only numbered tables are asked
    last = int(connection.execute(sa.select(sa.func.max(column))).scalar() or 0)
    if connection.dialect.name == "sqlite":
        statement = sa.text("SELECT seq FROM sqlite_sequence WHERE name = :name")
        return max(last, int(connection.execute(statement, {"name": table.name}).scalar() or 0))
    sequence = _sequence(connection, table, column)
    row = connection.exec_driver_sql(f"SELECT last_value, is_called FROM {sequence}").one()
    return max(last, int(row[0]) if row[1] else 0)


def _set_last_number(connection: sa.Connection, table: sa.Table, number: int) -> None:
    if number == 0:
        return
    if connection.dialect.name == "sqlite":
        named = {"name": table.name, "number": number}
        if not connection.execute(
            sa.text("UPDATE sqlite_sequence SET seq = max(seq, :number) WHERE name = :name"), named
        ).rowcount:
            connection.execute(sa.text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :number)"), named)
        return
    column = _numbered(table)
    assert column is not None  # noqa: S101
    sequence = _sequence(connection, table, column)
    connection.execute(
        sa.text("SELECT setval(CAST(:sequence AS regclass), :number, true)"), {"sequence": sequence, "number": number}
    )


def _sequence(connection: sa.Connection, table: sa.Table, column: sa.Column[Any]) -> str:
    """The name of the sequence behind a column, quoted by the engine."""
    statement = sa.text("SELECT pg_get_serial_sequence(:table, :column)")
    return str(connection.execute(statement, {"table": table.name, "column": column.name}).scalar_one())

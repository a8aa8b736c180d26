"""Copying a whole store into another database, page by page.

Every page is one transaction of the target, together with the last key that was copied: an interrupted copy is resumed
from there. Until the final comparison has shown that both stores are equal, the target is marked and cannot be opened.
The source is read in one snapshot. A run that resumes compares first what was copied before, and copies those tables
again whose rows have changed since.

The target is a store with an identity of its own: both can be used afterwards, and an index of the one is never taken
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

from jiyi.backends.records import metadata_index
from jiyi.backends.records.meta import get_meta, set_meta
from jiyi.backends.records.schema import CONTENTS, store_meta
from jiyi.backends.records.sql import Connection
from jiyi.backends.records.tables import BOOLEAN, REAL, TEXT, TIME, Column, Table
from jiyi.errors import InvalidInputError, StorageError, StoreBusyError, StoreIncompleteError
from jiyi.model import clock
from jiyi.model.identity import new_id
from jiyi.model.migration import MigrationReport
from jiyi.ports import Progress

_STATE_ROW: Final = "migration"
"""The row of `store_meta` in the target that says how far a migration has come."""
_STORE_ID: Final = "store_id"
_NOT_COPIED: Final = (_STATE_ROW, _STORE_ID)
"""What `store_meta` says about one store alone, and is not copied."""
_META = "SELECT name, value FROM store_meta WHERE name NOT IN :own ORDER BY name"
# A row can hold 64 KiB of text twice: this many fit into memory anywhere.
_PAGE: Final = 500


class CopyableDatabase(Protocol):
    """What copying needs of an engine."""

    def read(self) -> AbstractContextManager[Connection]:
        """One consistent snapshot."""
        ...

    def write(self) -> AbstractContextManager[Connection]:
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


def refuse_unfinished(meta: Mapping[str, str]) -> None:
    """Refuse a store into which a migration was begun and not completed."""
    state = _state(meta.get(_STATE_ROW))
    if state is not None and state.finished_at is None:
        raise StoreIncompleteError(
            "a migration into this store has not been completed; run 'jiyi migrate SOURCE TARGET' again with the same "
            "source and target: it goes on where it stopped"
        )


def copy_store(
    source: CopyableDatabase, target: CopyableDatabase, *, names: tuple[str, str], progress: Progress | None = None
) -> MigrationReport:
    """Make `target`, which is empty or was begun by a copy of the same source, equal to `source`.

    `names` says what both are called in messages. Writes to the source meanwhile are noticed: the copy is then not
    completed, and the next run takes them in.
    """
    with source.read() as snapshot:
        refuse_unfinished(dict(snapshot.rows(store_meta.select)))
        state, resumed = _begin(snapshot, target, names)
        totals = {table.name: _count(snapshot, table) for table in CONTENTS}
        total = sum(totals.values())
        counted = _RowProgress(progress, total)
        # Before anything is added: no row may refer to one that an earlier run has not copied.
        outdated = _outdated(snapshot, target, state)
        again = _clear(target, outdated, state) if outdated else ()
        for table in CONTENTS:
            _copy_table(snapshot, target, table, state, counted)
        digests, differing = _compare(snapshot, target, progress, total)
        if differing:
            raise StorageError(
                f"{names[1]} does not hold what was copied into it ({', '.join(differing)} differ): something else "
                "writes there; stop it, empty the target and run the migration again"
            )
        activity = _activity(snapshot)
        meta = _meta(snapshot)
        numbers = {table.name: _last_number(snapshot, table) for table in CONTENTS if table.numbered}
    with source.read() as later:
        if _activity(later) != activity or _meta(later) != meta:
            raise StoreBusyError(
                f"{names[0]} was written to while it was copied; stop the programs that use it and run the migration "
                "again: it goes on where it stopped, and takes in what is new"
            )
    _complete(target, state, meta, numbers)
    return MigrationReport(names[0], names[1], totals, digests, resumed, again)


def _begin(snapshot: Connection, target: CopyableDatabase, names: tuple[str, str]) -> tuple[_State, bool]:
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
        held = [table.name for table in CONTENTS if _has_rows(connection, table)]
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


def _copy_table(
    snapshot: Connection, target: CopyableDatabase, table: Table, state: _State, counted: _RowProgress
) -> None:
    insert = table.insert_of(table.names)
    for page in _pages(snapshot, table, state.done.get(table.name)):
        last = [page[-1][name] for name in table.primary_key]
        with target.write() as connection:
            _check_owner(connection, state)
            connection.executemany(insert, page)
            _write_state(connection, _State(state.source, state.run, {**state.done, table.name: last}))
        # Only now: what was not committed is copied again.
        state.done[table.name] = last
        counted.advance(len(page))


def _pages(connection: Connection, table: Table, after: Sequence[Any] | None = None) -> Iterator[list[dict[str, Any]]]:
    """The rows of a table in the order of its key."""
    key = ", ".join(table.primary_key)
    marks = ", ".join(f":{name}" for name in table.primary_key)
    # One column by itself: every engine finds the place by the index.
    follows = f" WHERE {key} > {marks}" if len(table.primary_key) == 1 else f" WHERE ({key}) > ({marks})"
    while True:
        params = {} if after is None else dict(zip(table.primary_key, after, strict=True))
        sql = f"{table.select}{'' if after is None else follows} ORDER BY {key} LIMIT :limit"
        page = [table.values(row) for row in connection.rows(sql, {**params, "limit": _PAGE})]
        if page:
            yield page
        if len(page) < _PAGE:
            return
        after = [page[-1][name] for name in table.primary_key]


def _outdated(snapshot: Connection, target: CopyableDatabase, state: _State) -> list[str]:
    """The tables of which an earlier run has copied rows that are no longer those of the source."""
    found = []
    with target.read() as copy:
        for table in CONTENTS:
            last = state.done.get(table.name)
            if last is not None:
                here, there = _digests(_up_to(_pages(snapshot, table), table, last), _pages(copy, table))
                if here != there:
                    found.append(table.name)
    return found


def _up_to(pages: Iterator[list[dict[str, Any]]], table: Table, last: list[Any]) -> Iterator[list[dict[str, Any]]]:
    """The rows up to this key. Keys have the same order in Python as in every engine."""
    for page in pages:
        rows = [row for row in page if [row[name] for name in table.primary_key] <= last]
        yield rows
        if len(rows) < len(page):
            return


def _compare(
    snapshot: Connection, target: CopyableDatabase, progress: Progress | None, total: int
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The digests of all tables of the source, and the names of those that differ in the target."""
    digests: dict[str, str] = {}
    differing = []
    counted = _RowProgress(progress, total)
    with target.read() as copy:
        for table in CONTENTS:
            digests[table.name], other = _digests(_pages(snapshot, table), _pages(copy, table), counted)
            if other != digests[table.name]:
                differing.append(table.name)
    return digests, tuple(differing)


def _digests(
    here: Iterator[list[dict[str, Any]]], there: Iterator[list[dict[str, Any]]], counted: _RowProgress | None = None
) -> tuple[str, str]:
    """The digests of the rows of both sides."""
    sides = _Digest(), _Digest()
    # Alternately: a server ends a session that is idle in a transaction for too long.
    for pages in zip_longest(here, there):
        for side, page in zip(sides, pages, strict=True):
            side.add(page or ())
        if counted is not None:
            counted.advance(len(pages[0] or ()))
    return sides[0].text, sides[1].text


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


def _clear(target: CopyableDatabase, differing: Sequence[str], state: _State) -> tuple[str, ...]:
    """Empty tables, with those that refer to them; returns their names."""
    wanted = set(differing)
    for table in CONTENTS:
        if {key.table for key in table.foreign_keys} & wanted:
            wanted.add(table.name)
    with target.write() as connection:
        _check_owner(connection, state)
        for table in reversed(CONTENTS):
            if table.name in wanted:
                connection.execute(f"DELETE FROM {table.name}")
                state.done.pop(table.name, None)
        _write_state(connection, state)
    return tuple(table.name for table in CONTENTS if table.name in wanted)


def _complete(target: CopyableDatabase, state: _State, meta: Mapping[str, str], numbers: Mapping[str, int]) -> None:
    with target.write() as connection:
        _check_owner(connection, state)
        connection.execute("DELETE FROM store_meta WHERE name NOT IN :own", {"own": _NOT_COPIED})
        for name, value in meta.items():
            set_meta(connection, name, value)
        for table in CONTENTS:
            if table.name in numbers:
                _set_last_number(connection, table, numbers[table.name])
        metadata_index.add_missing(connection)
        _write_state(connection, _State(state.source, state.run, finished_at=clock.to_text(clock.utc_now())))


class _RowProgress:
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


# --- the state of a migration ----------------------------------------------------------------------------------------


def _read_state(connection: Connection) -> _State | None:
    return _state(get_meta(connection, _STATE_ROW))


def _state(value: str | None) -> _State | None:
    return None if value is None else _State(**json.loads(value))


def _write_state(connection: Connection, state: _State) -> None:
    set_meta(connection, _STATE_ROW, state.to_json())


def _check_owner(connection: Connection, state: _State) -> None:
    """Stop when another process has begun to copy into the same target: the last one goes on."""
    found = _read_state(connection)
    if found is None or found.run != state.run:
        raise StoreBusyError("another process has taken over the migration into this target; let it finish")


def _identity(connection: Connection) -> str:
    return str(get_meta(connection, _STORE_ID))


def _meta(connection: Connection) -> dict[str, str]:
    """What is copied of `store_meta`: the user dictionary, the generation of the tags."""
    return dict(connection.rows(_META, {"own": _NOT_COPIED}))


# --- looking at tables ------------------------------------------------------------------------------------------------


def _has_rows(connection: Connection, table: Table) -> bool:
    return connection.row(f"SELECT 1 FROM {table.name} LIMIT 1") is not None


def _count(connection: Connection, table: Table) -> int:
    return int(connection.scalar(f"SELECT count(*) FROM {table.name}"))


def _activity(connection: Connection) -> list[tuple[str, ...]]:
    """Sums over every column of every table: every write changes one of them."""
    exact = connection.dialect == "postgresql"
    found = []
    for table in CONTENTS:
        sums = ", ".join(_sum(column, exact=exact) for column in table.columns)
        found.append(tuple(str(value) for value in connection.rows(f"SELECT count(*), {sums} FROM {table.name}")[0]))
    return found


def _sum(column: Column, *, exact: bool) -> str:
    name = column.name
    if column.type in {TIME, REAL}:
        # Sums of fractions depend on the order in which an engine goes through a table.
        return f"count({name}), max({name})"
    if column.type is TEXT:
        return f"sum(length({name}))"
    if column.type is BOOLEAN:
        return f"sum(CAST({name} AS INTEGER))"
    # Times of files in nanoseconds add up to more than 64 bits; PostgreSQL adds up numbers of any length.
    return f"sum({name})" if exact else f"sum(CAST({name} AS REAL))"


def _last_number(connection: Connection, table: Table) -> int:
    """The greatest number that was ever given out: it is not given out again, even if its row was deleted."""
    last = int(connection.scalar(f"SELECT max({table.primary_key[0]}) FROM {table.name}") or 0)
    if connection.dialect == "sqlite":
        given = connection.scalar("SELECT seq FROM sqlite_sequence WHERE name = :name", {"name": table.name})
        return max(last, int(given or 0))
    given, is_called = connection.rows(f"SELECT last_value, is_called FROM {_sequence(connection, table)}")[0]
    return max(last, int(given) if is_called else 0)


def _set_last_number(connection: Connection, table: Table, number: int) -> None:
    if number == 0:
        return
    named = {"name": table.name, "number": number}
    if connection.dialect == "postgresql":
        named["name"] = _sequence(connection, table)
        connection.execute("SELECT setval(CAST(:name AS regclass), :number, true)", named)
    elif not connection.execute(
        "UPDATE sqlite_sequence SET seq = max(seq, :number) WHERE name = :name", named
    ).rowcount:
        connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :number)", named)


def _sequence(connection: Connection, table: Table) -> str:
    """The name of the sequence behind the primary key of a numbered table, quoted by the engine."""
    named = {"name": table.name, "key": table.primary_key[0]}
    return str(connection.scalar("SELECT pg_get_serial_sequence(:name, :key)", named))

"""One way to run SQL: the same statement text for SQLite and PostgreSQL, with parameters named `:name`.

A statement is a constant of its module, written in the SQL that both engines know. Each engine gets it in its own
notation, translated once for each text; the statements of the indexes too, which are for one engine. Two notations are
added, because the engines differ where a list is compared:

- `column IN :values` and `column NOT IN :values` compare with a list that is one parameter, however long it is.
- `(a, b) IN PAIRS :pairs` compares with a list of pairs, given as JSON text.

Values have one form in Python: times are aware `datetime` values (text of fixed width in SQLite, `timestamptz` in
PostgreSQL), truth values are `bool`, lists are `list` or `tuple`. Rows are tuples as the driver gives them; `moment`
and `Table.values` turn their values into that form.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

from jiyi.model import clock

if TYPE_CHECKING:
    from jiyi.backends.records.tables import Table
    from jiyi.ports.administration import ChangeSignal

Row: TypeAlias = tuple[Any, ...]
Params: TypeAlias = Mapping[str, Any]
Dialect: TypeAlias = Literal["sqlite", "postgresql"]

NO_PARAMS: Final[Params] = MappingProxyType({})
CHUNK: Final = 500
"""How many rows one statement of a long list writes or looks up."""

_NOTATION: Final = re.compile(
    # A literal and a quoted name, which stay as they are; a list; a parameter, which a cast such as `::text` is not.
    r"""'(?:[^']|'')*'|"[^"]*"|\b(?P<negated>NOT )?IN (?P<pairs>PAIRS )?:(?P<list>\w+)|(?<![:\w]):(?P<name>[a-z_]\w*)"""
)
_PLAIN = frozenset({str, int, float, bool, type(None), bytes})


class Cursor(Protocol):
    """The answer to a statement."""

    @property
    def rowcount(self) -> int:
        """How many rows the statement has changed."""
        ...

    def fetchone(self) -> Any:
        """The next row, or `None`."""
        ...

    def fetchall(self) -> list[Any]:
        """All rows that are left."""
        ...


class PendingLog(Protocol):
    """Lines of the change log that a transaction writes at its end."""

    waiting: list[Mapping[str, Any]]

    def add(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Add lines."""
        ...

    def lock_tags(self) -> bool:
        """Take the lock of the set of tags; whether others may have added some before."""
        ...


class Connection(ABC):
    """A connection inside a transaction of a `Database`."""

    dialect: Dialect
    pending_log: PendingLog | None = None
    """Where lines of the change log wait; `None` when they are written at once."""

    @abstractmethod
    def execute(self, sql: str, params: Params = NO_PARAMS) -> Cursor:
        """Run a statement."""

    @abstractmethod
    def executemany(self, sql: str, rows: Sequence[Params]) -> None:
        """Run a statement once for each of these parameters."""

    @abstractmethod
    def insert(self, table: Table, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows, each with the values of `table.insert` in their order."""

    @abstractmethod
    def stream(
        self, sql: str, params: Params = NO_PARAMS, *, batch: int = CHUNK
    ) -> AbstractContextManager[Iterator[Row]]:
        """Rows that are fetched as they are read, about `batch` at once.

        For answers that do not fit in memory, or that are not read to the end.
        """

    def rows(self, sql: str, params: Params = NO_PARAMS) -> list[Row]:
        """All rows of the answer."""
        return self.execute(sql, params).fetchall()

    def row(self, sql: str, params: Params = NO_PARAMS) -> Row | None:
        """The first row of the answer."""
        found: Row | None = self.execute(sql, params).fetchone()
        return found

    def scalar(self, sql: str, params: Params = NO_PARAMS) -> Any:
        """The first value of the first row; `None` when there is no row."""
        row = self.execute(sql, params).fetchone()
        return None if row is None else row[0]

    def column(self, sql: str, params: Params = NO_PARAMS) -> list[Any]:
        """The first value of every row."""
        return [row[0] for row in self.execute(sql, params).fetchall()]


class Database(Protocol):
    """What the stores need of an engine."""

    @property
    def dialect(self) -> Dialect:
        """The engine's SQL."""
        ...

    def read(self, scopes: Sequence[str] | None = None) -> AbstractContextManager[Connection]:
        """One consistent snapshot; `scopes` are those that it may see beside `public`, `None` means all."""
        ...

    def write(self, scopes: Sequence[str] | None = None, *, durable: bool = True) -> AbstractContextManager[Connection]:
        """One transaction, durable when it has ended; `scopes` are those that it changes, `None` means all.

        No other transaction changes these scopes meanwhile. Without `durable` a crash may lose it.
        """
        ...

    def query(
        self, sql: str, params: Params = NO_PARAMS, scopes: Sequence[str] | None = None, *, prepare: bool = True
    ) -> list[Row]:
        """The rows of one statement, in the shortest way; one statement is one snapshot.

        `prepare=False` is for statements whose text depends on the question: the engine plans them each time.
        """
        ...

    def listen(self) -> ChangeSignal | None:
        """A signal for new lines of the change log; `None` where the engine sends no notifications."""
        ...

    def maintain(self) -> None:
        """Small regular upkeep, such as a checkpoint."""
        ...

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`."""
        ...

    def check(self) -> list[str]:
        """Problems of the database as messages."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


def moment(value: datetime | str | None) -> datetime | None:
    """A time as a driver gives it, in UTC; `None` stays `None`."""
    return None if value is None else clock.of_driver(value)


def chunks(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """A long list in parts of at most `CHUNK` values."""
    for start in range(0, len(values), CHUNK):
        yield values[start : start + CHUNK]


def skip_scan(connection: Connection, sql: str, params: Params = NO_PARAMS) -> Iterator[str]:
    """The different texts of a column in order; `sql` selects the least of them that is greater than `:after`.

    One step of an index for each, however many rows it has.
    """
    last = ""
    while (found := connection.scalar(sql, {**params, "after": last})) is not None:
        yield found
        last = found


# --- SQLite ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1_024)
def sqlite_text(sql: str) -> str:
    """A statement for the driver of SQLite, which knows named parameters itself."""
    return _translated(sql, _sqlite_list, lambda name: f":{name}")


@lru_cache(maxsize=256)
def sqlite_positional(sql: str) -> tuple[str, Callable[[Params], Sequence[Any]]]:
    """A statement with parameters `?`, and what gets their values in this order.

    For many rows: the driver looks named parameters up one by one in every row.
    """
    names: list[str] = []

    def place(name: str) -> str:
        names.append(name)
        return "?"

    text = _translated(sql, _sqlite_list, place)
    if len(names) > 1:
        return text, itemgetter(*names)
    return text, lambda params: [params[name] for name in names]


def sqlite_many(sql: str) -> str:
    """A statement for the driver's `executemany`, whose rows have their values in the order of the parameters."""
    return sqlite_positional(sql)[0]


def _sqlite_list(parameter: str, negated: str, pairs: str) -> str:
    return f"{negated}IN (SELECT {'value ->> 0, value ->> 1' if pairs else 'value'} FROM json_each({parameter}))"


def sqlite_row(values: Sequence[Any]) -> list[Any]:
    """Values for positions as the driver of SQLite takes them."""
    return [value if type(value) in _PLAIN else _sqlite_value(value) for value in values]


@lru_cache(maxsize=64)
def sqlite_block(insert: str, count: int) -> str:
    """An insert of one row, with parameters `?`, as an insert of so many rows."""
    head, values = insert.split(" VALUES ")
    return f"{head} VALUES {', '.join([values] * count)}"


def sqlite_inserted(times: Sequence[int], rows: Sequence[Sequence[Any]]) -> list[Any]:
    """The values of rows one after the other, as the driver of SQLite takes them; `times` are the places of times."""
    values = list(chain.from_iterable(rows))
    width = len(rows[0])
    for place in times:
        for at in range(place, len(values), width):
            value = values[at]
            if value is not None:
                values[at] = clock.to_text(value)
    return values


def sqlite_params(params: Params) -> Params:
    """Values as the driver of SQLite takes them."""
    return {name: value if type(value) in _PLAIN else _sqlite_value(value) for name, value in params.items()}


def sqlite_list(values: Sequence[Any]) -> str:
    """A list as the value of one parameter."""
    text = json.dumps(values)
    # SQLite before 3.45 ends a text of JSON at a NUL: it would match another value. No stored value has one.
    return text if "\\u0000" not in text else json.dumps([each for each in values if "\x00" not in str(each)])


def _sqlite_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return clock.to_text(value)
    if isinstance(value, list | tuple):
        return sqlite_list(value)
    if isinstance(value, str):
        return str(value)
    raise TypeError(f"a {type(value).__name__} cannot be a value of a statement")


# --- PostgreSQL -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1_024)
def postgres_numbered(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """A statement for the server, with parameters `$1`, `$2`, …, and their names in this order."""
    names: dict[str, int] = {}
    text = _translated(sql, _postgres_list, lambda name: f"${names.setdefault(name, len(names) + 1)}")
    return text.encode(), tuple(names)


def _postgres_list(parameter: str, negated: str, pairs: str) -> str:
    if pairs:
        return f"{negated}IN (SELECT p ->> 0, p ->> 1 FROM jsonb_array_elements(CAST({parameter} AS jsonb)) p)"
    return f"<> ALL ({parameter})" if negated else f"= ANY ({parameter})"


def _translated(sql: str, listed: Callable[[str, str, str], str], placed: Callable[[str], str]) -> str:
    """The statement with every parameter as `placed` writes it, and every list as `listed` does."""

    def one(found: re.Match[str]) -> str:
        if found["list"]:
            return listed(placed(found["list"]), found["negated"] or "", found["pairs"] or "")
        return placed(found["name"]) if found["name"] else found[0]

    return _NOTATION.sub(one, sql)

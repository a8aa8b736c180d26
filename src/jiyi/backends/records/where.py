"""`where` as SQL: comparisons with values of the JSON text in `metadata`, in the words of each engine.

The meaning is that of `Comparison.matches`. Every rendered comparison is true or false, never unknown.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, assert_never

from jiyi.backends.records.schema import HAS_METADATA
from jiyi.backends.records.sql import Dialect
from jiyi.model.where import Comparison, is_number

Add: TypeAlias = Callable[[Any], str]
"""Adds a parameter and returns its name."""
Path: TypeAlias = tuple[str | int, ...]
"""Names of objects and places of lists."""

_SIGNS: Final = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_EXACT: Final = 2**53
"""Up to here every whole number is one of double precision: numbers that are equal as such are the same number."""


def comparison_sql(comparison: Comparison, dialect: Dialect, add: Add) -> str:
    """A condition on the columns of `memory_records`."""
    engine: _Engine = _Sqlite(add) if dialect == "sqlite" else _Postgres(add)
    path, value = comparison.path, comparison.value
    match comparison.operator:
        case "$exists":
            return engine.exists(path) if value else f"NOT {engine.exists(path)}"
        case "$eq":
            return engine.any_of(path, [value])
        case "$ne":
            return f"NOT {engine.any_of(path, [value])}"
        case "$in":
            return engine.any_of(path, value)
        case "$nin":
            return f"NOT {engine.any_of(path, value)}"
        case "$gt" | "$gte" | "$lt" | "$lte" as operator:
            return f"({HAS_METADATA} AND {engine.compared(path, _SIGNS[operator], value)})"
        case _:
            assert_never(comparison.operator)


class _Engine(ABC):
    """How an engine looks into JSON."""

    def __init__(self, add: Add) -> None:
        self._add = add

    @abstractmethod
    def exists(self, path: Path) -> str:
        """There is a value, if only null."""

    @abstractmethod
    def compared(self, path: Path, sign: str, value: float | str) -> str:
        """The value is of the same kind, and greater or less."""

    @abstractmethod
    def has_length(self, path: Path, length: int) -> str:
        """The value is a list of so many elements."""

    @abstractmethod
    def is_constant(self, path: Path, value: bool | None) -> str:  # noqa: FBT001
        """The value is true, false or null."""

    def contains(self, path: tuple[str, ...], value: Any) -> str | None:  # noqa: ARG002 - of the protocol
        """A condition that an index can answer and that every equal value meets; `None` if there is none."""
        return None

    def any_of(self, path: tuple[str, ...], values: Sequence[Any]) -> str:
        """The value is equal to one of these."""
        if not values:
            return "FALSE"
        parts = []
        for value in values:
            indexed = self.contains(path, value)
            parts.append(f"{indexed} AND {self.equal(path, value)}" if indexed else self.equal(path, value))
        return f"({HAS_METADATA} AND ({' OR '.join(parts)}))"

    def equal(self, path: Path, value: Any) -> str:
        """The value is equal to this one."""
        if value is None or isinstance(value, bool):
            return self.is_constant(path, value)
        if isinstance(value, list):
            elements = [self.equal((*path, place), each) for place, each in enumerate(value)]
            return f"({' AND '.join([self.has_length(path, len(value)), *elements])})"
        return self.compared(path, "=", value)


class _Sqlite(_Engine):
    """The JSON functions of SQLite. A value of a list or an object is text for them, so its kind is asked as well."""

    def exists(self, path: Path) -> str:
        return f"({self._kind(path)} IS NOT NULL)"

    def compared(self, path: Path, sign: str, value: float | str) -> str:
        name = self._add(_path_text(path))
        found = f"json_extract(metadata, :{name})"
        kind = f"json_type(metadata, :{name})"
        if isinstance(value, str):
            return f"(({kind} = 'text' AND {found} {sign} :{self._add(value)}) IS TRUE)"
        number = f"CAST({found} AS REAL) {sign} :{self._add(float(value))}"
        return f"(({kind} IN ('integer', 'real') AND {number}) IS TRUE)"

    def has_length(self, path: Path, length: int) -> str:
        name = self._add(_path_text(path))
        return (
            f"((json_type(metadata, :{name}) = 'array' AND json_array_length(metadata, :{name}) = {length:d}) IS TRUE)"
        )

    def is_constant(self, path: Path, value: bool | None) -> str:  # noqa: FBT001
        return f"(({self._kind(path)} = '{json.dumps(value)}') IS TRUE)"

    def _kind(self, path: Path) -> str:
        return f"json_type(metadata, :{self._add(_path_text(path))})"


def _path_text(path: Path) -> str:
    """A path of SQLite; names have no quotation marks."""
    return "$" + "".join(f"[{part:d}]" if isinstance(part, int) else f'."{part}"' for part in path)


class _Postgres(_Engine):
    """The operators of `jsonb`. Not `#>`: its paths would take the name "0" for the first element of a list."""

    def exists(self, path: Path) -> str:
        return f"({self._found(path)} IS NOT NULL)"

    def compared(self, path: Path, sign: str, value: float | str) -> str:
        found = self._found(path)
        if isinstance(value, str):
            text = f"({found} #>> '{{}}') COLLATE \"C\" {sign} CAST(:{self._add(value)} AS text)"
            return f"((jsonb_typeof({found}) = 'string' AND {text}) IS TRUE)"
        # The order of conditions is not promised; that of CASE is, and only a number can be cast.
        number = f"CASE jsonb_typeof({found}) WHEN 'number' THEN CAST({found} #>> '{{}}' AS double precision) END"
        return f"(({number} {sign} CAST(:{self._add(float(value))} AS double precision)) IS TRUE)"

    def has_length(self, path: Path, length: int) -> str:
        found = self._found(path)
        return f"((CASE jsonb_typeof({found}) WHEN 'array' THEN jsonb_array_length({found}) END = {length:d}) IS TRUE)"

    def is_constant(self, path: Path, value: bool | None) -> str:  # noqa: FBT001
        return f"(({self._found(path)} = CAST('{json.dumps(value)}' AS jsonb)) IS TRUE)"

    def contains(self, path: tuple[str, ...], value: Any) -> str | None:
        if not _is_exact(value):
            return None
        for name in reversed(path):
            value = {name: value}
        return f"CAST(metadata AS jsonb) @> CAST(:{self._add(json.dumps(value))} AS jsonb)"

    def _found(self, path: Path) -> str:
        steps = (f"{part:d}" if isinstance(part, int) else f"CAST(:{self._add(part)} AS text)" for part in path)
        return f"(CAST(metadata AS jsonb) -> {' -> '.join(steps)})"


def _is_exact(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_exact, value))
    return not is_number(value) or abs(value) <= _EXACT

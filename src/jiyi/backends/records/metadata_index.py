"""Which entries may meet a `where`: an index of the values in metadata, where the engine has one.

PostgreSQL has a GIN index. In SQLite a table holds each value under the name that it has in its object. Triggers keep
it up to date, so nothing that writes entries knows of it. It names entries that may meet a condition, and the condition
itself is checked on the entry: the same name may stand in several objects, and long texts are cut off.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from jiyi.backends.records.filters import where
from jiyi.backends.records.schema import HAS_METADATA
from jiyi.backends.records.sql import Connection
from jiyi.model.filters import Filters
from jiyi.model.where import Comparison, is_number

_TABLE: Final = "memory_metadata"
_CHARACTERS: Final = 100
"""How much of a text is in the index."""
_VALUES: Final = (
    "SELECT {row}.scope, j.key, "
    "CASE WHEN j.type IN ('integer', 'real') THEN 'n' WHEN j.type = 'text' THEN 's' ELSE 'b' END, "
    "CASE WHEN j.type IN ('integer', 'real') THEN CAST(j.atom AS REAL) "
    f"WHEN j.type = 'text' THEN substr(j.atom, 1, {_CHARACTERS}) ELSE j.type END, {{row}}.id "
    "FROM {source}json_tree({row}.metadata) AS j WHERE j.atom IS NOT NULL AND typeof(j.key) = 'text'"
)
_ADD: Final = f"INSERT OR IGNORE INTO {_TABLE} {_VALUES.format(row='NEW', source='')};"
_REMOVE: Final = (
    f"DELETE FROM {_TABLE} WHERE (scope, key, kind, value, memory_id) IN ({_VALUES.format(row='OLD', source='')});"
)
_CREATE_TABLE: Final = (
    f"CREATE TABLE {_TABLE} (scope TEXT NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL, value NOT NULL, "
    "memory_id TEXT NOT NULL, PRIMARY KEY (scope, key, kind, value, memory_id)) WITHOUT ROWID"
)
_FILL: Final = (
    f"INSERT OR IGNORE INTO {_TABLE} {_VALUES.format(row='m', source='memory_records AS m, ')} AND m.{HAS_METADATA}"
)
_TRIGGERS: Final = {
    f"AFTER INSERT ON memory_records WHEN NEW.{HAS_METADATA}": _ADD,
    "AFTER UPDATE OF metadata ON memory_records WHEN NEW.metadata != OLD.metadata": f"{_REMOVE} {_ADD}",
    f"AFTER DELETE ON memory_records WHEN OLD.{HAS_METADATA}": _REMOVE,
}
_EXISTS: Final = f"SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '{_TABLE}'"
_SIGNS: Final = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_ANY_NUMBER: Final = 1 << 40
_WIDER: Final = {">": ">=", "<": "<="}


def create(connection: Connection) -> None:
    """Make the table, its rows and its triggers, if the engine is SQLite and has none."""
    if connection.dialect == "sqlite" and not connection.scalar(_EXISTS):
        connection.execute(_CREATE_TABLE)
        connection.execute(_FILL)
        for number, (event, statements) in enumerate(_TRIGGERS.items(), 1):
            connection.execute(f"CREATE TRIGGER {_TABLE}_{number} {event} BEGIN {statements} END")


def few_matching(connection: Connection, filters: Filters, *, most: int) -> list[str] | None:
    """Ids of all entries that the filters admit; `None` if they are more, or no index tells how many they are."""
    condition, params = where(filters, connection.dialect)
    sql = f"SELECT id FROM memory_records WHERE {condition}"
    if filters.where:
        if connection.dialect == "sqlite":
            best = _most_selective(connection, filters, most)
            if best is None:
                return None
            lookup = best[1]
            condition, params = where(filters, connection.dialect, by_id=True)
            sql = f"SELECT id FROM memory_records WHERE id IN (SELECT memory_id {lookup.sql}) AND {condition}"
            params |= lookup.params
    elif not (filters.key_prefix or filters.namespace):
        return None
    found = connection.column(f"{sql} LIMIT :most", {**params, "most": most + 1})
    return found if len(found) <= most else None


def estimate(connection: Connection, filters: Filters, *, most: int) -> int | None:
    """How many entries may meet the conditions, in SQLite; `None` if they are more, or no index tells them."""
    best = _most_selective(connection, filters, most)
    return None if best is None else best[0]


def may_match(connection: Connection, filters: Filters) -> frozenset[str]:
    """Ids among which are all entries that meet the conditions; only where there is an estimate."""
    lookups = _lookups(filters)
    best = _most_selective(connection, filters, _ANY_NUMBER) if len(lookups) > 1 else (0, lookups[0])
    if best is None:
        raise ValueError("there is no index for these conditions")
    # As one value: a row for each id would take half as long again.
    listed = connection.scalar(f"SELECT json_group_array(memory_id) {best[1].sql}", best[1].params)
    return frozenset(json.loads(listed))


class _Lookup(NamedTuple):
    """Rows of the table, from `FROM` on."""

    sql: str
    params: dict[str, Any]


def _most_selective(connection: Connection, filters: Filters, most: int) -> tuple[int, _Lookup] | None:
    """The lookup with the fewest rows, and how many these are; `None` if every one has more than `most`."""
    best: tuple[int, _Lookup] | None = None
    for lookup in _lookups(filters):
        counted = f"SELECT count(*) FROM (SELECT 1 {lookup.sql} LIMIT :most)"
        count = int(connection.scalar(counted, {**lookup.params, "most": most + 1}))
        if count <= most and (best is None or count < best[0]):
            best = (count, lookup)
    return best


def _lookups(filters: Filters) -> list[_Lookup]:
    """One for each path: all its conditions together. Conditions that no index can answer are left out."""
    by_path: dict[tuple[str, ...], list[Comparison]] = {}
    for comparison in filters.where:
        by_path.setdefault(comparison.path, []).append(comparison)
    found = []
    for place, (path, comparisons) in enumerate(by_path.items()):
        params: dict[str, Any] = {"scopes": list(filters.scopes), f"name_{place}": path[-1]}
        parts = [f"scope IN :scopes AND key = :name_{place}"]
        for number, each in enumerate(comparisons):
            indexed = _indexed(each, f"value_{place}_{number}")
            if indexed is not None:
                parts.append(indexed[0])
                params |= indexed[1]
        if len(parts) > 1:
            found.append(_Lookup(f"FROM {_TABLE} WHERE {' AND '.join(parts)}", params))
    return found


def _indexed(comparison: Comparison, name: str) -> tuple[str, dict[str, Any]] | None:
    """A condition on rows of the table that every entry meets which meets the comparison."""
    if comparison.operator in {"$eq", "$in"}:
        values = comparison.value if comparison.operator == "$in" else [comparison.value]
        kinds = {_kind(value) for value in values}
        if len(kinds) != 1 or None in kinds:
            return None
        return f"kind = '{kinds.pop()}' AND value IN :{name}", {name: _stored(values)}
    if comparison.operator in _SIGNS:
        kind, sign = _kind(comparison.value), _SIGNS[comparison.operator]
        # A text that is cut off may be equal where the whole one is greater or less.
        sign = _WIDER.get(sign, sign) if kind == "s" else sign
        return f"kind = '{kind}' AND value {sign} :{name}", {name: _stored([comparison.value])[0]}
    return None


def _kind(value: Any) -> str | None:
    """Under which kind the table has a value; `None` for lists and for null."""
    if isinstance(value, bool):
        return "b"
    return "n" if is_number(value) else "s" if isinstance(value, str) else None


def _stored(values: Sequence[Any]) -> list[Any]:
    """Values as the table has them."""
    return [
        ("true" if each else "false")
        if isinstance(each, bool)
        else each[:_CHARACTERS]
        if isinstance(each, str)
        else float(each)
        for each in values
    ]

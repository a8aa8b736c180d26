"""Which entries may meet a `where`: an index of the values in metadata, where the engine has one.

PostgreSQL has a GIN index. In SQLite a table holds each value under the name that it has in its object. It names
entries that may meet a condition, and the condition itself is checked on the entry: the same name may stand in several
objects, and long texts are cut off.

The values of one entry are on as many pages of that table. So those of single new entries are added later, a hundred
entries at once; until then their ids are in a second table, and conditions are checked on these entries themselves.
Triggers follow changes and deletions.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from jiyi.backends.records.filters import where
from jiyi.backends.records.schema import HAS_METADATA
from jiyi.backends.records.sql import Connection
from jiyi.model.filters import Filters
from jiyi.model.scope import PUBLIC
from jiyi.model.where import Comparison, is_number

_TABLE: Final = "memory_metadata"
_PENDING: Final = "memory_metadata_pending"
"""Ids and scopes of entries whose values are not in the table yet."""
_MAX_PENDING: Final = 128
_CHARACTERS: Final = 100
"""How much of a text is in the index."""
_VALUES: Final = (
    "SELECT {row}.scope, j.key, "
    "CASE WHEN j.type IN ('integer', 'real') THEN 'n' WHEN j.type = 'text' THEN 's' ELSE 'b' END, "
    "CASE WHEN j.type IN ('integer', 'real') THEN CAST(j.atom AS REAL) "
    f"WHEN j.type = 'text' THEN substr(j.atom, 1, {_CHARACTERS}) ELSE j.type END, {{row}}.id "
    "FROM {source}json_tree({row}.metadata) AS j WHERE j.atom IS NOT NULL AND typeof(j.key) = 'text'"
)
_INSERT: Final = f"INSERT OR IGNORE INTO {_TABLE}"
_ADD: Final = f"{_INSERT} {_VALUES.format(row='NEW', source='')};"
_REMOVE: Final = (
    f"DELETE FROM {_TABLE} WHERE (scope, key, kind, value, memory_id) IN ({_VALUES.format(row='OLD', source='')});"
)
_CREATE_TABLE: Final = (
    f"CREATE TABLE {_TABLE} (scope TEXT NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL, value NOT NULL, "
    "memory_id TEXT NOT NULL, PRIMARY KEY (scope, key, kind, value, memory_id)) WITHOUT ROWID"
)
_CREATE_PENDING: Final = (
    f"CREATE TABLE {_PENDING} (memory_id TEXT NOT NULL PRIMARY KEY, scope TEXT NOT NULL) WITHOUT ROWID"
)
_FILL: Final = f"{_INSERT} {_VALUES.format(row='m', source='memory_records AS m, ')} AND m.{HAS_METADATA}"
_FILL_SOME: Final = f"{_FILL} AND m.id IN :ids"
_FILL_PENDING: Final = f"{_FILL} AND m.id IN (SELECT memory_id FROM {_PENDING})"
_ADD_PENDING: Final = f"INSERT OR IGNORE INTO {_PENDING} (memory_id, scope) VALUES (:id, :scope)"
_COUNT_PENDING: Final = f"SELECT count(*) FROM {_PENDING}"
_DELETE_PENDING: Final = f"DELETE FROM {_PENDING}"
_PENDING_IN_SCOPES: Final = f"SELECT memory_id FROM {_PENDING} WHERE scope IN :scopes"
_TRIGGERS: Final = {
    "changed": (
        "AFTER UPDATE OF metadata ON memory_records WHEN NEW.metadata != OLD.metadata",
        f"{_REMOVE} {_ADD}",
    ),
    "deleted": (
        f"AFTER DELETE ON memory_records WHEN OLD.{HAS_METADATA}",
        f"{_REMOVE} {_DELETE_PENDING} WHERE memory_id = OLD.id;",
    ),
}
_OUTDATED: Final = tuple(f"{_TABLE}_{number}" for number in (1, 2, 3))
"""Triggers that earlier versions had."""
_EXISTS: Final = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = :name"
_SIGNS: Final = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_ANY_NUMBER: Final = 1 << 40
_WIDER: Final = {">": ">=", "<": "<="}


def create(connection: Connection) -> None:
    """Make the tables, their rows and triggers, if the engine is SQLite and has none."""
    if connection.dialect != "sqlite":
        return
    if not connection.scalar(_EXISTS, {"name": _TABLE}):
        connection.execute(_CREATE_TABLE)
        connection.execute(_FILL)
    if not connection.scalar(_EXISTS, {"name": _PENDING}):
        connection.execute(_CREATE_PENDING)
    for name in _OUTDATED:
        connection.execute(f"DROP TRIGGER IF EXISTS {name}")
    for name, (event, statements) in _TRIGGERS.items():
        connection.execute(f"CREATE TRIGGER IF NOT EXISTS {_TABLE}_{name} {event} BEGIN {statements} END")


def add_entries(connection: Connection, entries: Sequence[tuple[str, str]]) -> None:
    """New entries with metadata, as pairs of id and scope; their rows are written."""
    if not entries or connection.dialect != "sqlite":
        return
    if len(entries) >= _MAX_PENDING:
        connection.execute(_FILL_SOME, {"ids": [entry_id for entry_id, _ in entries]})
        return
    connection.executemany(_ADD_PENDING, [{"id": entry_id, "scope": scope} for entry_id, scope in entries])
    if connection.scalar(_COUNT_PENDING) >= _MAX_PENDING:
        connection.execute(_FILL_PENDING)
        connection.execute(_DELETE_PENDING)


def add_missing(connection: Connection) -> None:
    """The values of all entries, for rows that were not written by `insert_rows`."""
    if connection.dialect == "sqlite":
        connection.execute(_FILL)
        connection.execute(_DELETE_PENDING)


def few_matching(connection: Connection, filters: Filters, *, limit: int) -> list[str] | None:
    """Ids of all entries that the filters admit; `None` if they are more, or no index of SQLite tells how many."""
    if filters.where:
        best = _most_selective(connection, filters, limit)
        if best is None:
            return None
        lookup = best[1]
        condition, params = where(filters, connection.dialect, by_id=True)
        candidates = f"SELECT memory_id {lookup.sql} UNION ALL {_PENDING_IN_SCOPES}"
        condition = f"id IN ({candidates}) AND {condition}"
        params |= lookup.params
    elif filters.key_prefix or filters.namespace:
        condition, params = where(filters, connection.dialect)
    else:
        return None
    sql = f"SELECT id FROM memory_records WHERE {condition} LIMIT :limit"
    found = connection.column(sql, {**params, "limit": limit + 1})
    return found if len(found) <= limit else None


def estimate(connection: Connection, filters: Filters, *, limit: int) -> int | None:
    """How many entries may meet the conditions, in SQLite; `None` if they are more, or no index tells them."""
    best = _most_selective(connection, filters, limit)
    return None if best is None else best[0]


def may_match(connection: Connection, filters: Filters) -> frozenset[str]:
    """Ids among which are all entries that meet the conditions; only where there is an estimate."""
    lookups = _lookups(filters)
    best = _most_selective(connection, filters, _ANY_NUMBER) if len(lookups) > 1 else (0, lookups[0])
    if best is None:
        raise ValueError("there is no index for these conditions")
    # As one value: a row for each id would take half as long again.
    listed = connection.scalar(f"SELECT json_group_array(memory_id) {best[1].sql}", best[1].params)
    return frozenset(json.loads(listed)).union(_pending(connection, filters))


class _Lookup(NamedTuple):
    """Rows of the table, from `FROM` on."""

    sql: str
    params: dict[str, Any]


def _most_selective(connection: Connection, filters: Filters, limit: int) -> tuple[int, _Lookup] | None:
    """The lookup with the fewest rows, and how many these are; `None` if every one has more than `limit`."""
    best: tuple[int, _Lookup] | None = None
    for lookup in _lookups(filters):
        counted = f"SELECT count(*) FROM (SELECT 1 {lookup.sql} LIMIT :limit)"
        count = int(connection.scalar(counted, {**lookup.params, "limit": limit + 1}))
        if count <= limit and (best is None or count < best[0]):
            best = (count, lookup)
    if best is None:
        return None
    count = best[0] + len(_pending(connection, filters))
    return (count, best[1]) if count <= limit else None


def _pending(connection: Connection, filters: Filters) -> list[str]:
    """Ids of the entries that meet the conditions on metadata and whose values are not in the table yet.

    Checked here: an index that is told among which entries to look proposes the best of them, and each that does not
    meet the conditions would take the place of one that does. Other filters are not: who keeps the ids uses them for
    every question with these conditions, also for one about an earlier time.
    """
    alone = Filters(filters.scopes, where=filters.where, alive_at=datetime.min.replace(tzinfo=UTC))
    condition, params = where(alone, connection.dialect, by_id=True, reader=PUBLIC)
    return connection.column(
        f"SELECT id FROM memory_records WHERE id IN ({_PENDING_IN_SCOPES}) AND {condition}", params
    )


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

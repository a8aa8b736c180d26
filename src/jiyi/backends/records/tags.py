"""Tags in SQL: the whole set, which entry has which, and the entries with the most of some."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

from jiyi.backends.records.changelog import lock_tags
from jiyi.backends.records.codec import BY_IDS, entry_of
from jiyi.backends.records.filters import moment_of, where
from jiyi.backends.records.meta import get_meta, set_meta
from jiyi.backends.records.overlays import IS_SHOWN, STRENGTH, reading_scope, seen
from jiyi.backends.records.schema import ACTIVE, memory_tag_rel
from jiyi.backends.records.sql import Connection, Dialect, chunks
from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters
from jiyi.ports import TaggedEntries, TagPage, TagPosition

_GENERATION: Final = "tag_generation"
_STATE: Final = "SELECT (SELECT value FROM store_meta WHERE name = :name), (SELECT max(id) FROM memory_tags)"
_ADDED: Final = "SELECT id, name FROM memory_tags WHERE id > :after ORDER BY id"
_BY_NAME: Final = "SELECT name, id FROM memory_tags WHERE name IN :names"
_INSERT: Final = "INSERT INTO memory_tags (name) VALUES (:name)"
_DELETE_RELATIONS: Final = "DELETE FROM memory_tag_rel WHERE memory_id IN :ids"
_DELETE_UNUSED: Final = (
    "DELETE FROM memory_tags WHERE NOT EXISTS (SELECT 1 FROM memory_tag_rel r WHERE r.tag_id = memory_tags.id)"
)
_USAGE: Final = (
    "SELECT t.name, count(*) AS uses FROM memory_tags t JOIN memory_tag_rel r ON r.tag_id = t.id "
    f"JOIN memory_records m ON m.id = r.memory_id WHERE r.scope IN :scopes AND m.{ACTIVE} {{}}"
    "GROUP BY t.id, t.name ORDER BY uses DESC, t.name LIMIT :limit OFFSET :offset"
)
_SHOWN: Final = f"AND {IS_SHOWN.replace('scope !=', 'm.scope !=').replace('id NOT IN', 'm.id NOT IN')} "
# The tags are counted in their own index, inside the scopes; only then are the entries looked up, by id.
_MATCHED: Final = (
    "WITH matched AS (SELECT memory_id, count(*) AS hits FROM memory_tag_rel "
    "WHERE tag_id IN :tag_ids AND scope IN :scopes GROUP BY memory_id) "
)
# The user's day on which an entry was made; `:day_shift` is in minutes.
_LOCAL_DAY: Final[dict[Dialect, str]] = {
    "sqlite": "date(substr(memory_records.created_at, 1, 19), :day_shift || ' minutes')",
    "postgresql": (
        "CAST(timezone('UTC', memory_records.created_at) + make_interval(mins => CAST(:day_shift AS integer)) AS date)"
    ),
}
# Not counted over the rows of the answer: for that the engine would have to keep every one of them.
_CANDIDATES: Final = "(SELECT count(*) FROM matched AS all_matched) AS candidates"
_FOUND: Final = "FROM matched JOIN memory_records ON memory_records.id = matched.memory_id"


def write_tags(connection: Connection, entries: Sequence[MemoryEntry]) -> None:
    """Rebuild the tag relations of these entries. Tags without entries stay until they are collected."""
    for chunk in chunks([entry.id for entry in entries]):
        connection.execute(_DELETE_RELATIONS, {"ids": chunk})
    ids: dict[str, int] = {}
    for names in chunks(sorted({tag for entry in entries for tag in entry.tags})):
        ids |= _ids_of(connection, names)
    relations = [
        {"memory_id": entry.id, "tag_id": ids[tag], "scope": entry.scope} for entry in entries for tag in entry.tags
    ]
    if relations:
        connection.executemany(memory_tag_rel.insert, relations)


def _ids_of(connection: Connection, names: Sequence[str]) -> dict[str, int]:
    """The ids of these tags; tags that do not exist yet are added."""

    def found(wanted: Sequence[str]) -> dict[str, int]:
        return dict(connection.rows(_BY_NAME, {"names": wanted}))

    ids = found(names)
    missing = [name for name in names if name not in ids]
    if missing and lock_tags(connection):
        # Another transaction may have added them while this one waited.
        ids |= found(missing)
        missing = [name for name in missing if name not in ids]
    if missing:
        connection.executemany(_INSERT, [{"name": name} for name in missing])
        ids |= found(missing)
    return ids


def tags_since(connection: Connection, known: TagPosition | None) -> TagPage:
    """Tags that were added after this state; all of them when it is none or of another generation."""
    generation, last_id = connection.row(_STATE, {"name": _GENERATION}) or (None, None)
    position = TagPosition(int(generation or 0), int(last_id or 0))
    if position == known:
        return TagPage(position, (), whole=False)
    # Fewer than known in the same generation: the file was restored from a backup.
    whole = known is None or known.generation != position.generation or known.last_id > position.last_id
    after = 0 if known is None or whole else known.last_id
    return TagPage(position, connection.rows(_ADDED, {"after": after}), whole=whole)


def collect(connection: Connection) -> int:
    """Remove the tags that no entry has, and begin a new generation if there were any."""
    removed = connection.execute(_DELETE_UNUSED).rowcount
    if removed:
        set_meta(connection, _GENERATION, str(int(get_meta(connection, _GENERATION) or 0) + 1))
    return removed


def tag_usage(connection: Connection, scopes: Sequence[str], *, limit: int, offset: int) -> list[tuple[str, int]]:
    """Tags of the active entries of these scopes with how many have each; the most used first."""
    reader = reading_scope(scopes)
    params = {"scopes": list(scopes), "limit": limit, "offset": offset, "overlay_scope": reader}
    rows = connection.rows(_USAGE.format("" if reader is None else _SHOWN), params)
    return [(name, int(uses)) for name, uses in rows]


def tagged(
    connection: Connection,
    tag_ids: Iterable[int],
    filters: Filters,
    *,
    limit: int,
    each_type: bool,
    day_shift: int = 0,
) -> TaggedEntries:
    """Entries with any of these tags: most tags first, then newer day, strength, newest.

    `day_shift` is by how many minutes the user's day is ahead of that of UTC.
    """
    sql, params = _ranking(filters, connection.dialect, each_type)
    # The statement is kept, and the time goes on.
    params = {
        **params,
        "alive_at": moment_of(filters),
        "tag_ids": sorted(tag_ids),
        "limit": limit,
        "day_shift": day_shift,
    }
    ranked = connection.rows(sql, params)
    ids = [row[0] for row in ranked]
    rows = [row for chunk in chunks(ids) for row in connection.rows(BY_IDS, {"ids": chunk})]
    entries = {entry.id: entry for entry in seen(connection.rows, filters.scopes, map(entry_of, rows))}
    hits = [(entries[entry_id], int(count)) for entry_id, count, _ in ranked]
    return TaggedEntries(hits, int(ranked[0][2]) if ranked else 0)


@lru_cache(maxsize=128)
def _ranking(filters: Filters, dialect: Dialect, each_type: bool) -> tuple[str, dict[str, Any]]:  # noqa: FBT001
    """A statement for the ids in order, each with its hits and with how many candidates there are."""
    condition, params = where(filters, dialect, by_id=True)
    strength = "memory_records.strength" if reading_scope(filters.scopes) is None else STRENGTH
    order = (
        f"matched.hits DESC, {_LOCAL_DAY[dialect]} DESC, {strength} DESC, "
        "memory_records.created_at DESC, memory_records.id DESC"
    )
    if not each_type:
        shown = f"SELECT memory_records.id, matched.hits, {_CANDIDATES}"
        return f"{_MATCHED}{shown} {_FOUND} WHERE {condition} ORDER BY {order} LIMIT :limit", params
    places = (
        f"SELECT memory_records.id, matched.hits, {_CANDIDATES}, "
        f"row_number() OVER (PARTITION BY memory_records.memory_type ORDER BY {order}) AS of_type, "
        f"row_number() OVER (ORDER BY {order}) AS of_all {_FOUND} WHERE {condition}"
    )
    return (
        f"{_MATCHED}SELECT id, hits, candidates FROM ({places}) AS places WHERE of_type <= :limit ORDER BY of_all",
        params,
    )

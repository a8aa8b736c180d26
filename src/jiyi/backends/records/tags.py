"""Tags in SQL: the whole set, which entry has which, and the entries with the most of some."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import cache, lru_cache
from typing import Any

import sqlalchemy as sa

from jiyi.backends.records.changelog import lock_tags
from jiyi.backends.records.prepared import Prepared
from jiyi.backends.records.rows import ACTIVE, ENTRY_COLUMNS, conditions, entry_of
from jiyi.backends.records.schema import memory_records, memory_tag_rel, memory_tags, store_meta
from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters
from jiyi.ports import Tagged, TagPage, TagPosition

_CHUNK = 500
_GENERATION = "tag_generation"


# Made when they are first needed: making a statement takes as long as running a few.
@cache
def _state() -> Prepared:
    return Prepared(
        sa.select(
            sa.select(store_meta.c.value).where(store_meta.c.name == sa.bindparam("name_")).scalar_subquery(),
            sa.select(sa.func.max(memory_tags.c.id)).scalar_subquery(),
        )
    )


@cache
def _added() -> Prepared:
    return Prepared(
        sa.select(memory_tags.c.id, memory_tags.c.name)
        .where(memory_tags.c.id > sa.bindparam("after_"))
        .order_by(memory_tags.c.id)
    )


@cache
def _by_ids() -> sa.Select[Any]:
    return sa.select(*ENTRY_COLUMNS).where(memory_records.c.id.in_(sa.bindparam("ids_", expanding=True)))


def write_tags(connection: sa.Connection, entries: Sequence[MemoryEntry]) -> None:
    """Rebuild the tag relations of these entries. Tags without entries stay until they are collected."""
    connection.execute(memory_tag_rel.delete().where(memory_tag_rel.c.memory_id.in_([e.id for e in entries])))
    names = sorted({tag for entry in entries for tag in entry.tags})
    ids: dict[str, int] = {}
    by_name = sa.select(memory_tags.c.name, memory_tags.c.id)
    for start in range(0, len(names), _CHUNK):
        chunk = names[start : start + _CHUNK]
        ids.update({row.name: row.id for row in connection.execute(by_name.where(memory_tags.c.name.in_(chunk)))})
        missing = [name for name in chunk if name not in ids]
        if missing and lock_tags(connection):
            # Somebody else may have added them while this one waited.
            ids.update({row.name: row.id for row in connection.execute(by_name.where(memory_tags.c.name.in_(missing)))})
            missing = [name for name in missing if name not in ids]
        if missing:
            connection.execute(memory_tags.insert(), [{"name": name} for name in missing])
            ids.update({row.name: row.id for row in connection.execute(by_name.where(memory_tags.c.name.in_(missing)))})
    relations = [
        {"memory_id": entry.id, "tag_id": ids[tag], "scope": entry.scope} for entry in entries for tag in entry.tags
    ]
    if relations:
        connection.execute(memory_tag_rel.insert(), relations)


def tags_since(connection: sa.Connection, known: TagPosition | None) -> TagPage:
    """Tags that were added after this state; all of them when it is none or of another generation."""
    generation, last_id = _state().run(connection, {"name_": _GENERATION}).fetchone() or (None, None)
    log_position = TagPosition(int(generation or 0), int(last_id or 0))
    if log_position == known:
        return TagPage(log_position, (), whole=False)
    # Fewer than known in the same generation: the file was restored from a backup.
    whole = known is None or known.generation != log_position.generation or known.last_id > log_position.last_id
    after = 0 if known is None or whole else known.last_id
    return TagPage(log_position, _added().run(connection, {"after_": after}).fetchall(), whole=whole)


def collect(connection: sa.Connection) -> int:
    """Remove the tags that no entry has, and begin a new generation if there were any."""
    used = sa.select(memory_tag_rel.c.tag_id).where(memory_tag_rel.c.tag_id == memory_tags.c.id)
    removed = connection.execute(memory_tags.delete().where(~sa.exists(used))).rowcount
    if removed:
        generation = _state().run(connection, {"name_": _GENERATION}).fetchone()
        number = int(generation[0] or 0) if generation is not None else 0
        named = store_meta.c.name == _GENERATION
        if not connection.execute(store_meta.update().where(named).values(value=str(number + 1))).rowcount:
            connection.execute(store_meta.insert().values(name=_GENERATION, value=str(number + 1)))
    return removed


def tag_usage(connection: sa.Connection, scopes: Sequence[str], *, limit: int, offset: int) -> list[tuple[str, int]]:
    """Tags of the active entries of these scopes with how many have each; the most used first."""
    uses = sa.func.count().label("uses")
    statement = (
        sa.select(memory_tags.c.name, uses)
        .join(memory_tag_rel, memory_tag_rel.c.tag_id == memory_tags.c.id)
        .join(memory_records, memory_records.c.id == memory_tag_rel.c.memory_id)
        .where(memory_tag_rel.c.scope.in_(scopes), ACTIVE)
        .group_by(memory_tags.c.id)
        .order_by(uses.desc(), memory_tags.c.name)
        .limit(limit)
        .offset(offset)
    )
    return [(row.name, int(row.uses)) for row in connection.execute(statement)]


def tagged(
    connection: sa.Connection,
    tag_ids: Iterable[int],
    filters: Filters,
    *,
    limit: int,
    each_type: bool,
    day_shift: int = 0,
) -> Tagged:
    """Entries with any of these tags: most tags first, then newer day, strength, newest.

    `day_shift` is by how many minutes the user's day is ahead of that of UTC.
    """
    dialect, ids = connection.dialect.name, sorted(tag_ids)
    wanted = {
        "tag_ids_": json.dumps(ids) if dialect == "sqlite" else ids,
        "limit_": limit,
        "shift_": _shift(dialect, day_shift),
    }
    found = connection.execute(_ranking(filters, each_type, dialect), wanted)
    ranked = [(row[0], int(row[1]), int(row[2])) for row in found]
    entries: dict[str, MemoryEntry] = {}
    for start in range(0, len(ranked), _CHUNK):
        chunk = [entry_id for entry_id, _, _ in ranked[start : start + _CHUNK]]
        for row in connection.execute(_by_ids(), {"ids_": chunk}):
            entry = entry_of(row)
            entries[entry.id] = entry
    return Tagged([(entries[entry_id], hits) for entry_id, hits, _ in ranked], ranked[0][2] if ranked else 0)


def _shift(dialect: str, minutes: int) -> str | timedelta:
    return f"{minutes:+d} minutes" if dialect == "sqlite" else timedelta(minutes=minutes)


def _local_day(dialect: str) -> sa.ColumnElement[Any]:
    """The user's day on which an entry was made."""
    if dialect == "sqlite":
        made = sa.func.substr(sa.cast(memory_records.c.created_at, sa.Text), 1, 19)
        return sa.func.date(made, sa.bindparam("shift_", type_=sa.Text))
    utc = sa.func.timezone("UTC", memory_records.c.created_at)
    return sa.cast(utc + sa.bindparam("shift_", type_=sa.Interval), sa.Date)


def _one_of_the_tags(dialect: str) -> sa.ColumnElement[bool]:
    """One parameter for any number of tags: a long question can have more than a statement takes."""
    if dialect == "sqlite":
        given = sa.func.json_each(sa.bindparam("tag_ids_", type_=sa.Text)).table_valued("value")
        return memory_tag_rel.c.tag_id.in_(sa.select(given.c.value))
    return memory_tag_rel.c.tag_id == sa.any_(sa.bindparam("tag_ids_", type_=sa.ARRAY(sa.BigInteger)))


@lru_cache(maxsize=128)
def _ranking(filters: Filters, each_type: bool, dialect: str) -> sa.Select[tuple[str, int, int]]:  # noqa: FBT001
    """The ids in order, each with its hits and with how many candidates there are.

    The tags are counted in their own index, inside the scopes; only then are the entries looked up, by id.
    """
    record = memory_records.c
    matched = (
        sa.select(memory_tag_rel.c.memory_id, sa.func.count().label("hits"))
        .where(_one_of_the_tags(dialect), memory_tag_rel.c.scope.in_(filters.scopes))
        .group_by(memory_tag_rel.c.memory_id)
        .cte("matched")
    )
    order = (
        matched.c.hits.desc(),
        _local_day(dialect).desc(),
        record.strength.desc(),
        record.created_at.desc(),
        record.id.desc(),
    )
    # Not counted over the rows of the answer: for that the engine would have to keep every one of them.
    candidates = (
        sa.select(sa.func.count()).select_from(matched.alias("all_matched")).scalar_subquery().label("candidates")
    )
    joined = matched.join(memory_records, record.id == matched.c.memory_id)
    if not each_type:
        return (
            sa.select(record.id, matched.c.hits, candidates)
            .select_from(joined)
            .where(*conditions(filters, by_id=True))
            .order_by(*order)
            .limit(sa.bindparam("limit_", type_=sa.Integer))
        )
    places = (
        sa.select(
            record.id,
            matched.c.hits,
            candidates,
            sa.func.row_number().over(partition_by=record.memory_type, order_by=order).label("of_type"),
            sa.func.row_number().over(order_by=order).label("of_all"),
        )
        .select_from(joined)
        .where(*conditions(filters, by_id=True))
        .subquery("places")
    )
    return (
        sa.select(places.c.id, places.c.hits, places.c.candidates)
        .where(places.c.of_type <= sa.bindparam("limit_", type_=sa.Integer))
        .order_by(places.c.of_all)
    )

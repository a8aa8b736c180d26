"""The memories of the runtime in SQL: the same rows as everybody's, and how each of them has fared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from jiyi.backends.records.changelog import log_changes
from jiyi.backends.records.disk_sort import DiskSorter
from jiyi.backends.records.rows import ACTIVE, ENTRY_COLUMNS, changed_fields, entry_of, entry_values
from jiyi.backends.records.schema import memory_changes, memory_records, runtime_memories, runtime_requests
from jiyi.backends.records.store import (
    CHUNK,
    GONE,
    Database,
    change_values,
    history_of,
    insert_entry,
    remove_entry,
    scopes_of,
)
from jiyi.backends.records.tags import collect, write_tags
from jiyi.errors import InvalidInputError
from jiyi.model.entry import EntryVersion, MemoryEntry, Source
from jiyi.model.feedback import (
    MERGE,
    SUPERSEDED,
    FeedbackOrder,
    FeedbackOutcome,
    MergeGroup,
    added_strength,
    merge_entries,
    why_not_merged,
)
from jiyi.model.strength_decay import Faded, Kept, Usage
from jiyi.text.normalize import tag_form

_records, _kept, _requests, _changes = memory_records.c, runtime_memories.c, runtime_requests.c, memory_changes.c
_USAGE = (_kept.useful, _kept.missed, _kept.decayed_at)
_UPDATE = memory_records.update().where(_records.id == sa.bindparam("id_"))
_LONGEST_CHAIN = 100


class SqlRuntimeStore:
    """Shares the database with the record store; every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, entries: Sequence[MemoryEntry], *, actor: str) -> None:
        """Store new memories."""
        with self._database.write(sorted({entry.scope for entry in entries})) as connection:
            _insert(connection, entries, actor)

    def give_feedback(self, order: FeedbackOrder, *, actor: str, now: datetime) -> FeedbackOutcome:
        """Do all of it; a request that was answered before changes nothing."""
        with self._database.write(self._scopes_of(order)) as connection:
            if order.request_id is not None and (answered := _answered(connection, order)) is not None:
                return answered
            outcome = _Feedback(connection, order, actor, now).outcome()
            if order.request_id is not None:
                values = {
                    "scope": order.scope,
                    "request_id": order.request_id,
                    "fingerprint": order.fingerprint,
                    "outcome": outcome.to_json(),
                    "answered_at": now,
                }
                connection.execute(runtime_requests.insert(), [values])
            return outcome

    def _scopes_of(self, order: FeedbackOrder) -> list[str]:
        """The scopes that an order may change: its own, and `public` only if it names a memory there.

        Where such a memory was merged into another one, that is in one of these as well.
        """
        named = (*order.useful, *order.recalled, *(each for group in order.merges for each in group.memory_ids))
        of_named = set(scopes_of(self._database, named) or ()) if named else set()
        return sorted({order.scope, *(entry.scope for entry in order.new), *of_named.intersection(order.visible)})

    def fetch(self, ids: Sequence[str], scopes: Sequence[str]) -> dict[str, MemoryEntry]:
        """Memories by id inside these scopes, active or not."""
        with self._database.read(scopes) as connection:
            return _fetch(connection, ids, scopes)

    def versions(self, scopes: Sequence[str], memory_id: str) -> list[EntryVersion]:
        """Every version of one memory, oldest first; also of one that is gone."""
        with self._database.read(scopes) as connection:
            current = _fetch(connection, [memory_id], scopes)
            return history_of(connection, (_changes.entry_id == memory_id) & _changes.scope.in_(scopes), current)

    def forget(self, scope: str, memory_id: str, *, actor: str, erase: bool) -> bool:
        """Remove a memory; its versions stay readable unless `erase`, which reaches what it was merged from as well."""
        # Tags that nobody else has go with an erased memory: whether they have is for the whole store to say.
        with self._database.write(None if erase else (scope,)) as connection:
            entry = _fetch(connection, [memory_id], [scope]).get(memory_id)
            if not erase:
                if entry is not None:
                    remove_entry(connection, entry, actor, "forget")
                return entry is not None
            erased = sum(_erase(connection, scope, each, actor) for each in _merged_from(connection, scope, memory_id))
            collect(connection)
            return erased > 0

    def update(
        self, scope: str, memory_id: str, values: Mapping[str, Any], *, actor: str, now: datetime
    ) -> MemoryEntry | None:
        """Change fields of an own memory: a new version, and its tags written anew."""
        with self._database.write((scope,)) as connection:
            before = _fetch(connection, [memory_id], [scope]).get(memory_id)
            if before is None:
                return None
            after = replace(before, **values, version=before.version + 1, updated_at=max(now, before.updated_at))
            _write(connection, before, after, "update", actor)
            write_tags(connection, [after])
            return after

    def restore(self, scope: str, memory_id: str, *, actor: str, now: datetime) -> MemoryEntry | None:
        """Make a memory active again that faded, was superseded, archived or forgotten; `None` if it cannot be."""
        with self._database.write((scope,)) as connection:
            present = _fetch(connection, [memory_id], [scope]).get(memory_id)
            if present is not None:
                if not present.is_active:
                    back = _restored(present, _before_superseded(connection, present), now)
                    _write(connection, present, back, "restore", actor)
                    _reckon_from(connection, back, now)
                    return back
                return present
            last = connection.execute(
                sa.select(_changes.operation, _changes.version, _changes.before)
                .where(_changes.entry_id == memory_id, _changes.scope == scope)
                .order_by(_changes.version.desc())
                .limit(1)
            ).one_or_none()
            if last is None or last.operation not in GONE or last.before is None:
                return None
            before = _past(last.before)
            if before.key is not None:
                return None
            back = _restored(replace(before, version=last.version), _before_superseded(connection, before), now)
            insert_entry(connection, [back])
            log_changes(connection, [change_values(back, "restore", actor, [], None)])
            write_tags(connection, [back])
            _reckon_from(connection, back, now)
            return back

    def memory_types(self, scopes: Sequence[str]) -> list[str]:
        """The memory types that the runtime has used in these scopes."""
        with self._database.read(scopes) as connection:
            return sorted({kind for scope in scopes for kind in _types(connection, scope)})

    def scopes(self) -> list[str]:
        """The scopes that have memories of the runtime."""
        found: list[str] = []
        with self._database.read() as connection:
            # From one to the next by the index: a store of millions of memories has few scopes.
            while True:
                after = _kept.scope > (found[-1] if found else "")
                following = connection.execute(sa.select(sa.func.min(_kept.scope)).where(after)).scalar()
                if following is None:
                    break
                found.append(following)
        return found

    def page(self, scope: str, *, active: bool, after_id: str = "", limit: int) -> list[Kept]:
        """The scope's memories in the order of their ids."""
        statement = (
            sa.select(*ENTRY_COLUMNS, *_USAGE)
            .join(runtime_memories, _kept.memory_id == _records.id)
            .where(_kept.scope == scope, _kept.memory_id > after_id, ACTIVE if active else ~ACTIVE)
            .order_by(_kept.memory_id)
            .limit(limit)
        )
        with self._database.read((scope,)) as connection:
            return [
                Kept(entry_of(row), Usage(row.useful, row.missed, row.decayed_at))
                for row in connection.execute(statement)
            ]

    def merge(self, scope: str, groups: Sequence[MergeGroup], *, actor: str, now: datetime) -> list[MergeGroup]:
        """Merge groups of this scope's own active memories; returns those that were merged."""
        done: list[MergeGroup] = []
        with self._database.write((scope,)) as connection:
            for group in groups:
                found = _fetch(connection, group.memory_ids, [scope])
                entries = [entry for entry in found.values() if entry.is_active]
                # Whoever changed one of them meanwhile had a reason: the next round looks again.
                if len(entries) == len(group.memory_ids) and why_not_merged(entries) is None:
                    _merge(connection, entries, group, actor, now)
                    done.append(group)
        return done

    def fade(self, faded: Mapping[str, Faded], *, actor: str, now: datetime) -> None:
        """Write down what fading made of these memories."""
        with self._database.write(scopes_of(self._database, list(faded))) as connection:
            for entry in _fetch(connection, list(faded), None).values():
                left = faded[entry.id]
                after = replace(
                    entry,
                    strength=left.strength,
                    is_active=left.strength > 0,
                    version=entry.version + 1,
                    updated_at=max(now, entry.updated_at),
                )
                _write(connection, entry, after, "update", actor)
                one = runtime_memories.update().where(_kept.memory_id == entry.id)
                connection.execute(one.values(decayed_at=left.decayed_at))

    def archive(self, ids: Sequence[str], *, actor: str, now: datetime) -> None:
        """Take inactive memories out of the records; their versions stay."""
        with self._database.write(scopes_of(self._database, ids)) as connection:
            for entry in _fetch(connection, ids, None).values():
                if not entry.is_active:
                    remove_entry(connection, entry, actor, "archive", now)

    def forget_requests(self, before: datetime) -> int:
        """Drop the answers to requests that are so old that nobody repeats them."""
        with self._database.write() as connection:
            return connection.execute(runtime_requests.delete().where(_requests.answered_at < before)).rowcount

    @contextmanager
    def sorter(self) -> Iterator[DiskSorter]:
        """Room for sorting what does not fit in memory."""
        with DiskSorter() as sorter:
            yield sorter


class _Feedback:
    """One order, inside the caller's transaction."""

    def __init__(self, connection: sa.Connection, order: FeedbackOrder, actor: str, now: datetime) -> None:
        self._connection = connection
        self._order = order
        self._actor = actor
        self._now = now
        self._unknown: dict[str, None] = {}

    def outcome(self) -> FeedbackOutcome:
        """Do it."""
        order = self._order
        useful = self._resolved(order.useful)
        recalled = self._resolved(order.recalled)
        for entry in useful.values():
            self._strengthen(entry)
        missed = [entry_id for entry_id in recalled if entry_id not in useful]
        for start in range(0, len(missed), CHUNK):
            those = runtime_memories.update().where(_kept.memory_id.in_(missed[start : start + CHUNK]))
            self._connection.execute(those.values(missed=_kept.missed + 1))
        _insert(self._connection, order.new, self._actor)
        merged: list[tuple[str, tuple[str, ...]]] = []
        refused: list[tuple[tuple[str, ...], str]] = []
        for group in order.merges:
            entries = list(self._resolved(group.memory_ids).values())
            reason = why_not_merged(entries)
            if reason is None:
                one = _merge(self._connection, entries, group, self._actor, self._now)
                merged.append((one.id, one.source.references))
            else:
                refused.append((group.memory_ids, reason))
        return FeedbackOutcome(
            strengthened=tuple(useful),
            created=tuple(entry.id for entry in order.new),
            merged=tuple(merged),
            unknown=tuple(self._unknown),
            refused=tuple(refused),
        )

    def _resolved(self, ids: Sequence[str]) -> dict[str, MemoryEntry]:
        """The active memories that these ids mean: of one that was merged away, the one it was merged into."""
        found: dict[str, MemoryEntry] = {}
        known = _fetch(self._connection, ids, self._order.visible)
        for memory_id in ids:
            entry = known.get(memory_id)
            for _ in range(_LONGEST_CHAIN):
                if entry is None or entry.is_active or entry.source.kind != SUPERSEDED:
                    break
                successor = entry.source.references[0]
                entry = _fetch(self._connection, [successor], self._order.visible).get(successor)
            if entry is None or not entry.is_active:
                self._unknown[memory_id] = None
            else:
                found[entry.id] = entry
        return found

    def _strengthen(self, entry: MemoryEntry) -> None:
        after = replace(
            entry,
            strength=added_strength(entry.strength, 1),
            access_count=entry.access_count + 1,
            last_accessed_at=max(self._now, entry.last_accessed_at),
            updated_at=max(self._now, entry.updated_at),
            version=entry.version + 1,
        )
        _write(self._connection, entry, after, "update", self._actor)
        one = runtime_memories.update().where(_kept.memory_id == entry.id)
        self._connection.execute(one.values(useful=_kept.useful + 1))


def _answered(connection: sa.Connection, order: FeedbackOrder) -> FeedbackOutcome | None:
    row = connection.execute(
        sa.select(_requests.fingerprint, _requests.outcome).where(
            _requests.scope == order.scope, _requests.request_id == order.request_id
        )
    ).one_or_none()
    if row is None:
        return None
    if row.fingerprint != order.fingerprint:
        raise InvalidInputError(
            f"request_id {order.request_id!r} was used for other feedback; give every request an id of its own"
        )
    return FeedbackOutcome.from_json(row.outcome)


def _fetch(connection: sa.Connection, ids: Sequence[str], scopes: Sequence[str] | None) -> dict[str, MemoryEntry]:
    """Entries by id in the order of the ids; inside these scopes if any are given."""
    found: dict[str, MemoryEntry] = {}
    for start in range(0, len(ids), CHUNK):
        statement = sa.select(*ENTRY_COLUMNS).where(_records.id.in_(ids[start : start + CHUNK]))
        if scopes is not None:
            statement = statement.where((_records.scope + sa.literal_column("''")).in_(scopes))
        found.update({row.id: entry_of(row) for row in connection.execute(statement)})
    return {entry_id: found[entry_id] for entry_id in dict.fromkeys(ids) if entry_id in found}


def _insert(connection: sa.Connection, entries: Sequence[MemoryEntry], actor: str) -> None:
    if not entries:
        return
    insert_entry(connection, entries)
    log_changes(connection, [change_values(entry, "create", actor, [], None) for entry in entries])
    if any(entry.tags for entry in entries):
        write_tags(connection, entries)
    connection.execute(runtime_memories.insert(), [_usage_values(entry, Usage()) for entry in entries])


def _usage_values(entry: MemoryEntry, usage: Usage) -> dict[str, object]:
    return {
        "memory_id": entry.id,
        "scope": entry.scope,
        "memory_type": entry.memory_type,
        "useful": usage.useful,
        "missed": usage.missed,
        "decayed_at": usage.decayed_at,
    }


def _write(connection: sa.Connection, before: MemoryEntry, after: MemoryEntry, operation: str, actor: str) -> None:
    connection.execute(_UPDATE, {**entry_values(after), "id_": after.id})
    log_changes(connection, [change_values(after, operation, actor, changed_fields(before, after), before)])


def _merge(
    connection: sa.Connection, entries: Sequence[MemoryEntry], group: MergeGroup, actor: str, now: datetime
) -> MemoryEntry:
    one, superseded = merge_entries(entries, group, now=now, form=tag_form)
    before = {entry.id: entry for entry in entries}
    for entry in superseded:
        _write(connection, before[entry.id], entry, "update", actor)
    ids = list(before)
    sums = connection.execute(
        sa.select(sa.func.sum(_kept.useful), sa.func.sum(_kept.missed)).where(_kept.memory_id.in_(ids))
    ).one()
    insert_entry(connection, [one])
    log_changes(connection, [change_values(one, "create", actor, [], None)])
    write_tags(connection, [one])
    connection.execute(
        runtime_memories.insert(), [_usage_values(one, Usage(int(sums[0] or 0), int(sums[1] or 0), now))]
    )
    return one


def _restored(entry: MemoryEntry, source: Source, now: datetime) -> MemoryEntry:
    return replace(
        entry,
        is_active=True,
        strength=max(1, entry.strength),
        source=source,
        updated_at=max(now, entry.updated_at),
        last_accessed_at=max(now, entry.last_accessed_at),
        version=entry.version + 1,
    )


def _before_superseded(connection: sa.Connection, entry: MemoryEntry) -> Source:
    """Where a memory came from before it was merged away."""
    if entry.source.kind != SUPERSEDED:
        return entry.source
    statement = sa.select(_changes.before).where(_changes.entry_id == entry.id, _changes.before.is_not(None))
    for before in connection.execute(statement.order_by(_changes.version.desc())).scalars():
        source = _past(before).source
        if source.kind != SUPERSEDED:
            return source
    return Source("runtime", entry.source.trust)


def _reckon_from(connection: sa.Connection, entry: MemoryEntry, now: datetime) -> None:
    """A restored memory fades from now on."""
    if not connection.execute(
        runtime_memories.update().where(_kept.memory_id == entry.id).values(decayed_at=now)
    ).rowcount:
        connection.execute(runtime_memories.insert(), [_usage_values(entry, Usage(decayed_at=now))])


def _merged_from(connection: sa.Connection, scope: str, memory_id: str) -> list[str]:
    """The memory and everything of its scope that it was merged from, and that was merged from, and so on."""
    found: dict[str, None] = {}
    waiting = [memory_id]
    while waiting:
        one = waiting.pop()
        if one in found:
            continue
        found[one] = None
        present = _fetch(connection, [one], [scope]).values()
        its_log = sa.select(_changes.before).where(_changes.entry_id == one, _changes.scope == scope)
        states = [*present, *(_past(text) for text in connection.execute(its_log).scalars() if text is not None)]
        waiting += [each for state in states if state.source.kind == MERGE for each in state.source.references]
    return list(found)


def _past(text: str) -> MemoryEntry:
    return MemoryEntry.from_dict(json.loads(text))


def _erase(connection: sa.Connection, scope: str, memory_id: str, actor: str) -> bool:
    """Delete a memory with the texts of all its versions; whether there was anything."""
    entry = _fetch(connection, [memory_id], [scope]).get(memory_id)
    if entry is not None:
        remove_entry(connection, entry, actor, "erase")
    its_texts = (_changes.entry_id == memory_id) & (_changes.scope == scope) & _changes.before.is_not(None)
    erased = connection.execute(memory_changes.update().where(its_texts).values(before=None, changed="[]"))
    return entry is not None or erased.rowcount > 0


def _types(connection: sa.Connection, scope: str) -> Iterator[str]:
    last = ""
    while True:
        following = sa.select(sa.func.min(_kept.memory_type)).where(_kept.scope == scope, _kept.memory_type > last)
        found = connection.execute(following).scalar()
        if found is None:
            return
        yield found
        last = found

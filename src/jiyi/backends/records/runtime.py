"""The memories of the runtime in SQL: ordinary entries, and beside each how often it was useful."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from jiyi.backends.records.changelog import REMOVED, erase_texts, log_changes, log_line, past_entry, versions_of
from jiyi.backends.records.codec import BY_IDS, ENTRY_FIELDS, entry_of
from jiyi.backends.records.disk_sort import DiskSorter
from jiyi.backends.records.entries import erase_made_of, forget, of_version, text_of_message
from jiyi.backends.records.filters import in_scopes
from jiyi.backends.records.overlays import OverlayChange, move_fronts, note, scopes_noted, seen, show_again, usage_sums
from jiyi.backends.records.requests import keep_request
from jiyi.backends.records.schema import runtime_memories, runtime_requests
from jiyi.backends.records.sql import Connection, Database, chunks, moment, skip_scan
from jiyi.backends.records.tags import collect, write_tags
from jiyi.backends.records.writes import insert_rows, remove_entry, scopes_of, update_and_log, update_text_and_log
from jiyi.errors import RequestReusedError
from jiyi.model.entry import MESSAGE_TYPE, EntryVersion, MemoryEntry, Source
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
from jiyi.model.scope import visible_scopes
from jiyi.model.strength_decay import DecayedStrength, TrackedMemory, Usage
from jiyi.text.normalize import tag_form

_MAX_CHAIN: Final = 100
_BY_IDS_IN_SCOPES = f"{BY_IDS} AND {in_scopes(by_id=True)}"
_LAST_CHANGE = (
    "SELECT operation, version, before FROM memory_changes WHERE entry_id = :id AND scope = :scope "
    "ORDER BY version DESC LIMIT 1"
)
_PAST_STATES = "SELECT before FROM memory_changes WHERE entry_id = :id AND before IS NOT NULL ORDER BY version DESC"
_PAST_STATES_IN_SCOPE = (
    "SELECT before FROM memory_changes WHERE entry_id = :id AND scope = :scope AND before IS NOT NULL"
)
_NEXT_SCOPE = "SELECT min(scope) FROM runtime_memories WHERE scope > :after"
_NEXT_TYPE = "SELECT min(memory_type) FROM runtime_memories WHERE scope = :scope AND memory_type > :after"
_PAGE = (
    f"SELECT {', '.join(f'm.{name}' for name in ENTRY_FIELDS)}, r.useful, r.missed, r.decayed_at "
    "FROM runtime_memories r JOIN memory_records m ON m.id = r.memory_id WHERE r.scope = :scope "
    "AND r.memory_id > :after AND m.is_active IS NOT {} ORDER BY r.memory_id LIMIT :limit"
)
_ACTIVE_PAGE, _INACTIVE_PAGE = _PAGE.format("FALSE"), _PAGE.format("TRUE")
_SET_DECAYED = "UPDATE runtime_memories SET decayed_at = :decayed_at WHERE memory_id = :id"
_COUNT_USEFUL = "UPDATE runtime_memories SET useful = useful + 1 WHERE memory_id = :id"
_COUNT_MISSED = "UPDATE runtime_memories SET missed = missed + 1 WHERE memory_id IN :ids"
_SUMS = "SELECT sum(useful), sum(missed) FROM runtime_memories WHERE memory_id IN :ids"
_ANSWERED = "SELECT fingerprint, outcome FROM runtime_requests WHERE scope = :scope AND request_id = :request_id"
_FORGET_REQUESTS = "DELETE FROM runtime_requests WHERE answered_at < :before"


class SqlRuntimeStore:
    """Shares the database with the record store; every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, entries: Sequence[MemoryEntry], *, actor: str) -> None:
        """Store new memories."""
        with self._database.write(sorted({entry.scope for entry in entries})) as connection:
            _insert(connection, entries, actor)
            keep_request(connection, [entry.id for entry in entries])

    def give_feedback(self, order: FeedbackOrder, *, actor: str, now: datetime) -> FeedbackOutcome:
        """Do all of it; a request that was answered before changes nothing."""
        named = (*order.useful, *order.recalled, *(each for group in order.merges for each in group.memory_ids))
        with self._database.write(scopes_noted(self._database, order.scope, named)) as connection:
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
                connection.execute(runtime_requests.insert, values)
            return outcome

    def fetch(self, ids: Sequence[str], scopes: Sequence[str]) -> dict[str, MemoryEntry]:
        """Memories by id inside these scopes, active or not, as the first of the scopes sees them."""
        with self._database.read(scopes) as connection:
            return _seen(connection, ids, scopes)

    def versions(self, scopes: Sequence[str], memory_id: str) -> list[EntryVersion]:
        """Every version of one memory, oldest first; also of a removed one."""
        with self._database.read(scopes) as connection:
            current = _fetch(connection, [memory_id], scopes)
            params = {"id": memory_id, "scopes": list(scopes)}
            return versions_of(connection, "entry_id = :id AND scope IN :scopes", params, current)

    def forget(self, scope: str, memory_id: str, *, actor: str, erase: bool, if_version: int | None = None) -> bool:
        """Remove a memory; its versions stay readable unless `erase`, which reaches what it was merged from as well."""
        # Tags that no other entry has are erased too, and only the whole store can tell which these are.
        with self._database.write(None if erase else (scope,)) as connection:
            entry = _fetch(connection, [memory_id], [scope]).get(memory_id)
            if entry is not None:
                of_version(entry, if_version)
            if not erase:
                if entry is not None:
                    forget(connection, entry, actor, erase=False)
                return entry is not None
            erased = sum(_erase(connection, scope, each, actor) for each in _merged_from(connection, scope, memory_id))
            collect(connection)
            return erased > 0

    def update(
        self,
        scope: str,
        memory_id: str,
        values: Mapping[str, Any],
        *,
        actor: str,
        now: datetime,
        if_version: int | None = None,
    ) -> MemoryEntry | None:
        """Change fields of an own memory: a new version, and its tags written anew."""
        with self._database.write((scope,)) as connection:
            before = _fetch(connection, [memory_id], [scope]).get(memory_id)
            if before is None or before.has_expired(now):
                return None
            of_version(before, if_version)
            if before.memory_type == MESSAGE_TYPE and "content" in values:
                raise text_of_message(memory_id)
            after = replace(before, **values, version=before.version + 1, updated_at=max(now, before.updated_at))
            after = update_text_and_log(connection, before, after, actor)
            write_tags(connection, [after])
            return after

    def restore(self, scope: str, memory_id: str, *, actor: str, now: datetime) -> MemoryEntry | None:
        """Make a memory active again that faded, was superseded, archived or forgotten; `None` if it cannot be."""
        with self._database.write((scope,)) as connection:
            present = _fetch(connection, [memory_id], [scope]).get(memory_id)
            if present is not None:
                if not present.is_active:
                    back = _restored(present, _before_superseded(connection, present), now)
                    update_and_log(connection, present, back, "restore", actor)
                    _restart_decay(connection, back, now)
                    return back
                return present
            last = connection.row(_LAST_CHANGE, {"id": memory_id, "scope": scope})
            if last is None:
                visible = visible_scopes(scope)
                return (
                    _seen(connection, [memory_id], visible)[memory_id]
                    if show_again(connection, scope, memory_id)
                    else None
                )
            operation, version, text = last
            if operation not in REMOVED or text is None:
                return None
            before = past_entry(text)
            if before.key is not None:
                return None
            back = _restored(replace(before, version=version), _before_superseded(connection, before), now)
            insert_rows(connection, [back])
            log_changes(connection, [log_line(back, "restore", actor, [], None)])
            write_tags(connection, [back])
            _restart_decay(connection, back, now)
            return back

    def memory_types(self, scopes: Sequence[str]) -> list[str]:
        """The memory types that the runtime has used in these scopes."""
        with self._database.read(scopes) as connection:
            return sorted({kind for scope in scopes for kind in skip_scan(connection, _NEXT_TYPE, {"scope": scope})})

    def scopes(self) -> list[str]:
        """The scopes that have memories of the runtime."""
        with self._database.read() as connection:
            return list(skip_scan(connection, _NEXT_SCOPE))

    def page(self, scope: str, *, active: bool, after_id: str = "", limit: int) -> list[TrackedMemory]:
        """The scope's memories in the order of their ids."""
        sql = _ACTIVE_PAGE if active else _INACTIVE_PAGE
        with self._database.read((scope,)) as connection:
            rows = connection.rows(sql, {"scope": scope, "after": after_id, "limit": limit})
        return [TrackedMemory(entry_of(row), Usage(row[-3], row[-2], moment(row[-1]))) for row in rows]

    def merge(self, scope: str, groups: Sequence[MergeGroup], *, actor: str, now: datetime) -> list[MergeGroup]:
        """Merge groups of this scope's own active memories; returns those that were merged."""
        done: list[MergeGroup] = []
        with self._database.write((scope,)) as connection:
            for group in groups:
                found = _fetch(connection, group.memory_ids, [scope])
                entries = [entry for entry in found.values() if entry.is_active]
                # One of them was changed meanwhile: the next consolidation looks at them again.
                if len(entries) == len(group.memory_ids) and why_not_merged(entries) is None:
                    _merge(connection, scope, entries, group, actor, now)
                    done.append(group)
        return done

    def write_decay(self, decayed: Mapping[str, DecayedStrength], *, actor: str, now: datetime) -> None:
        """Write down what decay made of these memories."""
        with self._database.write(scopes_of(self._database, list(decayed))) as connection:
            for entry in _fetch(connection, list(decayed), None).values():
                left = decayed[entry.id]
                if entry.version != left.version:
                    continue
                after = replace(
                    entry,
                    strength=left.strength,
                    is_active=left.strength > 0,
                    version=entry.version + 1,
                    updated_at=max(now, entry.updated_at),
                )
                update_and_log(connection, entry, after, "update", actor)
                connection.execute(_SET_DECAYED, {"decayed_at": left.decayed_at, "id": entry.id})

    def archive(self, ids: Sequence[str], *, actor: str, now: datetime) -> None:
        """Take inactive memories out of the records; their versions stay."""
        with self._database.write(scopes_of(self._database, ids)) as connection:
            for entry in _fetch(connection, ids, None).values():
                if not entry.is_active:
                    remove_entry(connection, entry, actor, "archive", now)

    def forget_requests(self, before: datetime) -> int:
        """Delete the answers to requests that are too old to be repeated."""
        with self._database.write() as connection:
            return connection.execute(_FORGET_REQUESTS, {"before": before}).rowcount

    @contextmanager
    def sorter(self) -> Iterator[DiskSorter]:
        """Room for sorting what does not fit in memory."""
        with DiskSorter() as sorter:
            yield sorter


class _Feedback:
    """One order, inside the caller's transaction."""

    def __init__(self, connection: Connection, order: FeedbackOrder, actor: str, now: datetime) -> None:
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
        missed = [entry for entry in recalled.values() if entry.id not in useful]
        for chunk in chunks([entry.id for entry in missed if entry.scope == order.scope]):
            self._connection.execute(_COUNT_MISSED, {"ids": chunk})
        for entry in missed:
            if entry.scope != order.scope:
                note(self._connection, order.scope, entry.id, OverlayChange(missed=1))
        _insert(self._connection, order.new, self._actor)
        merged: list[tuple[str, tuple[str, ...]]] = []
        refused: list[tuple[tuple[str, ...], str]] = []
        for group in order.merges:
            entries = list(self._resolved(group.memory_ids).values())
            reason = why_not_merged(entries)
            if reason is None:
                one = _merge(self._connection, order.scope, entries, group, self._actor, self._now)
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
        known = _seen(self._connection, ids, self._order.visible)
        for memory_id in ids:
            entry = known.get(memory_id)
            for _ in range(_MAX_CHAIN):
                if entry is None or entry.is_active or entry.source.kind != SUPERSEDED:
                    break
                successor = entry.source.references[0]
                entry = _seen(self._connection, [successor], self._order.visible).get(successor)
            if entry is None or not entry.is_active:
                self._unknown[memory_id] = None
            else:
                found[entry.id] = entry
        return found

    def _strengthen(self, entry: MemoryEntry) -> None:
        if entry.scope != self._order.scope:
            noted = OverlayChange(strength=1, useful=1, access_count=1, last_accessed_at=self._now)
            note(self._connection, self._order.scope, entry.id, noted)
            return
        after = replace(
            entry,
            strength=added_strength(entry.strength, 1),
            access_count=entry.access_count + 1,
            last_accessed_at=max(self._now, entry.last_accessed_at),
            updated_at=max(self._now, entry.updated_at),
            version=entry.version + 1,
        )
        update_and_log(self._connection, entry, after, "update", self._actor)
        self._connection.execute(_COUNT_USEFUL, {"id": entry.id})


def _answered(connection: Connection, order: FeedbackOrder) -> FeedbackOutcome | None:
    row = connection.row(_ANSWERED, {"scope": order.scope, "request_id": order.request_id})
    if row is None:
        return None
    fingerprint, outcome = row
    if fingerprint != order.fingerprint:
        raise RequestReusedError(
            f"request_id {order.request_id!r} was used for other feedback; give every request an id of its own"
        )
    return FeedbackOutcome.from_json(outcome)


def _fetch(connection: Connection, ids: Sequence[str], scopes: Sequence[str] | None) -> dict[str, MemoryEntry]:
    """Entries by id in the order of the ids; inside these scopes if any are given."""
    found: dict[str, MemoryEntry] = {}
    for chunk in chunks(ids):
        if scopes is None:
            rows = connection.rows(BY_IDS, {"ids": chunk})
        else:
            rows = connection.rows(_BY_IDS_IN_SCOPES, {"ids": chunk, "scopes": list(scopes)})
        found.update((entry.id, entry) for entry in map(entry_of, rows))
    return {entry_id: found[entry_id] for entry_id in dict.fromkeys(ids) if entry_id in found}


def _seen(connection: Connection, ids: Sequence[str], scopes: Sequence[str]) -> dict[str, MemoryEntry]:
    """Entries by id as the first of these scopes sees them."""
    return {entry.id: entry for entry in seen(connection.rows, scopes, _fetch(connection, ids, scopes).values())}


def _insert(connection: Connection, entries: Sequence[MemoryEntry], actor: str) -> None:
    if not entries:
        return
    insert_rows(connection, entries)
    log_changes(connection, [log_line(entry, "create", actor, [], None) for entry in entries])
    if any(entry.tags for entry in entries):
        write_tags(connection, entries)
    connection.executemany(runtime_memories.insert, [_usage_values(entry, Usage()) for entry in entries])


def _usage_values(entry: MemoryEntry, usage: Usage) -> dict[str, object]:
    return {
        "memory_id": entry.id,
        "scope": entry.scope,
        "memory_type": entry.memory_type,
        "useful": usage.useful,
        "missed": usage.missed,
        "decayed_at": usage.decayed_at,
    }


def _merge(
    connection: Connection, scope: str, entries: Sequence[MemoryEntry], group: MergeGroup, actor: str, now: datetime
) -> MemoryEntry:
    """Merge for a scope. Its own memories are superseded; before public ones the merged memory stands for it alone."""
    one, superseded = merge_entries(entries, group, scope=scope, now=now, form=tag_form)
    before = {entry.id: entry for entry in entries}
    own = [entry for entry in superseded if entry.scope == scope]
    for entry in own:
        update_and_log(connection, before[entry.id], entry, "update", actor)
    useful, missed = connection.rows(_SUMS, {"ids": [entry.id for entry in own]})[0]
    public = [entry.id for entry in superseded if entry.scope != scope]
    more_useful, more_missed = usage_sums(connection, scope, public)
    insert_rows(connection, [one])
    log_changes(connection, [log_line(one, "create", actor, [], None)])
    write_tags(connection, [one])
    usage = Usage(int(useful or 0) + more_useful, int(missed or 0) + more_missed, now)
    connection.execute(runtime_memories.insert, _usage_values(one, usage))
    move_fronts(connection, scope, [entry.id for entry in own], one.id)
    for memory_id in public:
        note(connection, scope, memory_id, OverlayChange(superseded_by=one.id))
    return one


def _restored(entry: MemoryEntry, source: Source, now: datetime) -> MemoryEntry:
    return replace(
        entry,
        is_active=True,
        strength=max(1, entry.strength),
        superseded_by=None,
        expires_at=None if entry.has_expired(now) else entry.expires_at,
        source=source,
        updated_at=max(now, entry.updated_at),
        last_accessed_at=max(now, entry.last_accessed_at),
        version=entry.version + 1,
    )


def _before_superseded(connection: Connection, entry: MemoryEntry) -> Source:
    """Where a memory came from before it was merged away."""
    if entry.source.kind != SUPERSEDED:
        return entry.source
    for before in connection.column(_PAST_STATES, {"id": entry.id}):
        source = past_entry(before).source
        if source.kind != SUPERSEDED:
            return source
    return Source("runtime", entry.source.trust)


def _restart_decay(connection: Connection, entry: MemoryEntry, now: datetime) -> None:
    """The strength of a restored memory decays from now on."""
    if not connection.execute(_SET_DECAYED, {"decayed_at": now, "id": entry.id}).rowcount:
        connection.execute(runtime_memories.insert, _usage_values(entry, Usage(decayed_at=now)))


def _merged_from(connection: Connection, scope: str, memory_id: str) -> list[str]:
    """The memory and everything of its scope that it was merged from, and that was merged from, and so on."""
    found: dict[str, None] = {}
    waiting = [memory_id]
    while waiting:
        one = waiting.pop()
        if one in found:
            continue
        found[one] = None
        present = _fetch(connection, [one], [scope]).values()
        past = connection.column(_PAST_STATES_IN_SCOPE, {"id": one, "scope": scope})
        states = [*present, *map(past_entry, past)]
        waiting += [each for state in states if state.source.kind == MERGE for each in state.source.references]
    return list(found)


def _erase(connection: Connection, scope: str, memory_id: str, actor: str) -> bool:
    """Delete a memory with the texts of all its versions; whether there was anything."""
    entry = _fetch(connection, [memory_id], [scope]).get(memory_id)
    if entry is not None:
        forget(connection, entry, actor, erase=True)
    erase_made_of(connection, scope, None, memory_id, actor)
    erased = erase_texts(connection, "entry_id = :id AND scope = :scope", {"id": memory_id, "scope": scope})
    return entry is not None or erased > 0

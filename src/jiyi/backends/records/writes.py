"""Writing entries inside the caller's transaction: rows, their tags, and their lines in the change log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from jiyi.backends.records import metadata_index, tags
from jiyi.backends.records.changelog import creation_line, erase_texts, last_versions, log_changes, log_line
from jiyi.backends.records.codec import BY_IDS, BY_KEY, SELECT_ENTRY, changed_fields, entry_of, entry_row, entry_values
from jiyi.backends.records.requests import keep_request
from jiyi.backends.records.schema import memory_records
from jiyi.backends.records.sql import Connection, Database, chunks
from jiyi.model import clock
from jiyi.model.entry import MESSAGE_TYPE, MemoryEntry
from jiyi.model.identity import new_id
from jiyi.ports import Draft

if TYPE_CHECKING:
    from jiyi.backends.records.history import SaveResult

_MIN_KEYS_ALONE = 20
"""From so many keys of one scope on, the scope is looked up by a statement of its own."""

_ID_BY_KEY = "SELECT id FROM memory_records WHERE scope = :scope AND key = :key"
_BY_KEYS = f"{SELECT_ENTRY} WHERE scope = :scope AND key IN :keys"
_BY_PAIRS = f"{SELECT_ENTRY} WHERE (scope, key) IN PAIRS :pairs"
_values_of = itemgetter(*memory_records.names)
_UPDATE = f"{memory_records.update_of(memory_records.names[1:])} WHERE id = :id"
_DELETE = "DELETE FROM memory_records WHERE id = :id"
_DELETE_MANY = "DELETE FROM memory_records WHERE id IN :ids"
_DELETE_OF_SCOPE = f"{_DELETE_MANY} AND scope || '' = :scope"
_MESSAGES = f"{BY_IDS} AND memory_type = '{MESSAGE_TYPE}' AND scope || '' = :scope"
_SHOW = "UPDATE memory_records SET last_accessed_at = :at WHERE id IN :ids"
_TOUCH = "UPDATE memory_records SET access_count = access_count + 1, last_accessed_at = :at WHERE id IN :ids"
_SCOPES = "SELECT DISTINCT scope FROM memory_records WHERE id IN :ids"


def put_drafts(connection: Connection, drafts: Sequence[Draft], actor: str) -> list[MemoryEntry]:
    """Insert or update by (scope, key); returns the entries as stored."""
    stored: list[MemoryEntry] = []
    for group in _groups_without_repeated_keys(drafts):
        stored.extend(_put_group(connection, group, actor))
    keep_request(connection, [entry.id for entry in stored])
    return stored


def _put_group(connection: Connection, drafts: Sequence[Draft], actor: str) -> list[MemoryEntry]:
    existing = _existing_by_key(connection, [draft.entry for draft in drafts])
    stored: list[MemoryEntry] = []
    inserts: list[MemoryEntry] = []
    updates: list[MemoryEntry] = []
    retagged: list[MemoryEntry] = []
    lines: list[dict[str, Any]] = []
    for draft in drafts:
        entry = draft.entry
        before = existing.get((entry.scope, entry.key)) if entry.key is not None else None
        if before is None:
            inserts.append(entry)
            lines.append(log_line(entry, "create", actor, [], None))
            if entry.tags:
                retagged.append(entry)
        else:
            entry = _updated(before, draft)
            changed = changed_fields(before, entry)
            updates.append(entry)
            lines.append(log_line(entry, "update", actor, changed, before))
            if "tags" in changed:
                retagged.append(entry)
        stored.append(entry)
    insert_rows(connection, inserts)
    for entry in updates:
        update_row(connection, entry)
    log_changes(connection, lines)
    for entry in updates:
        _drop_old_reflection(connection, existing[entry.scope, str(entry.key)], entry, actor)
    if retagged:
        tags.write_tags(connection, retagged)
    return stored


def insert_rows(connection: Connection, entries: Sequence[MemoryEntry]) -> None:
    """The rows of new entries, without lines in the change log."""
    connection.insert(memory_records, list(map(entry_row, entries)))
    metadata_index.add_entries(connection, [(entry.id, entry.scope) for entry in entries if entry.metadata])


def insert_and_log(connection: Connection, entries: Sequence[MemoryEntry], actor: str) -> None:
    """New entries without tags, and their lines in the change log."""
    insert_rows(connection, entries)
    log_changes(connection, [log_line(entry, "create", actor, [], None) for entry in entries])


def _insert_values_and_log(connection: Connection, rows: Sequence[Mapping[str, Any]], actor: str) -> None:
    connection.insert(memory_records, list(map(_values_of, rows)))
    metadata_index.add_entries(connection, [(row["id"], row["scope"]) for row in rows if row["metadata"] != "{}"])
    log_changes(connection, [creation_line(row, actor) for row in rows])


def update_row(connection: Connection, entry: MemoryEntry) -> None:
    """Make the row of an entry what the entry is, without a line in the change log."""
    connection.execute(_UPDATE, entry_values(entry))


def update_and_log(connection: Connection, before: MemoryEntry, after: MemoryEntry, operation: str, actor: str) -> None:
    """A new version of an entry, and its line in the change log."""
    update_row(connection, after)
    log_changes(connection, [log_line(after, operation, actor, changed_fields(before, after), before)])


def update_text_and_log(connection: Connection, before: MemoryEntry, after: MemoryEntry, actor: str) -> MemoryEntry:
    """The same for a version that may have another text: a reflection that repeats the old one is removed."""
    after = _without_old_reflection(before, after)
    update_and_log(connection, before, after, "update", actor)
    _drop_old_reflection(connection, before, after, actor)
    return after


def remove_entry(
    connection: Connection, entry: MemoryEntry, actor: str, operation: str, now: datetime | None = None
) -> None:
    """Take an entry out of the records; the change log keeps it, unless it is erased."""
    removed = replace(entry, version=entry.version + 1, updated_at=now or clock.utc_now())
    connection.execute(_DELETE, {"id": entry.id})
    log_changes(connection, [log_line(removed, operation, actor, [], None if operation == "erase" else entry)])


def delete_rows(connection: Connection, ids: Sequence[str]) -> int:
    """Delete rows by id, without lines in the change log; returns how many there were."""
    return sum(connection.execute(_DELETE_MANY, {"ids": chunk}).rowcount for chunk in chunks(ids))


def remember_messages(connection: Connection, scope: str, saved: SaveResult, actor: str, *, recallable: bool) -> None:
    """What was said becomes entries, and what is no longer in the record leaves recall."""
    forget_messages(connection, scope, saved.replaced, actor)
    if saved.withdrawn:
        from jiyi.backends.records.entries import withdraw_messages

        withdraw_messages(connection, scope, saved.withdrawn, actor)
    if recallable:
        _insert_values_and_log(connection, [values for values in saved.written if values is not None], actor)


def forget_messages(connection: Connection, scope: str, ids: Sequence[str], actor: str) -> None:
    """Take the entries of messages out of recall; an entry of another scope or kind that has such an id stays."""
    for chunk in chunks(ids):
        for row in connection.rows(_MESSAGES, {"ids": chunk, "scope": scope}):
            remove_entry(connection, entry_of(row), actor, "forget")


def erase_messages(connection: Connection, scope: str, ids: Sequence[str], actor: str) -> int:
    """Delete the entries of messages, and the texts of all versions, for good; returns how many entries there were.

    Each leaves an erasing line in the change log, also one that was never recallable: an import of an old export finds
    it there and does not bring the message back.
    """
    erased = 0
    for chunk in chunks(ids):
        own = {"ids": chunk, "scope": scope}
        erased += connection.execute(_DELETE_OF_SCOPE, own).rowcount
        erase_texts(connection, "entry_id IN :ids AND scope || '' = :scope", own)
        log_removals(connection, scope, chunk, actor, "erase")
    return erased


def log_removals(connection: Connection, scope: str, ids: Sequence[str], actor: str, operation: str) -> None:
    """Lines that say that messages were removed, also those that never were entries."""
    now = clock.utc_now()
    versions = last_versions(connection, ids)
    lines = [
        {
            "entry_id": message_id,
            "scope": scope,
            "key": None,
            "version": versions.get(message_id, 0) + 1,
            "operation": operation,
            "changed_at": now,
            "changed_by": actor,
            "changed": "[]",
            "before": None,
        }
        for message_id in ids
    ]
    log_changes(connection, lines)


def mark_erased(connection: Connection, scope: str, key: str, actor: str) -> None:
    """An erasing line that stands for something that is no entry: by its key it is known later what was erased."""
    line = {
        "entry_id": new_id(),
        "scope": scope,
        "key": key,
        "version": 1,
        "operation": "erase",
        "changed_at": clock.utc_now(),
        "changed_by": actor,
        "changed": "[]",
        "before": None,
    }
    log_changes(connection, [line])


def erase_versions(connection: Connection, scope: str, key: str | None, entry_id: str | None = None) -> int:
    """Delete the texts of all versions, and the tags that nothing else has; returns how many versions had one.

    The versions are those of the entry with this id, or else of all entries that had the key.
    """
    if entry_id is None:
        erased = erase_texts(connection, "scope = :scope AND key = :key", {"scope": scope, "key": key})
    else:
        erased = erase_texts(connection, "scope = :scope AND entry_id = :id", {"scope": scope, "id": entry_id})
    tags.collect(connection)
    return erased


def touch(connection: Connection, ids: Sequence[str], at: datetime, *, used: bool, scope: str | None) -> None:
    """Note the time of access to these entries, with `used` count it; with a scope only to its own."""
    statement = _TOUCH if used else _SHOW
    if scope is None:
        connection.execute(statement, {"ids": ids, "at": at})
    else:
        connection.execute(f"{statement} AND scope || '' = :scope", {"ids": ids, "at": at, "scope": scope})


def scopes_of(database: Database, ids: Sequence[str]) -> list[str] | None:
    """The scopes of these entries, to be locked by a write; an entry never leaves its scope.

    `None` where it makes no difference, because the engine has one writer at a time.
    """
    if database.dialect == "sqlite":
        return None
    return sorted(row[0] for row in database.query(_SCOPES, {"ids": list(ids)}))


def _updated(before: MemoryEntry, draft: Draft) -> MemoryEntry:
    """The next version of an entry: identity, creation time and access counts are kept."""
    new = draft.entry
    # What has expired is gone: nothing of it is kept.
    keep = frozenset[str]() if before.has_expired(new.updated_at) else draft.keep
    after = replace(
        new,
        **{name: getattr(before, name) for name in keep},
        id=before.id,
        created_at=before.created_at,
        updated_at=max(new.updated_at, before.updated_at),
        last_accessed_at=before.last_accessed_at,
        access_count=before.access_count,
        pinned=before.pinned or new.pinned,
        summarized_by=before.summarized_by,
        version=before.version + 1,
    )
    return _without_old_reflection(before, after)


def _without_old_reflection(before: MemoryEntry, after: MemoryEntry) -> MemoryEntry:
    """The next version of an entry; no reflection speaks for a text that it does not have, or for one that expires."""
    if before.summarized_by is None or (after.content == before.content and after.expires_at is None):
        return after
    return replace(after, summarized_by=None)


def _drop_old_reflection(connection: Connection, before: MemoryEntry, after: MemoryEntry, actor: str) -> None:
    """Remove a reflection that repeats what an entry said before, and release the other facts of it."""
    if before.summarized_by is not None and after.summarized_by is None:
        from jiyi.backends.records.longterm import unlink

        unlink(connection, before, actor, erase=False)


def _groups_without_repeated_keys(drafts: Sequence[Draft]) -> Iterator[list[Draft]]:
    """Split where a key repeats, so that each of its versions is written after the one before."""
    group: list[Draft] = []
    seen: set[tuple[str, str]] = set()
    for draft in drafts:
        if draft.entry.key is not None:
            identity = (draft.entry.scope, draft.entry.key)
            if identity in seen:
                yield group
                group, seen = [], set()
            seen.add(identity)
        group.append(draft)
    if group:
        yield group


def _existing_by_key(
    connection: Connection, entries: Sequence[MemoryEntry]
) -> dict[tuple[str, str | None], MemoryEntry]:
    keyed = [(entry.scope, entry.key) for entry in entries if entry.key is not None]
    if len(keyed) == 1:
        one = {"scope": keyed[0][0], "key": keyed[0][1]}
        # Mostly there is none, and the index alone can say so.
        if connection.row(_ID_BY_KEY, one) is None:
            return {}
        return _by_place(connection.rows(BY_KEY, one))
    by_scope: dict[str, list[str]] = {}
    for scope, key in keyed:
        by_scope.setdefault(scope, []).append(key)
    found: dict[tuple[str, str | None], MemoryEntry] = {}
    few: list[tuple[str, str]] = []
    for scope, keys in by_scope.items():
        if len(keys) < _MIN_KEYS_ALONE:
            few += [(scope, key) for key in keys]
            continue
        for chunk in chunks(keys):
            found |= _by_place(connection.rows(_BY_KEYS, {"scope": scope, "keys": chunk}))
    # A load of many scopes has a few keys of each: one statement for all of them, not one for each scope.
    for pairs in chunks(few):
        found |= _by_place(connection.rows(_BY_PAIRS, {"pairs": json.dumps(pairs)}))
    return found


def _by_place(rows: Sequence[Sequence[Any]]) -> dict[tuple[str, str | None], MemoryEntry]:
    return {(entry.scope, entry.key): entry for entry in map(entry_of, rows)}

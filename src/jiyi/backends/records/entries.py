"""Changes of entries that exist: patches, forgetting of one or many, and expiry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from jiyi.backends.records import tags, writes
from jiyi.backends.records.changelog import erase_texts, last_versions
from jiyi.backends.records.codec import BY_IDS, BY_KEY, SELECT_ENTRY, entry_of
from jiyi.backends.records.filters import where
from jiyi.backends.records.schema import ACTIVE, ARCHIVED_BY_EXPIRY
from jiyi.backends.records.sql import Connection
from jiyi.errors import InvalidInputError, VersionConflictError
from jiyi.model import clock
from jiyi.model.entry import DEFAULT_MEMORY_TYPE, MESSAGE_TYPE, REFLECTION_TYPE, MemoryEntry
from jiyi.model.filters import Filters

BY_ID: Final = f"{SELECT_ENTRY} WHERE id = :id AND scope || '' IN :scopes"
_IDS_OF_KEY: Final = "SELECT DISTINCT entry_id FROM memory_changes WHERE scope = :scope AND key = :key"
_FACTS_OF_SESSION: Final = (
    f"{SELECT_ENTRY} WHERE scope = :scope AND conversation_id = :session_id AND position IS NULL "
    "AND memory_type = 'fact' ORDER BY id"
)
_SESSIONS_OF: Final = (
    "SELECT DISTINCT session_id FROM conversation_history WHERE message_id IN :ids AND scope || '' = :scope"
)
_EXPIRED: Final = f"FROM memory_records WHERE expires_at IS NOT NULL AND expires_at <= :at AND {ACTIVE}"
_COUNT_EXPIRED: Final = f"SELECT count(*) {_EXPIRED}"
_SELECT_EXPIRED: Final = f"SELECT id, scope {_EXPIRED}"
_IN_SCOPES: Final = " AND scope IN :scopes"


def of_version(entry: MemoryEntry, version: int | None) -> MemoryEntry:
    """The entry, if it has the version that the caller means."""
    if version is not None and entry.version != version:
        raise VersionConflictError(
            f"entry {entry.id} has version {entry.version}, not {version}: it was changed meanwhile; read it again"
        )
    return entry


def text_of_message(name: str) -> InvalidInputError:
    """The error for a change of what was said."""
    return InvalidInputError(f"{name} is a message; its text is changed in its conversation")


def update(
    connection: Connection,
    scope: str,
    key_or_id: str,
    changes: Mapping[str, Any],
    actor: str,
    *,
    if_version: int | None = None,
    by_id: bool = False,
) -> MemoryEntry | None:
    """A new version of the entry with this key, or else this id; `None` when the scope has none."""
    row = None if by_id else connection.row(BY_KEY, {"scope": scope, "key": key_or_id})
    if row is None:
        row = connection.row(BY_ID, {"id": key_or_id, "scopes": [scope]})
    now = clock.utc_now()
    if row is None or not (before := entry_of(row)).is_active or before.has_expired(now):
        return None
    of_version(before, if_version)
    if before.memory_type == MESSAGE_TYPE and "content" in changes:
        raise text_of_message(key_or_id)
    after = replace(before, **changes, version=before.version + 1, updated_at=max(now, before.updated_at))
    after = writes.update_text_and_log(connection, before, after, actor)
    if after.tags != before.tags:
        tags.write_tags(connection, [after])
    return after


def forget(
    connection: Connection,
    entry: MemoryEntry,
    actor: str,
    *,
    erase: bool,
    with_messages: bool = True,
    bulk: bool = False,
) -> None:
    """Remove an entry and what was made of it; with `erase` also the texts of its versions.

    The messages that a fact was made of say the same: they leave recall with it, and stay in their conversation. What
    a fact took the place of holds again, except where many are removed in `bulk`.
    """
    if erase and entry.memory_type == MESSAGE_TYPE:
        raise InvalidInputError(
            f"{entry.id} is a message, and its text would stay in its conversation; forget_session("
            f"{entry.conversation_id!r}) erases that, forget without erase takes the message out of recall"
        )
    operation = "erase" if erase else "forget"
    writes.remove_entry(connection, entry, actor, operation)
    if with_messages and entry.memory_type == DEFAULT_MEMORY_TYPE and entry.source.references:
        for row in connection.rows(BY_IDS, {"ids": list(entry.source.references)}):
            said = entry_of(row)
            if said.memory_type == MESSAGE_TYPE and said.scope == entry.scope:
                writes.remove_entry(connection, said, actor, operation)
    if not bulk and entry.memory_type == DEFAULT_MEMORY_TYPE:
        from jiyi.backends.records.longterm import bring_back

        bring_back(connection, entry, actor)
    if entry.summarized_by is not None or entry.memory_type == REFLECTION_TYPE:
        # What was made of the entry is deleted with it.
        from jiyi.backends.records.longterm import unlink

        unlink(connection, entry, actor, erase=erase)
    if erase:
        erase_made_of(connection, entry.scope, entry.key, entry.id, actor)
        erase_texts(connection, "entry_id = :id", {"id": entry.id})
        if entry.key is not None:
            # Other entries had the key before.
            erase_texts(connection, "scope = :scope AND key = :key", {"scope": entry.scope, "key": entry.key})


def facts_of_session(connection: Connection, scope: str, session_id: str) -> list[MemoryEntry]:
    """The facts that were made of what was said in a session, replaced ones too."""
    found = map(entry_of, connection.rows(_FACTS_OF_SESSION, {"scope": scope, "session_id": session_id}))
    # A fact that somebody has stored for the session was not made of its messages.
    return [entry for entry in found if entry.source.references]


def forget_facts(
    connection: Connection, facts: Sequence[MemoryEntry], messages: Sequence[str], actor: str
) -> tuple[int, int]:
    """Erase the facts that were made of these messages alone; returns how many went, and how many active ones stay."""
    said = set(messages)
    gone = [fact for fact in facts if said.issuperset(fact.source.references)]
    for fact in gone:
        # Erasing one may have changed or removed another.
        row = connection.row(BY_ID, {"id": fact.id, "scopes": [fact.scope]})
        if row is not None:
            forget(connection, entry_of(row), actor, erase=True, with_messages=False)
    if gone:
        tags.collect(connection)
    return len(gone), sum(fact.is_active for fact in facts) - sum(fact.is_active for fact in gone)


def withdraw_messages(connection: Connection, scope: str, ids: Sequence[str], actor: str) -> None:
    """Take messages that somebody asks not to keep out of recall, with the facts that were made of them alone."""
    known = last_versions(connection, ids)
    writes.forget_messages(connection, scope, ids, actor)
    for session_id in connection.column(_SESSIONS_OF, {"ids": list(ids), "scope": scope}):
        # What never was an entry needs a line too: nothing is learned of a message with such a line.
        writes.log_removals(connection, scope, [each for each in ids if each not in known], actor, "forget")
        for fact in facts_of_session(connection, scope, session_id):
            row = connection.row(BY_ID, {"id": fact.id, "scopes": [scope]})
            if row is not None and set(ids).issuperset(fact.source.references):
                forget(connection, entry_of(row), actor, erase=False, with_messages=False)


def erase_made_of(connection: Connection, scope: str, key: str | None, entry_id: str | None, actor: str) -> None:
    """Erase what repeats the texts of the entry with this id, and of all that had the key; also if they are gone."""
    from jiyi.backends.records.longterm import erase_reflections

    ids = [] if entry_id is None else [entry_id]
    if key is not None:
        ids += connection.column(_IDS_OF_KEY, {"scope": scope, "key": key})
    erase_reflections(connection, scope, list(dict.fromkeys(ids)), actor)


def forget_some(connection: Connection, filters: Filters, actor: str, *, limit: int, erase: bool) -> int:
    """Forget at most `limit` entries that the filters admit; returns how many."""
    condition, params = where(filters, connection.dialect)
    ids = connection.column(f"SELECT id FROM memory_records WHERE {condition} LIMIT :limit", {**params, "limit": limit})
    count = 0
    for entry_id in ids:
        # Forgetting one may have changed or removed another: each is read when it is its turn.
        row = connection.row(BY_ID, {"id": entry_id, "scopes": list(filters.scopes)})
        if row is not None:
            forget(connection, entry_of(row), actor, erase=erase, bulk=True)
        count += 1
    if erase and count:
        tags.collect(connection)
    return count


def count_expired(connection: Connection, scopes: Sequence[str] | None, at: datetime) -> int:
    """How many active entries have expired."""
    return int(connection.scalar(*_of(_COUNT_EXPIRED, scopes, at)))


def archive_expired(
    connection: Connection, scopes: Sequence[str] | None, at: datetime, actor: str, *, limit: int
) -> int:
    """Make at most `limit` entries inactive that have expired; returns how many."""
    sql, params = _of(_SELECT_EXPIRED, scopes, at)
    found = connection.rows(f"{sql} LIMIT :limit", {**params, "limit": limit})
    for entry_id, scope in found:
        row = connection.row(BY_ID, {"id": entry_id, "scopes": [scope]})
        if row is not None:
            before = entry_of(row)
            updated_at = max(at, before.updated_at)
            after = replace(before, is_active=False, version=before.version + 1, updated_at=updated_at)
            writes.update_text_and_log(connection, before, after, actor)
    return len(found)


def archived(connection: Connection, filters: Filters, *, limit: int) -> list[MemoryEntry]:
    """Entries that were archived because they had expired, the last of them first."""
    condition, params = where(filters, connection.dialect)
    sql = f"{SELECT_ENTRY} WHERE {ARCHIVED_BY_EXPIRY} AND {condition} ORDER BY updated_at DESC, id LIMIT :limit"
    return [entry_of(row) for row in connection.rows(sql, {**params, "limit": limit})]


def _of(sql: str, scopes: Sequence[str] | None, at: datetime) -> tuple[str, dict[str, Any]]:
    if scopes is None:
        return sql, {"at": at}
    return sql + _IN_SCOPES, {"at": at, "scopes": list(scopes)}

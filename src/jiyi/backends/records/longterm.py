"""What the long-term room writes and asks for beyond the records: rounds, corrections, forgetting, reflections."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from jiyi.backends.records import history
from jiyi.backends.records.changelog import erase_texts, log_changes, log_line
from jiyi.backends.records.codec import BY_IDS, ENTRY_FIELDS, SELECT_ENTRY, changed_fields, entry_of, entry_values
from jiyi.backends.records.jobs import finish_job, insert_job
from jiyi.backends.records.schema import ACTIVE, INACTIVE, NOT_EXPIRED, memory_records
from jiyi.backends.records.sql import Connection, Database, Row, chunks, moment, skip_scan
from jiyi.backends.records.writes import insert_and_log, remember_messages, remove_entry
from jiyi.model import clock
from jiyi.model.entry import FACT_TYPE, MESSAGE_TYPE, REFLECTION_TYPE, MemoryEntry
from jiyi.model.job import Job, JobDraft
from jiyi.model.message import Message
from jiyi.model.rest_of_fact import is_rest_of
from jiyi.ports import Amendment, ForgettingCandidate, ForgettingPosition
from jiyi.ports.longterm import MessagesDeletedError

_LONGTERM: Final = f"domain IS NOT NULL AND memory_type != '{MESSAGE_TYPE}'"
_BY_ID = f"{SELECT_ENTRY} WHERE id = :id"
_BY_ID_IN_SCOPE = f"{_BY_ID} AND scope = :scope"
# The scope as an expression: the rows are looked up by id.
_BY_IDS_IN_SCOPE = f"{BY_IDS} AND scope || '' = :scope"
_BY_KEYS = f"{SELECT_ENTRY} WHERE scope = :scope AND key IN :keys"
_FACTS = (
    f"{SELECT_ENTRY} WHERE {ACTIVE} AND {_LONGTERM} AND scope = :scope AND memory_type = 'fact' "
    "ORDER BY created_at DESC, id DESC LIMIT :limit"
)
_PROFILE_ORDER = "ORDER BY pinned DESC, importance_score DESC, created_at DESC, id DESC"
_PROFILE_FACTS = (
    f"{SELECT_ENTRY} WHERE id IN (SELECT id FROM memory_records WHERE {ACTIVE} AND {_LONGTERM} AND scope = :scope "
    f"AND memory_type = 'fact' AND {NOT_EXPIRED} {_PROFILE_ORDER} LIMIT :limit) {_PROFILE_ORDER}"
)
"""The ids are sorted alone: texts of thousands of facts would take several times as long."""
_CONFLICTING = (
    f"{SELECT_ENTRY} WHERE {ACTIVE} AND {_LONGTERM} AND scope = :scope AND memory_type = 'fact' "
    "AND source LIKE '%\"conflicts_with\"%' ORDER BY created_at DESC, id DESC LIMIT :limit"
)
"""Few facts have a conflict: the others are not read into values. A text with these words in it is sorted out later."""
_REPLACED_BY = (
    f"{SELECT_ENTRY} WHERE scope = :scope AND superseded_by = :id AND {INACTIVE} "
    "ORDER BY updated_at DESC, id DESC LIMIT :limit"
)
_MADE_OF_SAME = (
    f"{SELECT_ENTRY} WHERE {ACTIVE} AND {_LONGTERM} AND scope = :scope AND memory_type = 'fact' AND source LIKE :said"
)
_MAX_BROUGHT_BACK: Final = 1_000
_UNSUMMARIZED = (
    f"{SELECT_ENTRY} WHERE {ACTIVE} AND {_LONGTERM} AND scope = :scope AND memory_type = 'fact' "
    "AND summarized_by IS NULL AND pinned IS NOT TRUE AND expires_at IS NULL "
    "ORDER BY created_at DESC, id DESC LIMIT :limit"
)
_LAST_REFLECTION = (
    f"SELECT created_at FROM memory_records WHERE {_LONGTERM} AND scope = :scope AND memory_type = 'reflection' "
    "AND summarized_by IS NULL ORDER BY created_at DESC LIMIT 1"
)
_CORRECTED_AT = (
    "coalesce(CASE WHEN newer.event_time < newer.created_at THEN newer.event_time ELSE newer.created_at END, "
    "memory_records.updated_at)"
)
"""When the newer fact was said, if that was told later; when it was stored, if it is about something to come."""
_SUPERSEDED = (
    f"SELECT {', '.join(f'memory_records.{name}' for name in ENTRY_FIELDS)}, {_CORRECTED_AT} FROM memory_records "
    "LEFT JOIN memory_records newer ON newer.id = memory_records.superseded_by WHERE memory_records.scope IN :scopes "
    "AND memory_records.superseded_by IS NOT NULL "
    "AND (memory_records.created_at <= :before OR memory_records.event_time <= :before) "
    f"AND {_CORRECTED_AT} > :before ORDER BY memory_records.created_at DESC LIMIT :limit"
)
_INACTIVE = f"{SELECT_ENTRY} WHERE scope = :scope AND {INACTIVE} AND {_LONGTERM} ORDER BY updated_at DESC LIMIT :limit"
_NEXT_SCOPE = "SELECT min(scope) FROM memory_records WHERE scope > :after"
_CANDIDATES = (
    "SELECT id, created_at, last_accessed_at, access_count, importance_score, source, content, event_time "
    f"FROM memory_records WHERE {ACTIVE} AND {_LONGTERM} AND scope = :scope AND pinned IS NOT TRUE "
    "AND memory_type NOT IN :without_types"
)
_CANDIDATES_AFTER = " AND created_at >= :moment AND (created_at > :moment OR (created_at = :moment AND id > :after_id))"
_CANDIDATES_ORDER = " ORDER BY created_at, id LIMIT :limit"
_OF_REFLECTION = f"{SELECT_ENTRY} WHERE scope = :scope AND summarized_by = :reflection"
_MADE_OF = (
    f"{SELECT_ENTRY} WHERE {_LONGTERM} AND scope = :scope AND memory_type = '{REFLECTION_TYPE}' AND source LIKE :fact"
)
_OF_REFLECTIONS = "key >= 'ltr' AND key < 'lts'"
"""Lines of the change log, by the keys that reflections get."""
_TAKEN_KEYS = "SELECT key FROM memory_records WHERE scope = :scope AND key IN :keys"
_AMENDABLE: Final = (
    *("is_active", "pinned", "superseded_by", "summarized_by", "source", "expires_at"),
    *("last_accessed_at", "version", "updated_at"),
)
_AMEND = f"{memory_records.update_of(_AMENDABLE)} WHERE id = :id"
# Without the columns that stay: their indexes would be written again.
_FORGET = f"{memory_records.update_of(('is_active', 'version', 'updated_at'))} WHERE id = :id"


class SqlLongtermStore:
    """The long-term room's side of the record store. Each change is one short transaction."""

    def __init__(self, database: Database, now: Callable[[], datetime] = clock.utc_now) -> None:
        self._database = database
        self._now = now

    # --- rounds -----------------------------------------------------------------------------------------------------

    def append_messages(
        self,
        scope: str,
        session_id: str,
        messages: Sequence[Message],
        *,
        actor: str,
        recallable: bool,
        job: JobDraft | None = None,
        rounds: Sequence[tuple[JobDraft, range]] = (),
        said_at: datetime | None = None,
    ) -> list[str]:
        """Add messages to a session, and the jobs that are about them, in one transaction; returns the message ids."""
        with self._database.write((scope,) if job is None else (scope, job.scope)) as connection:
            saved = history.append(connection, scope, session_id, messages, self._now(), said_at=said_at)
            remember_messages(connection, scope, saved, actor, recallable=recallable)
            if job is not None:
                # What the job is about may have been said before, such as the question to this reply.
                payload = {**job.payload, "messages": [*job.payload.get("messages", ()), *saved.ids]}
                insert_job(connection, replace(job, payload=payload), self._now())
            for each, places in rounds:
                payload = {**each.payload, "messages": [saved.ids[place] for place in places]}
                insert_job(connection, replace(each, payload=payload), self._now())
        return saved.ids

    def messages(self, scope: str, ids: Sequence[str]) -> list[tuple[str, Message, datetime]]:
        """(id, message, when it was said) of these messages of the scope; also of those that were replaced since."""
        with self._database.read((scope,)) as connection:
            return history.messages_by_id(connection, scope, ids)

    def undeleted_messages(self, scope: str, ids: Sequence[str]) -> list[tuple[str, Message, datetime]]:
        """The same without those that were forgotten or taken out of their conversation."""
        with self._database.read((scope,)) as connection:
            return history.undeleted_messages(connection, scope, ids)

    # --- writing entries --------------------------------------------------------------------------------------------

    def commit(
        self,
        scope: str,
        entries: Sequence[MemoryEntry],
        amendments: Sequence[Amendment] = (),
        *,
        actor: str,
        finished: Job | None = None,
        jobs: Sequence[JobDraft] = (),
        all_or_nothing: bool = False,
        made_of: Sequence[str] = (),
    ) -> list[MemoryEntry] | None:
        """New entries, changes of old ones and what becomes of the jobs, all in one transaction.

        An entry whose key is taken is left out: another writer has stored it. `None`, and nothing changed, when the
        finished job is no longer the caller's. With `all_or_nothing` only the job is finished when an entry that is to
        be changed has another version. `MessagesDeletedError`, and nothing changed, when one of the messages that it is
        `made_of` was deleted.
        """
        with self._database.write([scope, *(one.scope for one in (finished, *jobs) if one is not None)]) as connection:
            now = self._now()
            if finished is not None and not finish_job(connection, finished, now):
                return None
            if made_of and len(history.undeleted_messages(connection, scope, made_of)) < len(made_of):
                raise MessagesDeletedError
            if all_or_nothing and not all(_is_as_expected(connection, scope, each) for each in amendments):
                return []
            fresh = _without_taken_keys(connection, scope, entries)
            insert_and_log(connection, fresh, actor)
            stored = {entry.id for entry in fresh}
            known = {entry.id for entry in entries}
            for amendment in amendments:
                # A correction by an entry that was not stored corrects nothing.
                by = amendment.because
                if by is None or by in stored or by not in known:
                    _amend(connection, scope, amendment, actor, now)
            for job in jobs:
                insert_job(connection, job, now)
        return fresh

    def amend(self, scope: str, amendments: Sequence[Amendment], *, actor: str) -> list[MemoryEntry]:
        """Change entries of a scope in one transaction; returns those that were as expected, changed."""
        with self._database.write((scope,)) as connection:
            now = self._now()
            done = [_amend(connection, scope, amendment, actor, now) for amendment in amendments]
        return [entry for entry in done if entry is not None]

    # --- asking -----------------------------------------------------------------------------------------------------

    def by_ids(self, scope: str, ids: Sequence[str]) -> list[MemoryEntry]:
        """Entries of a scope by id, active or not, in the order asked for."""
        found: dict[str, MemoryEntry] = {}
        with self._database.read((scope,)) as connection:
            for chunk in chunks(ids):
                rows = connection.rows(_BY_IDS_IN_SCOPE, {"ids": chunk, "scope": scope})
                found.update((entry.id, entry) for entry in map(entry_of, rows))
        return [found[entry_id] for entry_id in ids if entry_id in found]

    def by_keys(self, scope: str, keys: Sequence[str]) -> dict[str, MemoryEntry]:
        """Entries of a scope by key, active or not."""
        with self._database.read((scope,)) as connection:
            rows = connection.rows(_BY_KEYS, {"scope": scope, "keys": list(keys)})
        return {str(entry.key): entry for entry in map(entry_of, rows)}

    def facts(self, scope: str, *, limit: int) -> list[MemoryEntry]:
        """The newest active facts of a scope, newest first."""
        return self._entries(_FACTS, scope, limit)

    def profile_facts(self, scope: str, now: datetime, *, limit: int) -> list[MemoryEntry]:
        """The active facts of a scope that have not expired: the pinned first, then the most important, then newer."""
        with self._database.read((scope,)) as connection:
            params = {"scope": scope, "alive_at": now, "limit": limit}
            return [entry_of(row) for row in connection.rows(_PROFILE_FACTS, params)]

    def conflicting(self, scope: str, *, limit: int) -> list[MemoryEntry]:
        """The newest active facts that may contradict older ones, newest first."""
        return self._entries(_CONFLICTING, scope, limit)

    def unsummarized(self, scope: str, *, limit: int) -> list[MemoryEntry]:
        """The newest facts that no reflection summarizes yet, without those that are pinned or expire, newest first."""
        return self._entries(_UNSUMMARIZED, scope, limit)

    def last_reflection(self, scope: str) -> datetime | None:
        """When the newest reflection of a scope was made."""
        with self._database.read((scope,)) as connection:
            return moment(connection.scalar(_LAST_REFLECTION, {"scope": scope}))

    def superseded(self, scopes: Sequence[str], before: datetime, *, limit: int) -> list[tuple[MemoryEntry, datetime]]:
        """Entries that were known before a time and corrected after it, with the time of the correction."""
        params = {"scopes": list(scopes), "before": before, "limit": limit}
        with self._database.read(scopes) as connection:
            rows = connection.rows(_SUPERSEDED, params)
        return [(entry_of(row), clock.of_driver(row[-1])) for row in rows]

    def replaced_by(self, scope: str, entry_id: str, *, limit: int) -> list[MemoryEntry]:
        """The entries that this one has superseded, the last changed first."""
        with self._database.read((scope,)) as connection:
            rows = connection.rows(_REPLACED_BY, {"scope": scope, "id": entry_id, "limit": limit})
        return list(map(entry_of, rows))

    def rests(self, whole: MemoryEntry) -> list[MemoryEntry]:
        """The active facts that were left of this one when a part of it was replaced."""
        with self._database.read((whole.scope,)) as connection:
            return _rests(connection, whole)

    def inactive(self, scope: str, *, limit: int) -> list[MemoryEntry]:
        """Long-term memories of a scope that were forgotten or corrected, the last changed first."""
        return self._entries(_INACTIVE, scope, limit)

    def _entries(self, sql: str, scope: str, limit: int) -> list[MemoryEntry]:
        with self._database.read((scope,)) as connection:
            return [entry_of(row) for row in connection.rows(sql, {"scope": scope, "limit": limit})]

    # --- forgetting -------------------------------------------------------------------------------------------------

    def scopes(self) -> list[str]:
        """Every scope that has entries."""
        with self._database.read() as connection:
            return list(skip_scan(connection, _NEXT_SCOPE))

    def forgetting_candidates(
        self, scope: str, without_types: Sequence[str], *, after: ForgettingPosition | None, limit: int
    ) -> list[ForgettingCandidate]:
        """A page of the long-term memories that may be forgotten, oldest first: what the curve needs of each."""
        params: dict[str, Any] = {"scope": scope, "without_types": list(without_types), "limit": limit}
        sql = _CANDIDATES + _CANDIDATES_ORDER
        if after is not None:
            sql = _CANDIDATES + _CANDIDATES_AFTER + _CANDIDATES_ORDER
            params |= {"moment": after[0], "after_id": after[1]}
        with self._database.read((scope,)) as connection:
            return [_candidate(row) for row in connection.rows(sql, params)]

    def forget_candidates(self, scope: str, candidates: Sequence[ForgettingCandidate], *, actor: str) -> int:
        """Take these out of recall, in one transaction; those that were touched, pinned or changed since are left."""
        expected = {each.id: each for each in candidates}
        forgotten: list[MemoryEntry] = []
        # Texts of the log are made before the lock is taken: other writers would wait for that.
        with self._database.read((scope,)) as connection:
            made = {row: _with_line(row, actor) for row in _rows_of(connection, list(expected))}
        rows, lines = [], []
        with self._database.write((scope,)) as connection:
            now = self._now()
            for row in _rows_of(connection, list(expected)):
                before, line = made.get(row) or _with_line(row, actor)
                seen = expected[before.id]
                same = (before.last_accessed_at, before.access_count) == (seen.last_accessed_at, seen.access_count)
                if before.is_active and before.scope == scope and same and not before.pinned:
                    forgotten.append(before)
                    version, at = before.version + 1, max(now, before.updated_at)
                    rows.append({"id": before.id, "is_active": False, "version": version, "updated_at": at})
                    lines.append({**line, "version": version, "changed_at": at})
            if forgotten:
                connection.executemany(_FORGET, rows)
                log_changes(connection, lines)
            for before in forgotten:
                if before.memory_type == REFLECTION_TYPE:
                    _release(connection, before, actor, now)
        return len(forgotten)


def unlink(connection: Connection, removed: MemoryEntry, actor: str, *, erase: bool) -> None:
    """After an entry was removed: its reflection is removed as well, and the other facts of it are released."""
    reflection = removed
    if removed.summarized_by is not None:
        row = connection.row(_BY_ID_IN_SCOPE, {"id": removed.summarized_by, "scope": removed.scope})
        if row is None:
            return
        reflection = entry_of(row)
        remove_entry(connection, reflection, actor, "erase" if erase else "forget")
        if erase:
            erase_texts(connection, "entry_id = :id", {"id": reflection.id})
    _release(connection, reflection, actor, clock.utc_now())


def bring_back(connection: Connection, removed: MemoryEntry, actor: str) -> None:
    """After a current fact was withdrawn: the facts that it took the place of hold again, as before it was said.

    What was kept of one of them as a fact of its own is a part of it again.
    """
    if not removed.is_active or removed.domain is None or removed.memory_type != FACT_TYPE:
        return
    now = clock.utc_now()
    versions: list[tuple[MemoryEntry, MemoryEntry]] = []
    params = {"scope": removed.scope, "id": removed.id, "limit": _MAX_BROUGHT_BACK}
    for old in map(entry_of, connection.rows(_REPLACED_BY, params)):
        if old.memory_type != FACT_TYPE or old.has_expired(now):
            continue
        whole = {"is_active": True, "superseded_by": None, "last_accessed_at": max(now, old.last_accessed_at)}
        versions.append((old, _next_version(old, now, whole)))
        gone = {"is_active": False, "superseded_by": old.id, "summarized_by": None}
        rests = (part for part in _rests(connection, old) if part.id != removed.id)
        versions += [(part, _next_version(part, now, gone)) for part in rests]
    if versions:
        _write_versions(connection, versions, actor, "restore")


def _rests(connection: Connection, whole: MemoryEntry) -> list[MemoryEntry]:
    """The active facts that were left of another one."""
    if not whole.source.references:
        return []
    told = {"scope": whole.scope, "said": f'%"{whole.source.references[0]}"%'}
    return [part for part in map(entry_of, connection.rows(_MADE_OF_SAME, told)) if is_rest_of(part, whole)]


def erase_reflections(connection: Connection, scope: str, fact_ids: Sequence[str], actor: str) -> None:
    """Erase every reflection that was made of these facts; also those that were forgotten or superseded since."""
    for fact_id in fact_ids:
        params = {"scope": scope, "fact": f'%"{fact_id}"%'}
        for reflection in map(entry_of, connection.rows(_MADE_OF, params)):
            remove_entry(connection, reflection, actor, "erase")
            erase_texts(connection, "entry_id = :id", {"id": reflection.id})
            _release(connection, reflection, actor, clock.utc_now())
        erase_texts(connection, f"scope = :scope AND {_OF_REFLECTIONS} AND before LIKE :fact", params)


def drop_outdated_reflections(connection: Connection, scope: str, fact_id: str, actor: str) -> None:
    """After a fact came from elsewhere, removed or in another version: remove what still speaks for the old one."""
    row = connection.row(_BY_ID_IN_SCOPE, {"id": fact_id, "scope": scope})
    fact = None if row is None else entry_of(row)
    for reflection in map(entry_of, connection.rows(_MADE_OF, {"scope": scope, "fact": f'%"{fact_id}"%'})):
        if reflection.is_active and (fact is None or fact.summarized_by != reflection.id):
            remove_entry(connection, reflection, actor, "forget")
            _release(connection, reflection, actor, clock.utc_now())
    erased = "SELECT 1 FROM memory_changes WHERE entry_id = :id AND operation = 'erase' LIMIT 1"
    if fact is None and connection.row(erased, {"id": fact_id}) is not None:
        erase_reflections(connection, scope, [fact_id], actor)


def _release(connection: Connection, reflection: MemoryEntry, actor: str, now: datetime) -> None:
    """Unlink the facts of a reflection that is gone: another one may summarize them."""
    rows = connection.rows(_OF_REFLECTION, {"scope": reflection.scope, "reflection": reflection.id})
    versions = [(fact, _next_version(fact, now, {"summarized_by": None})) for fact in map(entry_of, rows)]
    if versions:
        _write_versions(connection, versions, actor, "update")


def _without_taken_keys(connection: Connection, scope: str, entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    keys = [entry.key for entry in entries if entry.key is not None]
    taken = set(connection.column(_TAKEN_KEYS, {"scope": scope, "keys": keys})) if keys else set()
    return [entry for entry in entries if entry.key not in taken]


def _is_as_expected(connection: Connection, scope: str, amendment: Amendment) -> bool:
    row = connection.row(_BY_ID_IN_SCOPE, {"id": amendment.entry_id, "scope": scope})
    return row is not None and amendment.version in {None, entry_of(row).version}


def _amend(connection: Connection, scope: str, amendment: Amendment, actor: str, now: datetime) -> MemoryEntry | None:
    row = connection.row(_BY_ID_IN_SCOPE, {"id": amendment.entry_id, "scope": scope})
    if row is None:
        return None
    before = entry_of(row)
    if amendment.version is not None and before.version != amendment.version:
        return None
    after = _next_version(before, now, amendment.values)
    if not changed_fields(before, after):
        return before
    _write_versions(connection, [(before, after)], actor, amendment.operation)
    return after


def _next_version(before: MemoryEntry, now: datetime, values: Mapping[str, Any]) -> MemoryEntry:
    return before.changed({**values, "version": before.version + 1, "updated_at": max(now, before.updated_at)})


def _write_versions(
    connection: Connection, versions: Sequence[tuple[MemoryEntry, MemoryEntry]], actor: str, operation: str
) -> None:
    rows = []
    lines = []
    for before, after in versions:
        rows.append(entry_values(after))
        lines.append(log_line(after, operation, actor, changed_fields(before, after), before))
    connection.executemany(_AMEND, rows)
    log_changes(connection, lines)


def _rows_of(connection: Connection, ids: Sequence[str]) -> list[Row]:
    return [row for chunk in chunks(ids) for row in connection.rows(BY_IDS, {"ids": chunk})]


def _with_line(row: Row, actor: str) -> tuple[MemoryEntry, dict[str, Any]]:
    before = entry_of(row)
    return before, log_line(before, "update", actor, ["is_active"], before)


def _candidate(row: Row) -> ForgettingCandidate:
    entry_id, created_at, last_accessed_at, access_count, importance, source, content, event_time = row
    # Most sources have no claim, and are not parsed.
    claim = json.loads(source)["claim"] if '"claim"' in source else None
    return ForgettingCandidate(
        entry_id,
        clock.of_driver(created_at),
        clock.of_driver(last_accessed_at),
        access_count,
        importance,
        "" if claim is None else str(claim.get("attribute", "")),
        "" if claim is None else content,
        content,
        clock.of_driver(event_time),
        "" if claim is None else str(claim.get("lasting", "")),
    )

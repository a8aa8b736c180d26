"""What the long-term room writes and asks for beyond the records: rounds, corrections, forgetting, reflections."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from jiyi.backends.records import history, tags
from jiyi.backends.records.changelog import log_changes
from jiyi.backends.records.jobs import finish_job, insert_job
from jiyi.backends.records.rows import ACTIVE, ENTRY_COLUMNS, changed_fields, entry_of, entry_values
from jiyi.backends.records.schema import memory_changes, memory_records
from jiyi.backends.records.store import CHUNK, Database, change_values, insert_entries, remember_messages, remove_entry
from jiyi.model import clock
from jiyi.model.entry import MESSAGE_TYPE, MemoryEntry
from jiyi.model.job import Job, JobDraft
from jiyi.model.message import Message
from jiyi.ports import Amendment, Fading, FadingPlace

_columns = memory_records.c
_SELECT = sa.select(*ENTRY_COLUMNS)
_LONGTERM = (_columns.domain.is_not(None), _columns.memory_type != MESSAGE_TYPE)
_FADING = (
    _columns.id,
    _columns.created_at,
    _columns.last_accessed_at,
    _columns.access_count,
    _columns.importance_score,
    _columns.source,
)


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
    ) -> list[str]:
        """Add messages to a session, and the job that is about them, in one transaction; returns the message ids."""
        with self._database.write((scope,) if job is None else (scope, job.scope)) as connection:
            saved = history.append(connection, scope, session_id, messages, self._now())
            remember_messages(connection, saved, actor, recallable=recallable)
            if job is not None:
                payload = {**job.payload, "messages": saved.ids}
                insert_job(connection, replace(job, payload=payload), self._now())
        return saved.ids

    def messages(self, scope: str, ids: Sequence[str]) -> list[tuple[str, Message, datetime]]:
        """(id, message, when it was said) of these messages of the scope; also of those that were replaced since."""
        with self._database.read((scope,)) as connection:
            return history.messages_by_id(connection, scope, ids)

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
    ) -> list[MemoryEntry] | None:
        """New entries, changes of old ones and what becomes of the jobs, all in one transaction.

        An entry whose key is taken is left out: somebody else has stored it. `None`, and nothing changed, when the
        finished job is no longer the caller's.
        """
        with self._database.write([scope, *(one.scope for one in (finished, *jobs) if one is not None)]) as connection:
            now = self._now()
            if finished is not None and not finish_job(connection, finished, now):
                return None
            fresh = _without_taken_keys(connection, scope, entries)
            insert_entries(connection, fresh, actor)
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
            for start in range(0, len(ids), CHUNK):
                chunk = ids[start : start + CHUNK]
                statement = _SELECT.where(_columns.id.in_(chunk), _columns.scope + "" == scope)
                found.update({row.id: entry_of(row) for row in connection.execute(statement)})
        return [found[entry_id] for entry_id in ids if entry_id in found]

    def by_keys(self, scope: str, keys: Sequence[str]) -> dict[str, MemoryEntry]:
        """Entries of a scope by key, active or not."""
        statement = _SELECT.where(_columns.scope == scope, _columns.key.in_(keys))
        with self._database.read((scope,)) as connection:
            return {row.key: entry_of(row) for row in connection.execute(statement)}

    def facts(self, scope: str, *, limit: int) -> list[MemoryEntry]:
        """The newest active facts of a scope, newest first."""
        statement = (
            _SELECT.where(ACTIVE, *_LONGTERM, _columns.scope == scope, _columns.memory_type == "fact")
            .order_by(_columns.created_at.desc(), _columns.id.desc())
            .limit(limit)
        )
        with self._database.read((scope,)) as connection:
            return [entry_of(row) for row in connection.execute(statement)]

    def unsummarized(self, scope: str, *, limit: int) -> list[MemoryEntry]:
        """The newest facts that no reflection speaks for yet and that are not pinned, newest first."""
        statement = (
            _SELECT.where(
                ACTIVE,
                *_LONGTERM,
                _columns.scope == scope,
                _columns.memory_type == "fact",
                _columns.summarized_by.is_(None),
                _columns.pinned.is_not(True),
            )
            .order_by(_columns.created_at.desc(), _columns.id.desc())
            .limit(limit)
        )
        with self._database.read((scope,)) as connection:
            return [entry_of(row) for row in connection.execute(statement)]

    def last_reflection(self, scope: str) -> datetime | None:
        """When the newest reflection of a scope was made."""
        newest = (
            sa.select(_columns.created_at)
            .where(
                *_LONGTERM,
                _columns.scope == scope,
                _columns.memory_type == "reflection",
                _columns.summarized_by.is_(None),
            )
            .order_by(_columns.created_at.desc())
            .limit(1)
        )
        with self._database.read((scope,)) as connection:
            return connection.execute(newest).scalar()

    def superseded(self, scopes: Sequence[str], before: datetime, *, limit: int) -> list[tuple[MemoryEntry, datetime]]:
        """Entries that were known before a time and corrected after it, with the time of the correction."""
        newer = memory_records.alias("newer")
        corrected = sa.func.coalesce(newer.c.created_at, _columns.updated_at)
        statement = (
            sa.select(*ENTRY_COLUMNS, corrected.label("corrected_at"))
            .outerjoin(newer, newer.c.id == _columns.superseded_by)
            .where(
                _columns.scope.in_(scopes),
                _columns.superseded_by.is_not(None),
                _columns.created_at <= before,
                corrected > before,
            )
            .order_by(_columns.created_at.desc())
            .limit(limit)
        )
        with self._database.read(scopes) as connection:
            return [(entry_of(row), clock.of_driver(row.corrected_at)) for row in connection.execute(statement)]

    def inactive(self, scope: str, *, limit: int) -> list[MemoryEntry]:
        """Long-term memories of a scope that were forgotten or corrected, the last changed first."""
        statement = (
            _SELECT.where(_columns.scope == scope, _columns.is_active.is_(False), *_LONGTERM)
            .order_by(_columns.updated_at.desc())
            .limit(limit)
        )
        with self._database.read((scope,)) as connection:
            return [entry_of(row) for row in connection.execute(statement)]

    # --- forgetting -------------------------------------------------------------------------------------------------

    def scopes(self) -> list[str]:
        """Every scope that has entries."""
        found: list[str] = []
        with self._database.read() as connection:
            while True:
                # One step of the index for each scope, however many entries it has.
                after = sa.select(sa.func.min(_columns.scope)).where(_columns.scope > (found[-1] if found else ""))
                scope = connection.execute(after).scalar()
                if scope is None:
                    return found
                found.append(scope)

    def fading(
        self, scope: str, without_types: Sequence[str], *, after: FadingPlace | None, limit: int
    ) -> list[Fading]:
        """A page of the long-term memories that may be forgotten, oldest first: what the curve needs of each."""
        statement = (
            sa.select(*_FADING)
            .where(
                ACTIVE,
                *_LONGTERM,
                _columns.scope == scope,
                _columns.pinned.is_not(True),
                _columns.memory_type.not_in(without_types),
            )
            .order_by(_columns.created_at, _columns.id)
            .limit(limit)
        )
        if after is not None:
            moment, entry_id = after
            later = sa.or_(_columns.created_at > moment, sa.and_(_columns.created_at == moment, _columns.id > entry_id))
            statement = statement.where(_columns.created_at >= moment, later)
        with self._database.read((scope,)) as connection:
            return [
                Fading(
                    row.id,
                    row.created_at,
                    row.last_accessed_at,
                    row.access_count,
                    row.importance_score,
                    _attribute(row.source),
                )
                for row in connection.execute(statement)
            ]

    def forget_faded(self, scope: str, faded: Sequence[Fading], *, actor: str) -> int:
        """Take these out of recall, in one transaction; those that were touched, pinned or changed since are left."""
        expected = {each.id: each for each in faded}
        forgotten: list[tuple[MemoryEntry, MemoryEntry]] = []
        with self._database.write((scope,)) as connection:
            now = self._now()
            ids = list(expected)
            for start in range(0, len(ids), CHUNK):
                statement = _SELECT.where(_columns.id.in_(ids[start : start + CHUNK]))
                for row in connection.execute(statement):
                    before = entry_of(row)
                    seen = expected[before.id]
                    same = (before.last_accessed_at, before.access_count) == (seen.last_accessed_at, seen.access_count)
                    if before.is_active and before.scope == scope and same and not before.pinned:
                        forgotten.append((before, _next_version(before, now, {"is_active": False})))
            if forgotten:
                _write_versions(connection, forgotten, actor, "update")
                for before, _ in forgotten:
                    if before.memory_type == "reflection":
                        _release(connection, before, actor, now)
        return len(forgotten)

    def drop_unused_tags(self) -> int:
        """Delete tags that no entry has; returns how many."""
        with self._database.write() as connection:
            return tags.collect(connection)


def _attribute(source: str) -> str:
    """The attribute of a fact's claim; most sources have none, and are not read."""
    return str(json.loads(source)["claim"].get("attribute", "")) if '"claim"' in source else ""


def unlink(connection: sa.Connection, gone: MemoryEntry, actor: str, *, erase: bool) -> None:
    """After an entry has gone: a reflection that tells of it goes as well, and what is left speaks for itself again."""
    reflection = gone
    if gone.summarized_by is not None:
        row = connection.execute(_SELECT.where(_columns.id == gone.summarized_by)).one_or_none()
        if row is None:
            return
        reflection = entry_of(row)
        remove_entry(connection, reflection, actor, "erase" if erase else "forget")
        if erase:
            texts = memory_changes.update().where(memory_changes.c.entry_id == reflection.id)
            connection.execute(texts.values(before=None, changed="[]"))
    _release(connection, reflection, actor, clock.utc_now())


def _release(connection: sa.Connection, reflection: MemoryEntry, actor: str, now: datetime) -> None:
    """Let the facts of a reflection be found by meaning again."""
    facts = connection.execute(
        _SELECT.where(_columns.scope == reflection.scope, _columns.summarized_by == reflection.id)
    ).all()
    versions = [(fact, _next_version(fact, now, {"summarized_by": None})) for fact in map(entry_of, facts)]
    if versions:
        _write_versions(connection, versions, actor, "update")


def _without_taken_keys(connection: sa.Connection, scope: str, entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    keys = [entry.key for entry in entries if entry.key is not None]
    statement = sa.select(_columns.key).where(_columns.scope == scope, _columns.key.in_(keys))
    taken = set(connection.execute(statement).scalars()) if keys else set()
    return [entry for entry in entries if entry.key not in taken]


def _amend(
    connection: sa.Connection, scope: str, amendment: Amendment, actor: str, now: datetime
) -> MemoryEntry | None:
    row = connection.execute(_SELECT.where(_columns.id == amendment.entry_id, _columns.scope == scope)).one_or_none()
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
    return replace(before, **values, version=before.version + 1, updated_at=max(now, before.updated_at))


_AMENDABLE = (
    *("is_active", "pinned", "superseded_by", "summarized_by", "source"),
    *("last_accessed_at", "version", "updated_at"),
)
_UPDATE = (
    memory_records.update()
    .where(_columns.id == sa.bindparam("id_"))
    .values({name: sa.bindparam(f"{name}_") for name in _AMENDABLE})
)


def _write_versions(
    connection: sa.Connection, versions: Sequence[tuple[MemoryEntry, MemoryEntry]], actor: str, operation: str
) -> None:
    rows = []
    changes = []
    for before, after in versions:
        values = entry_values(after)
        rows.append({"id_": after.id, **{f"{name}_": values[name] for name in _AMENDABLE}})
        changes.append(change_values(after, operation, actor, changed_fields(before, after), before))
    connection.execute(_UPDATE, rows)
    log_changes(connection, changes)

"""SqlRecordStore: the truth, in one transaction for each change."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import sqlalchemy as sa

from jiyi.backends.records import tags
from jiyi.backends.records import user_words as words
from jiyi.backends.records.changelog import fingerprint, last_versions, log_changes
from jiyi.backends.records.prepared import Prepared
from jiyi.backends.records.rows import (
    ACTIVE,
    ENTRY_COLUMNS,
    changed_fields,
    conditions,
    entry_of,
    entry_values,
    to_json,
)
from jiyi.backends.records.schema import memory_changes, memory_records, store_meta
from jiyi.model import clock
from jiyi.model.entry import EntryVersion, MemoryEntry
from jiyi.model.filters import Filters
from jiyi.ports import START, Change, Draft, ImportCounts, LogPosition, Tagged, TagPage, TagPosition

# What not every program needs is loaded when it is first asked for: a command that only asks is over sooner.
if TYPE_CHECKING:
    from jiyi.backends.records import history
    from jiyi.model.message import Message
    from jiyi.model.note import NoteCounts, NoteFile, NoteUpdate

# SQLite takes at most 32,766 parameters in a statement; smaller chunks are as fast.
CHUNK = 500
_FEW_KEYS, _PAIRS = 20, 200
_LOOKUPS = (8, 32, 128, CHUNK)
GONE = ("forget", "erase", "archive")
"""Operations after which an entry has no row."""


class Database(Protocol):
    """What the record store needs of an engine."""

    dialect: str

    def read(self, scopes: Sequence[str] | None = None) -> AbstractContextManager[sa.Connection]:
        """One consistent snapshot; `scopes` are those that it looks at beside `public`, `None` means all."""
        ...

    def write(
        self, scopes: Sequence[str] | None = None, *, durable: bool = True
    ) -> AbstractContextManager[sa.Connection]:
        """One transaction, durable when it has ended; `scopes` are those that it changes, `None` means all.

        Nobody else changes these scopes meanwhile. Without `durable` the engine may make it last a little later.
        """
        ...

    def maintain(self) -> None:
        """Small regular upkeep."""
        ...

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`."""
        ...

    def check(self) -> list[str]:
        """Problems of the database, in words."""
        ...

    def close(self) -> None:
        """Give the connections back."""
        ...


_SELECT = sa.select(*ENTRY_COLUMNS)
_HAS_KEY = (memory_records.c.scope == sa.bindparam("scope_"), memory_records.c.key == sa.bindparam("key_"))
_BY_KEY = _SELECT.where(*_HAS_KEY)
_ONE_OF = memory_records.c.id.in_(sa.bindparam("ids_", expanding=True))
_LISTED = sa.func.json_each(sa.bindparam("ids_")).table_valued("value")
_ONE_OF_JSON = memory_records.c.id.in_(sa.select(_LISTED.c.value))
_BY_IDS = _SELECT.where(_ONE_OF)
_ID_BY_KEY = Prepared(sa.select(memory_records.c.id).where(*_HAS_KEY))
_INSERT_ENTRY = Prepared(memory_records.insert().inline(), memory_records.c.keys())
_UPDATE_ENTRY = memory_records.update().where(memory_records.c.id == sa.bindparam("id_"))
_TOUCH = (
    memory_records.update()
    .where(_ONE_OF)
    .values(access_count=memory_records.c.access_count + 1, last_accessed_at=sa.bindparam("at_"))
)
_SHOW = memory_records.update().where(_ONE_OF).values(last_accessed_at=sa.bindparam("at_"))
_PLACES = sa.select(
    memory_changes.c.sequence,
    memory_changes.c.entry_id,
    memory_changes.c.scope,
    memory_changes.c.version,
    memory_changes.c.changed_at,
)
_HEAD = Prepared(_PLACES.order_by(memory_changes.c.sequence.desc()).limit(sa.literal_column("1")))
_PLACE = Prepared(_PLACES.where(memory_changes.c.sequence == sa.bindparam("sequence_")))
_PLACES_AFTER = Prepared(
    _PLACES.where(memory_changes.c.sequence > sa.bindparam("sequence_"))
    .order_by(memory_changes.c.sequence)
    .limit(sa.bindparam("limit_", type_=sa.Integer))
)


@lru_cache(maxsize=64)
def _lookup(ids: int, scopes: int) -> Prepared:
    """Entries by id, and inside these scopes if there are any."""
    statement = _SELECT.where(memory_records.c.id.in_([sa.bindparam(f"id_{place}") for place in range(ids)]))
    if scopes:
        # The scope is compared as an expression: by its index SQLite would walk through the whole scope instead of
        # looking up a few ids.
        scope = memory_records.c.scope + sa.literal_column("''")
        statement = statement.where(scope.in_([sa.bindparam(f"scope_{place}") for place in range(scopes)]))
    return Prepared(statement)


@cache
def _listed() -> sa.ColumnElement[bool]:
    """Any number of ids as one parameter, where the engine has arrays."""
    return memory_records.c.id == sa.any_(sa.bindparam("ids_", type_=sa.ARRAY(sa.Text)))


@cache
def _lookup_listed(scopes: int) -> Prepared:
    """The same as `_lookup` where the engine has arrays."""
    statement = _SELECT.where(_listed())
    if scopes:
        statement = statement.where(
            memory_records.c.scope.in_([sa.bindparam(f"scope_{place}") for place in range(scopes)])
        )
    return Prepared(statement)


class SqlRecordStore:
    """Entries, their versions, conversations and the change log in one SQL database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.read() as connection:
            found = connection.execute(sa.select(store_meta).where(store_meta.c.name.in_(["store_id", "migration"])))
            bookkeeping = {row.name: row.value for row in found}
        if "migration" in bookkeeping:
            from jiyi.backends.records.copy import refuse_unfinished

            refuse_unfinished(bookkeeping)
        self._store_id = str(bookkeeping["store_id"])

    @property
    def store_id(self) -> str:
        """Which store this is, so that an index of another one is recognised."""
        return self._store_id

    def put(self, drafts: Sequence[Draft], *, actor: str) -> list[MemoryEntry]:
        """Insert or update by (scope, key) in one transaction."""
        with self._database.write(sorted({draft.entry.scope for draft in drafts})) as connection:
            stored: list[MemoryEntry] = []
            for group in _groups_without_repeated_keys(drafts):
                stored.extend(self._put_group(connection, group, actor))
        return stored

    def _put_group(self, connection: sa.Connection, drafts: list[Draft], actor: str) -> list[MemoryEntry]:
        existing = _existing_by_key(connection, [draft.entry for draft in drafts])
        stored: list[MemoryEntry] = []
        inserts: list[dict[str, Any]] = []
        updates: list[dict[str, Any]] = []
        changes: list[dict[str, Any]] = []
        for draft in drafts:
            entry = draft.entry
            before = existing.get((entry.scope, entry.key)) if entry.key is not None else None
            if before is None:
                inserts.append(entry_values(entry))
                changes.append(change_values(entry, "create", actor, [], None))
                stored.append(entry)
            else:
                after = _updated(before, draft)
                updates.append({**entry_values(after), "id_": after.id})
                changes.append(change_values(after, "update", actor, changed_fields(before, after), before))
                stored.append(after)
        if inserts:
            _INSERT_ENTRY.run(connection, *inserts)
        for values in updates:
            connection.execute(_UPDATE_ENTRY, values)
        log_changes(connection, changes)
        retagged = [
            entry
            for entry, change in zip(stored, changes, strict=True)
            if (entry.tags if change["operation"] == "create" else "tags" in change["changed"])
        ]
        if retagged:
            tags.write_tags(connection, retagged)
        return stored

    def forget(self, scope: str, key: str, *, actor: str, erase: bool = False) -> bool:
        """Remove the entry with this key; its versions stay in the change log unless `erase`."""
        # Tags that nobody else has go with an erased entry: whether they have is for the whole store to say.
        with self._database.write(None if erase else (scope,)) as connection:
            row = connection.execute(_BY_KEY, {"scope_": scope, "key_": key}).one_or_none()
            if row is None:
                return erase and _erase_versions(connection, scope, key) > 0
            before = entry_of(row)
            remove_entry(connection, before, actor, "erase" if erase else "forget")
            if before.summarized_by is not None or before.memory_type == "reflection":
                # A deletion reaches what was made of it.
                from jiyi.backends.records.longterm import unlink

                unlink(connection, before, actor, erase=erase)
            if erase:
                _erase_versions(connection, scope, key)
            return True

    def get(self, scopes: Sequence[str], key: str) -> MemoryEntry | None:
        """The entry with this key in the first of `scopes` that has it."""
        with self._database.read(scopes) as connection:
            for scope in scopes:
                row = connection.execute(_BY_KEY, {"scope_": scope, "key_": key}).one_or_none()
                if row is not None and row.is_active:
                    return entry_of(row)
        return None

    def fetch(self, ids: Sequence[str], filters: Filters | None) -> dict[str, MemoryEntry]:
        """Entries by id; with filters only those they admit."""
        scopes = () if filters is None else filters.scopes
        found: dict[str, MemoryEntry] = {}
        with self._database.read(None if filters is None else scopes) as connection:
            for start in range(0, len(ids), CHUNK):
                for row in _look_up(connection, ids[start : start + CHUNK], scopes):
                    entry = entry_of(row)
                    # Scopes are the fence and stand in the statement; the rest is cheaper to decide here.
                    if filters is None or filters.admits(entry):
                        found[entry.id] = entry
        return found

    def admitted(self, ids: Sequence[str], filters: Filters) -> set[str]:
        """Which of these ids the filters admit."""
        # By id, and nothing else: the scope's index would walk through the whole scope.
        among = conditions(filters, by_id=True)
        with self._database.read(filters.scopes) as connection:
            if connection.dialect.name == "sqlite":
                # One parameter for all of them: hundreds take longer to hand over than to look up.
                statement = sa.select(memory_records.c.id).where(_ONE_OF_JSON, *among)
                return set(connection.execute(statement, {"ids_": json.dumps(list(ids))}).scalars().all())
            statement = sa.select(memory_records.c.id).where(_listed(), *among)
            return set(connection.execute(statement, {"ids_": list(ids)}).scalars().all())

    def matching_ids(self, filters: Filters) -> list[str]:
        """Ids of all entries that the filters admit."""
        with self._database.read(filters.scopes) as connection:
            return list(connection.execute(sa.select(memory_records.c.id).where(*conditions(filters))).scalars())

    def count(self, filters: Filters) -> int:
        """How many entries the filters admit."""
        with self._database.read(filters.scopes) as connection:
            statement = sa.select(sa.func.count()).select_from(memory_records).where(*conditions(filters))
            return int(connection.execute(statement).scalar_one())

    def page(self, filters: Filters, *, limit: int, offset: int) -> list[MemoryEntry]:
        """Entries newest first."""
        created, identity = memory_records.c.created_at, memory_records.c.id
        places: list[tuple[datetime, str]] = []
        with self._database.read(filters.scopes) as connection:
            # Scope by scope: each is read in the order of its index, and no further than to the end of the page.
            for scope in filters.scopes:
                statement = (
                    sa.select(created, identity)
                    .where(*conditions(replace(filters, scopes=(scope,))))
                    .order_by(created.desc(), identity.desc())
                    .limit(offset + limit)
                )
                places += [(row[0], row[1]) for row in connection.execute(statement)]
            ids = [entry_id for _, entry_id in sorted(places, reverse=True)[offset : offset + limit]]
            found: dict[str, MemoryEntry] = {}
            for start in range(0, len(ids), CHUNK):
                for row in connection.execute(_BY_IDS, {"ids_": ids[start : start + CHUNK]}):
                    entry = entry_of(row)
                    found[entry.id] = entry
        return [found[entry_id] for entry_id in ids]

    def versions(self, scope: str, key: str) -> list[EntryVersion]:
        """All versions of the entries that had this key, oldest first."""
        with self._database.read((scope,)) as connection:
            row = connection.execute(_BY_KEY, {"scope_": scope, "key_": key}).one_or_none()
            current = {} if row is None else {row.id: entry_of(row)}
            of_key = (memory_changes.c.scope == scope) & (memory_changes.c.key == key)
            return history_of(connection, of_key, current)

    def time_range(self, scopes: Sequence[str]) -> tuple[datetime, datetime] | None:
        """When the first and the last of these scopes' entries happened."""
        found: list[datetime] = []
        event = memory_records.c.event_time
        with self._database.read(scopes) as connection:
            for scope in scopes:
                # Two questions, each answered by one end of the index.
                for edge in (sa.func.min(event), sa.func.max(event)):
                    value = connection.execute(sa.select(edge).where(memory_records.c.scope == scope)).scalar()
                    if value is not None:
                        found.append(value)
        return (min(found), max(found)) if found else None

    def tags_since(self, known: TagPosition | None) -> TagPage:
        """Tags that were added after this state; all of them when it is none or some were removed since."""
        with self._database.read() as connection:
            return tags.tags_since(connection, known)

    def tagged(
        self,
        tag_ids: Iterable[int],
        filters: Filters,
        *,
        limit: int,
        each_type: bool = False,
        day_shift: int = 0,
    ) -> Tagged:
        """Entries with any of these tags: most tags first, then newer day, strength, newest."""
        with self._database.read(filters.scopes) as connection:
            return tags.tagged(connection, tag_ids, filters, limit=limit, each_type=each_type, day_shift=day_shift)

    def tag_usage(self, scopes: Sequence[str], *, limit: int, offset: int) -> list[tuple[str, int]]:
        """Tags of the active entries of these scopes with how many have each; the most used first."""
        with self._database.read(scopes) as connection:
            return tags.tag_usage(connection, scopes, limit=limit, offset=offset)

    def collect_tags(self) -> int:
        """Remove the tags that no entry has; returns how many."""
        with self._database.write() as connection:
            return tags.collect(connection)

    def touch(self, ids: Sequence[str], at: datetime, *, used: bool = True) -> None:
        """Note the time of access, and with `used` count it; no new version, nothing to re-index."""
        statement = _TOUCH if used else _SHOW
        if ids:
            with self._database.write(scopes_of(self._database, ids), durable=False) as connection:
                for start in range(0, len(ids), CHUNK):
                    connection.execute(statement, {"ids_": list(dict.fromkeys(ids[start : start + CHUNK])), "at_": at})

    def head(self) -> LogPosition:
        """The last place of the change log."""
        with self._database.read() as connection:
            row = _HEAD.run(connection, {}).fetchone()
        return _change(row).log_position if row is not None else START

    def log_position_at(self, sequence: int) -> LogPosition | None:
        """The mark of one place of the change log; `None` when there is no such place."""
        if sequence == 0:
            return START
        with self._database.read() as connection:
            row = _PLACE.run(connection, {"sequence_": sequence}).fetchone()
        return _change(row).log_position if row is not None else None

    def changes_after(self, sequence: int, *, limit: int) -> list[Change]:
        """What follows this place of the change log."""
        with self._database.read() as connection:
            found = _PLACES_AFTER.run(connection, {"sequence_": sequence, "limit_": limit})
            return [_change(row) for row in found.fetchall()]

    def pending(self, sequence: int, scopes: Sequence[str] | None = None) -> int:
        """How many changes follow this place."""
        statement = sa.select(sa.func.count()).select_from(memory_changes).where(memory_changes.c.sequence > sequence)
        if scopes is not None:
            # An expression again: only what follows is looked at, however long the log of the scope is.
            statement = statement.where((memory_changes.c.scope + "").in_(scopes))
        with self._database.read(scopes) as connection:
            return int(connection.execute(statement).scalar_one())

    def scan(self, *, after_id: str = "", limit: int) -> list[MemoryEntry]:
        """All active entries of all scopes in id order."""
        statement = _SELECT.where(ACTIVE, memory_records.c.id > after_id).order_by(memory_records.c.id).limit(limit)
        with self._database.read() as connection:
            return [entry_of(row) for row in connection.execute(statement)]

    def save_history(
        self, scope: str, session_id: str, messages: Sequence[Message], *, actor: str, recallable: bool = True
    ) -> int:
        """Make `messages` the record of the session, in one transaction."""
        from jiyi.backends.records import history

        with self._database.write((scope,)) as connection:
            saved = history.save(connection, scope, session_id, messages)
            remember_messages(connection, saved, actor, recallable=recallable)
            return len(saved.written)

    def load_history(self, scope: str, session_id: str) -> list[Message]:
        """The record of the session, exactly as saved."""
        from jiyi.backends.records import history

        with self._database.read((scope,)) as connection:
            return history.load(connection, scope, session_id)

    def sessions(self, scope: str) -> list[str]:
        """Ids of the sessions of this scope, the one last written to first."""
        from jiyi.backends.records import history

        with self._database.read((scope,)) as connection:
            return history.sessions(connection, scope)

    def note_files(self, workspace: str, scope: str) -> dict[str, NoteFile]:
        """What is known of the note files of a workspace, by path."""
        from jiyi.backends.records import notes

        with self._database.read((scope,)) as connection:
            return notes.files(connection, workspace, scope)

    def note_files_state(self, workspace: str, scope: str) -> tuple[int, int]:
        """How many there are and when the last of them was read."""
        from jiyi.backends.records import notes

        with self._database.read((scope,)) as connection:
            return notes.state(connection, workspace, scope)

    def save_notes(self, workspace: str, scope: str, updates: Sequence[NoteUpdate], *, actor: str) -> NoteCounts:
        """Make the pieces of these files what the updates say, in one transaction."""
        from jiyi.backends.records import notes

        with self._database.write((scope, *notes.scopes(workspace, scope))) as connection:
            return notes.save(connection, workspace, scope, updates, actor)

    def export_rows(self, scope: str | None) -> Iterator[dict[str, Any]]:
        """Everything, or everything of one scope, as JSON-ready rows from one snapshot."""
        from jiyi.backends.records import export as transfer

        with self._database.read(None if scope is None else (scope,)) as connection:
            yield from transfer.export_rows(connection, scope)

    def import_rows(self, rows: Iterable[Mapping[str, Any]], *, actor: str) -> ImportCounts:
        """Take exported rows in, in one transaction: a bad row means that nothing was changed."""
        from jiyi.backends.records import export as transfer

        with self._database.write() as connection:
            return transfer.import_rows(connection, rows, actor)

    def user_words(self) -> list[str]:
        """Words that the segmenter shall take as words."""
        with self._database.read() as connection:
            return words.user_words(connection)

    def add_user_word(self, word: str) -> bool:
        """Add one; whether it is new."""
        with self._database.write() as connection:
            return words.add_user_word(connection, word)

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`."""
        return {"store_id": self._store_id, **self._database.describe()}

    def check(self) -> list[str]:
        """Problems of the store itself, in words."""
        return self._database.check()

    def maintain(self) -> None:
        """Checkpoint and the like."""
        self._database.maintain()

    def close(self) -> None:
        """Give the connections back."""
        self._database.close()


def _look_up(connection: sa.Connection, ids: Sequence[str], scopes: Sequence[str]) -> Sequence[Sequence[Any]]:
    """Rows of at most `CHUNK` entries by id, and inside these scopes if there are any."""
    wanted: dict[str, Any] = {f"scope_{place}": scope for place, scope in enumerate(scopes)}
    if connection.dialect.name != "sqlite":
        return _lookup_listed(len(scopes)).run(connection, {**wanted, "ids_": list(ids)}).fetchall()
    size = next(size for size in _LOOKUPS if size >= len(ids))
    # The last one again and again: a statement for every number of ids would be prepared anew each time.
    wanted |= {f"id_{place}": ids[min(place, len(ids) - 1)] for place in range(size)}
    return _lookup(size, len(scopes)).run(connection, wanted).fetchall()


def scopes_of(database: Database, ids: Sequence[str]) -> list[str] | None:
    """The scopes in which these entries are; an entry never leaves its scope.

    `None` where it makes no difference, because the engine writes one thing at a time.
    """
    if database.dialect == "sqlite":
        return None
    statement = sa.select(memory_records.c.scope).distinct().where(_listed())
    with database.read() as connection:
        return sorted(connection.execute(statement, {"ids_": list(ids)}).scalars())


def remember_messages(connection: sa.Connection, saved: history.Saved, actor: str, *, recallable: bool) -> None:
    """What was said becomes entries, and what is no longer in the record leaves recall."""
    for start in range(0, len(saved.replaced), CHUNK):
        chunk = saved.replaced[start : start + CHUNK]
        for row in connection.execute(_SELECT.where(memory_records.c.id.in_(chunk))).all():
            remove_entry(connection, entry_of(row), actor, "forget")
    if recallable:
        _insert_rows(connection, [values for values in saved.written if values is not None], actor)


def insert_entries(connection: sa.Connection, entries: Sequence[MemoryEntry], actor: str) -> None:
    """Entries that are new and have no tags, and their lines in the change log."""
    _insert_rows(connection, [entry_values(entry) for entry in entries], actor)


def _insert_rows(connection: sa.Connection, rows: Sequence[Mapping[str, Any]], actor: str) -> None:
    if rows:
        _INSERT_ENTRY.run(connection, *rows)
        log_changes(
            connection,
            [
                {
                    "entry_id": row["id"],
                    "scope": row["scope"],
                    "key": row["key"],
                    "version": row["version"],
                    "operation": "create",
                    "changed_at": row["updated_at"],
                    "changed_by": actor,
                    "changed": "[]",
                    "before": None,
                }
                for row in rows
            ],
        )


def history_of(
    connection: sa.Connection, which: sa.ColumnElement[bool], current: Mapping[str, MemoryEntry]
) -> list[EntryVersion]:
    """The versions that these changes tell of, oldest first; `current` are the entries as they are now."""
    changes = connection.execute(sa.select(memory_changes).where(which).order_by(memory_changes.c.sequence)).all()
    # Each change keeps the state before it, so the state after it stands in the next change of the same entry.
    after: dict[str, MemoryEntry | None] = dict(current)
    found = []
    for change in reversed(changes):
        found.append(
            EntryVersion(
                version=change.version,
                operation=change.operation,
                changed_at=change.changed_at,
                changed_by=change.changed_by,
                changed=tuple(json.loads(change.changed)),
                entry=None if change.operation in GONE else after.get(change.entry_id),
            )
        )
        after[change.entry_id] = MemoryEntry.from_dict(json.loads(change.before)) if change.before else None
    return found[::-1]


def change_values(
    entry: MemoryEntry, operation: str, actor: str, changed: list[str], before: MemoryEntry | None
) -> dict[str, Any]:
    """A row of the change log."""
    return {
        "entry_id": entry.id,
        "scope": entry.scope,
        "key": entry.key,
        "version": entry.version,
        "operation": operation,
        "changed_at": entry.updated_at,
        "changed_by": actor,
        "changed": to_json(changed) if changed else "[]",
        "before": to_json(before.to_dict()) if before is not None else None,
    }


def erase_messages(connection: sa.Connection, scope: str, ids: Sequence[str], actor: str) -> int:
    """Delete what recall has of messages, and the texts of all versions, for good; returns how many there were.

    Each leaves an erasing line in the change log, also one that was never recallable: an import of an old export finds
    it there and does not bring the message back.
    """
    erased = 0
    now = clock.utc_now()
    changes = memory_changes.c
    for start in range(0, len(ids), CHUNK):
        chunk = ids[start : start + CHUNK]
        there = sa.select(memory_records.c.id).where(memory_records.c.id.in_(chunk))
        erased += len(connection.execute(there).all())
        connection.execute(memory_records.delete().where(memory_records.c.id.in_(chunk)))
        versions = last_versions(connection, chunk)
        kept = memory_changes.update().where(changes.entry_id.in_(chunk), changes.before.is_not(None))
        connection.execute(kept.values(before=None, changed="[]"))
        rows = [
            {
                "entry_id": message_id,
                "scope": scope,
                "key": None,
                "version": versions.get(message_id, 0) + 1,
                "operation": "erase",
                "changed_at": now,
                "changed_by": actor,
                "changed": "[]",
                "before": None,
            }
            for message_id in chunk
        ]
        log_changes(connection, rows)
    return erased


def insert_entry(connection: sa.Connection, entries: Sequence[MemoryEntry]) -> None:
    """Rows for new entries."""
    _INSERT_ENTRY.run(connection, *(entry_values(entry) for entry in entries))


def remove_entry(
    connection: sa.Connection, entry: MemoryEntry, actor: str, operation: str, now: datetime | None = None
) -> None:
    """Take an entry out of the records; the change log keeps it, unless it is erased."""
    gone = replace(entry, version=entry.version + 1, updated_at=now or clock.utc_now())
    connection.execute(memory_records.delete().where(memory_records.c.id == entry.id))
    log_changes(connection, [change_values(gone, operation, actor, [], None if operation == "erase" else entry)])


def _updated(before: MemoryEntry, draft: Draft) -> MemoryEntry:
    """The next version of an entry: identity, creation time and access counts are kept."""
    new = draft.entry
    return replace(
        new,
        **{name: getattr(before, name) for name in draft.keep},
        id=before.id,
        created_at=before.created_at,
        updated_at=max(new.updated_at, before.updated_at),
        last_accessed_at=before.last_accessed_at,
        access_count=before.access_count,
        pinned=before.pinned or new.pinned,
        version=before.version + 1,
    )


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
    connection: sa.Connection, entries: Sequence[MemoryEntry]
) -> dict[tuple[str, str | None], MemoryEntry]:
    keyed = [entry for entry in entries if entry.key is not None]
    if len(keyed) == 1:
        wanted = {"scope_": keyed[0].scope, "key_": keyed[0].key}
        # Mostly there is none, and this way of asking is the quickest.
        if _ID_BY_KEY.run(connection, wanted).fetchone() is None:
            return {}
        row = connection.execute(_BY_KEY, wanted).one()
        return {(row.scope, row.key): entry_of(row)}
    by_scope: dict[str, list[str]] = {}
    for entry in keyed:
        by_scope.setdefault(entry.scope, []).append(str(entry.key))
    found: dict[tuple[str, str | None], MemoryEntry] = {}
    record = memory_records.c
    few: list[tuple[str, str]] = []
    for scope, keys in by_scope.items():
        if len(keys) < _FEW_KEYS:
            few += [(scope, key) for key in keys]
            continue
        for start in range(0, len(keys), CHUNK):
            statement = _SELECT.where(record.scope == scope, record.key.in_(keys[start : start + CHUNK]))
            found.update(((row.scope, row.key), entry_of(row)) for row in connection.execute(statement))
    # A load of many scopes has a few of each: together, or it would be a question for every scope.
    for start in range(0, len(few), _PAIRS):
        statement = _SELECT.where(sa.tuple_(record.scope, record.key).in_(few[start : start + _PAIRS]))
        found.update(((row.scope, row.key), entry_of(row)) for row in connection.execute(statement))
    return found


def _erase_versions(connection: sa.Connection, scope: str, key: str) -> int:
    """Delete the texts of all versions, and the tags that nothing else has; returns how many versions had one."""
    statement = (
        memory_changes.update()
        .where(memory_changes.c.scope == scope, memory_changes.c.key == key, memory_changes.c.before.is_not(None))
        .values(before=None, changed="[]")
    )
    erased = connection.execute(statement).rowcount
    tags.collect(connection)
    return erased


def _change(row: Sequence[Any]) -> Change:
    """A row of `_PLACES` as the driver gives it."""
    sequence, entry_id, scope, version, moment = row
    return Change(sequence, entry_id, scope, version, fingerprint(entry_id, version, moment))

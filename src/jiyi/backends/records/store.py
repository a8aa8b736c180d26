"""SqlRecordStore: the truth, one transaction for each change, on SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from jiyi.backends.records import meta, overlays, tags
from jiyi.backends.records.changelog import SELECT_CHANGE, change_of, known_keys, versions_of
from jiyi.backends.records.codec import BY_IDS, BY_KEY, SELECT_ENTRY, entry_of
from jiyi.backends.records.filtered_ids import FilteredIds
from jiyi.backends.records.filters import count_sql, in_scopes
from jiyi.backends.records.schema import ACTIVE
from jiyi.backends.records.sql import Database, Row, chunks, moment
from jiyi.errors import StoreDamagedError
from jiyi.model import clock
from jiyi.model.entry import EntryVersion, MemoryEntry
from jiyi.model.filters import Filters
from jiyi.model.limits import Limits
from jiyi.model.listing import NEWEST_FIRST, Order, Place
from jiyi.ports import START, Change, Draft, ImportCounts, LogPosition, TaggedEntries, TagPage, TagPosition

# Modules that not every program needs are imported where they are used: a command that only recalls starts sooner.
if TYPE_CHECKING:
    from jiyi.errors import ImportFormatError
    from jiyi.model.message import Message
    from jiyi.model.note import NoteCounts, NoteFile, NoteUpdate

_META: Final = "SELECT name, value FROM store_meta WHERE name IN :names"
_FETCH_IN_SCOPES: Final = f"{BY_IDS} AND {in_scopes(by_id=True)}"
_BY_ID: Final = f"{SELECT_ENTRY} WHERE id = :id AND scope || '' = :scope"
_SCAN: Final = f"{SELECT_ENTRY} WHERE {ACTIVE} AND id > :after ORDER BY id LIMIT :limit"
# Each end of the range is a subquery of its own, answered by one end of the index.
_FIRST_EVENT: Final = "(SELECT min(event_time) FROM memory_records WHERE scope = :scope_{})"
_LAST_EVENT: Final = "(SELECT max(event_time) FROM memory_records WHERE scope = :scope_{})"
_HEAD: Final = f"{SELECT_CHANGE} ORDER BY sequence DESC LIMIT 1"
_CHANGE_AT: Final = f"{SELECT_CHANGE} WHERE sequence = :sequence"
_CHANGES_AFTER: Final = f"{SELECT_CHANGE} WHERE sequence > :sequence ORDER BY sequence LIMIT :limit"
_CHANGES_AFTER_IN_SCOPES: Final = (
    f"{SELECT_CHANGE} WHERE sequence > :sequence AND {in_scopes(by_id=True)} ORDER BY sequence LIMIT :limit"
)
_PENDING: Final = "SELECT count(*) FROM memory_changes WHERE sequence > :sequence"
# The scope as an expression: only the lines that follow are read, however many the scope has.
_PENDING_IN_SCOPES: Final = f"{_PENDING} AND {in_scopes(by_id=True)}"


def _one(scope: str, key: str | None, entry_id: str | None) -> tuple[str, dict[str, Any]]:
    """The statement for the entry with this id, or else with this key."""
    if entry_id is None:
        return BY_KEY, {"scope": scope, "key": key}
    return _BY_ID, {"scope": scope, "id": entry_id}


class SqlRecordStore(FilteredIds):
    """Entries, their versions, conversations and the change log in one SQL database."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        found: dict[str, str] = dict(database.query(_META, {"names": ["store_id", "migration"]}))
        if "migration" in found:
            from jiyi.backends.records.copy import refuse_unfinished

            refuse_unfinished(found)
        if "store_id" not in found:
            raise StoreDamagedError(
                "the store has lost its identity (store_meta has no store_id): something has emptied that table; "
                "restore the database from a backup or an export"
            )
        self._store_id = str(found["store_id"])

    @property
    def store_id(self) -> str:
        """Which store this is, so that an index of another one is recognised."""
        return self._store_id

    # --- entries ----------------------------------------------------------------------------------------------------

    def put(self, drafts: Sequence[Draft], *, actor: str) -> list[MemoryEntry]:
        """Insert or update by (scope, key) in one transaction."""
        from jiyi.backends.records.writes import put_drafts

        with self._database.write(sorted({draft.entry.scope for draft in drafts})) as connection:
            return put_drafts(connection, drafts, actor)

    def update(
        self,
        scope: str,
        key_or_id: str,
        changes: Mapping[str, Any],
        *,
        actor: str,
        if_version: int | None = None,
        by_id: bool = False,
    ) -> MemoryEntry | None:
        """A new version of the entry with this key, or else this id, with these fields changed."""
        from jiyi.backends.records import entries

        with self._database.write((scope,)) as connection:
            return entries.update(connection, scope, key_or_id, changes, actor, if_version=if_version, by_id=by_id)

    def forget(
        self,
        scope: str,
        key: str | None,
        *,
        actor: str,
        erase: bool = False,
        entry_id: str | None = None,
        if_version: int | None = None,
    ) -> bool:
        """Remove the entry with this key or id; its versions stay in the change log unless `erase`."""
        from jiyi.backends.records import entries, writes

        # Tags that no other entry has are erased too, and only the whole store can tell which these are.
        with self._database.write(None if erase else (scope,)) as connection:
            row = connection.row(*_one(scope, key, entry_id))
            if row is not None:
                entry = entries.of_version(entry_of(row), if_version)
                entries.forget(connection, entry, actor, erase=erase)
            if not erase:
                return row is not None
            entries.erase_made_of(connection, scope, key, entry_id, actor)
            return writes.erase_versions(connection, scope, key, entry_id) > 0 or row is not None

    def forget_some(self, filters: Filters, *, actor: str, limit: int, erase: bool = False) -> int:
        """Forget at most `limit` entries that the filters admit, in one transaction; returns how many."""
        from jiyi.backends.records import entries

        with self._database.write(None if erase else filters.scopes) as connection:
            return entries.forget_some(connection, filters, actor, limit=limit, erase=erase)

    def count_expired(self, scopes: Sequence[str] | None, at: datetime) -> int:
        """How many active entries of these scopes, or of all, have expired."""
        from jiyi.backends.records import entries

        with self._database.read(scopes) as connection:
            return entries.count_expired(connection, scopes, at)

    def archive_expired(self, scopes: Sequence[str] | None, at: datetime, *, actor: str, limit: int) -> int:
        """Make at most `limit` entries inactive that have expired, in one transaction; returns how many."""
        from jiyi.backends.records import entries

        with self._database.write(scopes) as connection:
            return entries.archive_expired(connection, scopes, at, actor, limit=limit)

    def archived(self, filters: Filters, *, limit: int) -> list[MemoryEntry]:
        """Entries that were archived because they had expired, and that the filters admit as of `alive_at`."""
        from jiyi.backends.records import entries

        with self._database.read(filters.scopes) as connection:
            return entries.archived(connection, filters, limit=limit)

    def get(self, scopes: Sequence[str], key: str | None, *, entry_id: str | None = None) -> MemoryEntry | None:
        """The entry with this key or id in the first of `scopes` that has it."""
        now = clock.utc_now()
        with self._database.read(scopes) as connection:
            for scope in scopes:
                row = connection.row(*_one(scope, key, entry_id))
                if row is None:
                    continue
                [entry] = overlays.seen(connection.rows, scopes, [entry_of(row)])
                if entry.is_active and not entry.has_expired(now):
                    return entry
        return None

    def fetch(self, ids: Sequence[str], filters: Filters | None) -> dict[str, MemoryEntry]:
        """Entries by id; with filters only those they admit."""
        if not ids:
            return {}
        if filters is None:
            rows = self._database.query(BY_IDS, {"ids": list(ids)})
        else:
            # Scopes isolate and are part of the statement; the other conditions are cheaper to check here.
            params = {"ids": list(ids), "scopes": filters.scopes}
            rows = self._database.query(_FETCH_IN_SCOPES, params, filters.scopes)
            return {entry.id: entry for entry in self._with_overlays(filters, rows) if filters.admits(entry)}
        return {entry.id: entry for entry in map(entry_of, rows)}

    def _with_overlays(self, filters: Filters, rows: Sequence[Row]) -> list[MemoryEntry]:
        def query(sql: str, params: Mapping[str, Any]) -> list[Row]:
            return self._database.query(sql, params, filters.scopes)

        return overlays.seen(query, filters.scopes, map(entry_of, rows))

    def count(self, filters: Filters) -> int:
        """How many entries the filters admit."""
        sql, params = count_sql(filters, self._database.dialect)
        return int(self._database.query(sql, params, filters.scopes, prepare=False)[0][0])

    def page(
        self,
        filters: Filters,
        *,
        limit: int,
        offset: int = 0,
        order: Order = NEWEST_FIRST,
        after: Place | None = None,
    ) -> list[MemoryEntry]:
        """Entries in order."""
        from jiyi.backends.records import listing

        with self._database.read(filters.scopes) as connection:
            return listing.page(connection, filters, order, limit=limit, offset=offset, after=after)

    def namespaces(self, scopes: Sequence[str], *, now: datetime) -> list[tuple[str, ...]]:
        """The different namespaces of the entries of these scopes."""
        from jiyi.backends.records import listing

        with self._database.read(scopes) as connection:
            return list(dict.fromkeys(listing.namespaces(connection, scopes, now)))

    def versions(self, scope: str, key: str | None, *, entry_id: str | None = None) -> list[EntryVersion]:
        """All versions of the entries that had this key, or of the one with this id, oldest first."""
        condition = "scope = :scope AND key = :key" if entry_id is None else "scope = :scope AND entry_id = :id"
        with self._database.read((scope,)) as connection:
            sql, params = _one(scope, key, entry_id)
            current = {entry.id: entry for entry in map(entry_of, connection.rows(sql, params))}
            return versions_of(connection, condition, params, current)

    def known_keys(self, scope: str, keys: Sequence[str]) -> set[str]:
        """Which of these keys have a line in the change log."""
        with self._database.read((scope,)) as connection:
            return known_keys(connection, scope, keys)

    def time_range(self, scopes: Sequence[str]) -> tuple[datetime, datetime] | None:
        """When the first and the last of these scopes' entries happened."""
        edges = [edge.format(place) for place in range(len(scopes)) for edge in (_FIRST_EVENT, _LAST_EVENT)]
        params = {f"scope_{place}": scope for place, scope in enumerate(scopes)}
        row = self._database.query(f"SELECT {', '.join(edges)}", params, scopes)[0]
        found = [value for value in map(moment, row) if value is not None]
        return (min(found), max(found)) if found else None

    def touch(self, ids: Sequence[str], at: datetime, *, used: bool = True, scope: str | None = None) -> None:
        """Note the time of access, and with `used` count it; no new version, nothing to re-index."""
        from jiyi.backends.records import writes

        if not ids:
            return
        if scope is None:
            names = writes.scopes_of(self._database, ids)
        else:
            names = overlays.scopes_noted(self._database, scope, ids)
        with self._database.write(names, durable=False) as connection:
            for chunk in chunks(list(dict.fromkeys(ids))):
                writes.touch(connection, chunk, at, used=used, scope=scope)
                if scope is not None:
                    overlays.touch(connection, scope, chunk, at, used=used)

    def corrections(
        self, scopes: Sequence[str], conversation_ids: Sequence[str]
    ) -> list[tuple[MemoryEntry, MemoryEntry]]:
        """Facts made of these conversations that were corrected, each with the active fact that holds now."""
        from jiyi.backends.records.corrections import corrections

        def query(sql: str, params: Mapping[str, Any]) -> list[Row]:
            return self._database.query(sql, params, scopes)

        return corrections(query, scopes, conversation_ids)

    def scan(self, *, after_id: str = "", limit: int) -> list[MemoryEntry]:
        """All active entries of all scopes in id order."""
        with self._database.read() as connection:
            return [entry_of(row) for row in connection.rows(_SCAN, {"after": after_id, "limit": limit})]

    # --- tags -------------------------------------------------------------------------------------------------------

    def tags_since(self, known: TagPosition | None) -> TagPage:
        """Tags that were added after this state; all of them when it is none or some were removed since."""
        with self._database.read() as connection:
            return tags.tags_since(connection, known)

    def tagged(
        self, tag_ids: Iterable[int], filters: Filters, *, limit: int, each_type: bool = False, day_shift: int = 0
    ) -> TaggedEntries:
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

    # --- the change log ---------------------------------------------------------------------------------------------

    def head(self) -> LogPosition:
        """The last position of the change log."""
        rows = self._database.query(_HEAD)
        return change_of(rows[0]).log_position if rows else START

    def log_position_at(self, sequence: int) -> LogPosition | None:
        """The position with this sequence number; `None` when there is no such line."""
        if sequence == 0:
            return START
        rows = self._database.query(_CHANGE_AT, {"sequence": sequence})
        return change_of(rows[0]).log_position if rows else None

    def changes_after(self, sequence: int, *, limit: int, scopes: Sequence[str] | None = None) -> list[Change]:
        """The changes that follow this sequence number, in these scopes or in all."""
        params: dict[str, Any] = {"sequence": sequence, "limit": limit}
        if scopes is None:
            rows = self._database.query(_CHANGES_AFTER, params)
        else:
            rows = self._database.query(_CHANGES_AFTER_IN_SCOPES, {**params, "scopes": list(scopes)}, scopes)
        return [change_of(row) for row in rows]

    def pending(self, sequence: int, scopes: Sequence[str] | None = None) -> int:
        """How many changes follow this sequence number."""
        if scopes is None:
            rows = self._database.query(_PENDING, {"sequence": sequence})
        else:
            rows = self._database.query(_PENDING_IN_SCOPES, {"sequence": sequence, "scopes": list(scopes)}, scopes)
        return int(rows[0][0])

    # --- conversations and notes ------------------------------------------------------------------------------------

    def save_history(
        self,
        scope: str,
        session_id: str,
        messages: Sequence[Message],
        *,
        actor: str,
        recallable: bool = True,
        said_at: datetime | None = None,
    ) -> int:
        """Make `messages` the record of the session, in one transaction."""
        from jiyi.backends.records import history, writes

        with self._database.write((scope,)) as connection:
            saved = history.save(connection, scope, session_id, messages, said_at=said_at)
            writes.remember_messages(connection, scope, saved, actor, recallable=recallable)
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

    # --- the whole store --------------------------------------------------------------------------------------------

    def export_rows(self, scope: str | None) -> Iterator[dict[str, Any]]:
        """Everything, or everything of one scope, as JSON-ready rows from one snapshot."""
        from jiyi.backends.records import export

        with self._database.read(None if scope is None else (scope,)) as connection:
            yield from export.export_rows(connection, scope)

    def import_rows(
        self,
        rows: Iterable[Mapping[str, Any]],
        *,
        actor: str,
        update: bool = False,
        limits: Limits | None = None,
        refuse: Callable[[ImportFormatError], None] | None = None,
        dry_run: bool = False,
    ) -> ImportCounts:
        """Take exported rows in, in one transaction: a bad row means that nothing was changed.

        A dry run is the same transaction, rolled back.
        """
        from jiyi.backends.records import export
        from jiyi.backends.records.import_checks import ImportSchema
        from jiyi.backends.records.merge import Merge

        try:
            with self._database.write() as connection:
                schema = ImportSchema(limits or Limits())
                counts = export.import_rows(rows, Merge(connection, actor, schema, update=update), refuse)
                if dry_run:
                    raise export.DryRunError(counts)  # noqa: TRY301 - rolls back
                return counts
        except export.DryRunError as end:
            return end.counts

    def user_words(self) -> list[str]:
        """Words that the segmenter shall take as words."""
        return meta.words_in(self._database.query(meta.SELECT_WORDS))

    def add_user_word(self, word: str) -> bool:
        """Add one; whether it is new."""
        with self._database.write() as connection:
            return meta.add_user_word(connection, word)

    def indexed_metadata(self) -> list[str]:
        """The fields of metadata that are searched as well as the content."""
        return meta.words_in(self._database.query(meta.SELECT_FIELDS))

    def set_indexed_metadata(self, names: Sequence[str]) -> bool:
        """Search these fields from now on; whether they are others than before."""
        if list(names) == self.indexed_metadata():
            return False
        with self._database.write() as connection:
            meta.set_fields(connection, names)
        return True

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`."""
        return {"store_id": self._store_id, **self._database.describe()}

    def check(self) -> list[str]:
        """Problems of the store itself as messages."""
        return self._database.check()

    def maintain(self) -> None:
        """Checkpoint and the like."""
        self._database.maintain()

    def close(self) -> None:
        """Close the connections."""
        self._database.close()

"""Scopes as a whole: what each holds, and deleting one from every table."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from jiyi.backends.records import tags, writes
from jiyi.backends.records.codec import SELECT_ENTRY, entry_of
from jiyi.backends.records.filters import in_scopes, where
from jiyi.backends.records.overlays import seen
from jiyi.backends.records.schema import ACTIVE, CONTENTS
from jiyi.backends.records.sql import Connection, Database, Dialect, Row, moment
from jiyi.model import clock
from jiyi.model.change import MemoryChange
from jiyi.model.entry import MESSAGE_TYPE, MemoryEntry
from jiyi.model.filters import Filters
from jiyi.model.note import NOTE_SCOPES, is_note_scope, note_scopes_of
from jiyi.model.scope import ERASED_SCOPE
from jiyi.model.scope_report import ScopeInfo, ScopeReceipt, ScopeStatistics
from jiyi.ports.administration import ChangeSignal

_ENTRIES: Final = (
    f"SELECT scope, count(*) FROM memory_records WHERE {ACTIVE} AND memory_type != '{MESSAGE_TYPE}' GROUP BY scope"
)
_MESSAGES: Final = (
    "SELECT scope, count(*), count(DISTINCT session_id) FROM conversation_history WHERE replaced_at IS NULL "
    "GROUP BY scope"
)
_KINDS: Final = "memory_type, category, domain, {}, count(*)"
_DAY: Final[dict[Dialect, str]] = {
    "sqlite": "substr(created_at, 1, 10)",
    "postgresql": "to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
}
_JOBS: Final = "SELECT scope, count(*) FROM jobs WHERE state != 'done' GROUP BY scope"
_LAST_CHANGES: Final = "SELECT scope, max(changed_at) FROM memory_changes GROUP BY scope"
_CHANGES: Final = (
    "SELECT sequence, operation, entry_id, scope, key, version, changed_at, changed_by FROM memory_changes "
    f"WHERE sequence > :after AND substr(scope, 1, {len(NOTE_SCOPES)}) != :notes {{}}ORDER BY sequence LIMIT :limit"
)
_LAST_ERASURE: Final = (
    "SELECT sequence, changed_at, changed_by FROM memory_changes WHERE sequence > :after AND sequence < :before "
    "AND scope = :erased AND operation = 'erase' ORDER BY sequence DESC LIMIT 1"
)
_FIRST_LINE: Final = "SELECT sequence FROM memory_changes WHERE scope = :scope ORDER BY sequence LIMIT 1"
_NEVER: Final = 2**62
_MAX_FIRST_LINES: Final = 1_000
_BY_PREFIX: Final = (
    f"{SELECT_ENTRY} WHERE id >= :first AND id < :end AND {in_scopes(by_id=True)} AND {ACTIVE} ORDER BY id LIMIT :limit"
)
_OF_SCOPE: Final = f"{SELECT_ENTRY} WHERE scope = :scope ORDER BY id"
_IDS: Final = "SELECT id FROM memory_records WHERE scope = :scope"
_REMOVED_PIECES: Final = "SELECT DISTINCT entry_id FROM memory_changes WHERE scope = :scope AND operation = 'forget'"
_MESSAGE_IDS: Final = "SELECT message_id FROM conversation_history WHERE scope = :scope"
_DROP_JOBS: Final = "DELETE FROM jobs WHERE scope = :scope AND state != 'done'"
_REJECT_CANDIDATES: Final = (
    "UPDATE flush_candidates SET state = 'rejected', state_at = :now, taken_by = 'forgotten' "
    "WHERE scope = :scope AND state = 'new'"
)
_WORKSPACES: Final = "SELECT DISTINCT workspace FROM note_files WHERE scope = :scope"
_ERASE_LOG: Final = (
    "UPDATE memory_changes SET key = NULL, before = NULL, changed = '[]', changed_by = :by WHERE scope = :scope"
)
_FORGET_NAME: Final = "UPDATE memory_changes SET scope = :erased WHERE scope = :scope"
_NOTE_SCOPES: Final = f"SELECT DISTINCT scope FROM {{}} WHERE substr(scope, 1, {len(NOTE_SCOPES)}) = :notes"
_TABLES: Final = tuple(
    table.name
    for table in CONTENTS
    if "scope" in table.names and table.name not in {"memory_changes", "memory_records"}
)
"""Every table with a scope, except those of entries and of their log: a new table is found here by itself."""


class SqlAdministrationStore:
    """Looks at scopes as a whole, and deletes them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._first_lines: OrderedDict[tuple[str, int], int | None] = OrderedDict()

    def scopes(self) -> list[ScopeInfo]:
        """Every scope with what it holds, in the order of their names."""
        with self._database.read() as connection:
            found: dict[str, ScopeInfo] = {}

            def add(scope: str, **values: Any) -> None:
                if not is_note_scope(scope) and scope:
                    found[scope] = replace(found.get(scope, ScopeInfo(scope)), **values)

            for scope, count in connection.rows(_ENTRIES):
                add(scope, entries=count)
            for scope, count, sessions in connection.rows(_MESSAGES):
                add(scope, messages=count, sessions=sessions)
            for scope, count in connection.rows(_JOBS):
                add(scope, jobs=count)
            for scope, last in connection.rows(_LAST_CHANGES):
                if scope != ERASED_SCOPE or scope in found:
                    add(scope, last_change=moment(last))
        return sorted(found.values(), key=lambda info: info.scope)

    def statistics(self, filters: Filters) -> ScopeStatistics:
        """How many entries these conditions admit, by what they are and when they were stored; in one pass."""
        condition, params = where(filters, self._database.dialect)
        kinds = _KINDS.format(_DAY[self._database.dialect])
        sql = f"SELECT {kinds} FROM memory_records WHERE {condition} GROUP BY 1, 2, 3, 4"
        types: Counter[str] = Counter()
        categories: Counter[str] = Counter()
        domains: Counter[str] = Counter()
        days: Counter[str] = Counter()
        for memory_type, category, domain, day, count in self._database.query(
            sql, params, filters.scopes, prepare=False
        ):
            types[memory_type] += count
            if memory_type == MESSAGE_TYPE:
                continue
            categories[category] += count
            days[day] += count
            if domain is not None:
                domains[domain] += count
        messages = types[MESSAGE_TYPE]
        return ScopeStatistics(
            scope=filters.scopes[0],
            entries=types.total() - messages,
            messages=messages,
            memory_types=dict(sorted(types.items())),
            categories=dict(sorted(categories.items())),
            domains=dict(sorted(domains.items())),
            days=dict(sorted(days.items())),
        )

    def changes(self, after: int, scopes: Sequence[str] | None, limit: int) -> list[MemoryChange]:
        """The changes behind this position, in order; `None` as scopes means all of them."""
        params = {"after": after, "limit": limit, "notes": NOTE_SCOPES}
        if scopes is None:
            rows = self._database.query(_CHANGES.format(""), params)
        else:
            rows = self._database.query(_CHANGES.format(f"AND {in_scopes(by_id=True)} "), {**params, "scopes": scopes})
        found = list(map(_change_of, rows))
        if scopes is not None and after > 0:
            # After the others were read: those of a scope that is erased meanwhile lose its name.
            found += self._erased_scopes(after, scopes, found)
            found.sort(key=lambda change: change.position)
        return found[:limit]

    def _erased_scopes(self, after: int, scopes: Sequence[str], told: Sequence[MemoryChange]) -> list[MemoryChange]:
        """One change for each of these scopes that was erased behind this position: its own lines have no name.

        A scope has no line before its erasure any more. One that never had any may be named too.
        """
        params = {"after": after, "erased": ERASED_SCOPE}
        newest = self._database.query(_LAST_ERASURE, {**params, "before": _NEVER})
        found = []
        for scope in dict.fromkeys(scopes) if newest else ():
            first = self._first_line(scope, newest[0][0])
            last = newest if first is None else self._database.query(_LAST_ERASURE, {**params, "before": first})
            if not last or scope == ERASED_SCOPE:
                continue
            position, changed_at, changed_by = last[0]
            if all(change.position != position for change in told):
                at = clock.of_driver(changed_at)
                found.append(MemoryChange(position, "erase_scope", "", scope, None, 0, at, changed_by))
        return found

    def _first_line(self, scope: str, erasure: int) -> int | None:
        """The first line of a scope: it stays the same until something is erased again."""
        known = self._first_lines.get((scope, erasure))
        if known is None:
            rows = self._database.query(_FIRST_LINE, {"scope": scope})
            known = self._first_lines[scope, erasure] = rows[0][0] if rows else None
            while len(self._first_lines) > _MAX_FIRST_LINES:
                self._first_lines.popitem(last=False)
        return known

    def listen(self) -> ChangeSignal | None:
        """A signal for changes; `None` where the engine sends no notifications and has to be polled."""
        return self._database.listen()

    def entries_by_id_prefix(self, prefix: str, scopes: Sequence[str], limit: int) -> list[MemoryEntry]:
        """The active entries of these scopes whose ids begin with the prefix, oldest first."""
        # Ids are letters, digits and the signs `._-`, also those of other programs: all of them sort before `~`.
        params = {"first": prefix, "end": f"{prefix}~", "scopes": scopes, "limit": limit}
        found = map(entry_of, self._database.query(_BY_PREFIX, params, scopes))
        shown = seen(lambda sql, values: self._database.query(sql, values, scopes), scopes, found)
        return [entry for entry in shown if entry.is_active]

    def forget_scope(self, scope: str, *, actor: str, erase: bool) -> ScopeReceipt:
        """Remove every entry of the scope; with `erase` everything else of it as well, for good."""
        # Tags that no other entry has are erased too, and only the whole store can tell which these are.
        with self._database.write(None if erase else (scope,)) as connection:
            now = clock.utc_now()
            if not erase:
                entries = list(map(entry_of, connection.rows(_OF_SCOPE, {"scope": scope})))
                for entry in entries:
                    writes.remove_entry(connection, entry, actor, "forget", now)
                # What was to be learned from the conversations, which stay, is not learned any more.
                connection.execute(_DROP_JOBS, {"scope": scope})
                connection.execute(_REJECT_CANDIDATES, {"scope": scope, "now": now})
                return ScopeReceipt(scope, erased=False, at=now, removed={"memory_records": len(entries)})
            workspaces = connection.column(_WORKSPACES, {"scope": scope})
            removed: dict[str, int] = {}
            for each in (scope, *_note_scopes(connection, scope)):
                for table, count in _erase(connection, each, actor).items():
                    removed[table] = removed.get(table, 0) + count
            tags.collect(connection)
            return ScopeReceipt(
                scope,
                erased=True,
                at=now,
                removed={table: count for table, count in removed.items() if count},
                note_workspaces=tuple(workspaces),
            )

    def forget_name(self, scope: str) -> dict[str, int]:
        """Replace the name of an erased scope in the change log; returns what still belongs to the scope."""
        with self._database.write() as connection:
            for each in _note_scopes(connection, scope):
                # The feed has no changes of notes, also not of erased ones.
                connection.execute(_FORGET_NAME, {"scope": each, "erased": f"{NOTE_SCOPES}{ERASED_SCOPE}"})
            connection.execute(_FORGET_NAME, {"scope": scope, "erased": ERASED_SCOPE})
        with self._database.read() as connection:
            counts = {
                table: connection.scalar(
                    f"SELECT count(*) FROM {table} WHERE scope IN :scopes",
                    {"scopes": [scope, *_note_scopes(connection, scope)]},
                )
                for table in ("memory_records", "memory_changes", *_TABLES)
                if scope != ERASED_SCOPE or table != "memory_changes"
            }
        return {table: count for table, count in counts.items() if count}


def _change_of(row: Row) -> MemoryChange:
    position, operation, entry_id, scope, key, version, changed_at, changed_by = row
    return MemoryChange(position, operation, entry_id, scope, key, version, clock.of_driver(changed_at), changed_by)


def _note_scopes(connection: Connection, scope: str) -> list[str]:
    """The scopes of the notes of a scope, also of workspaces that are not used any more."""
    named = {
        each
        for table in ("memory_records", "memory_changes")
        for each in connection.column(_NOTE_SCOPES.format(table), {"notes": NOTE_SCOPES})
    }
    return note_scopes_of(scope, sorted(named))


def _erase(connection: Connection, scope: str, actor: str) -> dict[str, int]:
    """Delete the rows of a scope in every table; its lines in the change log keep ids and times only."""
    params = {"scope": scope}
    # Files of an index may still hold the words of pieces of notes that an edit has removed.
    removed_pieces = connection.column(_REMOVED_PIECES, params) if is_note_scope(scope) else []
    named = (*connection.column(_IDS, params), *connection.column(_MESSAGE_IDS, params), *removed_pieces)
    ids = list(dict.fromkeys(named))
    removed = {
        table: connection.execute(f"DELETE FROM {table} WHERE scope = :scope", params).rowcount for table in _TABLES
    }
    # Each id gets an erasing line, by which the indexes drop it and an import of an old export leaves it out.
    removed["memory_records"] = writes.erase_messages(connection, scope, ids, actor)
    removed["memory_changes"] = connection.execute(_ERASE_LOG, {**params, "by": ERASED_SCOPE}).rowcount
    return removed

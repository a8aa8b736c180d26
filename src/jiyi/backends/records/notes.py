"""Pieces of notes in SQL: derived from files, kept as rows so that indexes and recall treat them like everything else.

A piece's id comes from its content, so an edit touches the pieces that it changed. What only moved inside its file
keeps its row; the lines it stands on are bookkeeping, like access counts. What was removed leaves no text in the log.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from jiyi.backends.records import store as records
from jiyi.backends.records import tags
from jiyi.backends.records.changelog import last_versions, log_changes
from jiyi.backends.records.prepared import Prepared
from jiyi.backends.records.rows import ENTRY_COLUMNS, entry_of, entry_values
from jiyi.backends.records.schema import memory_records, note_files
from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.model.note import FileStamp, NoteCounts, NoteFile, NoteUpdate, note_scope, thread_of

_STEP = 1 << 10
_MOST = 1 << 31
_CHUNK = 500
_INSERT_ENTRY = Prepared(memory_records.insert().inline(), memory_records.c.keys())
_PIECES = sa.select(*ENTRY_COLUMNS).where(
    memory_records.c.scope.in_(sa.bindparam("scopes_", expanding=True)),
    memory_records.c.conversation_id == sa.bindparam("thread_"),
)
_MOVE = (
    memory_records.update()
    .where(memory_records.c.id == sa.bindparam("id_"))
    .values({name: sa.bindparam(f"{name}_") for name in ("source", "position", "version", "updated_at")})
)


def files(connection: sa.Connection, workspace: str, scope: str) -> dict[str, NoteFile]:
    """What is known of the files of a workspace, by path."""
    statement = sa.select(note_files).where(note_files.c.workspace == workspace, note_files.c.scope == scope)
    return {
        row.path: NoteFile(
            path=row.path,
            stamp=FileStamp(row.size, row.modified, row.changed, row.inode),
            digest=row.digest,
            checked=row.checked,
            shared=row.shared,
            chunks=row.chunks,
            encoding=row.encoding,
            problem=row.problem,
        )
        for row in connection.execute(statement)
    }


_STATE = Prepared(
    sa.select(sa.func.count(), sa.func.max(note_files.c.checked)).where(
        note_files.c.workspace == sa.bindparam("workspace_"), note_files.c.scope == sa.bindparam("scope_")
    )
)


def state(connection: sa.Connection, workspace: str, scope: str) -> tuple[int, int]:
    """How many files are known and when the last of them was read: a much shorter question than what is known."""
    row = _STATE.run(connection, {"workspace_": workspace, "scope_": scope}).fetchone()
    return (int(row[0]), int(row[1] or 0)) if row is not None else (0, 0)


def scopes(workspace: str, scope: str) -> list[str]:
    """The scopes that hold the pieces of a workspace: the private ones, and those a group may see."""
    return [note_scope(workspace, scope, shared=shared) for shared in (False, True)]


def save(
    connection: sa.Connection, workspace: str, scope: str, updates: Sequence[NoteUpdate], actor: str
) -> NoteCounts:
    """Write the updates inside the caller's transaction."""
    own = scopes(workspace, scope)
    paths = [update.path for update in updates]
    for start in range(0, len(paths), _CHUNK):
        gone = note_files.delete().where(
            note_files.c.workspace == workspace,
            note_files.c.scope == scope,
            note_files.c.path.in_(paths[start : start + _CHUNK]),
        )
        connection.execute(gone)
    rows = [_row(workspace, scope, update.file) for update in updates if update.file is not None]
    if rows:
        connection.execute(note_files.insert(), rows)
    counts = NoteCounts()
    added: list[MemoryEntry] = []
    for update in updates:
        if update.file is not None and update.entries is None:
            continue
        wanted = update.entries or ()
        found = connection.execute(_PIECES, {"scopes_": own, "thread_": thread_of(update.path)})
        present = {entry.id: entry for entry in map(entry_of, found)}
        ids = {entry.id for entry in wanted}
        removed = [entry for entry in present.values() if entry.id not in ids]
        _remove(connection, removed, actor)
        places = positions([entry.id for entry in wanted], {key: entry.position or 0 for key, entry in present.items()})
        placed = [replace(entry, position=places[entry.id]) for entry in wanted]
        moved = _move(connection, present, [entry for entry in placed if entry.id in present], actor)
        new = [entry for entry in placed if entry.id not in present]
        added += new
        counts += NoteCounts(len(new), len(removed), moved)
    _add(connection, added, actor)
    return counts


def positions(order: Sequence[str], known: Mapping[str, int]) -> dict[str, int]:
    """A rising position for each id in order. As many as possible keep theirs: a position is part of the index.

    New ones stand in the gaps; where there is no room left, all are numbered anew.
    """
    kept = _rising([(key, known[key]) for key in order if key in known])
    found: dict[str, int] = {}
    waiting: list[str] = []
    last = 0
    for key in (*order, None):
        if key is not None and key not in kept:
            waiting.append(key)
            continue
        end = kept[key] if key is not None else last + _STEP * (len(waiting) + 1)
        step = (end - last) // (len(waiting) + 1)
        if step < 1 or end >= _MOST:
            return {each: place for place, each in zip(range(_STEP, _MOST, _STEP), order, strict=False)}
        for place, each in enumerate(waiting, start=1):
            found[each] = last + place * step
        waiting = []
        if key is not None:
            found[key] = last = end
    return found


def _rising(places: Sequence[tuple[str, int]]) -> dict[str, int]:
    """The longest part of the list in which positions rise."""
    ends: list[int] = []
    at: list[int] = []
    before: list[int] = []
    for place, (_, value) in enumerate(places):
        length = bisect_left(ends, value)
        if length == len(ends):
            ends.append(value)
            at.append(place)
        else:
            ends[length], at[length] = value, place
        before.append(at[length - 1] if length else -1)
    found: dict[str, int] = {}
    place = at[-1] if at else -1
    while place >= 0:
        key, value = places[place]
        if value > 0:
            found[key] = value
        place = before[place]
    return found


def _row(workspace: str, scope: str, file: NoteFile) -> dict[str, Any]:
    return {
        "workspace": workspace,
        "scope": scope,
        "path": file.path,
        "size": file.stamp.size,
        "modified": file.stamp.modified,
        "changed": file.stamp.changed,
        "inode": file.stamp.inode,
        "digest": file.digest,
        "checked": file.checked,
        "shared": file.shared,
        "chunks": file.chunks,
        "encoding": file.encoding,
        "problem": file.problem,
    }


def _add(connection: sa.Connection, entries: Sequence[MemoryEntry], actor: str) -> None:
    """New rows. Text that comes back goes on with the version at which it left."""
    if not entries:
        return
    last = last_versions(connection, [entry.id for entry in entries])
    new = [replace(entry, version=last.get(entry.id, 0) + 1) for entry in entries]
    _INSERT_ENTRY.run(connection, *(entry_values(entry) for entry in new))
    log_changes(connection, [records.change_values(entry, "create", actor, [], None) for entry in new])
    tagged = [entry for entry in new if entry.tags]
    if tagged:
        tags.write_tags(connection, tagged)


def _remove(connection: sa.Connection, entries: Sequence[MemoryEntry], actor: str) -> None:
    now = clock.utc_now()
    for start in range(0, len(entries), _CHUNK):
        ids = [entry.id for entry in entries[start : start + _CHUNK]]
        connection.execute(memory_records.delete().where(memory_records.c.id.in_(ids)))
    gone = [replace(entry, version=entry.version + 1, updated_at=now) for entry in entries]
    log_changes(connection, [records.change_values(entry, "erase", actor, [], None) for entry in gone])


def _move(
    connection: sa.Connection, present: Mapping[str, MemoryEntry], placed: Sequence[MemoryEntry], actor: str
) -> int:
    """Write down where pieces stand now; returns how many stand elsewhere. Only a new order is news for an index."""
    now = clock.utc_now()
    moves: list[dict[str, Any]] = []
    changes: list[dict[str, Any]] = []
    for entry in placed:
        before = present[entry.id]
        if (entry.position, entry.source) == (before.position, before.source):
            continue
        after = replace(before, position=entry.position, source=entry.source)
        if entry.position != before.position:
            after = replace(after, version=before.version + 1, updated_at=now)
            changes.append(records.change_values(after, "update", actor, ["position"], None))
        values = entry_values(after)
        names = ("source", "position", "version", "updated_at")
        moves.append({"id_": after.id, **{f"{name}_": values[name] for name in names}})
    if moves:
        connection.execute(_MOVE, moves)
    log_changes(connection, changes)
    return len(moves)

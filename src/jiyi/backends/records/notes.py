"""Pieces of notes in SQL: derived from files, kept as rows so that indexes and recall treat them like everything else.

A piece's id comes from its content, so an edit touches the pieces that it changed. What only moved inside its file
keeps its row; its line numbers are bookkeeping, like access counts. A removed piece leaves no text in the log.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from jiyi.backends.records import tags
from jiyi.backends.records.changelog import last_versions, log_changes, log_line
from jiyi.backends.records.codec import SELECT_ENTRY, entry_of, entry_values
from jiyi.backends.records.schema import memory_records, note_files
from jiyi.backends.records.sql import Connection, chunks
from jiyi.backends.records.writes import delete_rows, insert_rows
from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.model.note import FileStamp, NoteCounts, NoteFile, NoteUpdate, note_scope, thread_of

_STEP: Final = 1 << 10
_MAX_POSITION: Final = 1 << 31
_OF_WORKSPACE = "workspace = :workspace AND scope = :scope"
_FILES = f"{note_files.select} WHERE {_OF_WORKSPACE}"
_STATE = f"SELECT count(*), max(checked) FROM note_files WHERE {_OF_WORKSPACE}"
_DELETE_FILES = f"DELETE FROM note_files WHERE {_OF_WORKSPACE} AND path IN :paths"
_PIECES = f"{SELECT_ENTRY} WHERE scope IN :scopes AND conversation_id = :thread"
_MOVED: Final = ("source", "position", "version", "updated_at")
_MOVE = f"{memory_records.update_of(_MOVED)} WHERE id = :id"


def files(connection: Connection, workspace: str, scope: str) -> dict[str, NoteFile]:
    """What is known of the files of a workspace, by path."""
    rows = connection.rows(_FILES, {"workspace": workspace, "scope": scope})
    return {row["path"]: _file(row) for row in map(note_files.values, rows)}


def _file(row: Mapping[str, Any]) -> NoteFile:
    return NoteFile(
        path=row["path"],
        stamp=FileStamp(row["size"], row["modified"], row["changed"], row["inode"]),
        digest=row["digest"],
        checked=row["checked"],
        shared=row["shared"],
        chunks=row["chunks"],
        encoding=row["encoding"],
        problem=row["problem"],
    )


def state(connection: Connection, workspace: str, scope: str) -> tuple[int, int]:
    """How many files are known and when the last of them was read; much cheaper than `files`."""
    number, checked = connection.rows(_STATE, {"workspace": workspace, "scope": scope})[0]
    return int(number), int(checked or 0)


def scopes(workspace: str, scope: str) -> list[str]:
    """The scopes that hold the pieces of a workspace: the private ones, and those a group may see."""
    return [note_scope(workspace, scope, shared=shared) for shared in (False, True)]


def save(connection: Connection, workspace: str, scope: str, updates: Sequence[NoteUpdate], actor: str) -> NoteCounts:
    """Write the updates inside the caller's transaction."""
    own = scopes(workspace, scope)
    for paths in chunks([update.path for update in updates]):
        connection.execute(_DELETE_FILES, {"workspace": workspace, "scope": scope, "paths": paths})
    rows = [_row(workspace, scope, update.file) for update in updates if update.file is not None]
    if rows:
        connection.executemany(note_files.insert, rows)
    counts = NoteCounts()
    added: list[MemoryEntry] = []
    for update in updates:
        if update.file is not None and update.entries is None:
            continue
        wanted = update.entries or ()
        found = connection.rows(_PIECES, {"scopes": own, "thread": thread_of(update.path)})
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

    New ones get positions in the gaps; where there is no room left, all are numbered anew.
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
        if step < 1 or end >= _MAX_POSITION:
            return {each: place for place, each in zip(range(_STEP, _MAX_POSITION, _STEP), order, strict=False)}
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


def _add(connection: Connection, entries: Sequence[MemoryEntry], actor: str) -> None:
    """New rows. Text that comes back goes on with the version at which it left."""
    if not entries:
        return
    last = last_versions(connection, [entry.id for entry in entries])
    new = [replace(entry, version=last.get(entry.id, 0) + 1) for entry in entries]
    insert_rows(connection, new)
    log_changes(connection, [log_line(entry, "create", actor, [], None) for entry in new])
    tagged = [entry for entry in new if entry.tags]
    if tagged:
        tags.write_tags(connection, tagged)


def _remove(connection: Connection, entries: Sequence[MemoryEntry], actor: str) -> None:
    """Delete pieces that their file does not have any more.

    The log says `forget`, without the text: after `erase` an index would write again all that shares a file with them,
    with every edit of a note.
    """
    now = clock.utc_now()
    delete_rows(connection, [entry.id for entry in entries])
    removed = [replace(entry, version=entry.version + 1, updated_at=now) for entry in entries]
    log_changes(connection, [log_line(entry, "forget", actor, [], None) for entry in removed])


def _move(connection: Connection, present: Mapping[str, MemoryEntry], placed: Sequence[MemoryEntry], actor: str) -> int:
    """Update the positions and lines of pieces; returns how many changed. Only a new position concerns an index."""
    now = clock.utc_now()
    moves: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    for entry in placed:
        before = present[entry.id]
        if (entry.position, entry.source) == (before.position, before.source):
            continue
        after = replace(before, position=entry.position, source=entry.source)
        if entry.position != before.position:
            after = replace(after, version=before.version + 1, updated_at=now)
            lines.append(log_line(after, "update", actor, ["position"], None))
        values = entry_values(after)
        moves.append({name: values[name] for name in ("id", *_MOVED)})
    if moves:
        connection.executemany(_MOVE, moves)
    log_changes(connection, lines)
    return len(moves)

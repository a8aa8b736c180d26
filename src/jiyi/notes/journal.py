"""The journal of recent appends, by which `jiyi.notes.recovery` finds entries that another program overwrote.

A program that saves by renaming reads a file and later puts its own version in its place. An entry that was appended in
between is not in that version. The journal holds the last entries of each process with the file they went to. It also
holds what a process was about to write when it was killed, so that half an entry can be completed.

Each process has a journal file of its own and keeps it locked while it runs. `Journal.mark_checked` records the moment
at which all entries were compared with the files; older entries need no further check. The journal is not synced:
after a power cut only the note files count.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from json.encoder import encode_basestring
from pathlib import Path
from typing import Final, NamedTuple

from jiyi.errors import NotesError
from jiyi.file_lock import is_open_file_locked, lock_until_closed
from jiyi.notes.file_identity import file_clock

_CHECK_SECONDS: Final = 10.0
"""How long an entry is compared with its file again after a check."""
UNKNOWN_START: Final = -1
_KEEP_SECONDS: Final = 600.0
_ROTATE_BYTES: Final = 128 << 10
_SUFFIX: Final = ".jsonl"
_CHECKED: Final = "looked"
_CHECK_INTERVAL: Final = 10**9
_MAX_OLD_FILES: Final = 4


class Record(NamedTuple):
    """The last that is known of one entry."""

    id: str
    path: str
    text: str
    """The entry as it is written to the file."""
    written: int
    """When it was last known to be in its file, or began to be written; nanoseconds since 1970."""
    file: str = ""
    """The identity of the file it went to; empty while it is not known to be there."""
    restored: int = 0
    """How often it was written again."""
    start: int = UNKNOWN_START
    """Where it began in that file."""
    base: str = ""
    """The digest of what stood in the file before it."""
    begun: int = 0
    """When the write began, by the exact clock; `written` is by the clock of files."""


class _Written(NamedTuple):
    """An entry is in a file since then."""

    id: str
    file: str
    restored: int
    at: int
    start: int
    base: str


class _Removed(NamedTuple):
    """An entry was taken out."""

    id: str


class Journal:
    """The journals of all processes for one workspace; this process writes to its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own: int | None = None
        self._owner = self._size = 0
        self._older: list[int] = []
        self._guard = threading.Lock()
        self._known: dict[Path, _JournalFile] = {}
        self._reading = threading.Lock()

    def intend(self, record: Record) -> None:
        """An entry is about to be written."""
        self._write(
            f'{{"id":"{record.id}","path":{encode_basestring(record.path)},"written":{record.written},'
            f'"restored":{record.restored},"begun":{time.time_ns()},"text":{encode_basestring(record.text)}}}\n'
        )

    def done(self, entry_id: str, file: str, restored: int, start: int = UNKNOWN_START, base: str = "") -> int:
        """It is in the file with this identity, since a moment that is written down and returned."""
        # The disk or another process may have delayed the write since `intend`.
        now = file_clock()
        self._write(
            f'{{"id":"{entry_id}","file":"{file}","restored":{restored},"at":{now},"start":{start},"base":"{base}"}}\n'
        )
        return now

    def removed(self, entry_id: str) -> None:
        """It was deleted on purpose: it is not written again."""
        self._write(f'{{"id":"{entry_id}","gone":true}}\n')

    def recent(self) -> tuple[list[Record], list[Record]]:
        """(entries that were written, entries that a process which is dead now was writing), the oldest first.

        Entries that somebody has compared with their file once their time was over are left out, and journals of dead
        processes from which nothing can be needed any more are deleted on the way.
        """
        intents: dict[str, Record] = {}
        dead: set[str] = set()
        done: dict[str, _Written] = {}
        gone: set[str] = set()
        settled = self._last_check() - int(_CHECK_SECONDS * 1e9)
        needless = min(settled, time.time_ns() - int(_KEEP_SECONDS * 1e9))
        for journal in self._journals():
            for line in journal.lines:
                if isinstance(line, Record):
                    if line.restored >= intents.get(line.id, line).restored:
                        intents[line.id] = line
                    if not journal.alive:
                        dead.add(line.id)
                elif isinstance(line, _Removed):
                    gone.add(line.id)
                elif line.id not in done or line.restored >= done[line.id].restored:
                    done[line.id] = line
            # By its own date: one without a line may belong to a process that is about to write the first.
            if not journal.alive and journal.changed < needless:
                with suppress(OSError):
                    journal.path.unlink()
        written = [
            Record(
                key,
                record.path,
                record.text,
                max(record.written, last.at),
                last.file,
                record.restored,
                last.start,
                last.base,
                record.begun,
            )
            for key, last in done.items()
            if last.at >= settled and key not in gone and (record := intents.get(key)) is not None
        ]
        begun = [record for key, record in intents.items() if key not in done and key in dead and key not in gone]
        return sorted(written, key=lambda record: record.written), begun

    def mark_checked(self, moment: int) -> None:
        """Everything in the journals of this moment was compared with the files, and what was missing is there."""
        if moment - self._last_check() < _CHECK_INTERVAL:
            return
        # Where this cannot be noted, or nothing was ever appended, the next look has more to compare and that is all.
        with suppress(OSError):
            descriptor = os.open(self._folder / _CHECKED, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.utime(descriptor, ns=(moment, moment))
            finally:
                os.close(descriptor)

    def _last_check(self) -> int:
        try:
            return (self._folder / _CHECKED).stat().st_mtime_ns
        except OSError:
            return 0

    def _journals(self) -> list[_JournalFile]:
        """All journals, read as far as they go; of what was read before only the rest is read."""
        with self._reading:
            try:
                paths = sorted(self._folder.glob(f"*{_SUFFIX}"))
            except OSError:
                return []
            known = (_read(path, self._known.get(path)) for path in paths)
            self._known = {journal.path: journal for journal in known if journal is not None}
            return list(self._known.values())

    def close(self) -> None:
        """Close the journal of this process; the file stays until no other process can need it."""
        for descriptor in self._older:
            os.close(descriptor)
        self._older.clear()
        if self._own is not None:
            os.close(self._own)
            self._own = None

    def _write(self, line: str) -> None:
        data = line.encode("utf-8")
        try:
            with self._guard:
                self._size += len(data)
                own = self._own
                if own is None or self._size >= _ROTATE_BYTES or self._owner != os.getpid():
                    own = self._begin(len(data))
                written = os.write(own, data)
        except OSError as error:
            raise NotesError(f"the journal {self._folder} cannot be written: {error.strerror}") from error
        if written < len(data):
            raise NotesError(f"the journal {self._folder} cannot be written: no room left on the disk")

    def _begin(self, size: int) -> int:
        """Make the next own file; returns its descriptor."""
        if self._own is not None and self._owner == os.getpid():
            # Kept locked for a while; when it is let go, others treat it like that of a process that has ended.
            self._older.append(self._own)
            if len(self._older) > _MAX_OLD_FILES:
                os.close(self._older.pop(0))
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._folder / f"{os.getpid()}-{os.urandom(6).hex()}{_SUFFIX}"
        self._own = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        lock_until_closed(self._own)
        self._owner, self._size = os.getpid(), size
        return self._own


@dataclass(frozen=True, slots=True)
class _JournalFile:
    """One journal, as far as it was read."""

    path: Path
    inode: int
    alive: bool
    """Whether its process lives."""
    changed: int
    read: int
    lines: list[Record | _Written | _Removed]


def _read(path: Path, before: _JournalFile | None) -> _JournalFile | None:
    """What a journal says; `None` when it is gone."""
    try:
        with path.open("rb") as file:
            alive = is_open_file_locked(file.fileno())
            status = os.fstat(file.fileno())
            # An erased scope leaves its journals empty.
            if before is not None and (before.inode != status.st_ino or status.st_size < before.read):
                before = None
            file.seek(start := 0 if before is None else before.read)
            data = file.read()
    except OSError:
        return None
    # The last line of a process that was killed may be torn; what it was about to say it had not begun to do.
    end = data.rfind(b"\n") + 1
    lines = [] if before is None else before.lines
    if end:
        lines = [*lines, *_parsed(data[:end])]
    return _JournalFile(path, status.st_ino, alive, status.st_mtime_ns, start + end, lines)


def _parsed(data: bytes) -> Iterator[Record | _Written | _Removed]:
    for line in data.splitlines():
        # A line that says something else is not ours.
        with suppress(ValueError, KeyError, TypeError):
            said = json.loads(line)
            if "gone" in said:
                yield _Removed(said["id"])
            elif "path" in said:
                begun = said.get("begun", said["written"])
                yield Record(
                    said["id"], said["path"], said["text"], said["written"], restored=said["restored"], begun=begun
                )
            else:
                yield _Written(
                    said["id"],
                    said["file"],
                    said["restored"],
                    said["at"],
                    said.get("start", UNKNOWN_START),
                    said.get("base", ""),
                )

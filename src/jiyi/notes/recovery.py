"""Recovery: entries that another program overwrote, or that a killed process had half written, are written again.

A program that saves by renaming may have read a file before an entry was appended to it. Its version then lacks an
entry it has never seen. A version may also lack an entry because somebody deleted it, and what people delete stays
deleted. `Recovery` decides by what is known of both versions:

- The version holds an entry that was appended later than the missing one: it was made with knowledge of both.
- Git has written its index since: a checkout, a restore or a stash put the version there.
- The version was made before the entry was written: it was certainly made without knowledge of it.
- The version is what the file was before the entry, or has no text at all: the entry was deleted.
- Otherwise the version lacks the entry and differs elsewhere. It is taken as overwritten if the version came within
  `OVERWRITE_SECONDS` of the entry, which is too short for a person to read the entry and delete it.
"""

from __future__ import annotations

import enum
import logging
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jiyi.errors import InvalidInputError, NotesError
from jiyi.notes import entries
from jiyi.notes.file_identity import content_digest, file_clock, file_identity, file_origin
from jiyi.notes.journal import UNKNOWN_START, Record

if TYPE_CHECKING:
    from jiyi.file_lock import FileLock
    from jiyi.notes.append import Appender
    from jiyi.notes.files import Files
    from jiyi.notes.journal import Journal

_log = logging.getLogger("jiyi.notes")

OVERWRITE_SECONDS: Final = 5.0
_MAX_RESTORES: Final = 10
"""How often an entry is written again: a program that saves all the time may overwrite it several times."""
_SLACK: Final = 4_096
"""How much may be appended to a file between looking at its size and reading it."""
_MIN_TORN: Final = len("\n- **")


class Verdict(enum.Enum):
    """What became of an entry that a file lacks."""

    DELETED = "deleted"
    OVERWRITTEN = "overwritten"
    UNDECIDED = "undecided"
    """Git is at work: ask again later."""


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file as it was read."""

    file: str
    """Its identity."""
    origin: int
    """When it was made, in nanoseconds."""
    data: bytes
    text: str
    places: dict[str, int]
    """Where the comments of the entries in it begin, by id."""

    def holds(self, record: Record) -> bool:
        """Whether the entry is there, as it was written or as people have changed it since."""
        if record.id not in self.places:
            return False
        before = record.text.index(entries.comment_of(record.id))
        return self.text.startswith(record.text, max(self.places[record.id] - before, 0)) or not self.torn(record)

    def torn(self, record: Record) -> bytes | None:
        """The bytes of the file with the rest of an entry of which only the beginning is there, if that is so."""
        whole = completed(self.data, record)
        # A person who deletes lines of an entry leaves whole lines.
        return whole if whole is not None and not _cut_at_line_end(self.data, record) else None


def read_content(files: Files, path: str) -> FileContent | None:
    """The file at this path as it is now; `None` when there is none."""
    try:
        with files.opened(path, os.O_RDONLY) as descriptor:
            # All of it: an entry behind the end of what was read would be written twice.
            data = os.pread(descriptor, os.fstat(descriptor).st_size + _SLACK, 0)
            text = data.decode(_encoding_of_start(data), "replace")
            return FileContent(file_identity(descriptor), file_origin(descriptor), data, text, entries.places_in(text))
    except FileNotFoundError:
        return None


@dataclass(frozen=True, slots=True)
class _MissingEntries:
    """A file and the recent entries that it lacks."""

    content: FileContent
    records: Sequence[Record]
    known: Sequence[Record]
    """All recent entries of its path."""


class Recovery:
    """Compares the journal of a workspace with its files."""

    def __init__(self, appender: Appender, files: Files, journal: Journal, lock: FileLock) -> None:
        self._appender = appender
        self._files = files
        self._journal = journal
        self._lock = lock
        self._seen: dict[str, str] = {}
        """Entry id -> identity of the last file in which it was found."""

    def reconcile(self) -> list[str]:
        """Write overwritten entries again and complete those of killed processes; returns their ids."""
        moment = time.time_ns()
        missing, torn, complete = self._missing()
        restored: list[str] = []
        if missing or torn:
            with self._lock.hold():
                # Another process may have been quicker, or may just have been writing one of them to the new version.
                missing, torn, complete = self._missing()
                for lack in missing:
                    complete = self._settle(lack, restored) and complete
                for record in torn:
                    complete = self._attempt(self._complete, record, restored) and complete
        if complete:
            self._journal.mark_checked(moment)
        return restored

    def _settle(self, lack: _MissingEntries, restored: list[str]) -> bool:
        """Restore the missing entries of a file that were overwritten; `False` when that has to be tried again."""
        complete = True
        for record in lack.records:
            verdict = self._judge(record, lack.content, lack.known)
            if verdict is Verdict.OVERWRITTEN:
                complete = self._attempt(self._restore, record, restored) and complete
            elif verdict is Verdict.DELETED:
                self._journal.removed(record.id)
            else:
                complete = False
        return complete

    def _attempt(self, restore: Callable[[Record], bool], record: Record, restored: list[str]) -> bool:
        try:
            if restore(record):
                restored.append(record.id)
        except (NotesError, InvalidInputError) as error:
            _log.warning("an entry is missing from %s and will be restored later: %s", record.path, error)
            return False
        return True

    def _restore(self, record: Record) -> bool:
        """Write an entry again that was overwritten."""
        again = record._replace(written=file_clock(), restored=record.restored + 1)
        self._journal.intend(again)
        self._appender.append_again(again, lambda: "")
        _log.warning("%s was overwritten by another program; an entry was written again", record.path)
        return True

    def _complete(self, record: Record) -> bool:
        """Complete an entry of which a killed process wrote only the beginning."""
        content = read_content(self._files, record.path)
        whole = completed(content.data, record) if content is not None else None
        if content is None or whole is None:
            return False
        self._appender.rewrite(record.path, content.data, whole)
        _log.warning("%s ended in half an entry of a process that was killed; it was completed", record.path)
        return True

    def _missing(self) -> tuple[list[_MissingEntries], list[Record], bool]:
        """(files that lack entries, entries that dead processes were writing, whether all were checked)."""
        written, begun = self._journal.recent()
        found: list[_MissingEntries] = []
        complete = True
        for path in dict.fromkeys(record.path for record in written):
            try:
                lack = self._missing_in(path, [record for record in written if record.path == path])
            except (NotesError, InvalidInputError) as error:
                # Something else has this name now, or it cannot be read: the other files are still checked.
                complete = False
                _log.warning("whether entries of %s were overwritten cannot be checked: %s", path, error)
            else:
                found += [lack] if lack is not None else []
        self._seen = {record.id: self._seen[record.id] for record in written if record.id in self._seen}
        return found, begun, complete

    def _missing_in(self, path: str, records: Sequence[Record]) -> _MissingEntries | None:
        """The entries that a file lacks which was put in place of the one they were written to."""
        current = self._files.identity(path)
        if current is None or all(current in {record.file, self._seen.get(record.id)} for record in records):
            return None
        content = read_content(self._files, path)
        if content is None:
            return None
        missing = []
        for record in records:
            if content.file in {record.file, self._seen.get(record.id)}:
                continue
            if content.holds(record):
                self._seen[record.id] = content.file
            else:
                missing.append(record)
        return _MissingEntries(content, missing, records) if missing else None

    def _judge(self, record: Record, content: FileContent, records: Sequence[Record]) -> Verdict:
        """Why a version of the file lacks an entry; see the docstring of the module."""
        git = git_changed(self._files.root)
        if git is None:
            return Verdict.UNDECIDED
        newer = any(r.file == record.file and r.start > record.start and r.id in content.places for r in records)
        if newer or git >= record.begun or record.restored >= _MAX_RESTORES:
            return Verdict.DELETED
        if content.origin < record.written:
            return Verdict.OVERWRITTEN
        # What was appended to this version since does not belong to what the other program wrote.
        appended = (r.start for r in records if r.file == content.file and r.start != UNKNOWN_START)
        version = content.data[: min(appended, default=len(content.data))]
        deleted = content_digest(version) == record.base or not _has_text(version)
        late = content.origin - record.written > OVERWRITE_SECONDS * 1e9
        return Verdict.DELETED if deleted or late else Verdict.OVERWRITTEN


def completed(data: bytes, record: Record) -> bytes | None:
    """The bytes of a file with the rest of an entry of which they have the beginning; `None` when that is not so."""
    whole = record.text.encode(_encoding_of_start(data))
    start, length = _beginning(data, whole)
    if length <= _MIN_TORN or length == len(whole):
        return None
    # Editors remove blanks at the end of lines and files; nothing is missing then.
    missing = whole[length:].strip(b" \t\r\n\x00")
    return data[:start] + whole + data[start + length :] if missing else None


def _beginning(data: bytes, whole: bytes) -> tuple[int, int]:
    """(where the beginning of an entry stands in a file, how much of it is there); the longest one that ends there."""
    newline = "\n".encode(_encoding_of_start(data))
    best = (0, 0)
    start = data.find(whole[: _MIN_TORN + 1])
    while start >= 0:
        length = _common(data[start : start + len(whole)], whole)
        rest = data[start + length : start + length + len(newline)]
        # Other text behind it: people have changed it since, or it is another entry.
        if length > best[1] and (not rest or rest == newline):
            best = (start, length)
        start = data.find(whole[: _MIN_TORN + 1], start + 1)
    return best


def _cut_at_line_end(data: bytes, record: Record) -> bool:
    encoding = _encoding_of_start(data)
    whole = record.text.encode(encoding)
    kept = whole[: _beginning(data, whole)[1]].decode(encoding, "ignore")
    return kept.endswith("\n") or record.text.startswith("\n", len(kept))


def _common(one: bytes, other: bytes) -> int:
    """How many bytes both begin with."""
    length = min(len(one), len(other))
    if one[:length] == other[:length]:
        return length
    return next(place for place in range(length) if one[place] != other[place])


def _has_text(data: bytes) -> bool:
    """Whether there is more than headings."""
    text = data.decode(_encoding_of_start(data), "replace").lstrip("\ufeff")
    return any(line.strip() and not line.lstrip().startswith("#") for line in text.split("\n"))


def git_changed(root: Path) -> int | None:
    """When git last changed the work tree that the workspace lies in; 0 when there is none, `None` while it does."""
    for folder in (root, *root.parents):
        git = folder / ".git"
        with suppress(OSError):
            if git.is_file():
                # A worktree or a submodule.
                git = folder / git.read_text("utf-8", "replace").removeprefix("gitdir:").strip()
            if git.is_dir():
                return None if (git / "index.lock").exists() else (git / "index").stat().st_mtime_ns
    return 0


def _encoding_of_start(data: bytes) -> str:
    if data.startswith(b"\xff\xfe"):
        return "utf-16-le"
    return "utf-16-be" if data.startswith(b"\xfe\xff") else "utf-8"

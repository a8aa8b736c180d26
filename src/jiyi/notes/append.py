"""Appending to a note: one write at the end of the file, on disk, whoever else writes.

No lock is needed for that: with `O_APPEND` the system puts each write behind the others. What remains is a program that
puts another file in place of the one that was written to. That is looked for after the write, and again whenever the
workspace is looked at (`Appender.reconcile`).
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from jiyi.errors import InvalidInputError, NoteConflictError, NotesError
from jiyi.execution import must_be_patient, wait_from_now_on
from jiyi.model.note import AppendedNote
from jiyi.notes import entries, text_encoding
from jiyi.notes.dependencies import AppendLimits
from jiyi.notes.entries import NoteEntry
from jiyi.notes.file_identity import file_identity
from jiyi.notes.files import AppendTarget, Files
from jiyi.notes.journal import GRACE_SECONDS, Journal, Lock, Record

_log = logging.getLogger("jiyi.notes")

_ATTEMPTS: Final = 50
_SLACK: Final = 4_096
"""How much may come to a file between looking at its size and reading it."""
_MIN_TORN: Final = len("\n- **")
_MAX_OPEN: Final = 2
"""How many files stay open between appends: the note of the day, and that of groups."""
_LONG_NANOSECONDS: Final = 10**9
"""A disk that takes longer is no longer counted as one moment with the write."""
_PARTIAL_WRITE_SECONDS: Final = 5.0
"""How long the end of a file may be half a character: another process is just writing there."""


class Appender:
    """Writes entries into the files of one workspace. Safe for several threads and processes."""

    def __init__(self, files: Files, journal: Journal, lock: Lock, limits: AppendLimits) -> None:
        self._files = files
        self._journal = journal
        self._lock = lock
        self._limits = limits
        self._encodings: dict[str, tuple[str, str]] = {}
        # The files of the last appends stay open: walking to one anew takes longer than writing to it.
        self._open: dict[str, AppendTarget] = {}
        self._open_guard = threading.Lock()
        self._closed = False
        self._last: dict[str, str] = {}
        self._seen: dict[str, str] = {}

    def append(
        self, entry: NoteEntry, path: str, heading: Callable[[], str], minute: entries.Minute | None = None
    ) -> AppendedNote:
        """Put the entry at the end of the file; in it, whole and on disk, when this returns.

        A file that is not there is made, and begins with `heading()`. `minute` is that of the entry, if it is known.
        """
        record = Record(entry.id, path, entries.render(entry, minute), time.time_ns())
        if path not in self._last:
            must_be_patient()
            # Half an entry of a process that was killed would be no text in any encoding.
            self.reconcile()
        # What can be done before the disk is waited for takes a quarter of the time that it takes afterwards.
        appended = AppendedNote(record.id, path, entry.at)
        file = self._try_append(record, heading, intended=False)
        if file is None:
            with self._lock.hold():
                file = self._append_again(record, heading)
            self._journal.done(record.id, file, 0)
            _log.warning("%s was replaced by another program while it was written to; both texts were kept", path)
            appended = replace(appended, conflict=True)
        if file != self._last.get(path):
            self._follow(path, file)
        return appended

    def _follow(self, path: str, file: str) -> None:
        """Another file than the last time: entries of before may be missing from it."""
        before = self._last.get(path)
        self._last[path] = file
        if before is None:
            return
        try:
            self.reconcile()
        except NotesError as error:
            # The entry that was just written is in its file all the same: an error would bring it in twice.
            self._last[path] = before
            _log.warning("whether entries of %s were overwritten will be looked at again: %s", path, error)

    def _check_size(self, path: str, present: int, size: int) -> None:
        if present + size > self._limits.day_bytes:
            raise InvalidInputError(
                f"{path} has {present:,} bytes, and with this entry of {size:,} it would exceed the limit of "
                f"{self._limits.day_bytes:,}; keep less, or raise the setting max_note_day_bytes"
            )

    def _try_append(self, record: Record, heading: Callable[[], str], *, intended: bool) -> str | None:
        """Write it; the identity of the file it is in, or `None` when another file has taken the place of that one."""
        path = record.path
        for _ in range(_ATTEMPTS):
            try:
                target, size = self._take(path)
                file = target.identity
                try:
                    data = record.text.encode(self._encoding(path, target.descriptor, file))
                    if not intended:
                        self._check_size(path, size, len(data))
                        # Before the first byte: if this process is killed, another one makes the entry whole.
                        self._journal.intend(record)
                        intended = True
                        wait_from_now_on()
                    _write_once(target.descriptor, data, path)
                    done = self._journal.done(record.id, file, record.restored)
                    os.fsync(target.descriptor)
                    in_place = target.in_place() is not None
                    if time.time_ns() - done > _LONG_NANOSECONDS:
                        # Who reads the journal counts from the moment at which the entry was last seen in its file.
                        self._journal.done(record.id, file, record.restored)
                except BaseException:
                    target.close()
                    raise
                self._keep(path, target)
            except FileNotFoundError:
                self._files.create(path, f"{heading()}\n".encode())
            except OSError as error:
                raise self._files.not_written(path, error) from error
            else:
                return file if in_place else None
        raise NoteConflictError(
            f"{record.path} was deleted {_ATTEMPTS} times while it was written to; nothing is in it"
        )

    def _take(self, path: str) -> tuple[AppendTarget, int]:
        """The file at this path, for one thread alone, and its size."""
        # Taken out: another thread that appends meanwhile opens its own.
        target = self._open.pop(path, None)
        if target is not None:
            status = target.in_place()
            if status is not None:
                return target, status.st_size
            target.close()
        target = self._files.open_to_append(path)
        return target, os.fstat(target.descriptor).st_size

    def _keep(self, path: str, target: AppendTarget) -> None:
        """Let the file stay open for the next append."""
        # One step, in which no two threads can be: more often than not there is nothing else to do.
        if self._open.setdefault(path, target) is not target:
            target.close()
        elif self._closed or len(self._open) > _MAX_OPEN:
            self._close_files(0 if self._closed else _MAX_OPEN)

    def close(self) -> None:
        """Let go of the files."""
        self._closed = True
        self._close_files(0)

    def _close_files(self, most: int) -> None:
        """Let go of the oldest until only so many are open."""
        with self._open_guard:
            for path in list(self._open)[: max(len(self._open) - most, 0)]:
                # Unless a thread has just taken it.
                target = self._open.pop(path, None)
                if target is not None:
                    target.close()

    def _append_again(self, record: Record, heading: Callable[[], str]) -> str:
        """Under the lock: if the file that is there now has the entry, it is well; otherwise it is written again."""
        for _ in range(_ATTEMPTS):
            holding = self._read(record.path)
            if holding is not None and record.id in holding.places:
                # Who read the file while it was written to has saved the beginning of the entry only.
                whole = holding.completed(record)
                if whole is None:
                    return holding.file
                with suppress(NoteConflictError, FileNotFoundError):
                    self.rewrite(record.path, holding.data, whole)
                continue
            again = self._try_append(record, heading, intended=True)
            if again is not None:
                return again
        raise NoteConflictError(
            f"{record.path} was replaced {_ATTEMPTS} times while it was written to; the entry may be missing from it"
        )

    def _read(self, path: str) -> _FileContent | None:
        """The file at this path as it is now; `None` when there is none."""
        try:
            with self._files.opened(path, os.O_RDONLY) as descriptor:
                # All of it: an entry behind the end of what was read would be written twice.
                data = os.pread(descriptor, os.fstat(descriptor).st_size + _SLACK, 0)
                text = _readable(data)
                return _FileContent(file_identity(descriptor), data, text, entries.places_in(text))
        except FileNotFoundError:
            return None

    def _encoding(self, path: str, descriptor: int, file: str) -> str:
        """The encoding of the file, in which the entry is written as well."""
        known = self._encodings.get(path)
        if known is not None and known[0] == file:
            return known[1]
        must_be_patient()
        deadline = time.monotonic() + _PARTIAL_WRITE_SECONDS
        while True:
            data = os.pread(descriptor, self._limits.file_bytes + 1, 0)
            try:
                encoding = text_encoding.decode(data)[1]
            except text_encoding.UndecodableError as error:
                # A long write of another process is seen in pieces, and a piece may end inside a character.
                if not text_encoding.ends_in_partial_write(data) or time.monotonic() >= deadline:
                    raise NotesError(f"nothing was written to {path}: {error}") from None
                time.sleep(0.005)
                continue
            self._encodings[path] = (file, encoding)
            return encoding

    # --- what others did --------------------------------------------------------------------------------------------

    def reconcile(self) -> list[str]:
        """Write again what another program overwrote and finish what a killed process began; returns the ids."""
        moment = time.time_ns()
        lost, torn, complete = self._missing()
        restored = []
        if lost or torn:
            with self._lock.hold():
                # Another process may have been quicker.
                lost, torn, complete = self._missing()
                for record, put in [(r, self._restore) for r in lost] + [(r, self._complete) for r in torn]:
                    try:
                        if put(record):
                            restored.append(record.id)
                    except (NotesError, InvalidInputError) as error:
                        complete = False
                        _log.warning("an entry that is missing from %s waits for the next look: %s", record.path, error)
        if complete:
            self._journal.mark_checked(moment)
        return restored

    def _restore(self, record: Record) -> bool:
        """Write an entry again that was overwritten."""
        again = record._replace(written=time.time_ns(), restored=record.restored + 1)
        file = self._append_again(again, lambda: "")
        self._journal.intend(again)
        self._journal.done(again.id, file, again.restored)
        _log.warning("%s was overwritten by another program; an entry was written again", record.path)
        return True

    def _missing(self) -> tuple[list[Record], list[Record], bool]:
        """(entries that were overwritten, entries that dead processes were writing, whether all were looked at)."""
        written, begun = self._journal.recent()
        lost: list[Record] = []
        complete = True
        for path in dict.fromkeys(record.path for record in written):
            try:
                lost += self._lost(path, [record for record in written if record.path == path])
            except (NotesError, InvalidInputError) as error:
                # Something else has this name now, or it cannot be read: no reason to leave the other files alone.
                complete = False
                _log.warning("whether entries of %s were overwritten cannot be told: %s", path, error)
        self._seen = {record.id: self._seen[record.id] for record in written if record.id in self._seen}
        return lost, begun, complete

    def _lost(self, path: str, records: Sequence[Record]) -> list[Record]:
        """Those that a file lacks, or has in part, which was put in place of theirs right after they were written."""
        found = self._files.origin(path)
        if found is None:
            return []
        file, replaced = found
        doubtful = [
            record
            for record in records
            if file not in {record.file, self._seen.get(record.id)} and replaced - record.written <= 1e9 * GRACE_SECONDS
        ]
        holding = self._read(path) if doubtful else None
        if holding is None:
            return []
        lost = []
        for record in doubtful:
            if record.id in holding.places and holding.completed(record) is None:
                self._seen[record.id] = holding.file
            else:
                lost.append(record)
        return lost

    def _complete(self, record: Record) -> bool:
        """Complete an entry of which only the beginning is in the file."""
        try:
            data, _ = self._files.read(record.path, most=self._limits.file_bytes + _SLACK)
        except FileNotFoundError:
            return False
        whole = _completed(data, record)
        if whole is None:
            return False
        self.rewrite(record.path, data, whole)
        _log.warning("%s ended in half an entry of a process that was killed; it was completed", record.path)
        return True

    def rewrite(self, path: str, before: bytes, after: bytes) -> None:
        """Under the lock: replace the bytes of a file, and keep what is appended to it meanwhile."""
        with self._files.opened(path, os.O_RDONLY) as old:
            if os.pread(old, len(before) + 1, 0)[: len(before)] != before:
                raise NoteConflictError(f"{path} was changed meanwhile; nothing was overwritten, try again")
            self._files.replace(path, after)
            late = os.pread(old, self._limits.file_bytes, len(before))
        if late:
            with self._files.opened(path, os.O_WRONLY | os.O_APPEND) as new:
                _write_once(new, late, path)
                os.fsync(new)


@dataclass(frozen=True, slots=True)
class _FileContent:
    """A file as it was read."""

    file: str
    """Its identity."""
    data: bytes
    text: str
    places: dict[str, int]
    """Of the entries in it, whole or not, by id."""

    def completed(self, record: Record) -> bytes | None:
        """The bytes with the rest of an entry whose beginning is there; `None` when nothing is missing."""
        before = record.text.index(entries.marker_of(record.id))
        if self.text.startswith(record.text, max(self.places[record.id] - before, 0)):
            return None
        return _completed(self.data, record)


def _completed(data: bytes, record: Record) -> bytes | None:
    """The bytes of a file with the rest of an entry of which they have the beginning; `None` when that is not so."""
    encoding = _encoding_of_start(data)
    whole = record.text.encode(encoding)
    if whole in data:
        return None
    named = whole.index(record.id.encode(encoding)) + len(record.id.encode(encoding))
    start = data.find(whole[:named])
    if start < 0:
        # Not even its name is there, but its first bytes may be what the file ends with.
        length = next((n for n in range(named, _MIN_TORN, -1) if data.endswith(whole[:n])), 0)
        start = len(data) - length
    else:
        length = _common(data[start : start + len(whole)], whole)
    rest = data[start + length :]
    if not length or (rest and not rest.startswith("\n".encode(encoding))):
        # It is not there, or people have changed it since: then it is theirs.
        return None
    # Editors take blanks at the end of lines and files away; nothing is missing then.
    missing = whole[length:].strip(b" \t\r\n\x00")
    return data[:start] + whole + rest if missing else None


def _write_once(descriptor: int, data: bytes, path: str) -> None:
    """One call of the system, so that entries of several processes do not mix."""
    written = os.write(descriptor, data)
    if written == len(data):
        return
    # The disk is full. Take the beginning back if nothing came behind it.
    end = os.lseek(descriptor, 0, os.SEEK_CUR)
    if end == os.fstat(descriptor).st_size:
        os.ftruncate(descriptor, end - written)
    raise NotesError(f"{path} could not be written whole: no room left on the disk; nothing of this entry was kept")


def _common(one: bytes, other: bytes) -> int:
    """How many bytes both begin with."""
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))


def _readable(data: bytes) -> str:
    """The text for looking for a marker, whatever else is in it."""
    return data.decode(_encoding_of_start(data), "replace")


def _encoding_of_start(data: bytes) -> str:
    if data.startswith(b"\xff\xfe"):
        return "utf-16-le"
    return "utf-16-be" if data.startswith(b"\xfe\xff") else "utf-8"

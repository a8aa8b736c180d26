"""Appending to a note: one write at the end of the file, synced, while other processes may write as well.

No lock is needed for that: with `O_APPEND` the system puts each write behind the others. A program that puts another
file in place of the one that was written to is detected after the write, and later by `jiyi.notes.recovery`.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final

from jiyi.errors import InvalidInputError, NoteConflictError, NotesError
from jiyi.file_lock import FileLock
from jiyi.model.note import AppendedNote
from jiyi.notes import entries, text_encoding
from jiyi.notes.dependencies import AppendLimits
from jiyi.notes.entries import NoteEntry
from jiyi.notes.file_identity import file_clock
from jiyi.notes.files import AppendTarget, Files
from jiyi.notes.journal import Journal, Record
from jiyi.notes.recovery import Recovery, read_content

_log = logging.getLogger("jiyi.notes")

_ATTEMPTS: Final = 50
_MAX_OPEN: Final = 2
"""How many files stay open between appends: the note of the day, and that of groups."""
_LONG_NANOSECONDS: Final = 10**9
"""After a longer sync the moment of the write is recorded again."""
_PARTIAL_WRITE_SECONDS: Final = 5.0
"""How long the end of a file may be half a character: another process is just writing there."""


class Appender:
    """Writes entries into the files of one workspace. Safe for several threads and processes."""

    def __init__(self, files: Files, journal: Journal, lock: FileLock, limits: AppendLimits) -> None:
        self._files = files
        self._journal = journal
        self._lock = lock
        self._limits = limits
        self._encodings: dict[str, tuple[str, str]] = {}
        # The files of the last appends stay open: opening one takes longer than writing to it.
        self._open: dict[str, AppendTarget] = {}
        self._open_guard = threading.Lock()
        self._closed = False
        self._last: dict[str, str] = {}
        self._recovery = Recovery(self, files, journal, lock)

    def append(
        self, entry: NoteEntry, path: str, heading: Callable[[], str], minute: entries.LocalMinute | None = None
    ) -> AppendedNote:
        """Put the entry at the end of the file; in it, whole and on disk, when this returns.

        A file that is not there is made, and begins with `heading()`. `minute` is that of the entry, if it is known.
        """
        record = Record(entry.id, path, entries.render(entry, minute), file_clock())
        if path not in self._last:
            # Half an entry of a killed process may end inside a character, and the file could not be decoded.
            self.reconcile()
        # Made before the sync: after it the caches are cold, and the same code takes four times as long.
        appended = AppendedNote(record.id, path, entry.at)
        file = self._try_append(record, heading, intended=False)
        if file is None:
            with self._lock.hold():
                file = self.append_again(record, heading)
            _log.warning("%s was replaced by another program while it was written to; both texts were kept", path)
            appended = replace(appended, conflict=True)
        if file != self._last.get(path):
            self._follow(path, file)
        return appended

    def reconcile(self) -> list[str]:
        """Restore what other programs overwrote or killed processes left half written; returns the ids."""
        return self._recovery.reconcile()

    def _follow(self, path: str, file: str) -> None:
        """The file is another one than the last time: earlier entries may be missing from it."""
        before = self._last.get(path)
        self._last[path] = file
        if before is None:
            return
        try:
            self.reconcile()
        except NotesError as error:
            # The entry itself was written; after an error the caller would write it a second time.
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
                        # Before the first byte: if this process is killed, another one completes the entry.
                        self._journal.intend(record)
                        intended = True
                    _write_once(target.descriptor, data, path)
                    start = target.end() - len(data)
                    base = target.digest_before(start)
                    done = self._journal.done(record.id, file, record.restored, start, base)
                    os.fsync(target.descriptor)
                    in_place = target.in_place() is not None
                    if file_clock() - done > _LONG_NANOSECONDS:
                        # An overwrite is recognised by the time since the entry was last seen in its file.
                        self._journal.done(record.id, file, record.restored, start, base)
                except BaseException:
                    target.close()
                    raise
                self._keep(path, target)
            except FileNotFoundError:
                self._files.create(path, f"{heading()}\n".encode())
            except OSError as error:
                raise self._files.write_error(path, error) from error
            else:
                return file if in_place else None
        raise NoteConflictError(
            f"{record.path} was deleted {_ATTEMPTS} times while it was written to; nothing is in it"
        )

    def _take(self, path: str) -> tuple[AppendTarget, int]:
        """The file at this path, for one thread alone, and its size."""
        # Removed from the pool: another thread that appends meanwhile opens its own.
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
        # `setdefault` is atomic, so that no lock is needed in the usual case.
        if self._open.setdefault(path, target) is not target:
            target.close()
        elif self._closed or len(self._open) > _MAX_OPEN:
            self._close_files(0 if self._closed else _MAX_OPEN)

    def close(self) -> None:
        """Close the files."""
        self._closed = True
        self._close_files(0)

    def _close_files(self, max_open: int) -> None:
        """Close the oldest until only so many are open."""
        with self._open_guard:
            for path in list(self._open)[: max(len(self._open) - max_open, 0)]:
                # A thread may just have taken it.
                target = self._open.pop(path, None)
                if target is not None:
                    target.close()

    def append_again(self, record: Record, heading: Callable[[], str]) -> str:
        """Under the lock: write the entry unless the file that is there now has it; returns its identity."""
        for _ in range(_ATTEMPTS):
            content = read_content(self._files, record.path)
            if content is not None:
                # A program that read the file during the write has saved the beginning of the entry only.
                whole = content.torn(record)
                if whole is not None:
                    with suppress(NoteConflictError, FileNotFoundError):
                        self.rewrite(record.path, content.data, whole)
                    continue
                if record.id in content.places:
                    self._journal.done(record.id, content.file, record.restored)
                    return content.file
            again = self._try_append(record, heading, intended=True)
            if again is not None:
                return again
        raise NoteConflictError(
            f"{record.path} was replaced {_ATTEMPTS} times while it was written to; the entry may be missing from it"
        )

    def _encoding(self, path: str, descriptor: int, file: str) -> str:
        """The encoding of the file, in which the entry is written as well."""
        known = self._encodings.get(path)
        if known is not None and known[0] == file:
            return known[1]
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


def _write_once(descriptor: int, data: bytes, path: str) -> None:
    """Write with one system call, so that entries of several processes do not mix."""
    written = os.write(descriptor, data)
    if written == len(data):
        return
    # The disk is full. Remove the part that was written, if nothing follows it.
    end = os.lseek(descriptor, 0, os.SEEK_CUR)
    if end == os.fstat(descriptor).st_size:
        os.ftruncate(descriptor, end - written)
    raise NotesError(f"{path} could not be written whole: no room left on the disk; nothing of this entry was kept")

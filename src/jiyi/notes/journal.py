"""What was appended lately, so that nothing is lost between an append and a program that saves by renaming.

Such a program reads a file, and some time later puts its own version in its place. An entry that was appended in
between is not in that version. The journal holds the last entries of each process, with the file they went to: whoever
looks at the workspace next sees that the file is another one and lacks an entry that was written seconds before, and
writes it again. It also holds what a process was about to write when it was killed, so half an entry is made whole.

Each process has a file of its own and keeps it locked while it lives. Nothing here waits for the disk: after a power
cut the note files alone count.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from jiyi.errors import NotesError

GRACE_SECONDS: Final = 10.0
"""An entry that is missing from a file that was replaced so soon after it is taken as overwritten, not as deleted."""
_KEEP_SECONDS: Final = 600.0
_ROTATE_BYTES: Final = 128 << 10
_SUFFIX: Final = ".jsonl"
_MOST_OLDER: Final = 4
_KINDS: Final = (
    {"id", "path", "text", "written", "restored"},  # about to be written
    {"id", "file", "restored"},  # written
    {"id", "gone"},  # taken out
)


@dataclass(frozen=True, slots=True)
class Record:
    """The last that is known of one entry."""

    id: str
    path: str
    text: str
    """The entry as it is written to the file."""
    written: int
    """Nanoseconds since 1970."""
    file: str = ""
    """The identity of the file it went to; empty while it is not known to be there."""
    restored: int = 0
    """How often it was written again."""


_encoded = json.JSONEncoder(ensure_ascii=False).encode


class Lock:
    """Mutual exclusion between the processes of one data directory, for what cannot be done in one step."""

    def __init__(self, path: Path, *, timeout: float) -> None:
        self._path = path
        self._timeout = timeout
        self._held = threading.local()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold it for the block; who holds it may take it again. Threads exclude each other as well."""
        if getattr(self._held, "yes", False):
            yield
            return
        with self._locked():
            self._held.yes = True
            try:
                yield
            finally:
                self._held.yes = False

    @contextmanager
    def _locked(self) -> Iterator[None]:
        import fcntl

        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            deadline = time.monotonic() + self._timeout
            while True:
                with suppress(BlockingIOError):
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                if time.monotonic() >= deadline:
                    raise NotesError(
                        f"another process held {self._path.name} for {self._timeout:g} s; try again, "
                        "or raise the setting busy_timeout"
                    )
                time.sleep(0.001)
            yield
        finally:
            os.close(descriptor)


class Journal:
    """The journals of all processes for one workspace; this process writes to its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own: int | None = None
        self._owner = self._size = 0
        self._older: list[int] = []
        self._guard = threading.Lock()

    def intend(self, record: Record) -> None:
        """An entry is about to be written."""
        text = _encoded(record.text)
        path = _encoded(record.path)
        self._write(
            f'{{"id":"{record.id}","path":{path},"written":{record.written},"restored":{record.restored},"text":{text}}}\n'
        )

    def done(self, entry_id: str, file: str, restored: int) -> None:
        """It is in the file with this identity."""
        self._write(f'{{"id":"{entry_id}","file":"{file}","restored":{restored}}}\n')

    def taken_out(self, entry_id: str) -> None:
        """It leaves its file on purpose: nobody shall write it again."""
        self._write(f'{{"id":"{entry_id}","gone":true}}\n')

    def recent(self) -> tuple[list[Record], list[Record]]:
        """(entries that were written, entries that a process which is dead now was writing), the oldest first.

        Journals of dead processes from which nothing can be needed any more are deleted on the way.
        """
        intents: dict[str, Record] = {}
        dead: set[str] = set()
        done: dict[str, tuple[str, int]] = {}
        gone: set[str] = set()
        try:
            names = sorted(self._folder.glob(f"*{_SUFFIX}"))
        except OSError:
            return [], []
        for name in names:
            lines, alive = _lines(name)
            last = 0
            for data in lines:
                if "gone" in data:
                    gone.add(data["id"])
                elif "path" in data:
                    record = Record(data["id"], data["path"], data["text"], data["written"], restored=data["restored"])
                    last = max(last, record.written)
                    if record.restored >= intents.get(record.id, record).restored:
                        intents[record.id] = record
                    if not alive:
                        dead.add(record.id)
                elif data["restored"] >= done.get(data["id"], ("", 0))[1]:
                    done[data["id"]] = (data["file"], data["restored"])
            if not alive and time.time_ns() - last > _KEEP_SECONDS * 1e9:
                with suppress(OSError):
                    name.unlink()
        written = [replace(record, file=done[key][0]) for key, record in intents.items() if key in done]
        begun = [record for key, record in intents.items() if key not in done and key in dead]
        return (
            sorted((record for record in written if record.id not in gone), key=lambda record: record.written),
            [record for record in begun if record.id not in gone],
        )

    def close(self) -> None:
        """Let go of the own file; it stays for others until nothing in it can be needed."""
        for descriptor in self._older:
            os.close(descriptor)
        self._older.clear()
        if self._own is not None:
            os.close(self._own)
            self._own = None

    def _write(self, line: str) -> None:
        data = line.encode("utf-8")
        with self._guard:
            os.write(self._descriptor(len(data)), data)

    def _descriptor(self, size: int) -> int:
        import fcntl

        if self._own is not None and self._owner == os.getpid():
            self._size += size
            if self._size < _ROTATE_BYTES:
                return self._own
            # Kept locked for a while; when it is let go, others treat it like that of a process that has ended.
            self._older.append(self._own)
            if len(self._older) > _MOST_OLDER:
                os.close(self._older.pop(0))
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._folder / f"{os.getpid()}-{os.urandom(6).hex()}{_SUFFIX}"
        self._own = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._own, fcntl.LOCK_EX)
        self._owner, self._size = os.getpid(), size
        return self._own


def _lines(path: Path) -> tuple[list[dict[str, Any]], bool]:
    """What one journal says, and whether its process lives."""
    import fcntl

    try:
        with path.open("rb") as file:
            try:
                fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
                alive = False
            except BlockingIOError:
                alive = True
                if time.time_ns() - os.fstat(file.fileno()).st_mtime_ns > 2 * GRACE_SECONDS * 1e9:
                    return [], True
            lines = file.read().split(b"\n")
    except OSError:
        return [], True
    found = []
    for line in lines[:-1]:
        # The last line of a process that was killed may be torn; what it was about to say it had not begun to do.
        with suppress(ValueError):
            data = json.loads(line)
            if isinstance(data, dict) and any(keys <= data.keys() for keys in _KINDS):
                found.append(data)
    return found, alive

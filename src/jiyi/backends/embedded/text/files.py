"""Checks the files of a tantivy index against the checksums in their footers, before tantivy uses them.

tantivy maps its files into memory and trusts them. A damaged file can end the process: threads of its own that panic
in a commit or a merge abort it, and a file that was truncated in place gives SIGBUS. So a file is read and checked when
it is new, when its size, times or inode have changed, and now and then even if nothing has changed.
"""

from __future__ import annotations

import json
import os
import struct
import threading
import time
import zlib
from collections.abc import Collection, Iterable
from math import inf
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias

from jiyi.backends.shared.derived_file import FileVersion, file_version
from jiyi.errors import IndexDamagedError

META: Final = "meta.json"
_SEGMENT_SUFFIXES: Final = ("fast", "fieldnorm", "idx", "pos", "store", "term")
_FOOTER_MAGIC: Final = 1337
_BLOCK: Final = 1 << 20
_MAX_FOOTER: Final = 4096
BUDGET: Final = 64 << 20
"""So many bytes are read again at every opening although the files look unchanged, those first that were last read
longest ago. A smaller index is therefore read whole."""

_MOMENT = 0.1
"""Seconds that a look at the files counts for whoever begins to use the index: there may be dozens of files."""
_REUSE_SECONDS = 0.1
"""Seconds that it counts for the searches of whoever has looked."""

Segment: TypeAlias = dict[str, Any]
_Stat: TypeAlias = tuple[int, int, int, int]
"""Inode, size, time of modification, time of change: what a write to a file cannot leave alone."""


_NEVER: Final = (None, 0)


def read_segments(meta: Path) -> list[Segment]:
    """The segments of the last commit; `IndexDamagedError` if `meta.json` cannot be understood."""
    try:
        segments = json.loads(meta.read_bytes())["segments"]
        for segment in segments:
            if not isinstance(segment["segment_id"], str) or not isinstance(segment["max_doc"], int):
                raise IndexDamagedError(f"{META} cannot be read: a segment has no id or size")
            if segment["deletes"] is not None:
                int(segment["deletes"]["opstamp"])
                int(segment["deletes"]["num_deleted_docs"])
    except FileNotFoundError as error:
        raise IndexDamagedError(f"{META} is missing") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise IndexDamagedError(f"{META} cannot be read: {error}") from error
    return list(segments)


def segment_files(segments: Iterable[Segment]) -> list[str]:
    """The names of the files of these segments."""
    names = []
    for segment in segments:
        stem = segment["segment_id"].replace("-", "")
        names += [f"{stem}.{suffix}" for suffix in _SEGMENT_SUFFIXES]
        if segment["deletes"] is not None:
            names.append(f"{stem}.{segment['deletes']['opstamp']}.del")
    return names


def segment_sizes(folder: Path) -> list[int]:
    """How many documents were written into each segment of the last commit, deleted ones included."""
    return [int(segment["max_doc"]) for segment in read_segments(folder / META)]


class SegmentFiles:
    """The files of the last commit of one index, and in which state each of them was found to be sound."""

    def __init__(self, folder: Path, *, budget: int = BUDGET) -> None:
        self._folder = str(folder)
        self._meta = folder / META
        self._record = folder / "jiyi-checked.json"
        self._guard = threading.Lock()
        self._budget = budget
        self._sound: dict[str, tuple[_Stat, int]] = {}
        """File -> its state when it was last read, and the number of that reading."""
        self._readings = 0
        self._listed: tuple[FileVersion, list[str]] | None = None
        self._looked_at: list[str] | None = None
        self._looked = -inf

    # --- checks -------------------------------------------------------------------------------------------------------

    def check_at_opening(self, *, everything: bool = False) -> None:
        """Read the files that changed since they were last checked, and of the others as many as the budget allows."""
        with self._guard:
            self._load()
            self._check_at_opening(everything=everything)

    def _check_at_opening(self, *, everything: bool) -> None:
        names = self._names()
        stats = {name: self._stat(name) for name in names}
        total = sum(0 if stat is None else stat[1] for stat in stats.values())
        known = [name for name in names if self._is_known(name, stats[name])]
        again, left = set(names if everything else ()), self._budget
        for name in sorted(known, key=lambda name: self._sound[name][1]):
            left -= self._sound[name][0][1]
            if left < 0:
                break
            again.add(name)
        again.update(set(names) - set(known))
        self._verify(name for name in names if name in again)
        if total > self._budget:
            self._save(names)

    def check_unchanged(self, *, at_once: bool = False) -> None:
        """Check the files that have changed since the last check: new ones, and any that were written to.

        Unless it is to be looked `at_once`, a look at the same commit counts for a moment.
        """
        with self._guard:
            names = self._names()
            now = time.monotonic()
            if not at_once and self._looked_at is names and now - self._looked < _MOMENT:
                return
            stats, sound = self._stats(names), self._sound
            self._verify([name for name, stat in zip(names, stats, strict=True) if sound.get(name, _NEVER)[0] != stat])
            self._looked_at, self._looked = names, now

    def checked_recently(self) -> bool:
        """Whether the last look was so short a time ago that it counts for a recall that has begun with it."""
        return time.monotonic() - self._looked < _REUSE_SECONDS

    def check_segments(self, segments: Iterable[Segment]) -> None:
        """Read all files of these segments, changed or not: they are about to be merged."""
        with self._guard:
            self._verify(segment_files(segments))

    # --- one file -----------------------------------------------------------------------------------------------------

    def _names(self) -> list[str]:
        version = file_version(str(self._meta))
        listed = self._listed
        if listed is None or version is None or listed[0] != version:
            names = segment_files(read_segments(self._meta))
            if version is None:
                return names
            self._listed = listed = (version, names)
            self._sound = {name: self._sound[name] for name in names if name in self._sound}
        return listed[1]

    def _is_known(self, name: str, stat: _Stat | None) -> bool:
        found = self._sound.get(name)
        return found is not None and found[0] == stat

    def _verify(self, names: Iterable[str]) -> None:
        for name in names:
            # The state is read before the content: a write in between is noticed by the next check.
            stat = self._stat(name)
            problem = file_problem(Path(self._folder, name))
            if problem and not self._is_replaced(name):
                self._sound.pop(name, None)
                raise IndexDamagedError(f"{name} {problem}")
            if not problem and stat is not None:
                self._readings += 1
                self._sound[name] = (stat, self._readings)

    def _is_replaced(self, name: str) -> bool:
        """Whether a later commit has removed the file meanwhile: then it is not damaged."""
        return name not in segment_files(read_segments(self._meta))

    def _stats(self, names: Iterable[str]) -> list[_Stat | None]:
        """The states of many files: written out, because this is done before every use of the index."""
        stat, folder = os.stat, self._folder
        found: list[_Stat | None] = []
        try:
            for name in names:
                each = stat(f"{folder}/{name}")
                found.append((each.st_ino, each.st_size, each.st_mtime_ns, each.st_ctime_ns))
        except (FileNotFoundError, NotADirectoryError):
            return [self._stat(name) for name in names]
        return found

    def _stat(self, name: str) -> _Stat | None:
        try:
            found = os.stat(f"{self._folder}/{name}")  # noqa: PTH116 - half the time of the same by pathlib
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    # --- what earlier processes have checked --------------------------------------------------------------------------

    def _load(self) -> None:
        try:
            record = json.loads(self._record.read_bytes())
            rows = {str(name): (_as_stat(row[:4]), int(row[4])) for name, row in record["files"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            # Derived from the files; without it they are all read.
            return
        if record.get("crc") == _record_checksum(record["files"]):
            self._sound = rows
            self._readings = max((reading for _, reading in rows.values()), default=0)

    def _save(self, names: Collection[str]) -> None:
        files = {name: [*self._sound[name][0], self._sound[name][1]] for name in names if name in self._sound}
        partial = self._record.with_name(f"{self._record.name}.{os.getpid()}.partial")
        try:
            partial.write_text(json.dumps({"crc": _record_checksum(files), "files": files}), "utf-8")
            partial.replace(self._record)
        except OSError:
            # A full disk or a folder that may only be read: the next opening reads the files again.
            partial.unlink(missing_ok=True)


def _as_stat(values: list[Any]) -> _Stat:
    inode, size, modified, changed = (int(value) for value in values)
    return inode, size, modified, changed


def _record_checksum(files: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(files, sort_keys=True).encode())


def checksum_problems(folder: Path) -> list[str]:
    """The committed files that do not match: each ends with a JSON footer that holds the CRC-32 of its content."""
    try:
        found = {name: file_problem(folder / name) for name in segment_files(read_segments(folder / META))}
        if any(found.values()):
            # If a merge of another process has removed the file since, it is no longer listed.
            listed = set(segment_files(read_segments(folder / META)))
            found = {name: problem for name, problem in found.items() if name in listed}
    except IndexDamagedError as error:
        return [str(error)]
    except OSError as error:
        return [f"{META} cannot be read: {error}"]
    return [f"{name} {problem}" for name, problem in found.items() if problem]


def file_problem(path: Path) -> str:
    """What is wrong with a file; empty if nothing is."""
    try:
        with path.open("rb", buffering=0) as file:
            return _problem(file)
    except FileNotFoundError:
        return "is missing"


def _problem(file: BinaryIO) -> str:
    size = file.seek(0, os.SEEK_END)
    if size < 8:
        return "is cut short"
    file.seek(size - 8)
    length, magic = struct.unpack("<II", file.read(8))
    body = size - 8 - length
    if magic != _FOOTER_MAGIC or body < 0 or length > _MAX_FOOTER:
        return "has no readable footer"
    file.seek(body)
    try:
        expected = json.loads(file.read(length))["crc"]
    except (ValueError, KeyError, TypeError):
        return "has a broken footer"
    file.seek(0)
    checksum, left = 0, body
    while left > 0:
        block = file.read(min(left, _BLOCK))
        if not block:
            return "is cut short"
        checksum, left = zlib.crc32(block, checksum), left - len(block)
    return "" if checksum == expected else "does not match its checksum"

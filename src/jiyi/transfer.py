"""Export and import as JSON Lines. A file is written completely or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from jiyi.errors import ImportFormatError, InvalidInputError
from jiyi.model.limits import Limits
from jiyi.ports import ImportCounts, Progress, RecordStore
from jiyi.ports.records import EXPORT_FORMAT

MAX_LINE_BYTES = 64 << 20
"""Of one row: more than the longest message takes, however it is escaped."""
_MAX_REFUSED = 10_000
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def export_file(store: RecordStore, path: str | os.PathLike[str], scope: str | None, progress: Progress | None) -> int:
    """Write all rows to `path`; the file appears under its name only when it is complete."""
    target = Path(path)
    if target.is_symlink():
        raise InvalidInputError(f"{target} cannot be written: it is a symbolic link; name the file itself")
    if target.is_dir() or not target.name:
        raise InvalidInputError(f"{target} cannot be written: it is a directory; name a file in it")
    partial = target.with_name(f"{target.name}.{os.getpid()}.{os.urandom(4).hex()}.partial")
    lines = 0
    try:
        # A new file with a random name: not one that another user has prepared, and not readable by others.
        descriptor = os.open(partial, _NEW_FILE, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            for row in store.export_rows(scope):
                file.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
                lines += 1
                if progress is not None and lines % 1_000 == 0:
                    progress(lines, None)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    except OSError as error:
        raise InvalidInputError(f"{target} cannot be written: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)
    return lines


def import_file(
    store: RecordStore,
    path: str | os.PathLike[str],
    actor: str,
    progress: Progress | None,
    *,
    update: bool,
    skip_bad_rows: bool,
    limits: Limits,
    scope: str | None = None,
    dry_run: bool = False,
) -> ImportCounts:
    """Import the rows of the file in one transaction: all of them, or with `skip_bad_rows` those that are sound.

    With a scope a row of another one is a bad row.
    """
    refused: list[str] = []

    def refuse(error: ImportFormatError) -> None:
        refused.append(f"line {lines.number}: {error}")
        if len(refused) > _MAX_REFUSED:
            raise ImportFormatError(f"more than {_MAX_REFUSED:,} rows are bad, the last one: {error}")

    skip = refuse if skip_bad_rows else None
    lines = _Lines(Path(path), progress, skip, scope)
    try:
        counts = store.import_rows(lines, actor=actor, update=update, limits=limits, refuse=skip, dry_run=dry_run)
        return replace(counts, refused=tuple(refused))
    except ImportFormatError as error:
        raise ImportFormatError(f"{path}, line {lines.number}: {error}; nothing was imported") from error


class _Lines:
    """The rows of an export file. Knows the number of the line last read, so that an error can name it."""

    def __init__(
        self,
        path: Path,
        progress: Progress | None,
        refuse: Callable[[ImportFormatError], None] | None = None,
        scope: str | None = None,
    ) -> None:
        self.number = 0
        self._refuse = refuse
        self._path = path
        self._progress = progress
        self._scope = scope

    def __iter__(self) -> Iterator[dict[str, Any]]:
        try:
            with self._path.open("rb") as file:
                begun = False
                while line := file.readline(MAX_LINE_BYTES + 1):
                    self.number += 1
                    if line.strip():
                        row = self._row(file, line, begun=begun)
                        begun = True
                        if row is not None:
                            yield row
                    if self._progress is not None and self.number % 1_000 == 0:
                        self._progress(self.number, None)
        except OSError as error:
            raise InvalidInputError(f"{self._path} cannot be read: {error.strerror}") from error
        if not begun:
            raise ImportFormatError("the file is empty; an export has a header at least")

    def _row(self, file: BinaryIO, line: bytes, *, begun: bool) -> dict[str, Any] | None:
        try:
            if len(line) > MAX_LINE_BYTES:
                while line and not line.endswith(b"\n"):
                    line = file.readline(MAX_LINE_BYTES)
                raise ImportFormatError(f"the line has more than {MAX_LINE_BYTES:,} bytes")  # noqa: TRY301 - as other faults of a line
            row = _read(line)
            if not begun:
                _check_header(row)
            elif self._scope is not None and row.get("scope") != self._scope:
                raise ImportFormatError(  # noqa: TRY301 - as other faults of a line
                    f"the row belongs to scope {row.get('scope')!a}; only rows of {self._scope!a} may be imported here"
                )
        except ImportFormatError as error:
            # Without a header it is no export at all.
            if self._refuse is None or not begun:
                raise
            self._refuse(error)
            return None
        return row


def _read(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise ImportFormatError(f"not UTF-8: {error}") from error
    except (ValueError, RecursionError) as error:
        # ValueError: also a number with thousands of digits.
        raise ImportFormatError(f"not JSON: {error}") from error
    if not isinstance(row, dict):
        raise ImportFormatError(f"an object is needed, not {type(row).__name__}")
    return row


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no number")


def _check_header(row: dict[str, Any]) -> None:
    if row.get("kind") != "jiyi-export":
        raise ImportFormatError("the file does not begin with the header of a jiyi export")
    if row.get("format") != EXPORT_FORMAT:
        raise ImportFormatError(
            f"format {row.get('format')!r} is unknown; this version reads {EXPORT_FORMAT}; upgrade jiyi"
        )

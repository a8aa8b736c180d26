"""Export and import as JSON Lines. A file is written completely or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jiyi.errors import ImportFormatError, InvalidInputError
from jiyi.ports import ImportCounts, Progress, RecordStore

FORMAT = 1
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
        # Nothing that somebody has prepared under this name is written to, and nobody else can read it meanwhile.
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
    store: RecordStore, path: str | os.PathLike[str], actor: str, progress: Progress | None
) -> ImportCounts:
    """Import all rows of the file in one transaction."""
    lines = _Lines(Path(path), progress)
    try:
        return store.import_rows(lines, actor=actor)
    except ImportFormatError as error:
        raise ImportFormatError(f"{path}, line {lines.number}: {error}; nothing was imported") from error


class _Lines:
    """The rows of an export file. Knows the number of the line last read, so that an error can name it."""

    def __init__(self, path: Path, progress: Progress | None) -> None:
        self.number = 0
        self._path = path
        self._progress = progress

    def __iter__(self) -> Iterator[dict[str, Any]]:
        try:
            with self._path.open("rb") as file:
                begun = False
                for self.number, line in enumerate(file, start=1):
                    if line.strip():
                        row = _read(line)
                        if not begun:
                            _check_header(row)
                        begun = True
                        yield row
                    if self._progress is not None and self.number % 1_000 == 0:
                        self._progress(self.number, None)
        except OSError as error:
            raise InvalidInputError(f"{self._path} cannot be read: {error.strerror}") from error
        if not begun:
            raise ImportFormatError("the file is empty; an export has a header at least")


def _read(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ImportFormatError(f"not UTF-8: {error}") from error
    except (json.JSONDecodeError, RecursionError) as error:
        raise ImportFormatError(f"not JSON: {error}") from error
    if not isinstance(row, dict):
        raise ImportFormatError(f"an object is needed, not {type(row).__name__}")
    return row


def _check_header(row: dict[str, Any]) -> None:
    if row.get("kind") != "jiyi-export":
        raise ImportFormatError("the file does not begin with the header of a jiyi export")
    if row.get("format") != FORMAT:
        raise ImportFormatError(f"format {row.get('format')!r} is unknown; this version reads {FORMAT}; upgrade jiyi")

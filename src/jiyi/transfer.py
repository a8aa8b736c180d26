"""Export and import files: JSON Lines, complete, written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jiyi.errors import ImportFormatError, InvalidInputError
from jiyi.ports import ImportCounts, Progress, RecordStore

FORMAT = 1


def export_file(
    store: RecordStore, path: str | os.PathLike[str], scope: str | None, progress: Progress | None
) -> int:
    """Write all rows to `path`; the file appears under its name only when it is complete."""
    target = Path(path)
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    lines = 0
    try:
        with partial.open("w", encoding="utf-8", newline="\n") as file:
            for row in store.export_rows(scope):
                file.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
                lines += 1
                if progress is not None and lines % 1_000 == 0:
                    progress(lines, None)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
    except OSError as error:
        raise InvalidInputError(f"{target} cannot be written: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)
    return lines


def import_file(
    store: RecordStore, path: str | os.PathLike[str], actor: str, progress: Progress | None
) -> ImportCounts:
    """Take all rows of the file in, in one transaction."""
    return store.import_rows(_rows(Path(path), progress), actor=actor)


def _rows(path: Path, progress: Progress | None) -> Iterator[dict[str, Any]]:
    try:
        file = path.open("r", encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from error
    with file:
        number = 0
        try:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise ImportFormatError(f"{path}, line {number}: not an object")
                    _check_header(row, number, path)
                    yield row
                if progress is not None and number % 1_000 == 0:
                    progress(number, None)
        except UnicodeDecodeError as error:
            raise ImportFormatError(f"{path}, after line {number}: not UTF-8: {error}") from error
        except json.JSONDecodeError as error:
            raise ImportFormatError(f"{path}, line {number}: not JSON: {error}") from error


def _check_header(row: dict[str, Any], number: int, path: Path) -> None:
    if number == 1:
        if row.get("kind") != "jiyi-export":
            raise ImportFormatError(f"{path} does not begin with the header of a jiyi export")
        if row.get("format") != FORMAT:
            raise ImportFormatError(
                f"{path} has format {row.get('format')!r}; this version reads {FORMAT}; upgrade jiyi"
            )

"""The files of an export: in a folder, in a zip archive (or several parts of one), or a single file."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, TextIO

from jiyi.errors import ImportFormatError


class Source:
    """Named files below a path. Names use `/` and are relative to the folder or archive."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.exists():
            raise ImportFormatError(f"there is no {self.path}; give the file or folder of the export")

    def names(self, wanted: Callable[[str], bool]) -> list[str]:
        """The files whose names are wanted, in order. Of a single file only its own name is asked."""
        if self.path.is_dir():
            found = []
            for folder, folders, files in os.walk(self.path):
                folders.sort()
                relative = Path(folder).relative_to(self.path).as_posix()
                found += [name if relative == "." else f"{relative}/{name}" for name in files]
            return sorted(name for name in found if wanted(name))
        if self.is_zip:
            with zipfile.ZipFile(self.path) as archive:
                return sorted(name for name in archive.namelist() if not name.endswith("/") and wanted(name))
        return [self.path.name] if wanted(self.path.name) else []

    @property
    def is_zip(self) -> bool:
        """Whether the path is a zip archive."""
        return self.path.is_file() and zipfile.is_zipfile(self.path)

    @property
    def is_file(self) -> bool:
        """Whether the path is one plain file."""
        return self.path.is_file() and not self.is_zip

    @contextmanager
    def text(self, name: str) -> Iterator[TextIO]:
        """A file as UTF-8 text, read as it is asked for."""
        try:
            if self.path.is_dir():
                inside = self.path / name
                if not inside.resolve().is_relative_to(self.path.resolve()):
                    raise ImportFormatError(f"{name} is a link that leads out of {self.path}; it is not read")
                with inside.open(encoding="utf-8-sig", newline="") as stream:
                    yield stream
            elif self.is_zip:
                with (
                    zipfile.ZipFile(self.path) as archive,
                    archive.open(name) as raw,
                    io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as stream,
                ):
                    yield stream
            else:
                with self.path.open(encoding="utf-8-sig", newline="") as stream:
                    yield stream
        except UnicodeDecodeError as error:
            raise ImportFormatError(f"{name} is not UTF-8: {error}; convert it first") from None
        except zipfile.BadZipFile as error:
            raise ImportFormatError(f"{self.path} is damaged: {error}; download it again") from None

    def json_lines(self, expected: str) -> Iterator[tuple[int, Any]]:
        """The number and the value of every line that is not blank, of a single file in JSON Lines."""
        with self.text(self.path.name) as stream:
            for number, line in enumerate(stream, 1):
                if not line.strip():
                    continue
                try:
                    value = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise ImportFormatError(
                        f"{self.path.name}, line {number} is not JSON: {error}; expected is {expected}"
                    ) from None
                yield number, value

    def read(self, name: str) -> str:
        """A whole small file, such as a note."""
        with self.text(name) as stream:
            return stream.read().replace("\r\n", "\n")


def base(name: str) -> str:
    """The last part of a name."""
    return PurePosixPath(name).name

"""Generations of an index: the next one is built beside the current one and replaces it by a rename."""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path

from jiyi.backends.shared.derived_file import FileVersion, file_version, index_failure

_UNFINISHED = "-unfinished"


class Generations:
    """A pointer file `<name>.current` that names the folder in use.

    Names of folders are never used twice, so a process can tell by the name whether the folder it has open is still the
    current one.
    """

    def __init__(self, root: Path, name: str) -> None:
        self._root = root
        self._name = name
        self._pointer = root / f"{name}.current"
        self._pointer_path = str(self._pointer)
        # The content of the pointer file by its version: every recall reads it several times.
        self._read: tuple[FileVersion, Path | None] | None = None

    def current(self) -> Path | None:
        """The folder in use; `None` if there is none."""
        folder = self._named()
        while folder is not None:
            if os.path.isdir(folder):  # noqa: PTH112 - half the time of the same by pathlib
                return folder
            # Either it was deleted, or another process has published the next one since.
            before, folder = folder, self._named()
            if folder == before:
                break
        return None

    def was_published(self) -> bool:
        """Whether there is a pointer: without one the index was never built, or was deleted as a whole."""
        return file_version(self._pointer_path) is not None

    def folders(self) -> list[Path]:
        """All folders, in use or left over; a rebuild may reuse their data."""
        return [folder for folder in sorted(self._root.glob(f"{self._name}-*")) if folder.is_dir()]

    def create(self) -> Path:
        """A new empty folder beside the current one."""
        return self._made(self._unused())

    def resumable(self, digest: str) -> Path:
        """The folder of an interrupted rebuild with the same digest, or a new one."""
        folder = self._root / f"{self._name}-{digest[:16]}{_UNFINISHED}"
        return self._made(folder)

    def publish(self, folder: Path) -> None:
        """Make this folder the current one, and delete the others."""
        if folder.name.endswith(_UNFINISHED):
            folder = folder.rename(self._unused())
        partial = self._root / f"{self._name}.{uuid.uuid4().hex}.partial"
        try:
            with partial.open("w", encoding="utf-8") as file:
                file.write(folder.name)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self._pointer)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise index_failure("the index", f"write {self._pointer.name}", error) from error
        for other in self.folders():
            if other != folder:
                shutil.rmtree(other, ignore_errors=True)
        for leftover in self._root.glob(f"{self._name}.*.partial"):
            leftover.unlink(missing_ok=True)

    def _named(self) -> Path | None:
        version = file_version(self._pointer_path)
        if version is None:
            return None
        read = self._read
        if read is None or read[0] != version:
            # The version is read before the content: if the file is replaced in between, the next call sees that.
            self._read = read = (version, self._folder_in_pointer())
        return read[1]

    def _folder_in_pointer(self) -> Path | None:
        try:
            named = self._pointer.read_text("utf-8").strip()
        except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError):
            return None
        except OSError as error:
            raise index_failure("the index", f"read {self._pointer.name}", error) from error
        # A damaged pointer must not lead to another place.
        folder = self._root / named
        return folder if named.startswith(f"{self._name}-") and folder.parent == self._root else None

    def _made(self, folder: Path) -> Path:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise index_failure("the index", f"make the folder {folder}", error) from error
        return folder

    def _unused(self) -> Path:
        return self._root / f"{self._name}-{uuid.uuid4().hex}"

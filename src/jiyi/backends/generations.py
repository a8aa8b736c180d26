"""Generations of an index: the next one is built beside the current one and takes its place in one rename."""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path


class Generations:
    """A pointer file `<name>.current` that names the folder in use."""

    def __init__(self, root: Path, name: str) -> None:
        self._root = root
        self._name = name
        self._pointer = root / f"{name}.current"

    def current(self) -> Path | None:
        """The folder in use; `None` when there is none (any more)."""
        try:
            named = self._pointer.read_text("utf-8").strip()
        except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError):
            return None
        folder = self._root / named
        # Only names of our own making count: a damaged pointer must not lead elsewhere.
        if not named.startswith(f"{self._name}-") or folder.parent != self._root or not folder.is_dir():
            return None
        return folder

    def create(self) -> Path:
        """A new empty folder beside the current one."""
        folder = self._root / f"{self._name}-{uuid.uuid4().hex}"
        folder.mkdir(parents=True)
        return folder

    def resumable(self, digest: str) -> Path:
        """A folder beside the current one that a run which broke off is continued in, for the same digest."""
        current = self.current()
        names = [f"{self._name}-{digest[:16]}-{letter}" for letter in "ab"]
        folder = next(self._root / name for name in names if current is None or current.name != name)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def discard(self) -> None:
        """Let go of the current folder without putting another in its place."""
        folder = self.current()
        self._pointer.unlink(missing_ok=True)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def publish(self, folder: Path) -> None:
        """Make this folder the current one, and delete the others."""
        partial = self._root / f"{self._name}.{uuid.uuid4().hex}.partial"
        with partial.open("w", encoding="utf-8") as file:
            file.write(folder.name)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, self._pointer)
        for other in self._root.glob(f"{self._name}-*"):
            if other != folder:
                shutil.rmtree(other, ignore_errors=True)
        for leftover in self._root.glob(f"{self._name}.*.partial"):
            leftover.unlink(missing_ok=True)

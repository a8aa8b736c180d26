"""Files and directories as entries of a memory: each file is one entry, with its text as the content."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from jiyi.model.entry import MemoryEntry
from jiyi.model.scope import named_scope
from jiyi.sync import AgentMemory

KIND: Final = "memory_file"
"""The memory type of the entries and the field of their metadata."""
_NAMESPACE: Final = ("memories",)
_ROOT: Final = "memories/"
_NOTHING: Final = "-"
"""The content of directories and of files without words; an entry must have some."""


class EntryFiles:
    """Files by their paths below the root, such as `notes/tea.md`; the root is the empty path.

    Directories are entries too, so that an empty one stays. Deleted files stay in the history of the memory.
    """

    def __init__(self, memory: AgentMemory, scope: str | None) -> None:
        self._memory = memory
        self._scope = named_scope(scope, memory.settings)

    def read(self, path: str) -> str | None:
        """The text of a file; `None` when there is none."""
        entry = self._entry(path) if path else None
        return None if entry is None else _text(entry)

    def is_directory(self, path: str) -> bool:
        """Whether there is such a directory."""
        return not path or self._entry(f"{path}/") is not None

    def write(self, path: str, text: str) -> None:
        """Make this the text of a file; a version of its own each time."""
        self._memory.store_many([self._file(path, text)])

    def create(self, path: str, text: str) -> None:
        """Write a new file, with the directories that it needs, in one transaction."""
        self._memory.store_many([*self._missing_parents(path), self._file(path, text)])

    def make_parents(self, path: str) -> None:
        """Make the directories that a path needs."""
        self._memory.store_many(list(self._missing_parents(path)))

    def remove(self, path: str) -> None:
        """Forget a file, or a directory with everything below it."""
        for entry in list(self._below(path)) if self.is_directory(path) else []:
            self._memory.forget(entry.key, scope=self._scope)
        for key in (path, f"{path}/"):
            self._memory.forget(_ROOT + key, scope=self._scope)

    def move(self, old: str, new: str) -> None:
        """Give a file, or a directory with everything below it, another path."""
        moved: list[dict[str, Any]] = []
        text = self.read(old)
        if text is not None:
            moved.append(self._file(new, text))
        else:
            moved.append(self._directory(new))
            for entry in self._below(old):
                path = new + entry.metadata[KIND]["path"][len(old) :]
                moved.append(self._directory(path) if _is_directory(entry) else self._file(path, _text(entry)))
        self._memory.store_many([*self._missing_parents(new), *moved])
        self.remove(old)

    def children(self, path: str) -> Iterator[tuple[str, int, bool]]:
        """Everything below a directory: the path from there, the size in bytes, and whether it is a directory.

        The size of a directory is that of the files in it.
        """
        below = list(self._below(path))
        sizes = {
            entry.metadata[KIND]["path"]: len(_text(entry).encode("utf-8"))
            for entry in below
            if not _is_directory(entry)
        }
        start = len(path) + 1 if path else 0
        for entry in below:
            own: str = entry.metadata[KIND]["path"]
            if _is_directory(entry):
                yield own[start:], sum(size for file, size in sizes.items() if file.startswith(f"{own}/")), True
            else:
                yield own[start:], sizes[own], False

    def _entry(self, path: str) -> MemoryEntry | None:
        found = self._memory.get(_ROOT + path, scope=self._scope)
        # Not one of the scope `public`: this scope could not change it.
        return found if found is not None and found.scope == self._scope and KIND in found.metadata else None

    def _below(self, path: str) -> Iterator[MemoryEntry]:
        prefix = f"{_ROOT}{path}/" if path else _ROOT
        cursor: str | None = None
        while True:
            page = self._memory.list(
                scope=self._scope, memory_types=KIND, key_prefix=prefix, sort="key", limit=500, cursor=cursor
            )
            for entry in page:
                if entry.scope == self._scope and entry.key != prefix:
                    yield entry
            cursor = page.next_cursor
            if cursor is None:
                return

    def _missing_parents(self, path: str) -> Iterator[dict[str, Any]]:
        parts = path.split("/")[:-1]
        for number in range(1, len(parts) + 1):
            parent = "/".join(parts[:number])
            if not self.is_directory(parent):
                yield self._directory(parent)

    def _file(self, path: str, text: str) -> dict[str, Any]:
        about: dict[str, Any] = {"path": path}
        if not text.strip():
            about["blank"] = text
        return self._draft(path, text if text.strip() else _NOTHING, about)

    def _directory(self, path: str) -> dict[str, Any]:
        return self._draft(f"{path}/", _NOTHING, {"path": path, "directory": True})

    def _draft(self, path: str, content: str, about: dict[str, Any]) -> dict[str, Any]:
        return {
            "key": _ROOT + path,
            "content": content,
            "memory_type": KIND,
            "metadata": {KIND: about},
            "namespace": _NAMESPACE,
            "scope": self._scope,
        }


def _text(entry: MemoryEntry) -> str:
    blank = entry.metadata[KIND].get("blank")
    return entry.content if blank is None else str(blank)


def _is_directory(entry: MemoryEntry) -> bool:
    return bool(entry.metadata[KIND].get("directory"))

"""The memory tool of Anthropic's SDK on a memory. Its answers are word for word those of the SDK's tool for files."""

from __future__ import annotations

import asyncio
import posixpath
import threading
from collections.abc import Callable
from typing import Any, Final

from anthropic.lib.tools import ToolError
from anthropic.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool
from anthropic.types.beta import (
    BetaCacheControlEphemeralParam,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from jiyi.compat.memory_owner import SharesMemory
from jiyi.errors import InvalidInputError
from jiyi.integrations.anthropic.files import EntryFiles
from jiyi.integrations.opened import check_memory
from jiyi.sync import AgentMemory

_ROOT: Final = "/memories"
_INSIDE: Final = "/workspace/memories"
_MAX_LINES: Final = 999_999
_WIDTH: Final = len(str(_MAX_LINES))
_LEVELS: Final = 2


class JiyiMemoryTool(SharesMemory, BetaAbstractMemoryTool):
    """The files of Claude's memory in a memory: durable, versioned, of one scope, found by `memory.recall`.

    Give it a `jiyi.sync.AgentMemory` that is open. A file is at most `max_content_bytes` long (64 KiB unless set).
    """

    def __init__(
        self,
        memory: AgentMemory,
        *,
        scope: str | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._files = EntryFiles(check_memory("JiyiMemoryTool", memory), scope)
        # Claude may call the tool several times at once; an edit reads first and then writes.
        self._lock = threading.Lock()

    def execute(self, command: Any) -> Any:
        """Do one command. What is wrong with it is a `ToolError`, which the model is told."""
        with self._lock:
            try:
                return super().execute(command)
            except InvalidInputError as error:
                raise ToolError(str(error)) from error

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """A listing of a directory, two levels deep, or the lines of a file with their numbers."""
        path = _checked(command.path)
        if self._files.is_directory(path):
            return self._listing(command.path, path)
        text = self._existing_text(command.path, path)
        lines = text.split("\n")
        if len(lines) > _MAX_LINES:
            raise ToolError(f"File {command.path} exceeds maximum line limit of 999,999 lines.")
        first = 0
        if command.view_range and len(command.view_range) == 2:
            start, end = command.view_range
            first = max(1, start) - 1
            lines = lines[first : len(lines) if end == -1 else end]
        shown = "\n".join(_numbered(lines, first + 1))
        return f"Here's the content of {command.path} with line numbers:\n{shown}"

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """A new file; one that exists is not replaced."""
        path = _checked(command.path)
        self._check_parents(command.path, path)
        if self._files.is_directory(path) or self._files.read(path) is not None:
            self._files.make_parents(path)
            raise ToolError(f"File {command.path} already exists")
        self._files.create(path, command.file_text)
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that is in a file exactly once."""
        path, text = self._file(command.path)
        count = text.count(command.old_str)
        if count == 0:
            raise ToolError(
                f"No replacement was performed, old_str `{command.old_str}` did not appear verbatim in {command.path}."
            )
        if count > 1:
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{command.old_str}` in lines: "
                f"{', '.join(map(str, _lines_with(text, command.old_str)))}. Please ensure it is unique"
            )
        changed = text[: text.find(command.old_str)].count("\n")
        # The SDK replaces every occurrence that it has counted; occurrences that overlap count once.
        new = text.replace(command.old_str, command.new_str)
        self._files.write(path, new)
        first = max(0, changed - 2)
        shown = _numbered(new.split("\n")[first : changed + 3], first + 1)
        heading = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return "\n".join([heading, *shown])

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Put lines behind the line with this number; 0 is the beginning."""
        path, text = self._file(command.path)
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        new = "\n".join(lines)
        self._files.write(path, new if new.endswith("\n") else new + "\n")
        return f"The file {command.path} has been edited."

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Forget a file or a directory; its versions stay in the history of the memory."""
        path = _checked(command.path)
        if not path:
            raise ToolError("Cannot delete the /memories directory itself")
        if not self._exists(path):
            raise ToolError(f"The path {command.path} does not exist")
        self._files.remove(path)
        return f"Successfully deleted {command.path}"

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Give a file or a directory another path; what is there is not replaced."""
        old, new = _checked(command.old_path), _checked(command.new_path)
        if not old:
            raise ToolError("Cannot rename the /memories directory itself")
        if self._exists(new):
            raise ToolError(f"The destination {command.new_path} already exists")
        self._check_parents(command.new_path, new)
        if not self._exists(old):
            self._files.make_parents(new)
            raise ToolError(f"The path {command.old_path} does not exist")
        if new.startswith(f"{old}/"):
            raise ToolError(f"The path {command.old_path} cannot be moved into itself")
        self._files.move(old, new)
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear_all_memory(self) -> str:
        """Forget every file."""
        with self._lock:
            for path, _, _ in list(self._files.children("")):
                self._files.remove(path)
        return "All memory cleared"

    # --- what several commands need ---------------------------------------------------------------------------------

    def _exists(self, path: str) -> bool:
        return self._files.is_directory(path) or self._files.read(path) is not None

    def _existing_text(self, shown: str, path: str) -> str:
        text = self._files.read(path)
        if text is None:
            raise ToolError(f"The path {shown} does not exist. Please provide a valid path.")
        return text

    def _file(self, shown: str) -> tuple[str, str]:
        path = _checked(shown)
        if self._files.is_directory(path):
            raise ToolError(f"The path {shown} is not a file.")
        return path, self._existing_text(shown, path)

    def _check_parents(self, shown: str, path: str) -> None:
        parts = path.split("/")[:-1]
        for number in range(1, len(parts) + 1):
            parent = "/".join(parts[:number])
            if self._files.read(parent) is not None:
                raise ToolError(f"The path {shown} is below {_ROOT}/{parent}, which is a file")

    def _listing(self, shown: str, path: str) -> str:
        below = sorted(self._files.children(path), key=lambda each: each[0].split("/"))
        whole = sum(size for _, size, is_directory in below if not is_directory)
        lines = [f"{_size(whole)}\t{shown}"]
        for name, size, is_directory in below:
            parts = name.split("/")
            if len(parts) <= _LEVELS and not any(part.startswith(".") for part in parts):
                lines.append(f"{_size(size)}\t{shown}/{name}{'/' if is_directory else ''}")
        heading = f"Here're the files and directories up to 2 levels deep in {shown}, excluding hidden items:"
        return "\n".join([heading, *lines])


class AsyncJiyiMemoryTool(SharesMemory, BetaAsyncAbstractMemoryTool):
    """The same for Anthropic's asynchronous client; the work is done in another thread."""

    def __init__(
        self,
        memory: AgentMemory,
        *,
        scope: str | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._tool = JiyiMemoryTool(memory, scope=scope)

    async def execute(self, command: Any) -> Any:
        """Do one command. What is wrong with it is a `ToolError`, which the model is told."""
        return await asyncio.to_thread(self._tool.execute, command)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> Any:
        """As `JiyiMemoryTool.view`."""
        return await self.execute(command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> Any:
        """As `JiyiMemoryTool.create`."""
        return await self.execute(command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> Any:
        """As `JiyiMemoryTool.str_replace`."""
        return await self.execute(command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> Any:
        """As `JiyiMemoryTool.insert`."""
        return await self.execute(command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> Any:
        """As `JiyiMemoryTool.delete`."""
        return await self.execute(command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> Any:
        """As `JiyiMemoryTool.rename`."""
        return await self.execute(command)

    async def clear_all_memory(self) -> str:
        """Forget every file."""
        clear: Callable[[], str] = self._tool.clear_all_memory
        return await asyncio.to_thread(clear)


def _checked(path: object) -> str:
    """The path below the root without `.` and `..`; one that leaves the root is refused."""
    if not isinstance(path, str) or not path.startswith(_ROOT):
        raise ToolError(f"Path must start with /memories, got: {path}")
    if "\x00" in path:
        raise ToolError(f"Path {path!a} contains a NUL character")
    below = path[len(_ROOT) :].lstrip("/")
    # Resolved two levels down: a path that leaves the root and names it again does not come back into it.
    resolved = posixpath.normpath(f"{_INSIDE}/{below}")
    if resolved == _INSIDE:
        return ""
    if not resolved.startswith(f"{_INSIDE}/"):
        raise ToolError(f"Path {path} would escape /memories directory")
    return resolved[len(_INSIDE) + 1 :]


def _numbered(lines: list[str], first: int) -> list[str]:
    return [f"{str(first + index).rjust(_WIDTH)}\t{line}" for index, line in enumerate(lines)]


def _lines_with(text: str, wanted: str) -> list[int]:
    found, start = [], 0
    while (place := text.find(wanted, start)) != -1:
        found.append(text[:place].count("\n") + 1)
        start = place + 1
    return found


def _size(count: int) -> str:
    """A size in the units of `du`: 0B, 512B, 1.5K, 3M."""
    if count == 0:
        return "0B"
    step = min((count.bit_length() - 1) // 10, 3)
    size = count / 1024**step
    unit = "BKMG"[step]
    return f"{int(size)}{unit}" if size == int(size) else f"{size:.1f}{unit}"

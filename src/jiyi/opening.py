"""Opening a memory, and copying a whole store."""

from __future__ import annotations

import functools
import os
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from jiyi.execution import on_a_thread

if TYPE_CHECKING:
    from types import TracebackType

    from jiyi.memory import AgentMemory
    from jiyi.model.migration import MigrationReport
    from jiyi.ports import Progress


class Opening:
    """A memory that is not open yet: await it, or use it with `async with`."""

    def __init__(
        self,
        kind: type[AgentMemory],
        path: str | os.PathLike[str] | None,
        config: str | os.PathLike[str] | None,
        settings: dict[str, Any],
    ) -> None:
        self._kind = kind
        self._path = path
        self._config = config
        self._settings = settings
        self._memory: AgentMemory | None = None

    def __await__(self) -> Generator[Any, None, AgentMemory]:
        return self._open().__await__()

    async def __aenter__(self) -> AgentMemory:
        self._memory = await self._open()
        return self._memory

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._memory is not None:
            await self._memory.close()

    async def _open(self) -> AgentMemory:
        # Imported here: wiring stands above this module, and only opening a memory needs it.
        from jiyi.wiring import build

        call = functools.partial(build, self._path, config=self._config, **self._settings)
        return self._kind(await on_a_thread(call))


async def create_memory(
    path: str | os.PathLike[str] | None = None,
    *,
    config: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> AgentMemory:
    """Open the memory in `path` (JIYI_HOME or ~/.jiyi/data when not given). Any setting may be given as a keyword."""
    from jiyi.memory import AgentMemory

    return await AgentMemory.open(path, config=config, **settings)


async def migrate_store(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    config: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> MigrationReport:
    """Copy a whole memory to another place, without loss; each is a data directory or a `postgresql://` address.

    The target must be empty, or begun by an earlier run: an interrupted migration continues where it stopped. The
    target cannot be opened until both are equal, row by row. If the source is written to meanwhile, the migration is
    not completed. The indexes of the target are built by its first recall, or by `repair`.
    """
    from jiyi.wiring.migrate import migrate_store

    call = functools.partial(migrate_store, source, target, config=config, progress=progress, **settings)
    return await on_a_thread(call)

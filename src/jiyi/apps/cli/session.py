"""Session: the memory of one command, opened for it and closed after it."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from jiyi.apps.cli.output import Output

if TYPE_CHECKING:
    from jiyi.memory import AgentMemory

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Options:
    """The options that every command takes, before or after its name."""

    data: str | None = None
    config: Path | None = None
    scope: str | None = None
    json: bool = False

    def over(self, outer: Options) -> Options:
        """These options; those that are not given come from before the name of the command."""
        return Options(
            data=self.data if self.data is not None else outer.data,
            config=self.config if self.config is not None else outer.config,
            scope=self.scope if self.scope is not None else outer.scope,
            json=self.json or outer.json,
        )


class Session:
    """Options and output of one command."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.output = Output(json=options.json)

    def require_memory(self) -> None:
        """Refuse a place without a memory. A command that only looks or takes away must not make one after a typo.

        A PostgreSQL database has to exist before anybody can connect to it: a wrong name is an error of the server.
        """
        from jiyi.config import load_settings
        from jiyi.errors import InvalidInputError, StorageError
        from jiyi.model.address import EMBEDDED, IN_MEMORY

        # The embedder makes no difference, and the key of its service may not be at hand.
        settings = load_settings(self.options.data, config=self.options.config, embedder="none")
        place = settings.path
        if settings.storage != EMBEDDED or place == IN_MEMORY or (place / "memory.db").exists():
            return
        if place.is_file():
            raise StorageError(f"{place} is a file; name a directory for the data")
        raise InvalidInputError(
            f"there is no memory in {place}, and none was made; --data names another place, and what stores something "
            "(jiyi store, jiyi import, jiyi chat) makes a memory"
        )

    def run(self, action: Callable[[AgentMemory], Awaitable[T]], **settings: Any) -> T:
        """Open the memory, do this with it, close it. The settings go over the user's own."""
        return asyncio.run(self._run(action, settings))

    def run_without_embedder(self, action: Callable[[AgentMemory], Awaitable[T]]) -> T:
        """The same for commands that need no vectors: neither numpy nor the embedder is loaded."""
        return self.run(action, embedder="none")

    async def _run(self, action: Callable[[AgentMemory], Awaitable[T]], settings: dict[str, Any]) -> T:
        from jiyi.memory import AgentMemory

        if self.options.scope is not None:
            settings["scope"] = self.options.scope
        # Threads would only delay the end: the next recall indexes what is left, and maintain runs the jobs.
        # Whoever types a command is one user: only a host with many chats has to name each scope.
        threads = {"background_indexing": False, "background_jobs": False, "strict_scope": False}
        opening = AgentMemory.open(self.options.data, config=self.options.config, **{**threads, **settings})
        async with opening as memory:
            # What exists now lives until the end, so the garbage collector need not look at it.
            gc.freeze()
            gc.enable()
            return await action(memory)


class _Notes(logging.Handler):
    """Shows warnings of the memory as notes."""

    def __init__(self, output: Output) -> None:
        super().__init__(logging.WARNING)
        self._output = output

    def emit(self, record: logging.LogRecord) -> None:
        """Show one record."""
        self._output.note(record.getMessage())


@contextmanager
def warnings_as_notes(output: Output) -> Iterator[None]:
    """Show what the memory logs. A refused scope is an error of the command and is not shown twice."""
    handler = _Notes(output)
    handler.addFilter(lambda record: record.name != "jiyi.scope")
    logger = logging.getLogger("jiyi")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)

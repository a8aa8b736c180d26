"""Compactions that go on after `get` has answered, so that no caller waits for a long backlog."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from jiyi.errors import JiyiError, MemoryClosedError

_log = logging.getLogger("jiyi.chat")

Session: TypeAlias = tuple[str, str]


class _SessionCompaction:
    """The work on one session."""

    task: asyncio.Task[None]
    done = 0

    @property
    def is_active(self) -> bool:
        return not (self.task.done() or self.task.get_loop().is_closed())


class BackgroundCompactions:
    """At most one task for each session. What is not done when the memory closes is left to the next `get`."""

    def __init__(self) -> None:
        self._runs: dict[Session, _SessionCompaction] = {}

    def start(self, session: Session, compact_portion: Callable[[], Awaitable[int]]) -> None:
        """Call `compact_portion` until it has moved no message; does nothing if that is being done already."""
        if self.done(session) is not None:
            return
        run = _SessionCompaction()
        run.task = asyncio.get_running_loop().create_task(self._work(session, run, compact_portion))
        self._runs[session] = run  # complete, because other threads read it

    def done(self, session: Session) -> int | None:
        """How many messages were summarised in the background so far; `None` when nothing is running."""
        run = self._runs.get(session)
        return run.done if run is not None and run.is_active else None

    async def _work(
        self, session: Session, run: _SessionCompaction, compact_portion: Callable[[], Awaitable[int]]
    ) -> None:
        try:
            while moved := await compact_portion():
                run.done += moved
        except MemoryClosedError:
            _log.debug("the memory was closed before all messages of a session were summarised")
        except JiyiError as error:
            # The kind of error only: its text may quote the conversation. The next get meets it, or does the work.
            _log.warning("a compaction in the background ended with %s", type(error).__name__)
        finally:
            if self._runs.get(session) is run:
                del self._runs[session]

"""AuditLog: who changed what through the server. Written in the background, and completely when the server stops."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from jiyi.errors import JiyiError
from jiyi.model import clock
from jiyi.model.access_key import AccessLine
from jiyi.server.access import Access

if TYPE_CHECKING:
    from jiyi.server.keys import Keys

_EVERY: Final = 1.0
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_log = logging.getLogger("jiyi.server")


class AuditLog:
    """Collects lines, and writes them once a second. Texts are never in it."""

    def __init__(self, keys: Keys | None) -> None:
        self._keys = keys
        self._lines: list[AccessLine] = []

    def note(self, access: object, method: str, route: str, values: Mapping[str, Any], status: int) -> None:
        """Note a request that may have changed something."""
        if self._keys is None or method in _SAFE or not isinstance(access, Access):
            return
        target = str(next(iter(values.values()), ""))[:200]
        self._lines.append(
            AccessLine(clock.utc_now(), access.key_id, access.scope, f"{method} {route}", target, status)
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Write while the server runs, and what is left at its end."""
        task = asyncio.ensure_future(self._write_on())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await self.write()

    async def _write_on(self) -> None:
        while True:
            await asyncio.sleep(_EVERY)
            await self.write()

    async def write(self) -> None:
        """Write what was noted."""
        lines, self._lines = self._lines, []
        if not lines or self._keys is None:
            return
        try:
            await asyncio.to_thread(self._keys.log, lines)
        except JiyiError as error:
            self._lines = [*lines, *self._lines]
            _log.warning("%d lines of the access log could not be written yet: %s", len(lines), type(error).__name__)

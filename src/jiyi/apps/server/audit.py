"""AuditLog: who changed what through the server. Written in the background, and completely when the server stops."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from jiyi.apps.server.access import MCP, Access
from jiyi.apps.server.background_tasks import background_task
from jiyi.errors import JiyiError
from jiyi.model import clock
from jiyi.model.access_key import AccessLine

if TYPE_CHECKING:
    from jiyi.apps.server.keys import Keys

_EVERY: Final = 1.0
_MAX_WAITING: Final = 100_000
"""Lines in memory while the store cannot be written to."""
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_DONE, _REFUSED = 200, 400
_log = logging.getLogger("jiyi.server")


class AuditLog:
    """Collects lines, and writes them once a second. Texts are never in it."""

    def __init__(self, keys: Keys | None) -> None:
        self._keys = keys
        self._lines: list[AccessLine] = []
        self._full = False

    def note(self, access: object, method: str, route: str, values: Mapping[str, Any], status: int) -> None:
        """Note a request that may have changed something."""
        # A request of MCP says nothing of what is done: the calls of tools are noted one by one.
        if method not in _SAFE and route != MCP and isinstance(access, Access):
            self._add(access, f"{method} {route}", str(next(iter(values.values()), "")), status)

    def note_call(self, access: Access, tool: str, target: str, success: bool) -> None:  # noqa: FBT001 - a callback
        """Note a call of a tool that may have changed something."""
        self._add(access, f"tool {ascii(tool)[1:-1][:80]}", target, _DONE if success else _REFUSED)

    def _add(self, access: Access, action: str, target: str, status: int) -> None:
        if self._keys is None:
            return
        line = AccessLine(clock.utc_now(), access.key_id, access.scope, action, target[:200], status)
        if len(self._lines) < _MAX_WAITING:
            self._lines.append(line)
        elif not self._full:
            self._full = True
            _log.error("the access log cannot be written, and %d lines wait: further ones are lost", _MAX_WAITING)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Write while the server runs, and what is left at its end."""
        try:
            async with background_task(self._write_on()):
                yield
        finally:
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
            self._full = False
        except JiyiError as error:
            self._lines = [*lines, *self._lines]
            _log.warning("%d lines of the access log could not be written yet: %s", len(lines), type(error).__name__)

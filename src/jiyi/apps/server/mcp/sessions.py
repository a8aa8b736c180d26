"""What belongs to one session of the protocol with sessions, and what is told to a client while it waits."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any, Final, TypeAlias, TypeVar, get_args

import anyio
import mcp_types as types
from mcp.server.connection import allowed_log_levels
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

Context: TypeAlias = ServerRequestContext[Any, Any]
_Answer = TypeVar("_Answer")

MAX_SESSIONS: Final = 10_000
GONE: Final = (MCPError, anyio.ClosedResourceError, anyio.BrokenResourceError)
"""What sending to a client that has left raises."""
_LEVELS: Final[tuple[types.LoggingLevel, ...]] = get_args(types.LoggingLevel)
_PROGRESS_EVERY: Final = 1.0


def session_of(context: Context) -> str:
    """The name of the session; empty over stdio, where there is one, and in the protocol without sessions."""
    headers = getattr(context.request, "headers", None)
    return "" if headers is None else str(headers.get("mcp-session-id", ""))


class ClientLog:
    """Log messages for clients: by `logging/setLevel` of a session, or by the level that a request asks for."""

    def __init__(self) -> None:
        self._levels: OrderedDict[str, types.LoggingLevel] = OrderedDict()

    async def set_level(self, context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        """From now on this session is told what is at least as severe."""
        self._levels[session_of(context)] = params.level
        while len(self._levels) > MAX_SESSIONS:
            self._levels.popitem(last=False)
        return types.EmptyResult()

    async def tell(self, context: Context, level: types.LoggingLevel, text: str) -> None:
        """Tell the client, if it has asked for messages of this level. Texts of memories never belong here."""
        if not self._wanted(context, level):
            return
        message = types.LoggingMessageNotificationParams(level=level, logger="jiyi.server", data=text)
        with suppress(*GONE):
            notification = types.LoggingMessageNotification(params=message)
            await context.session.send_notification(notification, related_request_id=context.request_id)

    def _wanted(self, context: Context, level: types.LoggingLevel) -> bool:
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return level in allowed_log_levels(context.protocol_version, context.meta)
        min_level = self._levels.get(session_of(context))
        return min_level is not None and _LEVELS.index(level) >= _LEVELS.index(min_level)


async def with_progress(context: Context, work: Awaitable[_Answer], message: str) -> _Answer:
    """Do the work; a client that has asked for progress hears every second that it goes on."""
    task = asyncio.ensure_future(work)
    seconds = 0.0
    try:
        while not (await asyncio.wait({task}, timeout=_PROGRESS_EVERY))[0]:
            seconds += _PROGRESS_EVERY
            with suppress(*GONE):
                await context.session.report_progress(seconds, None, message)
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

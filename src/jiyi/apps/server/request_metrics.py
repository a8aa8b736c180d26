"""RequestMetrics: what every request leaves behind: a number in the metrics, a line in the logs, a span, an id."""

from __future__ import annotations

import logging
import re
import time
import uuid
from typing import Final

from jiyi.apps.server.access import MCP, Access
from jiyi.apps.server.audit import AuditLog
from jiyi.apps.server.gate import ACCESS, App, Message, Receive, Send
from jiyi.apps.server.metrics import Metrics
from jiyi.apps.server.tracing import Tracing

REQUEST_ID: Final = "jiyi.request_id"
"""Where the id of a request stands in its ASGI scope."""
_HEADER: Final = b"x-request-id"
_GIVEN: Final = re.compile(rb"[A-Za-z0-9._-]{1,64}\Z")
_log = logging.getLogger("jiyi.requests")


class RequestMetrics:
    """Counts requests, notes who changed something, and gives every answer an id. Plain ASGI: streams stay streams."""

    def __init__(self, app: App, metrics: Metrics, audit: AuditLog, tracing: Tracing | None = None) -> None:
        self._app = app
        self._metrics = metrics
        self._audit = audit
        self._tracing = tracing

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 500
        request_id = _id_of(scope)
        scope[REQUEST_ID] = request_id.decode()

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), (_HEADER, request_id)]
            await send(message)

        span = None if self._tracing is None else self._tracing.begin(scope)
        self._metrics.begin()
        try:
            await self._app(scope, receive, sending)
        finally:
            seconds = time.perf_counter() - begun
            # The router of MCP does not say which route it took.
            route = str(getattr(scope.get("route"), "path", MCP if scope["path"] == MCP else "other"))
            access = scope.get(ACCESS)
            self._metrics.count(scope["method"], route, status, seconds)
            self._audit.note(access, scope["method"], route, scope.get("path_params", {}), status)
            key_id = access.key_id if isinstance(access, Access) else ""
            _tell(scope["method"], route, status, seconds, scope[REQUEST_ID], key_id)
            if span is not None and self._tracing is not None:
                self._tracing.end(span, route, status, key_id, scope[REQUEST_ID])


def _tell(method: str, route: str, status: int, seconds: float, request_id: str, key_id: str) -> None:
    """One line for a request. Routes, not paths: a path may hold a name, and no text of anybody is logged."""
    if not _log.isEnabledFor(logging.INFO):
        return
    facts = {
        "request_id": request_id,
        "method": method,
        "route": route,
        "status": status,
        "ms": round(1_000 * seconds, 2),
        "key_id": key_id,
    }
    _log.info("%s %s %d %.1f ms", method, route, status, 1_000 * seconds, extra={"facts": facts})


def _id_of(scope: Message) -> bytes:
    """The id that the caller or a proxy has given, if it is a harmless one; otherwise a new one."""
    for name, value in scope["headers"]:
        if name == _HEADER and _GIVEN.match(value):
            return bytes(value)
    return uuid.uuid4().hex.encode()

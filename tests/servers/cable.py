"""A cable between a program and a server that a test can cut: `with Cable(port) as cable:`, connect to `cable.port`."""

from __future__ import annotations

import socket
import threading
from types import TracebackType
from typing import Literal, Self

Cut = Literal["before", "after"]


class Cable:
    """Passes bytes on in both directions, until it is told to be cut at a word."""

    def __init__(self, port: int) -> None:
        self._server = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._cut: tuple[bytes, Cut] | None = None
        self._plugged = True
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self.cuts = 0
        """How often it was cut."""

    def cut_at(self, word: bytes, when: Cut, *, stay_cut: bool = False) -> None:
        """Cut the connection on which this word is sent next: before the server hears it, or before it can answer."""
        self._stay_cut = stay_cut
        self._cut = (word, when)

    def unplug(self) -> None:
        """Cut everything, and let nobody connect."""
        self._plugged = False
        for end in list(self._open):
            _end(end)

    def plug_in(self) -> None:
        """Let everybody connect again."""
        self._plugged = True

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unplug()
        _end(self._listener)
        for thread in self._threads:
            thread.join(timeout=10)

    def _start(self, work: object, *arguments: object) -> None:
        assert callable(work)
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if not self._plugged:
                _end(near)
                continue
            far = socket.create_connection(("127.0.0.1", self._server))
            self._open |= {near, far}
            answered = threading.Event()
            self._start(self._pass_on, near, far, answered, True)
            self._start(self._pass_on, far, near, answered, False)

    def _pass_on(self, source: socket.socket, target: socket.socket, answered: threading.Event, asking: bool) -> None:
        silent = False
        while True:
            try:
                data = source.recv(1 << 16)
            except OSError:
                data = b""
            if not data:
                break
            if asking and self._cut is not None and self._cut[0] in data:
                _, when = self._cut
                self._cut = None
                self.cuts += 1
                if self._stay_cut:
                    self._plugged = False
                if when == "before":
                    break
                answered.clear()
                silent = True
                self._silenced = target
            elif not asking and getattr(self, "_silenced", None) is source:
                # The server has done it, and nobody hears.
                answered.set()
                break
            try:
                target.sendall(data)
            except OSError:
                break
            if silent:
                answered.wait(10)
                break
        for end in (source, target):
            _end(end)
            self._open.discard(end)


def _end(end: socket.socket) -> None:
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    finally:
        end.close()

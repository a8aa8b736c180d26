"""Several worker processes on one socket, for stores that many processes share: PostgreSQL.

The parent binds the socket and starts the workers; each opens the memory for itself. A worker that ends unexpectedly is
started again; one that cannot start ends all. On SIGTERM or SIGINT every worker finishes its requests.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jiyi.apps.server.log_lines import log_to
from jiyi.apps.server.serving import GRACE_SECONDS, Serving, serve_http
from jiyi.errors import ConfigError, JiyiError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

_log = logging.getLogger("jiyi.server")
_START_SECONDS: Final = 120.0
_PAUSE_SECONDS: Final = 1.0
_BACKLOG: Final = 2_048


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """How each worker opens the memory."""

    data: str | None
    config: Path | None
    scope: str | None

    def settings(self) -> dict[str, Any]:
        """Settings that stand on the command line."""
        return {} if self.scope is None else {"scope": self.scope}


@dataclass(slots=True)
class _Worker:
    process: SpawnProcess
    started: Connection
    ready: bool = False


class WorkerProcesses:
    """The worker processes of one server."""

    def __init__(self, opened: MemoryOptions, plan: Serving, on_listening: Callable[[str], None]) -> None:
        self._opened = opened
        self._plan = plan
        self._on_listening = on_listening
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[_Worker] = []
        self._stopping = False

    def run(self) -> None:
        """Serve until the process is told to stop."""
        with _bound(self._plan) as listening:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, self._stop)
            self._workers = [self._start(listening, place) for place in range(self._plan.workers)]
            try:
                self._wait_until_ready()
                if not self._stopping:
                    host, port = listening.getsockname()[:2]
                    scheme = "https" if self._plan.certificate else "http"
                    self._on_listening(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}")
                while not self._stopping:
                    self._restart_ended(listening)
            finally:
                self._end()

    def _stop(self, _number: int, _frame: object) -> None:
        self._stopping = True

    def _start(self, listening: socket.socket, place: int) -> _Worker:
        mine, theirs = self._context.Pipe(duplex=False)
        plan = replace(self._plan, maintains=place == 0)
        process = self._context.Process(target=_work, args=(self._opened, plan, listening, theirs))
        process.start()
        theirs.close()
        return _Worker(process, mine)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        for worker in self._workers:
            while not worker.ready and not self._stopping:
                if worker.started.poll(0.1):
                    problem = _received(worker.started)
                    if problem:
                        raise ConfigError(f"a worker could not start: {problem}")
                    worker.ready = True
                elif not worker.process.is_alive() or time.monotonic() > deadline:
                    raise ConfigError("a worker could not start in time; see its messages above")

    def _restart_ended(self, listening: socket.socket) -> None:
        wait([worker.process.sentinel for worker in self._workers], timeout=0.5)
        for place, worker in enumerate(self._workers):
            if not worker.process.is_alive() and not self._stopping:
                _log.warning("worker %s has ended (%s); starting another one", *_end_of(worker))
                time.sleep(_PAUSE_SECONDS)
                self._workers[place] = self._start(listening, place)

    def _end(self) -> None:
        for worker in self._workers:
            if worker.process.is_alive():
                worker.process.terminate()
        deadline = time.monotonic() + 2 * GRACE_SECONDS
        for worker in self._workers:
            worker.process.join(max(0.1, deadline - time.monotonic()))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()


def _end_of(worker: _Worker) -> tuple[int | None, int | None]:
    return worker.process.pid, worker.process.exitcode


def _received(pipe: Connection) -> str:
    try:
        return str(pipe.recv())
    except EOFError:
        return "it ended; see its messages above"


def _bound(plan: Serving) -> socket.socket:
    family = socket.AF_INET6 if ":" in plan.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((plan.host, plan.port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise ConfigError(f"{plan.host}:{plan.port} cannot be listened on: {error.strerror}") from error
    return listening


def _work(opened: MemoryOptions, plan: Serving, listening: socket.socket, started: Connection) -> None:
    """One worker, in its own process."""
    if plan.log_format == "json" or plan.log_requests:
        log_to(form=plan.log_format)
    # Ctrl-C reaches the whole group of processes; the parent then tells each worker to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    async def serve() -> str:
        from jiyi.memory import AgentMemory

        async with AgentMemory.open(
            opened.data, config=opened.config, **{"strict_scope": True, **opened.settings()}
        ) as memory:
            return await serve_http(memory, plan, on_listening=lambda _: started.send(""), listening=listening)

    try:
        problem = asyncio.run(serve())
        if problem:
            started.send(problem)
    except JiyiError as error:
        started.send(str(error))
        sys.exit(1)

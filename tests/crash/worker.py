"""A process that works on a memory until it is killed: python -m tests.crash.worker '{"path": ..., "pipe": 5, ...}'

It writes what it is about to do and, when the memory has acknowledged it, that it is done: one line and one unbuffered
write each.
"""

import itertools
import json
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable
from typing import Any

from jiyi.backends.embedded import database as sqlite
from jiyi.backends.embedded.database import SqliteDatabase
from jiyi.backends.embedded.text.index import TantivyIndex
from jiyi.backends.embedded.text.terms import TermStore
from jiyi.backends.embedded.vectors.index import SqliteVectors
from jiyi.backends.records import writes
from jiyi.backends.shared.generations import Generations
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from tests.crash.story import random_step

# Where a process may be told to die: in the middle of everything that takes more than one step.
POINTS: dict[str, tuple[Any, str, bool]] = {
    "record rows are written, the transaction is open": (writes, "_put_group", True),
    "the log is about to be truncated": (SqliteDatabase, "_truncate_log", False),
    "the log is truncated": (SqliteDatabase, "_truncate_log", True),
    "the text index is about to be written": (TantivyIndex, "_write", False),
    "terms are written, the text index is not": (TermStore, "apply", True),
    "the text index is committed": (TantivyIndex, "_write", True),
    "vectors are about to be written": (SqliteVectors, "_write", False),
    "vectors are committed": (SqliteVectors, "_write", True),
    "the vectors are built anew": (SqliteVectors, "_fill", True),
    "a new generation is complete, but not in use": (Generations, "publish", False),
    "a new generation is in use, the old one is there": (shutil, "rmtree", False),
    "a new generation is in use, the old one is gone": (Generations, "publish", True),
}


def main() -> None:
    order = json.loads(sys.argv[1])
    pipe: int = order["pipe"]

    def say(**line: Any) -> None:
        os.write(pipe, (json.dumps(line) + "\n").encode())

    # Small, so that nearly every commit is followed by a checkpoint, and every drain by truncating the log.
    sqlite._CHECKPOINT_PAGES = 4
    sqlite._MAX_LOG_BYTES = 0
    if order["die_at"] is not None:
        _die_at(order["die_at"], order["die_on_call"])
    chance = random.Random(order["seed"])
    embedder = HashEmbedder() if order["embedder"] == "hash" else order["embedder"]
    memory = AgentMemory.open(order["path"], embedder=embedder, freshness_seconds=60)
    say(ready=os.getpid())
    for number in itertools.count():
        step = random_step(chance, order["actor"], f"{order['seed']}.{number}")
        say(begin=number, kind=step.kind, name=step.name, stamp=step.stamp)
        step.perform(memory)
        say(done=number)
        if order["drain_every"] and number % order["drain_every"] == 0:
            memory.drain()
        if order["rebuild_every"] and number % order["rebuild_every"] == order["rebuild_every"] - 1:
            memory.rebuild()


def _die_at(point: str, call: int) -> None:
    owner, name, after = POINTS[point]
    original: Callable[..., Any] = getattr(owner, name)
    calls = itertools.count(1)

    def dying(*args: Any, **kwargs: Any) -> Any:
        now = next(calls) == call
        if now and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(*args, **kwargs)
        if now:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, dying)


if __name__ == "__main__":
    main()

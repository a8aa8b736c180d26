"""A process with many callers at once: python -m tests.crash.group_worker '{"path": ..., "pipe": 5, ...}'

Each caller writes what it has been acknowledged, one line and one unbuffered write each. With `rounds` the process ends
by itself after so many writes of every caller; otherwise it works until it is killed.
"""

import asyncio
import itertools
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jiyi import AgentMemory
from jiyi.backends.embedded.database import SqliteDatabase
from jiyi.errors import InvalidInputError


def text_of(name: str) -> str:
    """What is stored under a name."""
    return f"text of {name}"


async def main(order: dict[str, Any]) -> None:
    def say(line: str) -> None:
        os.write(order["pipe"], f"{line}\n".encode())

    if order["die_in_group"]:
        _die_before_the_commit_of(order["die_in_group"])
    async with AgentMemory.open(
        order["path"], embedder="none", background_indexing=False, background_jobs=False, busy_timeout=120
    ) as memory:
        say("ready")

        async def caller(number: int) -> None:
            chat = memory.chat(f"{order['name']}-{number}")
            for place in itertools.count() if order["rounds"] is None else range(order["rounds"]):
                name = f"{order['name']}.{number}.{place}"
                match (number + place) % 4:
                    case 0:
                        await chat.put({"role": "user", "content": name})
                        say(f"put {name}")
                    case 1:
                        # A write that fails must take nothing of its group with it.
                        try:
                            await memory.update("nobody", content="x")
                        except InvalidInputError:
                            say(f"refused {name}")
                    case _:
                        await memory.store(name, text_of(name), tags=["group", name])
                        say(f"store {name}")

        await asyncio.gather(*(caller(number) for number in range(order["callers"])))
    say("end")


def _die_before_the_commit_of(number: int) -> None:
    """Kill this process when the writes of the group with this number are made and the commit is not."""
    group, numbers = SqliteDatabase.group, itertools.count(1)

    @contextmanager
    def dying(self: SqliteDatabase) -> Iterator[None]:
        with group(self):
            yield
            if next(numbers) == number:
                os.kill(os.getpid(), signal.SIGKILL)

    SqliteDatabase.group = dying  # type: ignore[method-assign]


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))

"""Does one thing to a chat and dies at a chosen step of it: python -m tests.crash.chat_steps

A step is a statement that reaches SQLite, of whatever transaction. A line in is an order, `[folder, action, step]`; a
line out says whether the process that carried it out was killed. Each order is carried out by a fork, so that a kill
costs no new interpreter.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from jiyi.backends.embedded.connection import SqliteConnection
from jiyi.backends.embedded.database import SqliteDatabase
from jiyi.sync import AgentMemory
from tests.support import QUICK

LIMIT = 260
SESSION = "s"

ACTIONS: dict[str, Callable[[Any], object]] = {
    "put": lambda chat: chat.put({"role": "user", "content": "the last word, 记住 it"}),
    "put many": lambda chat: chat.put_many([{"role": "user", "content": f"one more {n}"} for n in range(3)]),
    "flush": lambda chat: chat.get(),
    "compact": lambda chat: chat.compact(),
    "limit": lambda chat: chat.get(),
    "reset": lambda chat: chat.reset(),
    "delete": lambda chat: chat.delete_epoch(1),
}


def chat_of(memory: AgentMemory, action: str) -> Any:
    """The chat for an action: `flush` has a limit that is not reached, but nearly."""
    return memory.chat(SESSION, token_limit=1_000 if action != "limit" else LIMIT, soft_threshold=0.2)


class Steps:
    """Counts statements of SQLite, and ends the process before one of them."""

    def __init__(self) -> None:
        self.counted = 0
        self.fatal = 0

    def trace(self, _statement: str) -> None:
        if self.fatal:
            self.counted += 1
            if self.counted == self.fatal:
                os.kill(os.getpid(), signal.SIGKILL)


def open_counted(folder: str, steps: Steps) -> AgentMemory:
    """A memory whose statements are steps."""
    connect = SqliteDatabase._connect

    def traced(database: SqliteDatabase, *pragmas: str) -> SqliteConnection:
        connection = connect(database, *pragmas)
        connection.driver.set_trace_callback(steps.trace)
        return connection

    SqliteDatabase._connect = traced  # type: ignore[assignment, method-assign]
    return AgentMemory.open(folder, **QUICK)


def carry_out(folder: str, action: str, step: int) -> None:
    steps = Steps()
    memory = open_counted(folder, steps)
    chat = chat_of(memory, action)
    steps.fatal = step
    ACTIONS[action](chat)
    steps.fatal = 0
    memory.close()


def serve(carry_out: Callable[..., None]) -> None:
    """Carry out each order of the input in a fork."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                carry_out(*json.loads(line))
            except BaseException as error:  # noqa: BLE001 - told to the test by the exit code
                print(error, file=sys.stderr)
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(json.dumps(-os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)), flush=True)


if __name__ == "__main__":
    serve(carry_out)

"""A process that serves memories to the test that started it, one after the other: python -m tests.crash.served

A line in is a call, a line out is its answer: {"call": "recall", "args": ["query"], "settings": {"limit": 3}}
"""

import json
import sqlite3
import sys
from contextlib import ExitStack
from typing import Any

from jiyi.errors import JiyiError
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder


class Served:
    """The memory that is open, and what only tests ask of it."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._memory: Any = None

    def open(self, embedder: str = "hash", **settings: Any) -> None:
        """Open a memory in place of the one before."""
        self.close()
        given: Any = HashEmbedder() if embedder == "hash" else embedder
        self._memory = self._stack.enter_context(AgentMemory.open(embedder=given, **settings))

    def close(self) -> None:
        """Give back everything that was opened or held."""
        self._stack.close()

    def store_each(self, prefix: str, count: int) -> int:
        """Store entries one by one; how many were acknowledged."""
        stored = [self._memory.store(f"{prefix}-{i}", f"{prefix} 的第 {i} 条 number{i}") for i in range(count)]
        return len(stored)

    def chat_turns(self, session: str, turns: int, limit: int, name: str) -> list[str]:
        """Put messages into a session and look at its window after each; the ids of the messages."""
        chat = self._memory.chat(session, token_limit=limit)
        ids = []
        for turn in range(turns):
            ids.append(chat.put({"role": "user", "content": f"{name} says 请记住 the number {turn}"}))
            window = chat.get()
            assert window.tokens <= limit
        return ids

    def runtime(self, method: str, *args: Any, **settings: Any) -> Any:
        """A call of the runtime room."""
        return getattr(self._memory.runtime, method)(*args, **settings)

    def hold_write_lock(self) -> None:
        """Take the lock that every write needs, and keep it."""
        self._stack.enter_context(self._memory._target._store._database._lock.hold())

    def begin_write(self) -> None:
        """Begin a transaction of SQLite itself, and keep it, as a program does that knows nothing of the lock."""
        other = sqlite3.connect(self._memory.settings.path / "memory.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        self._stack.callback(other.close)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)


def main() -> None:
    served = Served()
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer = getattr(served, order["call"])(*order["args"], **order["settings"])
            print(json.dumps({"answer": _plain(answer)}), flush=True)
        except JiyiError as error:
            print(json.dumps({"error": type(error).__name__, "message": str(error)}), flush=True)
    served.close()


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.to_dict() if hasattr(value, "to_dict") else value


if __name__ == "__main__":
    main()

"""Forked children: what they say, and how they end.

A child is forked from a process that has imported everything and opened nothing, so it begins at once.
"""

import json
import logging
import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn


def fork(run: Callable[[Callable[..., None]], None]) -> tuple[int, int]:
    """Run this in a child; returns its process id and the descriptor on which it speaks."""
    read, write = os.pipe()
    child = os.fork()
    if child:
        os.close(write)
        return child, read
    os.close(read)
    return _in_child(run, write)


def _in_child(run: Callable[[Callable[..., None]], None], write: int) -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

    def say(**line: Any) -> None:
        os.write(write, (json.dumps(line) + "\n").encode())

    code = 0
    try:
        run(say)
    except BaseException:  # noqa: BLE001 - whatever it is, the parent is told
        say(error=traceback.format_exc()[-4_000:])
        code = 3
    sys.stdout.flush()
    os._exit(code)


class Listener:
    """Reads the lines of a child."""

    def __init__(self, child: int, descriptor: int) -> None:
        self.child = child
        self.descriptor = descriptor
        self.ended = False
        self._rest = b""

    def lines(self) -> list[dict[str, Any]]:
        """What it has said since; waits for at least something, or for the end."""
        heard = os.read(self.descriptor, 1 << 16)
        self.ended = not heard
        *whole, self._rest = (self._rest + heard).split(b"\n")
        return [json.loads(line) for line in whole]

    def rest(self) -> list[dict[str, Any]]:
        """Everything up to its end."""
        found = []
        while not self.ended:
            found += self.lines()
        return found

    def wait(self) -> int:
        """Its exit code, negative for a signal."""
        os.close(self.descriptor)
        return os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])


def answer_of(run: Callable[[Callable[..., None]], None]) -> dict[str, Any]:
    """Run it in a child of its own and return the last thing that it said."""
    listener = Listener(*fork(run))
    said = listener.rest()
    code = listener.wait()
    if not said or "error" in said[-1] or code:
        raise AssertionError(f"the child ended with {code}: {said[-1] if said else 'nothing said'}")
    return said[-1]


def preload() -> None:
    """Import what a memory loads when it is used, so that children need not. What it logs is not shown."""
    logging.getLogger("jiyi").setLevel(logging.CRITICAL)
    for part in ("backends.embedded", "backends.records", "backends.shared", "chat", "config", "indexing", "jobs"):
        _import_all(f"jiyi.{part}")
    for part in ("longterm", "memory", "model", "notes", "ports", "recall", "runtime", "text", "tools", "wiring"):
        _import_all(f"jiyi.{part}")
    from jiyi.text import Analyzer

    Analyzer().analyze("杭州早报 zebra")


def _import_all(package: str) -> None:
    import importlib
    import pkgutil

    module = importlib.import_module(package)
    for found in pkgutil.walk_packages(module.__path__, f"{package}."):
        importlib.import_module(found.name)

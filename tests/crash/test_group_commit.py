"""Many callers of one process share commits: for each of them, acknowledged means kept."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import pytest

from jiyi.model.entry import MemoryEntry
from jiyi.sync import AgentMemory
from tests.crash.group_worker import text_of
from tests.crash.harness import PATIENCE, ROOT

CALLERS = 64


class Callers:
    """A process with many callers, and what they were acknowledged."""

    def __init__(
        self, path: Path, name: str, *, callers: int = CALLERS, rounds: int | None = None, die_in_group: int = 0
    ) -> None:
        read, write = os.pipe()
        order = {
            "path": str(path),
            "name": name,
            "callers": callers,
            "rounds": rounds,
            "die_in_group": die_in_group,
            "pipe": write,
        }
        command = [sys.executable, "-m", "tests.crash.group_worker", json.dumps(order)]
        self._process = subprocess.Popen(command, cwd=ROOT, pass_fds=[write], stderr=subprocess.PIPE)
        os.close(write)
        self._said = os.fdopen(read, "rb")
        self.lines: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._said.close()
        if self._process.stderr is not None:
            self._process.stderr.close()

    def wait_for(self, lines: int) -> None:
        """Listen until so many lines were said."""
        while len(self.lines) < lines and (line := self._said.readline()):
            self.lines.append(line.decode().rstrip("\n"))

    def kill(self) -> None:
        """Kill it as it stands."""
        os.kill(self._process.pid, signal.SIGKILL)
        self.end(-signal.SIGKILL)

    def end(self, code: int) -> None:
        """Hear it out to its end."""
        self.lines += [line.decode().rstrip("\n") for line in self._said if line.endswith(b"\n")]
        assert self._process.stderr is not None
        said = self._process.stderr.read().decode(errors="replace")
        assert self._process.wait(PATIENCE) == code, said


def check(path: Path, workers: Sequence[Callers]) -> int:
    """Everything acknowledged is there, whole and in order, and what is there besides is whole; returns how much."""
    acknowledged = [line.split(" ", 1) for worker in workers for line in worker.lines if " " in line]
    stored = {name for kind, name in acknowledged if kind == "store"}
    put: dict[str, list[str]] = defaultdict(list)
    for kind, name in acknowledged:
        if kind == "put":
            process, caller, _ = name.rsplit(".", 2)
            put[f"{process}-{caller}"].append(name)
    with AgentMemory.open(path, embedder="none", background_indexing=False, background_jobs=False) as memory:
        assert memory.doctor()["store_problems"] == []
        there: dict[str, MemoryEntry] = {}
        cursor = None
        while True:
            page = memory.list(limit=500, cursor=cursor, tags=["group"])
            there |= {str(entry.key): entry for entry in page}
            cursor = page.next_cursor
            if cursor is None:
                break
        assert stored <= there.keys()
        for name, entry in there.items():
            assert (entry.content, set(entry.tags), entry.version) == (text_of(name), {"group", name}, 1)
        for session, names in put.items():
            said = [message.text for message in memory.load_conversation_history(session)]
            assert said[: len(names)] == names
            # At most the one write in flight may have happened without its acknowledgement.
            assert len(said) <= len(names) + 1
    return len(acknowledged)


def killed(path: Path, chance: random.Random, name: str, *, in_group: bool) -> Callers:
    with Callers(path, name, die_in_group=chance.randrange(1, 12) if in_group else 0) as worker:
        if in_group:
            worker.end(-signal.SIGKILL)
        else:
            worker.wait_for(chance.randrange(2, 600))
            time.sleep(chance.uniform(0, 0.02))
            worker.kill()
    return worker


def test_two_kills_of_64_callers_lose_nothing(tmp_path: Path) -> None:
    chance = random.Random(3)
    workers = [killed(tmp_path, chance, f"w{n}", in_group=n == 1) for n in range(2)]
    assert check(tmp_path, workers) > 0


@pytest.mark.crash
def test_a_hundred_kills_of_64_callers_lose_nothing(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    chance, workers = random.Random(seed), list[Callers]()
    for number in range(100):
        workers.append(killed(tmp_path, chance, f"w{number}", in_group=number % 3 == 0))
        if number % 20 == 19:
            assert check(tmp_path, workers) > 0, f"seed {seed}"


@pytest.mark.crash
def test_eight_processes_of_32_callers_each_take_turns_and_keep_everything(tmp_path: Path) -> None:
    with AgentMemory.open(tmp_path, embedder="none"):
        pass
    workers = [Callers(tmp_path, f"p{number}", callers=32, rounds=40) for number in range(8)]
    for worker in workers:
        with worker:
            worker.end(0)
    assert check(tmp_path, workers) == 8 * 32 * 40

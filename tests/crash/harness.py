"""Starts workers, kills them, and looks at what they leave behind."""

import json
import os
import random
import selectors
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from tests.crash.story import Expected, Step, observed

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0
"""Longer than anything here takes on a busy machine; who waits that long hangs."""


class Worker:
    """A process at work on a memory, and what it has said."""

    def __init__(
        self,
        path: Path,
        seed: int,
        *,
        actor: str = "a",
        embedder: str = "hash",
        drain_every: int = 0,
        rebuild_every: int = 0,
        die_at: str | None = None,
        die_on_call: int = 1,
    ) -> None:
        self._read, write = os.pipe()
        order = {
            "path": str(path),
            "seed": seed,
            "actor": actor,
            "embedder": embedder,
            "drain_every": drain_every,
            "rebuild_every": rebuild_every,
            "die_at": die_at,
            "die_on_call": die_on_call,
            "pipe": write,
        }
        command = [sys.executable, "-m", "tests.crash.worker", json.dumps(order)]
        self._process = subprocess.Popen(command, cwd=ROOT, pass_fds=[write], stderr=subprocess.PIPE)
        os.close(write)
        os.set_blocking(self._read, False)
        self._unread = b""
        self.steps: dict[int, Step] = {}
        self.acknowledged: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()
        if self._read >= 0:
            os.close(self._read)

    def wait_for(self, acknowledgements: int) -> bool:
        """Listen until so many steps were acknowledged in all; `False` when the process ended before."""
        while len(self.acknowledged) < acknowledgements:
            if not self._listen():
                return False
        return True

    def kill(self) -> None:
        """Kill it as it stands, and hear the rest of what it had said."""
        os.kill(self._process.pid, signal.SIGKILL)
        self.wait_for_death()

    def wait_for_death(self) -> None:
        """Hear it out to its end, which must be a kill and not an error."""
        while self._listen():
            pass
        assert self._process.stderr is not None
        said = self._process.stderr.read().decode(errors="replace")
        assert self._process.wait() == -signal.SIGKILL, said
        assert not self._unread, "a line was torn"

    @property
    def in_flight(self) -> Step | None:
        """The step that was begun and not acknowledged."""
        open_steps = self.steps.keys() - set(self.acknowledged)
        assert len(open_steps) <= 1
        return self.steps[open_steps.pop()] if open_steps else None

    def _listen(self) -> bool:
        with selectors.DefaultSelector() as selector:
            selector.register(self._read, selectors.EVENT_READ)
            if not selector.select(PATIENCE):
                raise AssertionError(f"the worker said nothing for {PATIENCE:g} s")
        heard = os.read(self._read, 1 << 16)
        *lines, self._unread = (self._unread + heard).split(b"\n")
        for line in lines:
            self._take(json.loads(line))
        return bool(heard)

    def _take(self, said: dict[str, Any]) -> None:
        if "begin" in said:
            self.steps[said["begin"]] = Step(said["kind"], said["name"], said["stamp"])
        elif "done" in said:
            self.acknowledged.append(said["done"])


@dataclass
class Ledger:
    """What must be in the store, by the acknowledgements of all workers so far."""

    path: Path
    embedder: str = "hash"
    expected: Expected = field(default_factory=Expected)
    cycles: int = 0
    acknowledged: int = 0
    survivors: int = 0

    def open(self) -> AgentMemory:
        embedder: Any = HashEmbedder() if self.embedder == "hash" else self.embedder
        return AgentMemory.open(self.path, embedder=embedder, background_indexing=False, freshness_seconds=600)

    def settle(self, *workers: Worker) -> None:
        """Look at the store after these workers were killed: every acknowledged step; of the others all or nothing."""
        self.cycles += 1
        self.acknowledged += sum(len(worker.acknowledged) for worker in workers)
        for worker in workers:
            for number in worker.acknowledged:
                self.expected = self.expected.after(worker.steps[number])
        open_steps = [worker.in_flight for worker in workers]
        touched = self.expected
        for step in open_steps:
            touched = touched.after(step) if step is not None else touched
        with self.open() as memory:
            assert memory.doctor()["store_problems"] == []
            found = observed(memory, touched.lives, touched.sessions)
        for step in open_steps:
            if step is not None:
                self._decide(step, found)
        assert found == self.expected.shown()

    def _decide(self, step: Step, found: dict[str, Any]) -> None:
        """Whether a step that was not acknowledged has happened, seen by what it alone writes."""
        after = self.expected.after(step)
        part = "sessions" if step.kind == "history" else "lives"
        names = step.keys if part == "lives" else [step.name]
        now = {name: found[part].get(name) for name in names}
        before_step, after_step = (
            {name: state.shown()[part].get(name) for name in names} for state in (self.expected, after)
        )
        if now != before_step:
            assert now == after_step, f"{step} was done in part"
            self.expected = after
            self.survivors += 1

    def check_indexes(self, chance: random.Random) -> None:
        """After a drain the indexes hold the records, and what was acknowledged is found."""
        with self.open() as memory:
            memory.drain()
            self.check_sound(memory)
            alive = sorted(key for key, versions in self.expected.lives.items() if versions[-1] is not None)
            for key in chance.sample(alive, min(2, len(alive))):
                entry = memory.get(key)
                assert entry is not None
                for mode in ("keyword", "semantic", "hybrid"):
                    assert key in [hit.key for hit in memory.recall(entry.content, mode=mode)], (mode, key)

    @staticmethod
    def check_sound(memory: AgentMemory) -> None:
        reports = memory.verify()
        assert [report.index for report in reports] == ["text", "vectors"]
        for report in reports:
            assert report.sound, report
        assert len({(report.records, report.held) for report in reports}) == 1
        assert reports[0].records == reports[0].held

    def __str__(self) -> str:
        return (
            f"{self.cycles} kills, {self.acknowledged} acknowledged steps, none lost; {self.survivors} steps in flight "
            "had become durable"
        )


def killed_at_random(worker: Worker, chance: random.Random) -> None:
    """Kill a worker after some acknowledgements and a moment."""
    worker.wait_for(chance.randrange(1, 40))
    time.sleep(chance.uniform(0, 0.03))
    worker.kill()

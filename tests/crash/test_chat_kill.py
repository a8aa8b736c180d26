"""kill -9 at every step of put, flush, compact, reset and delete: each happens whole or not at all, and can go on."""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jiyi.sync import AgentMemory
from tests.chat.support import call, check_whole, result
from tests.chat.support import said as turn
from tests.crash.chat_steps import ACTIONS, chat_of
from tests.crash.harness import ROOT
from tests.support import QUICK

MESSAGES = [
    {"role": "system", "content": "Be kind."},
    *(turn(number, f"请记住 {number}: turn {number} of the story, with some words") for number in range(6)),
    call("weather", "c1"),
    result("c1", "rain"),
    *(turn(number) for number in range(6, 14)),
]
MIN_STEPS = {"put": 5, "put many": 5, "flush": 8, "compact": 12, "limit": 14, "reset": 5, "delete": 8}

Kill = Callable[[Path, str, int], bool]


@pytest.fixture(scope="module")
def kill() -> Iterator[Kill]:
    """Carries out an action in another process, which dies at a step; whether it did."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.crash.chat_steps"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        said, heard = process.stdin, process.stdout
        assert said is not None
        assert heard is not None

        def order(folder: Path, action: str, step: int) -> bool:
            said.write(json.dumps([str(folder), action, step]) + "\n")
            said.flush()
            status = json.loads(heard.readline())
            assert status in {0, -signal.SIGKILL}
            return bool(status)

        yield order
        said.close()


def prepare(folder: Path, action: str) -> None:
    with AgentMemory.open(folder, **QUICK) as memory:
        chat = chat_of(memory, action)
        chat.put_many(MESSAGES)
        if action == "delete":
            chat.compact()
            chat.reset()
            chat.put(turn(0, "after the reset"))


def look(memory: AgentMemory, action: str) -> dict[str, Any]:
    """What can be seen of the session."""
    chat = chat_of(memory, action)
    check_whole(chat)
    return {
        "epochs": [epoch.epoch for epoch in chat.epochs()],
        "messages": {e.epoch: [m.to_dict() for m in chat.get_all(epoch=e.epoch)] for e in chat.epochs()},
        "recallable": memory.count(memory_types="message"),
        "summaries": {e.epoch: [s.content for s in chat.summaries(epoch=e.epoch)] for e in chat.epochs()},
        "flushed": chat.status().flushed_to,
        "candidates": [(c.content, c.first_position) for c in chat.candidates(state=None)],
    }


BEFORE, BETWEEN, AFTER = 0, 1, 2


def state_of(left: dict[str, Any], before: dict[str, Any], after: dict[str, Any], action: str) -> int:
    """Where a killed action has left the session.

    A compaction has something in between: its flush is durable before its summary, and it takes portions. So has a
    reset, which looks through what is not flushed first.
    """
    if left in (before, after):
        return AFTER if left == after else BEFORE
    if action == "reset":
        flush = ("flushed", "candidates")
        assert {part: left[part] for part in left if part not in flush} == {
            part: before[part] for part in before if part not in flush
        }
        assert left["candidates"] == after["candidates"][: len(left["candidates"])]
        return BETWEEN
    assert action in {"compact", "limit"}
    for part in ("epochs", "messages", "recallable"):
        assert left[part] == before[part] == after[part]
    done, complete = left["summaries"][1], after["summaries"][1]
    assert done == complete[: len(done)]
    assert left["candidates"] == after["candidates"][: len(left["candidates"])]
    assert before["flushed"] < left["flushed"] <= after["flushed"]
    return BETWEEN


# A compaction has every step of a flush. The other actions are made of the same steps: they are killed in `make crash`.
EVERY_RUN = ("put", "compact", "reset")


@pytest.mark.parametrize(
    "action", [action if action in EVERY_RUN else pytest.param(action, marks=pytest.mark.crash) for action in ACTIONS]
)
def test_a_kill_at_any_step_leaves_all_or_nothing(action: str, tmp_path: Path, kill: Kill) -> None:
    origin = tmp_path / "origin"
    prepare(origin, action)
    whole = tmp_path / "whole"
    shutil.copytree(origin, whole)
    with AgentMemory.open(origin, **QUICK) as memory:
        before = look(memory, action)
    assert not kill(whole, action, 1_000_000)
    with AgentMemory.open(whole, **QUICK) as memory:
        after = look(memory, action)
    assert after != before
    seen: list[int] = []
    step = 1
    while True:
        folder = tmp_path / f"step-{step}"
        shutil.copytree(origin, folder)
        died = kill(folder, action, step)
        with AgentMemory.open(folder, **QUICK) as memory:
            left = look(memory, action)
            seen.append(state_of(left, before, after, action))
            if died and step % 3 == 0:
                # The next process goes on as if nothing had happened: nothing is flushed or summarised twice.
                chat = chat_of(memory, action)
                chat.compact()
                window = chat.get()
                check_whole(chat, window)
                positions = [c.first_position for c in chat.candidates(state=None)]
                assert len(set(positions)) == len(positions)
                assert window.trouble is None
                assert memory.doctor()["store_problems"] == []
        shutil.rmtree(folder)
        if not died:
            break
        step += 1
    assert step > MIN_STEPS[action]
    # Once a step is done it stays done.
    assert seen == sorted(seen)
    assert {BEFORE, AFTER} <= set(seen)
    assert (BETWEEN in seen) == (action in {"compact", "limit", "reset"})

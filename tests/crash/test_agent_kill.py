"""kill -9 at every step of an agent's turns: the next process goes on, no message is lost and none is there twice."""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jiyi.sync import AgentMemory
from jiyi.testing.model_server import ModelServer
from tests.agent.checks import check_conversation, check_flushes, check_prompts
from tests.agent.scripted_server import LIMIT, TURNS, script
from tests.crash.harness import ROOT
from tests.support import QUICK

Play = Callable[[Path, str, int, int], bool]


@pytest.fixture(scope="module")
def play() -> Iterator[Play]:
    """Plays turns in another process that dies at a step; whether it did."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.crash.agent_steps"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        said, heard = process.stdin, process.stdout
        assert said is not None
        assert heard is not None

        def order(folder: Path, address: str, turns: int, step: int) -> bool:
            said.write(json.dumps([str(folder), address, turns, step]) + "\n")
            said.flush()
            status = int(heard.readline())
            assert status in {0, -signal.SIGKILL}
            return bool(status)

        yield order
        said.close()


def check(folder: Path, server: ModelServer, turns: int) -> int:
    with AgentMemory.open(folder, **QUICK) as memory:
        check_conversation(memory, turns)
    check_prompts(server.requests, LIMIT // 8)
    return check_flushes(folder)


def test_a_turn_that_is_killed_at_any_step_goes_on_in_the_next_process(play: Play, tmp_path: Path) -> None:
    """Two turns, one of them with tools; each step of them is the last one of a process, one after the other."""
    with ModelServer() as server:
        server.script(script)
        step, killed = 1, True
        while killed:
            folder = tmp_path / "data"
            killed = play(folder, server.base_url, 2, step)
            assert play(folder, server.base_url, 2, 0) is False
            check(folder, server, 2)
            shutil.rmtree(folder)
            step += 5
        assert step > 12


@pytest.mark.crash
def test_fifty_turns_are_killed_at_every_step_and_nothing_is_lost(play: Play, tmp_path: Path) -> None:
    """One conversation; each process dies a few steps after it has begun, until all turns are answered."""
    folder = tmp_path / "data"
    with ModelServer() as server:
        server.script(script)
        deaths = step = 0
        while play(folder, server.base_url, TURNS, 2 + step % 23):
            deaths += 1
            step += 1
            assert deaths < 3_000
        assert deaths > TURNS // 4
        assert check(folder, server, TURNS) >= 2


@pytest.mark.crash
def test_every_single_step_of_a_long_turn_may_be_the_last(play: Play, tmp_path: Path) -> None:
    with ModelServer() as server:
        server.script(script)
        begun = tmp_path / "begun"
        assert play(begun, server.base_url, 12, 0) is False
        step, killed = 1, True
        while killed:
            folder = tmp_path / "data"
            shutil.copytree(begun, folder)
            killed = play(folder, server.base_url, 16, step)
            assert play(folder, server.base_url, 16, 0) is False
            check(folder, server, 16)
            shutil.rmtree(folder)
            step += 1
        assert step > 40

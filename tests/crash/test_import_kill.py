"""kill -9 at every write of an import that extracts: run again, every round is looked through, and none twice."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from jiyi.sync import AgentMemory
from tests.crash.harness import ROOT
from tests.importers.samples import chatgpt_conversation, take_in, write_json
from tests.support import QUICK

MIN_STEPS = 6


def looked_through(memory: AgentMemory) -> list[str]:
    """The messages that jobs are about, one by one."""
    return [each for job in memory.jobs(states="queued", limit=1_000) for each in job.payload["messages"]]


def test_an_import_that_was_killed_at_any_write_loses_no_round_and_doubles_none(tmp_path: Path) -> None:
    file = write_json(tmp_path / "conversations.json", [chatgpt_conversation("c1")])
    empty = tmp_path / "empty"
    with AgentMemory.open(empty, **QUICK):
        pass
    killed = step = 0
    with subprocess.Popen(
        [sys.executable, "-m", "tests.crash.import_steps"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        while killed == step:
            step += 1
            folder = tmp_path / f"step {step}"
            shutil.copytree(empty, folder)
            process.stdin.write(json.dumps([str(folder), str(file), step]) + "\n")
            process.stdin.flush()
            status = json.loads(process.stdout.readline())
            assert status in {0, -signal.SIGKILL}
            killed += status != 0
            with AgentMemory.open(folder, **QUICK) as memory:
                assert len(looked_through(memory)) == len(memory.load_conversation_history("chatgpt:c1"))
                take_in(memory, "chatgpt", file, extract=True)
                messages = looked_through(memory)
                assert len(messages) == len(set(messages)) == 3
            shutil.rmtree(folder)
        process.stdin.close()
    assert killed >= MIN_STEPS

"""kill -9 while notes are appended, read and taken from chats: files stay whole, and nothing is there twice."""

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from jiyi.model import clock
from jiyi.model.identity import new_id
from jiyi.notes import entries
from jiyi.notes.markdown import lines_of
from jiyi.sync import AgentMemory
from tests.crash.harness import ROOT
from tests.crash.notes_worker import text_of
from tests.support import QUICK, database

CYCLES = 60
_INSERT = (
    "INSERT INTO flush_candidates (id, scope, session_id, epoch, content, kind, confidence, first_message_id, "
    "last_message_id, first_position, last_position, made_by, state, created_at) "
    "VALUES (?, 'main', 's', 1, ?, 'fact', 0.9, 'm1', 'm2', 1, 2, 'rules', 'new', ?)"
)


def propose(data: Path, count: int) -> dict[str, str]:
    """New candidates, as a compaction leaves them; the text of each by the id of its entry."""
    moment = clock.utc_now()
    new = {key: f"candidate {key} 值得记住 " * 20 for key in (new_id() for _ in range(count))}
    rows = [(key, content, clock.to_text(moment)) for key, content in new.items()]
    with database(data) as connection:
        connection.executemany(_INSERT, rows)
    return {entries.new_entry_id(moment, key): content for key, content in new.items()}


def one_life(data: Path, workspace: Path, seed: str, chance: random.Random) -> list[str]:
    """Start a worker, kill it at a random moment, and return what it had said."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.crash.notes_worker", str(data), str(workspace), seed],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(1 + chance.randrange(6))]
        time.sleep(chance.uniform(0, 0.03))
        process.kill()
        lines += process.stdout.readlines()
    assert process.returncode == -signal.SIGKILL
    return [line.strip() for line in lines if line.endswith("\n") and line != "ready\n"]


@pytest.mark.crash
def test_killed_sixty_times_the_files_are_whole_and_each_entry_is_there_once(tmp_path: Path) -> None:
    data, workspace = tmp_path / "data", tmp_path / "ws"
    (workspace / "memory").mkdir(parents=True)
    settings = {
        **QUICK,
        "workspace": workspace,
        "time_zone": "UTC",
        "max_note_file_bytes": 1 << 26,
        "max_note_day_bytes": 1 << 26,
        "note_candidates": False,
    }
    AgentMemory.open(data, **settings).close()
    chance = random.Random(7)
    texts: dict[str, str] = {}
    candidates: dict[str, str] = {}
    for cycle in range(CYCLES):
        candidates |= propose(data, 2)
        for line in one_life(data, workspace, f"life{cycle}", chance):
            kind, *words = line.split()
            if kind == "appended":
                texts[words[1]] = text_of(words[0])
            else:
                assert kind == "taken"
                texts[words[0]] = candidates[words[0]]
        with AgentMemory.open(data, **settings) as memory:
            memory.notes.scan()
            found = [
                placed.entry
                for file in (workspace / "memory").glob("????-??-??.md")
                for placed in entries.parse(lines_of(file.read_bytes().decode("utf-8")))
            ]
            counts = Counter(entry.id for entry in found)
            assert {key: counts[key] for key in texts if counts[key] != 1} == {}
            assert max(counts.values(), default=0) <= 1
            for entry in found:
                # Also one that was not acknowledged is whole.
                expected = candidates.get(entry.id) or text_of(entry.text.split("\n")[0])
                assert entry.text == expected
            if cycle % 10 == 9:
                memory.drain()
                assert [report.to_dict() for report in memory.verify() if not report.sound] == []
    with AgentMemory.open(data, **settings) as memory:
        memory.notes.take_candidates()
        assert list(memory.candidates()) == []
        for key, content in candidates.items():
            assert memory.notes.memory_search(content[:40], 1)
            del key
    found_ids = Counter(
        placed.entry.id
        for file in (workspace / "memory").glob("????-??-??.md")
        for placed in entries.parse(lines_of(file.read_bytes().decode("utf-8")))
    )
    assert {key: found_ids[key] for key in candidates} == dict.fromkeys(candidates, 1)

"""Several processes in one session at once: no message is lost, none is summarised twice."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from jiyi.sync import AgentMemory
from tests.chat.support import check_whole
from tests.crash.process import MemoryProcess
from tests.support import QUICK

Processes = Callable[[int], list[MemoryProcess]]
SETTINGS = {"embedder": "none", "background_indexing": False, "recall_messages": False}


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    """Starts processes that have the same data directory open."""
    started: list[MemoryProcess] = []

    def start(count: int) -> list[MemoryProcess]:
        new = [MemoryProcess() for _ in range(count)]
        started.extend(new)
        for process in new:
            process.post("open", path=str(tmp_path / "data"), **SETTINGS)
        for process in new:
            process.answer()
        return new

    yield start
    for process in started:
        process.finish()
    for process in started:
        process.end()


def test_three_processes_in_one_session_lose_nothing(tmp_path: Path, processes: Processes) -> None:
    everybody = processes(3)
    for number, process in enumerate(everybody):
        process.post("chat_turns", "s", 40, 300, f"process {number}")
    ids = [identity for process in everybody for identity in process.answer()]
    assert len(set(ids)) == 120
    with AgentMemory.open(tmp_path / "data", **QUICK) as memory:
        chat = memory.chat("s", token_limit=300)
        stored = chat.messages()
        assert {one.id for one in stored} == set(ids)
        assert [one.position for one in stored] == list(range(120))
        for number in range(3):
            own = [one.message.text for one in stored if one.message.text.startswith(f"process {number}")]
            assert own == [f"process {number} says 请记住 the number {turn}" for turn in range(40)]
        check_whole(chat, chat.get())
        assert len(chat.summaries()) > 5
    with closing(sqlite3.connect(tmp_path / "data/memory.db")) as connection:
        spans = connection.execute(
            "SELECT first_position, last_position FROM chat_flushes WHERE replaced_at IS NULL ORDER BY number"
        ).fetchall()
    assert spans[0][0] == 0
    assert all(after[0] == before[1] + 1 for before, after in pairwise(spans))

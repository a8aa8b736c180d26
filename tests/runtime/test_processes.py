"""Several processes write tags while others recall: what is acknowledged in one is found in the others' next recall."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.process import MemoryProcess

WRITERS = READERS = 4
ROUNDS = 8


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[list[MemoryProcess]]:
    started = [MemoryProcess() for _ in range(WRITERS + READERS)]
    for process in started:
        process.post("open", embedder="none", path=str(tmp_path / "data"), enable_simple_memory=True)
    for process in started:
        process.answer()
    yield started
    for process in started:
        process.finish()
        process.end()


def test_a_tag_acknowledged_in_one_process_matches_in_the_next_recall_of_the_others(
    processes: list[MemoryProcess],
) -> None:
    writers, readers = processes[:WRITERS], processes[WRITERS:]
    acknowledged: dict[str, str] = {}
    for turn in range(ROUNDS + 1):
        # All write at once; meanwhile all recall everything that was acknowledged before.
        written = [f"标签{turn}of{number}。" for number in range(WRITERS)] if turn < ROUNDS else []
        for writer, tag in zip(writers, written, strict=False):
            writer.post("runtime", "remember", "fact", f"memory of {tag}", "", [tag, "shared"], strength=turn + 1)
        for reader in readers:
            reader.post("runtime", "recall", " ".join(acknowledged) or "nothing", 100)
        for reader in readers:
            found = {memory["id"] for memory in reader.answer()}
            assert set(acknowledged.values()) <= found
        for writer, tag in zip(writers, written, strict=False):
            acknowledged[tag] = writer.answer()
        if turn == ROUNDS // 2:
            # One is taken away and its tag collected: the others' mirrors begin anew.
            tag, gone = acknowledged.popitem()
            writers[0].ask("runtime", "forget", gone)
            assert writers[1].ask("runtime", "collect_tags") == 1
            for reader in readers:
                assert reader.ask("runtime", "recall", tag) == []
    assert len(acknowledged) == WRITERS * ROUNDS - 1

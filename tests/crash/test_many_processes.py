"""Several processes work on one directory, as every client of an agent starts its own."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from tests.crash.harness import Ledger
from tests.crash.process import MemoryProcess, RefusedError

Processes: TypeAlias = Callable[..., list[MemoryProcess]]


@pytest.fixture(scope="module")
def pool() -> Iterator[list[MemoryProcess]]:
    """Processes that open what each test asks for: starting one takes longer than most of the tests."""
    pool = [MemoryProcess() for _ in range(4)]
    yield pool
    for process in pool:
        process.end()


@pytest.fixture
def processes(pool: list[MemoryProcess], tmp_path: Path) -> Iterator[Processes]:
    """Opens the memory in `tmp_path` in so many processes: `one, other = processes(2)`."""
    used: list[MemoryProcess] = []

    def open_in(count: int, **settings: Any) -> list[MemoryProcess]:
        chosen = pool[len(used) : len(used) + count]
        used.extend(chosen)
        for process in chosen:
            process.post("open", path=str(tmp_path / "data"), **settings)
        for process in chosen:
            process.answer()
        return chosen

    yield open_in
    for process in used:
        process.finish()


def test_four_processes_that_store_at_once_lose_nothing(tmp_path: Path, processes: Processes) -> None:
    writers = processes(4)
    for number, process in enumerate(writers):
        process.post("store_each", f"writer{number}", 200)
    assert [process.answer() for process in writers] == [200] * 4
    for process in writers:
        process.post("drain")
    for process in writers:
        process.answer()
    with AgentMemory.open(tmp_path / "data", embedder=HashEmbedder(), background_indexing=False) as memory:
        assert memory.count() == 800
        Ledger.check_sound(memory)
        assert [report.held for report in memory.verify()] == [800, 800]
        assert memory.doctor()["store_problems"] == []
        for number in range(4):
            assert [hit.key for hit in memory.recall(f"writer{number} 的第 77 条 number77", 1)] == [
                f"writer{number}-77"
            ]


@pytest.mark.parametrize("background_indexing", [True, False])
def test_a_recall_sees_what_another_process_has_acknowledged(processes: Processes, background_indexing: bool) -> None:
    one, other = processes(2, background_indexing=background_indexing)
    modes = ("keyword", "semantic", "hybrid")
    for number in range(5):
        writer, reader = (one, other) if number % 2 else (other, one)
        key = f"key{number}"
        writer.ask("store", key, f"第{number}只 zebra{number} 在过马路")
        for mode in modes:
            assert [hit["key"] for hit in reader.ask("recall", f"zebra{number}", 1, mode=mode)] == [key]
        writer.ask("store", key, f"第{number}头 walrus{number} 在晒太阳")
        for mode in modes:
            [hit] = reader.ask("recall", f"walrus{number}", 1, mode=mode)
            assert (hit["key"], hit["content"]) == (key, f"第{number}头 walrus{number} 在晒太阳")
        assert reader.ask("recall", f"zebra{number}", 10, mode="keyword") == []
        writer.ask("forget", key)
        for mode in modes:
            assert key not in [hit["key"] for hit in reader.ask("recall", f"walrus{number}", 10, mode=mode)]


def test_processes_that_drain_rebuild_and_recall_at_once_do_not_disturb_each_other(
    tmp_path: Path, processes: Processes
) -> None:
    everybody = processes(4, background_indexing=False)
    for number in range(3):
        everybody[0].ask("store_each", f"round{number}", 25)
        for process, call in zip(everybody, ("drain", "rebuild", "drain", "repair"), strict=True):
            process.post(call)
        answers = [process.answer() for process in everybody]
        assert all(report["sound"] for report in answers[3])
        everybody[number].post("rebuild")
        for process in everybody:
            for number_asked in (7, 8, 9):
                process.post("recall", f"round{number} 的第 {number_asked} 条 number{number_asked}", 1)
        everybody[number].answer()
        for process in everybody:
            assert [process.answer()[0]["key"] for _ in range(3)] == [f"round{number}-{i}" for i in (7, 8, 9)]
    with AgentMemory.open(tmp_path / "data", embedder=HashEmbedder(), background_indexing=False) as memory:
        Ledger.check_sound(memory)
        assert memory.count() == 75


def test_an_index_deleted_under_running_processes_costs_nothing_but_a_rebuild(
    tmp_path: Path, processes: Processes
) -> None:
    one, other = processes(2)
    one.ask("store_each", "early", 20)
    asked = "early 的第 7 条 number7"
    assert other.ask("recall", asked, 1)[0]["key"] == "early-7"
    for number in range(3):
        shutil.rmtree(tmp_path / "data" / "search_index", ignore_errors=True)
        one.ask("store", f"late{number}", f"walrus{number}")
        for process in (one, other):
            assert process.ask("recall", f"walrus{number}", 1)[0]["key"] == f"late{number}"
            assert process.ask("recall", asked, 1, mode="semantic")[0]["key"] == "early-7"
    for process in (one, other):
        process.ask("drain")
        assert all(report["sound"] and report["held"] == 23 for report in process.ask("verify"))


@pytest.mark.parametrize("hold", ["hold_write_lock", "begin_write"])
def test_a_process_that_holds_the_write_lock_too_long_is_an_error_and_no_hang(processes: Processes, hold: str) -> None:
    [holder], [waiter] = processes(1), processes(1, busy_timeout=0.2)
    holder.ask("store", "before", "walrus")
    holder.ask("drain")
    holder.ask(hold)
    with pytest.raises(RefusedError, match="try again") as refused:
        waiter.ask("store", "key", "content")
    assert refused.value.kind == "StoreBusyError"
    assert waiter.ask("get", "key") is None
    assert waiter.ask("recall", "walrus", 1)[0]["key"] == "before"
    holder.ask("close")
    assert waiter.ask("store", "key", "content")["key"] == "key"


def test_a_process_with_nothing_to_do_holds_no_lock(tmp_path: Path, processes: Processes) -> None:
    [idle] = processes(1)
    idle.ask("store_each", "early", 5)
    idle.ask("drain")
    assert idle.ask("recall", "number3", 1)[0]["key"] == "early-3"
    settings: dict[str, Any] = {"embedder": HashEmbedder(), "background_indexing": False, "busy_timeout": 0.5}
    with AgentMemory.open(tmp_path / "data", **settings) as memory:
        memory.store("key", "walrus")
        memory.drain()
        memory.rebuild()
        Ledger.check_sound(memory)
    assert idle.ask("recall", "walrus", 1)[0]["key"] == "key"


def test_a_bulk_load_does_not_keep_other_writers_waiting_to_its_end(processes: Processes) -> None:
    loader, writer = processes(2, background_indexing=False, embedder="none")
    loader.post("store_many", [{"key": f"bulk{i}", "content": f"number{i}"} for i in range(20_000)])
    written = between = loaded = 0
    while loaded < 20_000:
        writer.ask("store", f"single{written}", "in between")
        written += 1
        loaded = writer.ask("count") - written
        between += 0 < loaded < 20_000
    loader.answer()
    # The load is ten transactions, and between any two of them a writer that waits has its turn.
    assert between >= 4

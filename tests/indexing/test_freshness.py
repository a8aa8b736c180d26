"""What a recall knows of the indexes it has asked."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from jiyi.errors import IndexingError
from jiyi.file_lock import is_locked
from jiyi.model.entry import IndexCoverage, MemoryEntry
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from tests.support import keys


def _open(folder: Path, **settings: Any) -> AgentMemory:
    return AgentMemory.open(folder, **{"embedder": HashEmbedder(), "background_indexing": False, **settings})


def _coverage(hit: MemoryEntry) -> dict[str, IndexCoverage]:
    assert hit.explanation is not None
    return {part.index: part for part in hit.explanation.coverage}


def test_without_waiting_a_recall_says_how_far_the_indexes_are_behind(tmp_path: Path) -> None:
    with _open(tmp_path) as memory:
        memory.store("old", "walrus in the morning")
        memory.drain()
    with _open(tmp_path, freshness_seconds=0) as memory:
        memory.store("new", "walrus in the evening")
        memory.store("newer", "walrus at night")
        memory.store("foreign", "walrus", scope="other")
        hits = memory.recall("walrus")
        assert keys(hits) == ["old"]
        assert _coverage(hits[0]) == {
            "text": IndexCoverage("text", answered=True, behind=2),
            "vectors": IndexCoverage("vectors", answered=True, behind=2),
        }
        memory.drain()
        hits = memory.recall("walrus")
        assert sorted(str(key) for key in keys(hits)) == ["new", "newer", "old"]
        assert {part.behind for part in _coverage(hits[0]).values()} == {0}


class Looking(HashEmbedder):
    """Looks whether the lock of the vectors is free while it computes."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._path = folder / "vector-index.lock"
        self.locked: list[bool] = []

    def embed(self, texts: Sequence[str]) -> Any:
        self.locked.append(is_locked(self._path))
        return super().embed(texts)


def test_the_lock_of_the_vectors_is_free_while_the_model_computes(tmp_path: Path) -> None:
    embedder = Looking(tmp_path)
    with _open(tmp_path, embedder=embedder) as memory:
        memory.store("first", "the index is built for this one")
        memory.drain()
        embedder.locked.clear()
        memory.store_many({"key": f"key {n}", "content": f"text number {n}"} for n in range(600))
        memory.drain()
        assert keys(memory.recall("text number 7", limit=1)) == ["key 7"]
    assert len(embedder.locked) >= 3
    assert not any(embedder.locked)


def test_several_who_drain_at_once_leave_a_sound_index(tmp_path: Path) -> None:
    embedder = Looking(tmp_path)
    with _open(tmp_path, embedder=embedder) as memory, _open(tmp_path, embedder=embedder) as other:
        memory.store("first", "the index is built for this one")
        memory.drain()
        memory.store_many({"key": f"key {n}", "content": f"text number {n}"} for n in range(600))
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda each: each.drain(), [memory, other, memory, other]))
        assert [report.sound for report in memory.verify()] == [True, True]


def test_no_index_and_no_time_to_build_one_is_an_error_and_not_an_empty_answer(tmp_path: Path) -> None:
    with _open(tmp_path, freshness_seconds=0) as memory:
        memory.store("key", "walrus")
        with pytest.raises(IndexingError, match="repair"):
            memory.recall("walrus")
        memory.repair()
        assert keys(memory.recall("walrus")) == ["key"]


def test_a_recall_with_time_sees_what_was_just_written(tmp_path: Path) -> None:
    with _open(tmp_path) as memory:
        for i in range(4):
            memory.store("key", f"walrus{i}")
            for mode in ("keyword", "semantic", "hybrid"):
                [hit] = memory.recall(f"walrus{i}", mode=mode)
                assert (hit.key, hit.content) == ("key", f"walrus{i}")
                assert {part.behind for part in _coverage(hit).values()} == {0}


def test_a_recall_does_not_index_the_bulk_of_another_scope(tmp_path: Path) -> None:
    with _open(tmp_path) as memory:
        memory.store("mine", "walrus")
        memory.drain()
        memory.store_many([{"key": f"k{i}", "content": f"walrus {i}", "scope": "crowd"} for i in range(500)])
        [hit] = memory.recall("walrus")
        assert hit.key == "mine"
        assert {part.behind for part in _coverage(hit).values()} == {0}
        assert [report.behind for report in memory.verify()] == [500, 500]
        memory.store("mine too", "walrus")
        assert sorted(str(key) for key in keys(memory.recall("walrus"))) == ["mine", "mine too"]


def test_vectors_that_cannot_be_made_do_not_stop_the_words(tmp_path: Path) -> None:
    with _open(tmp_path, embedder="none") as memory:
        memory.store("key", "walrus")
        [hit] = memory.recall("walrus")
        assert _coverage(hit)["vectors"] == IndexCoverage("vectors", answered=False, note="no embedder is configured")

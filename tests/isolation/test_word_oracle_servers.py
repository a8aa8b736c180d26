"""The law of test_word_oracle.py on PostgreSQL, with and without pg_search, and with vectors in Milvus."""

from pathlib import Path
from typing import Any

import pytest

from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from tests.isolation.test_word_oracle import NOW, WORDS, act, answers

FOREIGN = (("many", "quince walnut 早报", 0), ("add", "banana 香蕉", 1), ("change", "plum", 1), ("erase", "", 1))


def check(memory: AgentMemory) -> None:
    memory.store_many(
        {
            "key": f"k{number}",
            "content": " ".join(WORDS[(number * step) % 10] for step in range(1 + number % 5)),
            "scope": "own",
            "occurred_at": NOW,
        }
        for number in range(40)
    )
    before = answers(memory, "own")
    for action, text, number in FOREIGN:
        act(memory, "somebody else", action, text, number)
        memory.drain()
        assert answers(memory, "own") == before, action


@pytest.mark.server
@pytest.mark.parametrize("pg_search", [True, False])
def test_no_answer_on_postgresql_depends_on_other_scopes(postgres_url: str, pg_search: bool) -> None:
    options: dict[str, Any] = {"time_zone": "UTC", "background_indexing": False, "pg_search": pg_search}
    with AgentMemory.open(postgres_url, embedder=HashEmbedder(), **options) as memory:
        check(memory)


def test_no_answer_with_vectors_in_milvus_depends_on_other_scopes(tmp_path: Path) -> None:
    options: dict[str, Any] = {"vectors": "milvus", "milvus_uri": str(tmp_path / "milvus.db")}
    with AgentMemory.open(
        tmp_path / "memory", embedder=HashEmbedder(), time_zone="UTC", background_indexing=False, **options
    ) as memory:
        check(memory)

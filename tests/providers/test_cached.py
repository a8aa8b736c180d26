"""The cache of vectors: a text that was just embedded is not embedded again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jiyi.errors import ModelError
from jiyi.ports import ModelIdentity
from jiyi.providers.cached import CachedEmbedder
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder

if TYPE_CHECKING:
    from jiyi.ports import Vectors

ROW = 4 * 64
"""Bytes of one vector."""


class Counting:
    """Knows which texts it has embedded."""

    def __init__(self) -> None:
        self._embedder = HashEmbedder()
        self.texts: list[str] = []
        self.fails = False

    @property
    def identity(self) -> ModelIdentity:
        return self._embedder.identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.fails:
            raise ModelError("away")
        self.texts += texts
        return self._embedder.embed(texts)


@settings(max_examples=50)
@given(st.lists(st.lists(st.text(max_size=3), max_size=5), max_size=8), st.integers(1, 6))
def test_vectors_are_those_of_the_embedder_in_the_order_of_the_texts(batches: list[list[str]], kept: int) -> None:
    cached = CachedEmbedder(HashEmbedder(), max_bytes=kept * ROW)
    for batch in batches:
        assert np.array_equal(cached.embed(batch), HashEmbedder().embed(batch))


def test_a_text_is_embedded_once_as_long_as_it_is_among_the_last() -> None:
    embedder = Counting()
    cached = CachedEmbedder(embedder, max_bytes=2 * ROW)
    cached.embed(["tea", "milk"])
    cached.embed(["tea", "tea"])
    assert embedder.texts == ["tea", "milk"]
    cached.embed(["water"])
    # The least recently used is gone.
    cached.embed(["tea"])
    assert embedder.texts == ["tea", "milk", "water"]
    cached.embed(["milk"])
    assert embedder.texts[-1] == "milk"


def test_a_failure_is_not_kept() -> None:
    embedder = Counting()
    cached = CachedEmbedder(embedder)
    embedder.fails = True
    with pytest.raises(ModelError):
        cached.embed(["tea"])
    embedder.fails = False
    assert len(cached.embed(["tea"])) == 1


def test_the_same_question_in_several_rooms_is_embedded_once_and_a_new_text_too(tmp_path: Path) -> None:
    embedder = Counting()
    with AgentMemory.open(tmp_path, embedder=embedder, background_jobs=False) as memory:
        memory.store("tea", "she drinks green tea")
        for _ in range(2):
            assert [hit.key for hit in memory.recall("what does she drink?")] == ["tea"]
        memory.longterm.retrieve_relevant_memories("main", "what does she drink?", fused=True)
        memory.drain()
        memory.recall("what does she drink?")
    assert embedder.texts.count("what does she drink?") == 1
    assert embedder.texts.count("she drinks green tea") == 1

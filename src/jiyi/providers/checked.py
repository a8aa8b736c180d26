"""CheckedEmbedder: validates the vectors of an embedder before they are stored or used for ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jiyi.errors import ModelReplyError
from jiyi.ports import AdaptsQuestions, JudgesQuestions

if TYPE_CHECKING:
    from jiyi.ports import Embedder, ModelIdentity, Vectors

__all__ = ["CheckedEmbedder"]

_LENGTH_TOLERANCE = 1e-3


class CheckedEmbedder:
    """An embedder that checks count, dimension and finiteness of the vectors, and normalizes them.

    Raises `ModelReplyError` for vectors that cannot be used.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def identity(self) -> ModelIdentity:
        """The identity of the wrapped embedder."""
        return self._embedder.identity

    def close(self) -> None:
        """Close the wrapped embedder, if it can be closed."""
        close = getattr(self._embedder, "close", None)
        if callable(close):
            close()

    def as_question(self, vector: Vectors) -> Vectors:
        """The vector of a question as the wrapped embedder compares it with texts."""
        return self._embedder.as_question(vector) if isinstance(self._embedder, AdaptsQuestions) else vector

    def how_personal(self, vector: Vectors) -> float:
        """What the wrapped embedder says of a question; 0 where it cannot tell."""
        return self._embedder.how_personal(vector) if isinstance(self._embedder, JudgesQuestions) else 0.0

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit vector for each text, in order."""
        identity = self._embedder.identity
        vectors: Vectors = np.asarray(self._embedder.embed(texts), dtype=np.float32)
        wanted = (len(texts), identity.dimension)
        if vectors.shape != wanted:
            raise ModelReplyError(
                f"{identity.name} gave vectors of the shape {vectors.shape} instead of {wanted}", reason="wrong schema"
            )
        if not np.isfinite(vectors).all():
            raise ModelReplyError(f"{identity.name} gave a vector that is not a number", reason="wrong schema")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if np.abs(lengths - 1.0).max(initial=0.0) > _LENGTH_TOLERANCE:
            # Not every server returns unit vectors. The vector of an empty text may be zero.
            vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
        return vectors

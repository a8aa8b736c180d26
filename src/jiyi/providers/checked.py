"""CheckedEmbedder: validates the vectors of an embedder before they are stored or used for ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jiyi.errors import ModelReplyError
from jiyi.providers.wrapped import EmbedderWrapper

if TYPE_CHECKING:
    from jiyi.ports import Vectors

__all__ = ["CheckedEmbedder"]

_LENGTH_TOLERANCE = 1e-3


class CheckedEmbedder(EmbedderWrapper):
    """An embedder that checks count, dimension and finiteness of the vectors, and normalizes them.

    Raises `ModelReplyError` for vectors that cannot be used.
    """

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit vector for each text, in order."""
        return self._checked(self._embedder.embed(texts), len(texts))

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        """One unit vector for each question, in order."""
        return self._checked(super().embed_questions(texts), len(texts))

    def _checked(self, vectors: Vectors, count: int) -> Vectors:
        identity = self._embedder.identity
        vectors = np.asarray(vectors, dtype=np.float32)
        wanted = (count, identity.dimension)
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

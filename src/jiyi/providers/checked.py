"""CheckedEmbedder: vectors that came from elsewhere are looked at before anything is stored or ranked by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jiyi.errors import ModelReplyError

if TYPE_CHECKING:
    from jiyi.ports import Embedder, ModelIdentity, Vectors

__all__ = ["CheckedEmbedder"]

_LENGTH_TOLERANCE = 1e-3


class CheckedEmbedder:
    """An embedder whose vectors are as many, as long and as finite as they must be, or a `ModelReplyError`."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def identity(self) -> ModelIdentity:
        """That of the embedder behind it."""
        return self._embedder.identity

    def close(self) -> None:
        """Let go of the connections of the embedder behind it, if it has any."""
        close = getattr(self._embedder, "close", None)
        if callable(close):
            close()

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
            # Not every server gives unit vectors; a text without anything in it may have none.
            vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
        return vectors

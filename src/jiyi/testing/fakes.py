"""Deterministic fakes of models, so that programs built on jiyi can be tested without loading one.

with AgentMemory.open(path, embedder=HashEmbedder()) as memory: ...
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from jiyi.ports import ModelIdentity, RerankUsage

if TYPE_CHECKING:
    from jiyi.ports import Vectors

__all__ = ["HashEmbedder", "WordReranker"]


class HashEmbedder:
    """An embedder without a model: texts that share character n-grams are similar.

    It hashes the n-grams of one to three characters of a text into a unit vector. The same text gives the same vector
    in every process and version of Python. Tests of semantic similarity need a real embedder.
    """

    def __init__(self, dimension: int = 64) -> None:
        """A smaller `dimension` is faster and gives more hash collisions."""
        self._identity = ModelIdentity("hash-ngrams", dimension, "1")

    @property
    def identity(self) -> ModelIdentity:
        """The name of the method, its dimension and its version."""
        return self._identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns one unit vector for each text; zeros for a blank text."""
        vectors: Vectors = np.zeros((len(texts), self._identity.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for piece in _ngrams(text):
                digest = zlib.crc32(piece.encode("utf-8", "surrogatepass"))
                vectors[row, digest % self._identity.dimension] += 1.0
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return vectors


class WordReranker:
    """A reranker without a model: the more of the question's words a text has, the better it answers."""

    name = "shared-words"

    def __init__(self) -> None:
        self._usage = RerankUsage()

    @property
    def usage(self) -> RerankUsage:
        """What was asked so far."""
        return self._usage

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """The share of the question's words that each text has."""
        wanted = set(query.casefold().split())
        return [len(wanted & set(text.casefold().split())) / max(1, len(wanted)) for text in texts]

    def close(self) -> None:
        """Nothing is held open."""


def _ngrams(text: str) -> Iterator[str]:
    folded = " ".join(text.casefold().split())
    for size in (1, 2, 3):
        for start in range(len(folded) - size + 1):
            yield folded[start : start + size]

"""CachedEmbedder: keeps the vectors of the last texts.

An agent asks the same question in several rooms of one turn, and a text that was just written may be compared by a
recall before the indexer takes it in. The vector of a text depends on the text and the model alone.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from jiyi.providers.wrapped import EmbedderWrapper

if TYPE_CHECKING:
    from jiyi.ports import Embedder, Vectors

__all__ = ["CachedEmbedder"]

_MAX_BYTES: Final = 4 << 20


class CachedEmbedder(EmbedderWrapper):
    """An embedder that embeds a text it has just seen only once. Safe for threads."""

    def __init__(self, embedder: Embedder, *, max_bytes: int = _MAX_BYTES) -> None:
        """`max_bytes` is how much memory the vectors may take; the least recently used are dropped first."""
        super().__init__(embedder)
        self._max_bytes = max_bytes
        self._known: OrderedDict[bytes, Vectors] = OrderedDict()
        self._guard = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit vector for each text, in order."""
        return self._cached(texts, b"", self._embedder.embed)

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        """One unit vector for each question, in order."""
        # Where they are embedded like other texts, they are known by the same keys.
        return self._cached(texts, b"question", super().embed_questions) if self.knows_questions else self.embed(texts)

    def _cached(self, texts: Sequence[str], person: bytes, embed: Callable[[Sequence[str]], Vectors]) -> Vectors:
        keys = [
            blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, person=person).digest() for text in texts
        ]
        found: dict[bytes, Vectors] = {}
        with self._guard:
            for key in keys:
                if key in self._known:
                    self._known.move_to_end(key)
                    found[key] = self._known[key]
        if not keys:
            return embed(texts)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            made = embed(list(missing.values()))
            self._keep(missing, made)
            if len(missing) == len(texts):
                return made
            found |= zip(missing, made, strict=True)
        # Imported here: a program that embeds nothing does not load it.
        import numpy as np

        return np.stack([found[key] for key in keys])

    def _keep(self, keys: Iterable[bytes], vectors: Vectors) -> None:
        max_vectors = max(self._max_bytes // (vectors.itemsize * vectors.shape[1]), 1)
        with self._guard:
            for key, vector in list(zip(keys, vectors, strict=True))[-max_vectors:]:
                # A copy: a row of a large batch would keep the whole batch in memory.
                self._known[key] = vector.copy()
            while len(self._known) > max_vectors:
                self._known.popitem(last=False)

"""EmbedderWrapper: what every embedder that wraps another one passes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jiyi.ports import AdaptsQuestions
from jiyi.ports.optional import provides

if TYPE_CHECKING:
    from jiyi.ports import Embedder, ModelIdentity, Vectors


class EmbedderWrapper:
    """Base of embedders that wrap another one; `embed` is theirs."""

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
        return self._embedder.as_question(vector) if provides(self._embedder, AdaptsQuestions) else vector

    def how_personal(self, vector: Vectors) -> float:
        """What the wrapped embedder says of a question (`JudgesQuestions`); 0 where it cannot tell."""
        judge = getattr(self._embedder, "how_personal", None)
        return 0.0 if judge is None else float(judge(vector))

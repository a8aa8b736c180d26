"""EmbedderWrapper: what every embedder that wraps another one passes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jiyi.ports import EmbedsQuestions
from jiyi.ports.optional import provides

if TYPE_CHECKING:
    from jiyi.ports import Embedder, ModelIdentity, Vectors


class EmbedderWrapper:
    """Base of embedders that wrap another one."""

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

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit vector for each text, in order."""
        return self._embedder.embed(texts)

    @property
    def knows_questions(self) -> bool:
        """Whether the embedder inside all wrappers embeds questions in its own way."""
        inner = self._embedder
        return inner.knows_questions if isinstance(inner, EmbedderWrapper) else provides(inner, EmbedsQuestions)

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        """One unit vector for each question, as the wrapped embedder compares it with texts (`EmbedsQuestions`)."""
        inner = self._embedder
        return inner.embed_questions(texts) if provides(inner, EmbedsQuestions) else self.embed(texts)

    def how_personal(self, text: str) -> float:
        """What the wrapped embedder says of a question (`JudgesQuestions`); 0 where it cannot tell."""
        judge = getattr(self._embedder, "how_personal", None)
        return 0.0 if judge is None else float(judge(text))

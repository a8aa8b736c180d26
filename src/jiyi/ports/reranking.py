"""Rerankers: models that read question and text together."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol, runtime_checkable

LOCAL_MODEL_ERRORS: Final = (RuntimeError, OSError, ValueError, MemoryError)
"""What libraries raise when a model in this process fails. Anything else is an error of the program."""


class RerankUsage:
    """What a reranker was asked. Safe for several threads."""

    def __init__(self) -> None:
        self.calls = 0
        self.texts = 0
        self.failures = 0
        self.seconds = 0.0
        self._guard = threading.Lock()

    @contextmanager
    def counting(self, texts: int) -> Iterator[None]:
        """Count one call; a call that raises is a failure."""
        begin = time.monotonic()
        failed = True
        try:
            yield
            failed = False
        finally:
            with self._guard:
                self.calls += 1
                self.texts += texts
                self.failures += failed
                self.seconds += time.monotonic() - begin

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        with self._guard:
            seconds = round(self.seconds, 3)
            return {"calls": self.calls, "texts": self.texts, "failures": self.failures, "seconds": seconds}


class Reranker(Protocol):
    """Says how well each of a few texts answers a question. It blocks, and never retries by itself.

    Recall counts its calls, waits for it no longer than `reranker_timeout`, and checks its answer.
    """

    @property
    def name(self) -> str:
        """The model."""
        ...

    @property
    def usage(self) -> RerankUsage:
        """What was asked so far."""
        ...

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """A finite number for each text, in order; higher answers better.

        A failure of the model is a `ModelError` or one of `LOCAL_MODEL_ERRORS`.
        """
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


@runtime_checkable
class Prepares(Protocol):
    """A reranker that has to import something before it can be asked; that is not part of the time to answer."""

    def prepare(self) -> None:
        """Import it; nothing, if that was done."""
        ...

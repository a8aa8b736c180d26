"""How long to wait before trying again."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from jiyi.errors import IndexingError, JiyiError, ModelError, ModelUnavailableError, StorageError


@dataclass(frozen=True, slots=True)
class Backoff:
    """Growing pauses with jitter, so that jobs that failed together are not retried together."""

    first: float = 2.0
    factor: float = 3.0
    max_seconds: float = 600.0
    attempts: int = 6
    """After so many attempts the job is dead."""
    max_retry_after: float = 3600.0
    """Seconds: the longest wait that a server may ask for."""
    draw: Callable[[], float] = random.random

    def pause(self, attempt: int, error: BaseException) -> float:
        """Seconds before the attempt after this one; never less than the server asked for."""
        grown = min(self.max_seconds, self.first * self.factor ** max(0, attempt - 1))
        requested = error.retry_after if isinstance(error, ModelUnavailableError) else None
        jittered = grown * (0.5 + 0.5 * self.draw())
        return jittered if requested is None else max(jittered, min(requested, self.max_retry_after))


def may_succeed_later(error: BaseException) -> bool:
    """Whether the same work may succeed another time. An unforeseen error counts as one that may pass."""
    if isinstance(error, IndexingError):
        # The index catches up or is rebuilt.
        return True
    if isinstance(error, ModelError | StorageError):
        return error.retryable
    return not isinstance(error, JiyiError)

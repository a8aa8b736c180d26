"""RetryingModel: a chat model with retries, a limit on concurrent calls, and usage counters.

Retries wait with exponential backoff and jitter, and at least as long as `Retry-After` says. A wait longer than
`RetryPolicy.max_delay` is not made: the error is raised.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jiyi.errors import ModelError, ModelTimeoutError, ModelUnavailableError

if TYPE_CHECKING:
    from jiyi.model.message import Message
    from jiyi.ports import ChatModel, TokenCounter

__all__ = ["ModelUsage", "RetryPolicy", "RetryingModel"]


@dataclass(slots=True)
class ModelUsage:
    """What one task has used so far. Tokens are counted by our `TokenCounter`, not taken from the server."""

    model: str
    input_price: float = 0.0
    """The price of a million tokens, in any currency."""
    output_price: float = 0.0
    calls: int = 0
    failures: int = 0
    retries: int = 0
    left_out: int = 0
    """Items of replies that could not be used, while the others were."""
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    guard: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping, with the cost."""
        cost = (self.input_tokens * self.input_price + self.output_tokens * self.output_price) / 1e6
        return {
            "model": self.model,
            "calls": self.calls,
            "failures": self.failures,
            "retries": self.retries,
            "left_out": self.left_out,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "seconds": round(self.seconds, 3),
            "cost": round(cost, 6),
        }


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How many retries are made, and the delay before each."""

    retries: int = 2
    first_delay: float = 0.5
    max_delay: float = 20.0
    """Seconds. If the server asks for a longer delay, no retry is made; background jobs try again later."""
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random

    def delay(self, attempt: int, error: ModelError) -> float | None:
        """Returns the seconds before the next try, or `None` if no retry is made."""
        # An invalid reply is handled by the caller, who knows the schema.
        if attempt >= self.retries or not isinstance(error, ModelUnavailableError | ModelTimeoutError):
            return None
        requested = error.retry_after if isinstance(error, ModelUnavailableError) else None
        jittered = min(self.max_delay, self.first_delay * 2.0**attempt) * (0.5 + 0.5 * self.jitter())
        delay = jittered if requested is None else max(jittered, requested)
        return delay if delay <= self.max_delay else None


class RetryingModel:
    """A `ChatModel` for one task. The semaphore `limit` is shared by all tasks that use the same server."""

    def __init__(
        self,
        model: ChatModel,
        *,
        counter: TokenCounter,
        limit: threading.Semaphore,
        policy: RetryPolicy | None = None,
        usage: ModelUsage | None = None,
    ) -> None:
        self._model = model
        self._counter = counter
        self._limit = limit
        self._policy = policy or RetryPolicy()
        self.usage = usage or ModelUsage(model.name)

    @property
    def name(self) -> str:
        """The name of the wrapped model."""
        return self._model.name

    def close(self) -> None:
        """Close the wrapped model, if it can be closed."""
        close = getattr(self._model, "close", None)
        if callable(close):
            close()

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        schema: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> str:
        """Returns the reply, with retries according to the policy."""
        attempt = 0
        while True:
            try:
                reply = self._once(messages, max_tokens, schema, timeout)
            except ModelError as error:
                delay = self._policy.delay(attempt, error)
                if delay is None:
                    raise
                self._policy.sleep(delay)
                attempt += 1
                with self.usage.guard:
                    self.usage.retries += 1
            else:
                return reply

    def stream(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Iterator[str]:
        """Yields the reply in pieces. A stream is not retried, because some pieces may have been used already."""
        begun = time.monotonic()
        pieces = []
        failed = True
        try:
            with self._limit:
                for piece in self._model.stream(messages, max_tokens=max_tokens):
                    pieces.append(piece)
                    yield piece
            failed = False
        finally:
            self._count(messages, "".join(pieces), begun, failed=failed)

    def _once(
        self,
        messages: Sequence[Message],
        max_tokens: int | None,
        schema: Mapping[str, Any] | None,
        timeout: float | None,
    ) -> str:
        reply = ""
        failed = True
        begun = time.monotonic()
        try:
            with self._limit:
                reply = self._model.complete(messages, max_tokens=max_tokens, schema=schema, timeout=timeout)
            failed = False
        finally:
            self._count(messages, reply, begun, failed=failed)
        return reply

    def count_left_out(self, items: int) -> None:
        """Count items of a reply that could not be used."""
        with self.usage.guard:
            self.usage.left_out += items

    def _count(self, messages: Sequence[Message], reply: str, begun: float, *, failed: bool) -> None:
        sent = sum(self._counter.count(message.text) for message in messages)
        received = self._counter.count(reply)
        with self.usage.guard:
            self.usage.calls += 1
            self.usage.failures += failed
            self.usage.input_tokens += sent
            self.usage.output_tokens += received
            self.usage.seconds += time.monotonic() - begun

"""RetryingModel: a chat model that is asked again when that can help, by few at a time, and counted.

Retries wait with jitter and never less than the server asked for; who waits too long gives up and reports the failure.
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

__all__ = ["RetryPolicy", "RetryingModel", "Usage"]


@dataclass(slots=True)
class Usage:
    """What one task has used so far. Tokens are counted here, by the tokenizer that is nearest to the model's."""

    model: str
    input_price: float = 0.0
    """For a million tokens, in whatever currency."""
    output_price: float = 0.0
    calls: int = 0
    failures: int = 0
    retries: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    guard: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping, with what it has cost."""
        cost = (self.input_tokens * self.input_price + self.output_tokens * self.output_price) / 1e6
        return {
            "model": self.model,
            "calls": self.calls,
            "failures": self.failures,
            "retries": self.retries,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "seconds": round(self.seconds, 3),
            "cost": round(cost, 6),
        }


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long to wait before asking again."""

    retries: int = 2
    first: float = 0.5
    most: float = 20.0
    """A server that asks to wait longer than this is not waited for: background work comes back later."""
    sleep: Callable[[float], None] = time.sleep
    draw: Callable[[], float] = random.random

    def pause(self, attempt: int, error: ModelError) -> float | None:
        """Seconds before the next try; `None` when there is none."""
        # A reply that makes no sense is for whoever knows what was asked.
        if attempt >= self.retries or not isinstance(error, ModelUnavailableError | ModelTimeoutError):
            return None
        wish = error.retry_after if isinstance(error, ModelUnavailableError) else None
        jittered = min(self.most, self.first * 2.0**attempt) * (0.5 + 0.5 * self.draw())
        pause = jittered if wish is None else max(jittered, wish)
        return pause if pause <= self.most else None


class RetryingModel:
    """A `ChatModel` for one task. `limit` is shared by all tasks of one server."""

    def __init__(
        self,
        model: ChatModel,
        *,
        counter: TokenCounter,
        limit: threading.Semaphore,
        patience: RetryPolicy | None = None,
        usage: Usage | None = None,
    ) -> None:
        self._model = model
        self._counter = counter
        self._limit = limit
        self._patience = patience or RetryPolicy()
        self.usage = usage or Usage(model.name)

    @property
    def name(self) -> str:
        """That of the model behind it."""
        return self._model.name

    def close(self) -> None:
        """Let go of the connections of the model behind it, if it has any."""
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
        """The reply, after as many tries as patience allows."""
        attempt = 0
        while True:
            try:
                reply = self._once(messages, max_tokens, schema, timeout)
            except ModelError as error:
                pause = self._patience.pause(attempt, error)
                if pause is None:
                    raise
                self._patience.sleep(pause)
                attempt += 1
                with self.usage.guard:
                    self.usage.retries += 1
            else:
                return reply

    def stream(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Iterator[str]:
        """The reply in pieces. What has begun to come cannot be asked for again."""
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

    def _count(self, messages: Sequence[Message], reply: str, begun: float, *, failed: bool) -> None:
        sent = sum(self._counter.count(message.text) for message in messages)
        received = self._counter.count(reply)
        with self.usage.guard:
            self.usage.calls += 1
            self.usage.failures += failed
            self.usage.input_tokens += sent
            self.usage.output_tokens += received
            self.usage.seconds += time.monotonic() - begun

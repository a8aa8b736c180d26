"""Fake chat models and embedders for tests: one with scripted replies, and ones that fail in every known way.

model = ScriptedModel(["a summary"])
with AgentMemory.open(path, llm=model) as memory: ...
assert model.calls[0].messages[-1].content == "…"

for fault in MODEL_FAULTS:                      # everything a model can do wrong
    AgentMemory.open(path, llm=FailingModel(fault))
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from jiyi.errors import (
    ContextOverflowError,
    InvalidInputError,
    ModelError,
    ModelRejectedError,
    ModelReplyError,
    ModelTimeoutError,
    ModelUnavailableError,
)

if TYPE_CHECKING:
    from jiyi.model.message import Message
    from jiyi.ports import ChatModel, Embedder, ModelIdentity, ToolCall, Vectors

__all__ = [
    "EMBEDDER_FAULTS",
    "MODEL_FAULTS",
    "FailingEmbedder",
    "FailingModel",
    "ModelCall",
    "ScriptedModel",
]


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of a model."""

    messages: tuple[Message, ...]
    max_tokens: int | None
    schema: Mapping[str, Any] | None
    timeout: float | None
    streamed: bool = False
    tools: tuple[Mapping[str, Any], ...] = ()

    @property
    def text(self) -> str:
        """The text of all messages."""
        return "\n".join(message.text for message in self.messages)


Reply: TypeAlias = "str | ModelError | Sequence[ToolCall]"
"""What a model answers: a text, an error that it raises, or the tools that it asks for."""
Answer: TypeAlias = "Callable[[ModelCall], Reply]"


class ScriptedModel:
    """A chat model that returns the replies of a list in order, or those of a function, and records its calls.

    A reply that is a `ModelError` is raised. A call without a reply left raises `AssertionError`.
    """

    def __init__(self, replies: Sequence[Reply] | Answer, *, name: str = "scripted") -> None:
        self._answer: Answer | None = replies if callable(replies) else None
        self._replies: list[Reply] = [] if callable(replies) else list(replies)
        self._name = name
        self._guard = threading.Lock()
        self.calls: list[ModelCall] = []
        """All calls, in order."""

    @property
    def name(self) -> str:
        """The name it was given."""
        return self._name

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        schema: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> str:
        """The next reply."""
        return self._next(ModelCall(tuple(messages), max_tokens, schema, timeout))

    def stream(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Iterator[str]:
        """The next reply in pieces of four characters."""
        reply = self._next(ModelCall(tuple(messages), max_tokens, None, None, streamed=True))
        for start in range(0, len(reply), 4):
            yield reply[start : start + 4]

    def converse(
        self, messages: Sequence[Message], *, tools: Sequence[Mapping[str, Any]], max_tokens: int | None = None
    ) -> Iterator[str | ToolCall]:
        """The next reply in pieces of four characters, or the calls that it consists of."""
        reply = self._reply(ModelCall(tuple(messages), max_tokens, None, None, streamed=True, tools=tuple(tools)))
        if isinstance(reply, str):
            yield from (reply[start : start + 4] for start in range(0, len(reply), 4))
        else:
            yield from reply

    def _next(self, call: ModelCall) -> str:
        reply = self._reply(call)
        assert isinstance(reply, str), "only `converse` can answer with calls of tools"
        return reply

    def _reply(self, call: ModelCall) -> str | Sequence[ToolCall]:
        with self._guard:
            self.calls.append(call)
            number = len(self.calls)
            if self._answer is None and number > len(self._replies):
                raise AssertionError(f"{self._name} has {len(self._replies)} replies and was asked for number {number}")
            listed = self._replies[number - 1] if self._answer is None else None
        reply = self._answer(call) if self._answer is not None else listed
        assert reply is not None
        if isinstance(reply, ModelError):
            raise reply
        return reply


def _huge(_: ModelCall) -> Reply:
    return '{"text": "' + "x" * (10 << 20) + '"}'


MODEL_FAULTS: Final[Mapping[str, Answer]] = {
    "timeout": lambda _: ModelTimeoutError("no answer within 60 s"),
    "connection reset": lambda _: ModelUnavailableError("connection reset by peer"),
    "429": lambda _: ModelUnavailableError("429: slow down"),
    "429 with Retry-After": lambda _: ModelUnavailableError("429: slow down", retry_after=7.0),
    "500": lambda _: ModelUnavailableError("500: internal error"),
    "empty": lambda _: ModelReplyError("the reply is empty", reason="empty"),
    "blank": lambda _: " \n\t ",
    "not json": lambda _: "I think the score should be quite high.",
    "truncated json": lambda _: '{"importance_score": 0.9, "extracted_fact": "the us',
    "truncated": lambda _: ModelReplyError("cut off at the limit of tokens", reason="truncated"),
    "wrong schema": lambda _: '{"answer": [1, 2, 3], "note": {"a": null}}',
    "wrong types": lambda _: '{"importance_score": "high", "extracted_fact": 5, "domain": ["x"]}',
    "refusal": lambda _: ModelReplyError("I cannot help with that", reason="refused"),
    "10 MB reply": _huge,
    "too long": lambda _: ModelReplyError("more than 4,194,304 bytes", reason="too long"),
    "context overflow": lambda _: ContextOverflowError("the maximum context length is 4096 tokens"),
    "401": lambda _: ModelRejectedError("401: the key is wrong"),
}
"""All failures of a model, by name: an error that it raises, or an unusable reply."""


class FailingModel(ScriptedModel):
    """A chat model with one of `MODEL_FAULTS`; after `times` calls (never, by default) `then` answers instead."""

    def __init__(self, fault: str, *, times: int | None = None, then: ChatModel | None = None) -> None:
        if fault not in MODEL_FAULTS:
            raise InvalidInputError(f"unknown fault {fault!r}; known are {', '.join(MODEL_FAULTS)}")
        super().__init__(self._fail, name=f"failing ({fault})")
        self._fault = MODEL_FAULTS[fault]
        self._times = times
        self._then = then

    def _fail(self, call: ModelCall) -> Reply:
        if self._times is None or self._then is None or len(self.calls) <= self._times:
            return self._fault(call)
        if call.streamed:
            return "".join(self._then.stream(call.messages, max_tokens=call.max_tokens))
        return self._then.complete(call.messages, max_tokens=call.max_tokens, schema=call.schema, timeout=call.timeout)


def _not_a_number(vectors: Vectors) -> Vectors:
    return np.full_like(vectors, np.nan)


EMBEDDER_FAULTS: Final[Mapping[str, Callable[[Vectors], Vectors]]] = {
    "wrong vector count": lambda vectors: vectors[:-1],
    "wrong dimension": lambda vectors: vectors[:, :-1],
    "NaN": _not_a_number,
}
"""All kinds of unusable vectors, by name."""


class FailingEmbedder:
    """An embedder whose vectors have one of `EMBEDDER_FAULTS`, or that raises a `ModelError` of `MODEL_FAULTS`."""

    def __init__(self, embedder: Embedder, fault: str) -> None:
        if fault not in EMBEDDER_FAULTS and fault not in MODEL_FAULTS:
            raise InvalidInputError(
                f"unknown fault {fault!r}; known are {', '.join([*EMBEDDER_FAULTS, *MODEL_FAULTS])}"
            )
        self._embedder = embedder
        self._fault = fault

    @property
    def identity(self) -> ModelIdentity:
        """The identity of the wrapped embedder."""
        return self._embedder.identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns unusable vectors, or raises."""
        if self._fault in EMBEDDER_FAULTS:
            return EMBEDDER_FAULTS[self._fault](self._embedder.embed(texts))
        error = MODEL_FAULTS[self._fault](ModelCall((), None, None, None))
        raise error if isinstance(error, ModelError) else ModelReplyError("no vectors came", reason="wrong schema")

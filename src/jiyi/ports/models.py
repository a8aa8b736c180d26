"""Models: embedders, chat models and token counters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from jiyi.model.message import Message

    Vectors: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Which model made a vector; vectors of two identities are never ranked together."""

    name: str
    dimension: int
    revision: str

    def __str__(self) -> str:
        return f"{self.name}@{self.revision}/{self.dimension}"


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def identity(self) -> ModelIdentity:
        """Which model this is."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text, in order, each of length 1."""
        ...


@runtime_checkable
class EmbedsQuestions(Protocol):
    """An embedder that knows how questions differ from statements."""

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        """One row for each question, in order: the unit vector to compare with the vectors of texts."""
        ...


@runtime_checkable
class JudgesQuestions(Protocol):
    """An embedder that can tell what kind of question a text is."""

    def how_personal(self, text: str) -> float:
        """From −1 for general knowledge to 1 for somebody's life; 0 is unknown.

        Asked right after the text was embedded.
        """
        ...


class TextReading(NamedTuple):
    """A text as a network reads it that compares word by word."""

    vector: Vectors
    """Of the whole text; of length 1."""
    pieces: NDArray[np.int64]
    """The numbers of its word pieces."""
    rows: Vectors
    """A row for each of these pieces, in its context."""


@runtime_checkable
class TextReader(Protocol):
    """Reads texts for such a network."""

    def read(self, texts: Sequence[str]) -> list[TextReading]:
        """A reading of each text, in order."""
        ...


@runtime_checkable
class ChatModel(Protocol):
    """A language model. It blocks, and it may be called from several threads; it never retries by itself.

    Every failure is a `ModelError` whose `retryable` tells the caller whether to ask again; a reply without words is
    a failure too, never an empty success.
    """

    @property
    def name(self) -> str:
        """What it is called in `source` and in reports."""
        ...

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        schema: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> str:
        """The reply to a conversation, never empty.

        With a JSON schema the model is asked for JSON that fits it; whether it does is for the caller to check
        (`jiyi.model.replies.parse_json_reply`). `timeout` is in seconds, for the whole reply.
        """
        ...

    def stream(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Iterator[str]:
        """The reply in pieces as they come; together they are what `complete` would return."""
        ...


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a model asks a program to do."""

    id: str
    name: str
    arguments: str
    """JSON, as the model wrote it."""


@runtime_checkable
class ToolModel(Protocol):
    """A chat model that can ask for tools."""

    def converse(
        self, messages: Sequence[Message], *, tools: Sequence[Mapping[str, Any]], max_tokens: int | None = None
    ) -> Iterator[str | ToolCall]:
        """The reply in pieces as they come, and what it asks for: whole calls, after the text before them.

        `tools` are definitions in OpenAI's form. A reply without text and without calls is a failure.
        """
        ...


@runtime_checkable
class TokenCounter(Protocol):
    """Counts the tokens of a text as one model family does, or estimates them from above."""

    @property
    def name(self) -> str:
        """Which tokenizer, or that it is an estimate."""
        ...

    def count(self, text: str) -> int:
        """How many tokens the text has for the model; 0 for an empty text."""
        ...

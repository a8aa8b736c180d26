"""Embeddings behind OpenAI-compatible servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from jiyi.errors import ModelReplyError
from jiyi.ports import ModelIdentity
from jiyi.providers.openai_client import EMBEDDINGS, OpenAIClient

if TYPE_CHECKING:
    from jiyi.ports import Vectors

__all__ = ["KNOWN_DIMENSIONS", "OpenAICompatibleEmbedder"]

KNOWN_DIMENSIONS: Final[Mapping[str, int]] = {
    "text-embedding-v3": 1024,
    "text-embedding-v4": 1024,
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
"""The default dimension of well-known models."""
_MAX_TEXT_CHARACTERS: Final = 8_000
_BYTES_PER_NUMBER: Final = 32


class OpenAICompatibleEmbedder:
    """An `Embedder` at `{base_url}/embeddings`. It never retries; `batch` texts are sent in one request."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        dimension: int,
        ask_for_dimension: bool = False,
        api_key: str | None = None,
        timeout: float = 60.0,
        batch: int = 10,
    ) -> None:
        max_reply_bytes = (1 << 20) + batch * dimension * _BYTES_PER_NUMBER
        self._client = OpenAIClient(base_url, model, path=EMBEDDINGS, api_key=api_key, max_reply_bytes=max_reply_bytes)
        self._identity = ModelIdentity(model, dimension, "openai-compatible")
        self._ask_for_dimension = ask_for_dimension
        self._timeout = timeout
        self._batch = batch

    @property
    def identity(self) -> ModelIdentity:
        """The model as the server names it."""
        return self._identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns one row for each text, in order, not normalized."""
        vectors: Vectors = np.empty((len(texts), self._identity.dimension), dtype=np.float32)
        for start in range(0, len(texts), self._batch):
            part = texts[start : start + self._batch]
            vectors[start : start + len(part)] = self._request_vectors(part)
        return vectors

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self._client.close()

    def _request_vectors(self, texts: Sequence[str]) -> Vectors:
        name, dimension = self._identity.name, self._identity.dimension
        # Servers reject empty texts; a space has the same meaning.
        sent = [text[:_MAX_TEXT_CHARACTERS] or " " for text in texts]
        request: dict[str, Any] = {"model": name, "input": sent}
        if self._ask_for_dimension:
            request["dimensions"] = dimension
        reply = self._client.ask(request, self._timeout)
        if isinstance(reply.get("error"), Mapping | str):
            self._client.raise_for_status(200, str(reply["error"]), None)
        rows = reply.get("data")
        if not isinstance(rows, list) or len(rows) != len(sent):
            count = len(rows) if isinstance(rows, list) else "no"
            raise ModelReplyError(f"{name} gave {count} vectors for {len(sent)} texts", reason="wrong schema")
        vectors: Vectors = np.empty((len(sent), dimension), dtype=np.float32)
        seen = set()
        for place, row in enumerate(rows):
            number, values = _parse_row(row, place, name)
            if number in seen or not 0 <= number < len(sent):
                raise ModelReplyError(f"{name} gave vectors for other texts than were sent", reason="wrong schema")
            seen.add(number)
            if len(values) != dimension:
                raise ModelReplyError(
                    f"{name} gives vectors of {len(values)} numbers and not of {dimension}; "
                    f"set embedding_dimension to {len(values)}",
                    reason="wrong schema",
                )
            vectors[number] = values
        return vectors


def _parse_row(row: Any, place: int, name: str) -> tuple[int, list[float]]:
    values = row.get("embedding") if isinstance(row, Mapping) else None
    number = row.get("index", place) if isinstance(row, Mapping) else place
    if (
        not isinstance(values, list)
        or not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
        or not isinstance(number, int)
    ):
        raise ModelReplyError(f"{name} gave something else than vectors", reason="wrong schema")
    return number, values

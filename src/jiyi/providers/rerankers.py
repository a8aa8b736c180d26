"""Rerankers: cross-encoders behind HTTP servers, and those of fastembed and sentence-transformers.

Servers: `POST {base_url}/rerank` with model, query and documents, as vLLM, llama.cpp, Jina and Cohere have it. What a
server calls OpenAI-compatible stands under the same base URL as its chat; Cohere's own path has a version in it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from jiyi.errors import MissingDependencyError, ModelReplyError, ModelTimeoutError, ModelUnavailableError
from jiyi.ports import RerankUsage
from jiyi.providers.openai_client import RERANK, OpenAIClient

__all__ = ["FastEmbedReranker", "HttpReranker", "SentenceTransformersReranker"]

_MAX_CHARACTERS: Final = 4_000
_MAX_REPLY: Final = 1 << 20
_OWN_ERRORS: Final = ("onnxruntime.capi.onnxruntime_pybind11_state", "safetensors")
"""Modules with the errors of a model that cannot be read or computed."""


class HttpReranker:
    """A reranker behind a server. It never retries; a call takes at most `timeout` seconds."""

    def __init__(
        self, base_url: str, model: str, *, api_key: str | None = None, timeout: float = 10.0, cohere: bool = False
    ) -> None:
        base = base_url.rstrip("/")
        if cohere and not base.endswith(("/v1", "/v2", RERANK)):
            base += "/v2"
        self._client = OpenAIClient(base, model, path=RERANK, api_key=api_key, max_reply_bytes=_MAX_REPLY)
        self._model = model
        self._timeout = timeout
        self._usage = RerankUsage()

    @property
    def name(self) -> str:
        """The model as the server names it."""
        return self._model

    @property
    def usage(self) -> RerankUsage:
        """What was asked so far."""
        return self._usage

    def prepare(self) -> None:
        """Import the client. Its time is not the server's."""
        self._client.connect()

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the query, in the order of the texts."""
        documents = [text[:_MAX_CHARACTERS] or " " for text in texts]
        request = {"model": self._model, "query": query, "documents": documents, "top_n": len(documents)}
        return _scores(self._client.ask(request, self._timeout), len(documents), self._model)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _scores(reply: Mapping[str, Any], count: int, model: str) -> list[float]:
    rows = reply.get("results", reply.get("data"))
    found: dict[int, float] = {}
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, Mapping):
            place, value = row.get("index"), row.get("relevance_score", row.get("score"))
            if isinstance(place, int) and isinstance(value, int | float) and not isinstance(value, bool):
                found[place] = float(value)
    if sorted(found) != list(range(count)):
        raise ModelReplyError(f"{model} did not score each of {count} texts once", reason="wrong schema")
    return [found[place] for place in range(count)]


class _LocalReranker:
    """A cross-encoder in this process, loaded when it is first asked."""

    package = ""

    def __init__(self, model: str, *, timeout: float = 10.0) -> None:
        """`timeout` is how long a question waits for an earlier one."""
        self._model_name = model
        self._timeout = timeout
        self._usage = RerankUsage()
        self._guard = threading.Lock()
        self._model: Any = None
        if importlib.util.find_spec(self.package) is None:
            extra = self.package.replace("_", "-")
            raise MissingDependencyError(
                f"the reranker {extra} needs a package that is not installed; install it: pip install 'jiyi[{extra}]'"
            )

    @property
    def name(self) -> str:
        """The model."""
        return self._model_name

    @property
    def usage(self) -> RerankUsage:
        """What was asked so far."""
        return self._usage

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the query, in the order of the texts."""
        if not self._guard.acquire(timeout=self._timeout):
            raise ModelTimeoutError(
                f"{self._model_name} was still busy with an earlier question after {self._timeout:g} s"
            )
        try:
            if self._model is None:
                self._model = self._load(self._model_name)
            predicted = list(self._predict(query, [text[:_MAX_CHARACTERS] for text in texts]))
        except _library_errors() as error:
            raise ModelUnavailableError(f"{self._model_name} failed: {type(error).__name__}: {error}") from error
        finally:
            self._guard.release()
        # A model with several classes gives several numbers a text: recall says that they are too many.
        scores: list[float] = np.asarray(predicted, dtype=np.float64).ravel().tolist()
        return scores

    def close(self) -> None:
        """Nothing to close."""

    def _load(self, model: str) -> Any:
        raise NotImplementedError

    def _predict(self, query: str, texts: list[str]) -> Any:
        raise NotImplementedError


def _library_errors() -> tuple[type[Exception], ...]:
    """Errors of libraries that are of no builtin kind, and that of one that cannot be imported."""
    loaded = [vars(sys.modules[name]).values() for name in _OWN_ERRORS if name in sys.modules]
    own = [each for values in loaded for each in values if isinstance(each, type) and issubclass(each, Exception)]
    return (ImportError, *own)


class FastEmbedReranker(_LocalReranker):
    """An ONNX cross-encoder of the package fastembed."""

    package = "fastembed"

    def _load(self, model: str) -> Any:
        return importlib.import_module("fastembed.rerank.cross_encoder").TextCrossEncoder(model)

    def _predict(self, query: str, texts: list[str]) -> Any:
        return self._model.rerank(query, texts)


class SentenceTransformersReranker(_LocalReranker):
    """A cross-encoder of the package sentence-transformers."""

    package = "sentence_transformers"

    def _load(self, model: str) -> Any:
        return importlib.import_module("sentence_transformers").CrossEncoder(model)

    def _predict(self, query: str, texts: list[str]) -> Any:
        return self._model.predict([(query, text) for text in texts])

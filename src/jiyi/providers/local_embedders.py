"""Local embedders of optional packages: fastembed and sentence-transformers."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jiyi.errors import ConfigError, MissingDependencyError
from jiyi.ports import ModelIdentity

if TYPE_CHECKING:
    from jiyi.ports import Vectors

__all__ = ["FastEmbedEmbedder", "SentenceTransformersEmbedder"]


def _import_package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        extra = name.replace("_", "-")
        raise MissingDependencyError(
            f"the embedder {extra} needs a package that is not installed; install it: pip install 'jiyi[{extra}]'"
        ) from None


class FastEmbedEmbedder:
    """An ONNX model of the package fastembed, loaded on first use."""

    def __init__(self, model: str) -> None:
        TextEmbedding: Any = _import_package("fastembed").TextEmbedding  # noqa: N806
        known = {each["model"]: each["dim"] for each in TextEmbedding.list_supported_models()}
        if model not in known:
            raise ConfigError(f"fastembed does not know the model {model!r}; set embedding_model to one that it lists")
        self._load: Callable[[], Any] = lambda: TextEmbedding(model)
        self._identity = ModelIdentity(model, int(known[model]), "fastembed")
        self._guard = threading.Lock()
        self._model: Any = None

    @property
    def identity(self) -> ModelIdentity:
        """The model and the package."""
        return self._identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns one row for each text."""
        with self._guard:
            if self._model is None:
                self._model = self._load()
            return np.asarray(list(self._model.embed(list(texts))), dtype=np.float32)


class SentenceTransformersEmbedder:
    """A model of the package sentence-transformers, loaded at once because only the model knows its dimension."""

    def __init__(self, model: str) -> None:
        SentenceTransformer = _import_package("sentence_transformers").SentenceTransformer  # noqa: N806
        self._model: Any = SentenceTransformer(model)
        self._identity = ModelIdentity(
            model, int(self._model.get_sentence_embedding_dimension()), "sentence-transformers"
        )
        self._guard = threading.Lock()

    @property
    def identity(self) -> ModelIdentity:
        """The model and the package."""
        return self._identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns one row for each text."""
        with self._guard:
            return np.asarray(self._model.encode(list(texts), normalize_embeddings=True), dtype=np.float32)

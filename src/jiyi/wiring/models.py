"""The embedder and the chat models that the settings name."""

from __future__ import annotations

from functools import cache
from threading import BoundedSemaphore
from typing import TYPE_CHECKING

from jiyi.errors import ConfigError
from jiyi.ports import ChatModel, Embedder, Reranker, TextReader

if TYPE_CHECKING:
    from jiyi.config import Settings
    from jiyi.longterm.dependencies import TaskModels


def embedder_of(settings: Settings, own: Embedder | None) -> Embedder | None:
    """The caller's own embedder or that of the settings; `None` means that nothing is found by meaning."""
    if own is None and settings.embedder == "none":
        return None
    from jiyi.providers.cached import CachedEmbedder

    if own is None and settings.embedder == "bundled":
        from jiyi.providers.bundled import BundledEmbedder

        return CachedEmbedder(BundledEmbedder())
    from jiyi.providers.checked import CheckedEmbedder

    embedder = _optional_embedder(settings, settings.embedding_model or "") if own is None else own
    return CachedEmbedder(CheckedEmbedder(embedder))


@cache
def judging_embedder() -> Embedder:
    """The embedder whose vectors the weights of the long-term room are trained on; one for the process."""
    from jiyi.providers.bundled import PlainEmbedder
    from jiyi.providers.cached import CachedEmbedder

    return CachedEmbedder(PlainEmbedder())


@cache
def pair_reader() -> TextReader:
    """What reads texts for the network that tells which fact a message makes outdated; one for the process."""
    from jiyi.providers.pair_reader import PairReader

    return PairReader()


def _optional_embedder(settings: Settings, model: str) -> Embedder:
    """An embedder from an optional package or behind a server."""
    if settings.embedder == "fastembed":
        from jiyi.providers.local_embedders import FastEmbedEmbedder

        return FastEmbedEmbedder(model)
    if settings.embedder == "sentence-transformers":
        from jiyi.providers.local_embedders import SentenceTransformersEmbedder

        return SentenceTransformersEmbedder(model)
    from jiyi.providers.openai_embeddings import KNOWN_DIMENSIONS, OpenAICompatibleEmbedder

    dimension = settings.embedding_dimension or KNOWN_DIMENSIONS.get(model)
    if dimension is None:
        raise ConfigError(f"the dimension of the vectors of {model!r} is not known; set embedding_dimension")
    return OpenAICompatibleEmbedder(
        settings.embedding_base_url or "",
        model,
        dimension=dimension,
        ask_for_dimension=settings.embedding_dimension is not None,
        api_key=settings.embedding_api_key,
        timeout=settings.llm_timeout,
        batch=settings.embedding_batch,
    )


def reranker_of(settings: Settings) -> Reranker | None:
    """The reranker; `None` means that the order of recall stays."""
    model = settings.reranker_model or ""
    if settings.reranker == "none":
        return None
    from jiyi.providers import rerankers

    if settings.reranker == "fastembed":
        return rerankers.FastEmbedReranker(model, timeout=settings.reranker_timeout)
    if settings.reranker == "sentence-transformers":
        return rerankers.SentenceTransformersReranker(model, timeout=settings.reranker_timeout)
    return rerankers.HttpReranker(
        settings.reranker_base_url or "",
        model,
        api_key=settings.reranker_api_key,
        timeout=settings.reranker_timeout,
        cohere=settings.reranker == "cohere-style",
    )


def chat_model(settings: Settings, name: str | None = None) -> ChatModel | None:
    """The chat model; `None` means rules. It connects with its first request."""
    model = name or settings.llm_model
    if settings.llm == "none" or settings.llm_base_url is None or model is None:
        return None
    from jiyi.providers.openai_compatible import OpenAICompatibleModel

    return OpenAICompatibleModel(
        settings.llm_base_url,
        model,
        api_key=settings.llm_api_key,
        timeout=settings.llm_timeout,
        max_reply_bytes=settings.llm_max_reply_bytes,
    )


def task_models(settings: Settings, own: ChatModel | None) -> TaskModels:
    """A model for each task of the long-term room, with one limit for all; a model of the caller does every task."""
    from jiyi.longterm.dependencies import TaskModels

    limit = BoundedSemaphore(settings.llm_concurrency)

    def with_retries(name: str | None) -> ChatModel | None:
        model = own or chat_model(settings, name)
        if model is None:
            return None
        # Imported here: without a model nothing of this is loaded.
        from jiyi.providers.retrying import ModelUsage, RetryingModel, RetryPolicy
        from jiyi.text.token_count import counter_for

        return RetryingModel(
            model,
            counter=counter_for(model.name),
            limit=limit,
            policy=RetryPolicy(retries=settings.llm_retries),
            usage=ModelUsage(model.name, settings.llm_input_price, settings.llm_output_price),
        )

    return TaskModels(
        scorer=with_retries(settings.scorer_model),
        router=with_retries(settings.router_model),
        reflection=with_retries(settings.reflection_model),
        compression=with_retries(settings.compression_model),
    )

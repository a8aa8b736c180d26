"""A reranker orders the best hits once more; when it fails the order stays, and the answer says so."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from jiyi.errors import ConfigError, MissingDependencyError, ModelReplyError, ModelTimeoutError, ModelUnavailableError
from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters
from jiyi.providers.rerankers import HttpReranker
from jiyi.recall import RecallEngine, Request
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder, WordReranker
from jiyi.testing.model_server import ModelServer

OpenMemory = Callable[..., AgentMemory]
Connect = Callable[..., HttpReranker]
TEXTS = {"a": "the lamp in the hall", "b": "a lamp", "c": "the lamp of the kitchen is green"}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def connect(server: ModelServer) -> Iterator[Connect]:
    """Rerankers of the server, closed in the end."""
    with ExitStack() as stack:

        def make(**settings: Any) -> HttpReranker:
            reranker = HttpReranker(server.base_url, "ranker", **settings)
            stack.callback(reranker.close)
            return reranker

        yield make


@pytest.fixture
def engine(open_memory: OpenMemory) -> RecallEngine:
    memory = open_memory(embedder=HashEmbedder())
    memory.store_many({"key": key, "content": text} for key, text in TEXTS.items())
    memory.drain()
    engine = memory._target._components.engine
    assert isinstance(engine, RecallEngine)
    return engine


def scored(server: ModelServer, *scores: float) -> None:
    rows = [{"index": place, "relevance_score": score} for place, score in enumerate(scores)]
    server.send(json.dumps({"results": rows[::-1]}).encode())


def ask(engine: RecallEngine, query: str = "lamp", limit: int = 10) -> list[MemoryEntry]:
    return engine.answer(Request(query, Filters(("main",)), limit=limit))


def said(hit: MemoryEntry) -> dict[str, tuple[bool, str]]:
    assert hit.explanation is not None
    return {part.index: (part.answered, part.note) for part in hit.explanation.coverage}


def test_a_server_decides_the_order_of_the_best_hits(
    engine: RecallEngine, server: ModelServer, connect: Connect
) -> None:
    before = ask(engine)
    scored(server, 0.1, 0.2, 0.9)
    reranker = connect(api_key="sk-1")
    after = ask(replace(engine, reranker=reranker))
    assert [hit.key for hit in after] == [hit.key for hit in reversed(before)]
    assert [hit.score_parts["reranker"] for hit in after] == [0.9, 0.2, 0.1]
    relevances = [hit.relevance_score or 0.0 for hit in after]
    assert relevances == sorted(relevances, reverse=True)
    assert said(after[0])["reranker"] == (True, "ranker")
    [request] = server.requests
    assert request["query"] == "lamp"
    assert request["documents"] == [hit.content for hit in before]
    assert server.headers[0]["authorization"] == "Bearer sk-1"
    usage = reranker.usage.to_dict()
    assert (usage["calls"], usage["texts"], usage["failures"]) == (1, 3, 0)


def test_more_hits_are_reranked_than_are_returned(engine: RecallEngine) -> None:
    reranked = replace(engine, reranker=WordReranker())
    assert [hit.key for hit in ask(reranked, "the lamp of the kitchen is what", 1)] == ["c"]
    assert reranked.reranker is not None
    assert reranked.reranker.usage.texts == 3


@pytest.mark.parametrize("failure", ["500", "429"])
def test_when_the_server_fails_the_order_stays_and_every_hit_says_why(
    engine: RecallEngine, server: ModelServer, connect: Connect, failure: str
) -> None:
    server.fail(failure)
    reranker = connect()
    after = ask(replace(engine, reranker=reranker))
    assert [hit.key for hit in after] == [hit.key for hit in ask(engine)]
    assert all(said(hit)["reranker"][0] is False for hit in after)
    assert "ModelUnavailableError" in said(after[0])["reranker"][1]
    assert reranker.usage.failures == 1


def test_a_server_that_does_not_answer_is_waited_for_no_longer_than_told(server: ModelServer, connect: Connect) -> None:
    server.fail("timeout")
    with pytest.raises((ModelTimeoutError, ModelUnavailableError)):
        connect(timeout=0.05).rerank("a", ["b"])


@pytest.mark.parametrize(
    "body",
    [
        {"results": []},
        {"results": [{"index": 0, "relevance_score": 1}, {"index": 0, "relevance_score": 2}]},
        {"results": [{"index": 0, "relevance_score": "high"}, {"index": 1, "relevance_score": 1}]},
        {"results": [{"index": 5, "relevance_score": 1}, {"index": 1, "relevance_score": 1}]},
        {"scores": [1, 2]},
    ],
)
def test_a_reply_that_does_not_score_every_text_is_refused(server: ModelServer, connect: Connect, body: object) -> None:
    server.send(json.dumps(body).encode())
    with pytest.raises(ModelReplyError):
        connect().rerank("a", ["b", "c"])


def test_settings_name_the_reranker(open_memory: OpenMemory, server: ModelServer, tmp_path: Path) -> None:
    scored(server, 0.0, 1.0)
    memory = open_memory(reranker="cohere-style", reranker_base_url=server.base_url, reranker_model="rerank-v3.5")
    memory.store("first", "a lamp, a lamp")
    memory.store("second", "the other lamp")
    order = [hit.key for hit in memory.recall("lamp")]
    assert len(server.requests) == 1
    assert server.requests[0]["model"] == "rerank-v3.5"
    assert [hit.key for hit in memory.recall("lamp", weights=(1, 0, 0))] == order[::-1], "the formula is not reranked"
    with pytest.raises(ConfigError, match="reranker_base_url and reranker_model"):
        AgentMemory.open(tmp_path / "other", reranker="openai-compatible")


@pytest.mark.parametrize("name", ["fastembed", "sentence-transformers"])
def test_a_local_reranker_says_which_package_it_needs(open_memory: OpenMemory, name: str) -> None:
    module = name.replace("-", "_")
    if find_spec(module) is not None:
        pytest.skip(f"{name} is installed")
    with pytest.raises(MissingDependencyError, match=rf"jiyi\[{name}\]"):
        open_memory(reranker=name, reranker_model="any")

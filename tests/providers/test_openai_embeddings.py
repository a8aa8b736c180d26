"""Embeddings behind a server: in batches, checked, and never a vector that is no use."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jiyi.errors import (
    ConfigError,
    MissingDependencyError,
    ModelError,
    ModelRejectedError,
    ModelReplyError,
    ModelUnavailableError,
)
from jiyi.providers.checked import CheckedEmbedder
from jiyi.providers.openai_embeddings import OpenAICompatibleEmbedder
from jiyi.sync import AgentMemory
from jiyi.testing.model_server import ModelServer
from tests.support import QUICK

KEY = "sk-secret-0123456789"
OPENED: list[CheckedEmbedder] = []


class EmbeddingServer(ModelServer):
    """Answers with vectors of three numbers: the length of the text, one, and zero."""

    def __init__(self) -> None:
        super().__init__()
        self.spoil: Any = None

    def handle(self, handler: Any, request: dict[str, Any]) -> None:
        rows = [
            {"index": place, "embedding": [float(len(text)), 1.0, 0.0]} for place, text in enumerate(request["input"])
        ]
        reply: Any = {"data": rows[::-1], "usage": {"total_tokens": 1}}
        self.send(json.dumps(reply if self.spoil is None else self.spoil(reply)).encode())
        super().handle(handler, request)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


@pytest.fixture(autouse=True)
def close_what_was_opened() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


def embedder(server: ModelServer, **more: Any) -> CheckedEmbedder:
    made = OpenAICompatibleEmbedder(
        server.base_url, "tiny-embedding", **{"dimension": 3, "api_key": KEY, "timeout": 20, **more}
    )
    OPENED.append(CheckedEmbedder(made))
    return OPENED[-1]


def test_texts_are_sent_in_batches_and_come_back_in_order(server: EmbeddingServer) -> None:
    vectors = embedder(server, batch=2).embed(["a", "bb", "ccc", "dddd", "eeeee"])
    assert [request["input"] for request in server.requests] == [["a", "bb"], ["ccc", "dddd"], ["eeeee"]]
    assert vectors.shape == (5, 3)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0)
    assert list(vectors[:, 0]) == sorted(vectors[:, 0])
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert server.requests[0]["model"] == "tiny-embedding"
    assert "dimensions" not in server.requests[0]


def test_a_dimension_that_was_set_is_asked_for(server: EmbeddingServer) -> None:
    embedder(server, ask_for_dimension=True).embed(["a"])
    assert server.requests[0]["dimensions"] == 3


SPOILS = {
    "wrong count": lambda reply: {"data": reply["data"][:-1]},
    "wrong dimension": lambda reply: {"data": [{**row, "embedding": row["embedding"][:2]} for row in reply["data"]]},
    "NaN": lambda reply: {"data": [{**row, "embedding": [float("nan"), 1.0, 0.0]} for row in reply["data"]]},
    "same place twice": lambda reply: {"data": [{**row, "index": 0} for row in reply["data"]]},
    "no numbers": lambda reply: {"data": [{**row, "embedding": "base64"} for row in reply["data"]]},
    "no data": lambda _: {},
    "a list": lambda _: [],
}


@pytest.mark.parametrize("spoil", SPOILS)
def test_vectors_that_are_no_use_are_an_error(server: EmbeddingServer, spoil: str) -> None:
    server.spoil = SPOILS[spoil]
    with pytest.raises(ModelReplyError) as caught:
        embedder(server).embed(["a", "b"])
    assert KEY not in str(caught.value)
    if spoil == "wrong dimension":
        assert "set embedding_dimension to 2" in str(caught.value)


@pytest.mark.parametrize(("failure", "kind"), [("429", ModelUnavailableError), ("500", ModelUnavailableError)])
def test_a_server_that_fails_is_an_error_of_its_kind(failure: str, kind: type[ModelError]) -> None:
    with ModelServer() as server:
        server.fail(failure)
        with pytest.raises(kind):
            embedder(server).embed(["a"])


def test_a_wrong_key_is_refused_for_good() -> None:
    with ModelServer() as server:
        server.send(b'{"error": {"message": "wrong key sk-secret-0123456789"}}', status=401)
        with pytest.raises(ModelRejectedError) as caught:
            embedder(server).embed(["a"])
        assert KEY not in str(caught.value)


def test_a_memory_finds_by_the_meaning_that_the_server_gives(server: EmbeddingServer, tmp_path: Path) -> None:
    settings = {
        **QUICK,
        "embedder": "openai-compatible",
        "embedding_base_url": server.base_url,
        "embedding_model": "tiny-embedding",
    }
    with pytest.raises(ConfigError, match="embedding_dimension"):
        AgentMemory.open(tmp_path, **settings)
    with AgentMemory.open(tmp_path, **settings, embedding_dimension=3) as memory:
        memory.store("short", "tea")
        memory.store("long", "a very long text about many things that have nothing to do with each other")
        assert memory.recall("cat", 1, mode="semantic")[0].key == "short"


def test_another_model_means_another_index_and_never_a_mixed_ranking(server: EmbeddingServer, tmp_path: Path) -> None:
    settings = {
        **QUICK,
        "embedder": "openai-compatible",
        "embedding_base_url": server.base_url,
        "embedding_dimension": 3,
    }
    with AgentMemory.open(tmp_path, embedding_model="one", **settings) as memory:
        memory.store("a", "tea")
        assert memory.recall("tea", mode="semantic")
    asked = len(server.requests)
    with AgentMemory.open(tmp_path, embedding_model="two", **settings) as memory:
        steps: list[int] = []
        memory.repair(progress=lambda done, _total: steps.append(done))
        assert memory.recall("tea", mode="semantic")
        assert all(report.sound for report in memory.verify())
    assert {request["model"] for request in server.requests[asked:]} == {"two"}


@pytest.mark.parametrize("name", ["fastembed", "sentence-transformers"])
def test_a_package_that_is_not_there_is_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, name.replace("-", "_"), None)
    with pytest.raises(MissingDependencyError, match=rf"jiyi\[{name}\]"):
        AgentMemory.open(tmp_path, embedder=name, embedding_model="any")

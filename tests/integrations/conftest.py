"""Servers that the tests of integrations start for themselves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from llama_index.core.storage.chat_store import BaseChatStore, SimpleChatStore

from jiyi.integrations.llama_index import JiyiChatStore
from jiyi.integrations.llama_index.redis_store import RedisChatStore
from tests.servers.redis_server import redis_server


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Redis server on a free port."""
    with redis_server(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture(params=["simple", "jiyi", "redis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseChatStore]:
    """LlamaIndex's own store first: what holds for ours must hold for it, or it would be our invention."""
    if request.param == "simple":
        yield SimpleChatStore()
    elif request.param == "jiyi":
        with JiyiChatStore(tmp_path / "data") as made:
            yield made
    else:
        found = RedisChatStore(request.getfixturevalue("redis_url"), prefix=f"test:{tmp_path.name}")
        yield found
        found.close()

"""Servers that the tests of integrations start for themselves."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from llama_index.core.storage.chat_store import BaseChatStore, SimpleChatStore

from jiyi.integrations.llama_index import JiyiChatStore
from jiyi.integrations.llama_index.redis_store import RedisChatStore
from tests.servers.redis import RedisServer


@pytest.fixture
def llama_index_leaks() -> Iterator[None]:
    """LlamaIndex leaves event loops and connections open: they are collected here, not during another test."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A real Redis server on a free port."""
    with RedisServer() as server:
        yield server.url


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

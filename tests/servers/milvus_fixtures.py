"""A Milvus server for a run of tests. `tests/conftest.py` has it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.milvus import MilvusServer


@pytest.fixture(scope="session")
def milvus_server() -> Iterator[MilvusServer]:
    """One server for all tests of a worker; a test that kills a server starts its own."""
    with MilvusServer() as server:
        yield server

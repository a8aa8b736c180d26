"""A recall right after writes answers as it does when the indexes have taken the writes in, and commits no index."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jiyi import AgentMemory
from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import make_filters
from jiyi.model.identity import new_id
from jiyi.model.scope import visible_scopes
from jiyi.recall import RecallEngine
from jiyi.recall.request import Request
from jiyi.testing.fakes import HashEmbedder
from tests.servers.postgres import PostgresServer

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
WORDS = ["green", "tea", "coffee", "morning", "Paris", "train", "绿茶", "咖啡", "早上", "巴黎", "火车", "喝", "去", "?"]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)
LONG = "这是一段很长的话，里面说了很多事情。" * 20


@dataclass(frozen=True)
class Step:
    kind: str
    name: int
    text: str
    hour: int | None
    tag: str | None

    async def perform(self, memory: AgentMemory, scope: str) -> None:
        if self.kind == "put":
            session = memory.chat(f"session {self.name % 2}", scope=scope)
            await session.put({"role": "user", "content": self.text})
        elif self.kind == "forget":
            await memory.forget(f"key {self.name}", scope=scope)
        else:
            await memory.store(
                f"key {self.name}",
                f"{LONG} {self.text}" if self.kind == "long" else self.text,
                scope=scope,
                conversation_id=f"session {self.name % 2}" if self.kind == "said" else None,
                occurred_at=None if self.hour is None else NOON + timedelta(hours=self.hour),
                tags=None if self.tag is None else [self.tag],
                category="daily" if self.name % 3 == 0 else "core",
            )


steps = st.lists(
    st.builds(
        Step,
        st.sampled_from(["store", "store", "said", "long", "put", "put", "forget"]),
        st.integers(0, 5),
        texts,
        st.one_of(st.none(), st.integers(-40, 40)),
        st.sampled_from([None, "tea", "旅行"]),
    ),
    max_size=12,
)


class CountingEmbedder(HashEmbedder):
    """Remembers how often it was asked for each text."""

    def __init__(self) -> None:
        super().__init__()
        self.times: Counter[str] = Counter()

    def embed(self, texts: Sequence[str]) -> Any:
        self.times.update(texts)
        return super().embed(texts)


class Store:
    """One memory for all examples; each example has a scope of its own."""

    def __init__(self, place: Any, **profile: Any) -> None:
        self.loop = asyncio.new_event_loop()
        self.embedder = CountingEmbedder()
        self.memory = self.run(
            AgentMemory.open(place, embedder=self.embedder, background_indexing=False, background_jobs=False, **profile)
        )
        engine = self.memory._components.engine
        assert isinstance(engine, RecallEngine)
        self.plain = engine
        overlaid = replace(engine, settings=replace(engine.settings, overlaid_changes=200))
        self.overlaid = [overlaid] if engine.reader is None else [overlaid, replace(overlaid, reader=None)]
        self.numbers = count()

    def run(self, awaitable: Any) -> Any:
        async def wait() -> Any:
            return await awaitable

        return self.loop.run_until_complete(wait())

    def positions(self) -> list[Any]:
        return [index.log_position() for index in self.memory._components.indexes]


def _on_postgres(request: pytest.FixtureRequest) -> str:
    server: PostgresServer = request.getfixturevalue("postgres_server")
    name = f"overlay_{new_id().replace('-', '')}"
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.url(name)


@pytest.fixture(
    scope="module",
    params=["embedded", "milvus", pytest.param("postgres", marks=pytest.mark.server)],
)
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("overlay")
    if request.param == "embedded":
        store = Store(folder)
    elif request.param == "milvus":
        store = Store(folder, vectors="milvus", milvus_uri=str(folder / "milvus.db"))
    else:
        store = Store(_on_postgres(request))
    yield store
    store.run(store.memory.close())
    store.loop.close()


def shown(hits: Sequence[MemoryEntry]) -> list[Any]:
    return [
        (hit.id, hit.content, pytest.approx(hit.relevance_score, abs=1e-6), _parts(hit), _near(hit)) for hit in hits
    ]


def _parts(hit: MemoryEntry) -> Any:
    return {name: pytest.approx(value, abs=1e-5) for name, value in (hit.score_parts or {}).items()}


def _near(hit: MemoryEntry) -> list[str]:
    return [near.id for near in hit.context]


questions = st.sampled_from(
    ["green tea in the morning?", "早上喝什么茶", "Paris", "去巴黎的火车", "coffee yesterday", "咖啡"]
)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(before=steps, after=steps, question=questions, filtered=st.booleans())
def test_the_order_and_the_scores_are_those_of_the_committed_index(
    store: Store, before: list[Step], after: list[Step], question: str, filtered: bool
) -> None:
    scope = f"example {next(store.numbers)}".replace(" ", "-")
    for step in before:
        store.run(step.perform(store.memory, scope))
    store.run(store.memory.drain())
    for step in after:
        store.run(step.perform(store.memory, scope))
    categories = "core" if filtered else None
    requests = [
        Request(
            query=question,
            filters=make_filters(visible_scopes(scope), category=categories),
            limit=10,
            mode=mode,
            now=NOON,
            context=2,
            duplicates=True,
        )
        for mode in ("hybrid", "keyword", "semantic")
    ]
    positions = store.positions()
    early = [[engine.answer(request) for request in requests] for engine in store.overlaid]
    assert store.positions() == positions
    store.run(store.memory.drain())
    late = [store.plain.answer(request) for request in requests]
    for answers in early:
        for found, wanted in zip(answers, late, strict=True):
            assert shown(found) == shown(wanted)
    # The same overlay over an index that has taken everything in meanwhile.
    for engine in store.overlaid:
        assert [shown(engine.answer(request)) for request in requests] == [shown(hits) for hits in late]


def test_a_new_text_is_embedded_once_by_the_recall_and_the_indexer_together(store: Store) -> None:
    scope = f"once-{next(store.numbers)}"
    text = f"a new text of {scope}"
    store.run(store.memory.drain())
    store.run(store.memory.store("key", text, scope=scope))
    for engine in store.overlaid:
        request = Request(query="green tea", filters=make_filters(visible_scopes(scope)), limit=3, now=NOON)
        assert [hit.key for hit in engine.answer(request)] == ["key"]
    store.run(store.memory.drain())
    assert store.embedder.times[text] == 1

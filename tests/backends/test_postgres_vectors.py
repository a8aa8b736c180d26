"""Vectors in PostgreSQL: exact where it matters, whatever the planner thinks, and safe when the server dies."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg
import pytest

from jiyi.backends.postgres.cursors import NamedCursor
from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.postgres.vectors import index as postgres_vectors
from jiyi.backends.postgres.vectors import scan as scan_module
from jiyi.backends.postgres.vectors.halfvec import Reals, RealsDumper
from jiyi.backends.postgres.vectors.index import PostgresVectors
from jiyi.backends.postgres.vectors.scan import hnsw_settings
from jiyi.backends.postgres.vectors.tables import VectorTables, find_extension
from jiyi.backends.records.store import SqlRecordStore
from jiyi.backends.shared.embedding import embed_entries
from jiyi.errors import IndexDamagedError, IndexingError, StorageError, StoreUnavailableError
from jiyi.model.entry import MemoryEntry
from jiyi.ports import IndexBatch, LogPosition, ModelIdentity, RecordStore
from jiyi.recall.overlay import ScanOverlay
from jiyi.testing.conformance.examples import ACTOR, NOON, draft, entry
from tests.servers.postgres import PostgresServer

if TYPE_CHECKING:
    from jiyi.ports import Vectors

pytestmark = pytest.mark.server

OpenVectors = Callable[..., PostgresVectors]
DIMENSION = 24


class RandomEmbedder:
    """A vector for each text from a generator that the text seeds; counts the texts."""

    def __init__(self, dimension: int = DIMENSION) -> None:
        self.identity = ModelIdentity("random", dimension, "1")
        self.embedded = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.embedded += len(texts)
        made = [
            np.random.default_rng(zlib.crc32(text.encode())).standard_normal(self.identity.dimension) for text in texts
        ]
        vectors: Vectors = np.asarray(made, dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


EMBEDDER = RandomEmbedder()


@pytest.fixture
def open_vectors(postgres_url: str) -> Iterator[OpenVectors]:
    """Opens handles on the vectors of one database."""
    with ExitStack() as opened:

        def open_them(embedder: RandomEmbedder = EMBEDDER, url: str = postgres_url, **options: Any) -> PostgresVectors:
            database = PostgresDatabase(url, pool_size=2)
            opened.callback(database.close)
            vectors = PostgresVectors(database, embedder, "store", **options)
            opened.callback(vectors.close)
            return vectors

        yield open_them


@pytest.fixture
def store(postgres_url: str) -> Iterator[RecordStore]:
    """The records of the same database."""
    records = SqlRecordStore(PostgresDatabase(postgres_url, pool_size=2))
    yield records
    records.close()


def many(scope: str, count: int) -> list[MemoryEntry]:
    """Entries of one scope."""
    return [entry(f"{scope}{i}", f"{scope} says {i}", scope=scope, minutes=i) for i in range(count)]


def is_best(found: Sequence[str], entries: Sequence[MemoryEntry], question: str, limit: int) -> bool:
    """Whether these are the nearest in order, but for what 16 bits cannot tell apart."""
    similarities = EMBEDDER.embed([e.content for e in entries]) @ EMBEDDER.embed([question])[0]
    by_id = dict(zip([e.id for e in entries], similarities, strict=True))
    right = np.sort(similarities)[::-1][:limit]
    return len(found) == len(set(found)) == len(right) and np.allclose([by_id[i] for i in found], right, atol=2e-3)


# --- exactness ------------------------------------------------------------------------------------------------------


def test_small_scopes_are_exact_among_many_and_large_ones_nearly(store: RecordStore, open_vectors: OpenVectors) -> None:
    vectors = open_vectors(exact_rows=500)
    vectors.rebuild(store)
    few, some, crowd = many("few", 4), many("some", 40), many("crowd", 2_000)
    others = [e for i in range(20) for e in many(f"other{i}", 100)]
    vectors.apply(IndexBatch([*others, *few, *some, *crowd], (), LogPosition(1, "x")))
    vectors.wait_for_hnsw()
    assert vectors.describe()["hnsw_indexes"] == 1
    right = []
    for question in ("one", "two", "three", "four"):
        vector = EMBEDDER.embed([question])[0]
        for entries in (few, some):
            assert is_best(vectors.scan(vector, [entries[0].scope]).best(20), entries, question, 20)
        right.append(is_best(vectors.scan(vector, ["crowd"]).best(20), crowd, question, 20))
    assert right.count(True) >= 3


def test_a_question_about_a_small_and_a_large_scope_ranks_them_together(
    store: RecordStore, open_vectors: OpenVectors
) -> None:
    vectors = open_vectors(exact_rows=50)
    vectors.rebuild(store)
    entries = [*many("mine", 40), *many("public", 1_000)]
    vectors.apply(IndexBatch(entries, (), LogPosition(1, "x")))
    vectors.wait_for_hnsw()
    question = EMBEDDER.embed(["one"])[0]
    scan = vectors.scan(question, ["mine", "public"])
    right = EMBEDDER.embed([e.content for e in entries]) @ question
    assert scan.count == 1_040
    assert scan.mean == pytest.approx(float(right.mean()), abs=1e-3)
    assert is_best(scan.best(20), entries, "one", 20)
    np.testing.assert_allclose(scan.of([e.id for e in entries]), right, atol=2e-3)


def test_the_graph_of_a_scope_is_its_own_whatever_its_name(store: RecordStore, open_vectors: OpenVectors) -> None:
    vectors = open_vectors(exact_rows=20)
    vectors.rebuild(store)
    scopes = {name: many(name, 120) for name in ("50 %", "%s", "it's", "back\\slash", "{braces}", "用户", "a IN :x")}
    vectors.apply(IndexBatch([e for entries in scopes.values() for e in entries], (), LogPosition(1, "x")))
    vectors.wait_for_hnsw()
    assert vectors.describe()["hnsw_indexes"] == len(scopes)
    for name, entries in scopes.items():
        assert is_best(vectors.scan(EMBEDDER.embed(["one"])[0], [name]).best(12), entries, "one", 12)


def test_the_mean_of_a_large_scope_follows_every_change(store: RecordStore, open_vectors: OpenVectors) -> None:
    vectors = open_vectors(exact_rows=10)
    vectors.rebuild(store)
    entries = many("crowd", 60)
    vectors.apply(IndexBatch(entries, (), LogPosition(1, "x")))
    entries = [replace(e, content=f"other {e.content}") if i % 3 else e for i, e in enumerate(entries)]
    vectors.apply(IndexBatch(entries[20:], [(e.scope, e.id) for e in entries[:20]], LogPosition(2, "x")))
    question = EMBEDDER.embed(["one"])[0]
    scan = vectors.scan(question, ["crowd"])
    assert scan.count == 40
    right = float((EMBEDDER.embed([e.content for e in entries[20:]]) @ question).mean())
    assert scan.mean == pytest.approx(right, abs=1e-3)
    vectors.apply(IndexBatch([], [(e.scope, e.id) for e in entries], LogPosition(3, "x")))
    assert vectors.scan(question, ["crowd"]).count == 0
    assert vectors.check() == []


@pytest.mark.parametrize("exact_rows", [2, 1_000])
def test_a_long_text_is_half_its_best_chunk_and_half_the_mean_of_all(
    store: RecordStore, open_vectors: OpenVectors, exact_rows: int
) -> None:
    long = entry("long", " ".join(f"This is sentence number {i} about something." for i in range(40)))
    vectors = open_vectors(exact_rows=exact_rows)
    vectors.rebuild(store)
    vectors.apply(IndexBatch([long, entry("short", "short")], (), LogPosition(1, "x")))
    question = EMBEDDER.embed(["one"])[0]
    (block,) = embed_entries(EMBEDDER, [long])
    products = block @ question
    assert len(block) > 3
    assert vectors.scan(question, ["main"]).of([long.id])[0] == pytest.approx(
        0.5 * products.max() + 0.5 * products.mean(), abs=2e-3
    )


# --- the planner ----------------------------------------------------------------------------------------------------


def test_the_plan_is_the_same_whatever_the_statistics_say(
    store: RecordStore, open_vectors: OpenVectors, postgres_url: str
) -> None:
    vectors = open_vectors(exact_rows=100)
    vectors.rebuild(store)
    vectors.apply(IndexBatch([*many("crowd", 1_500), *many("few", 5)], (), LogPosition(1, "x")))
    vectors.wait_for_hnsw()
    with psycopg.connect(postgres_url, autocommit=True, cursor_factory=NamedCursor) as connection:
        connection.adapters.register_dumper(Reals, RealsDumper)
        extension = find_extension(connection)
        assert extension is not None
        tables = VectorTables(extension, DIMENSION)
        question = {"vector": Reals(EMBEDDER.embed(["one"])[0]), "scopes": ["few"], "exact_rows": 100, "identity": "x"}

        def plan(statement: str) -> str:
            rows = connection.execute(f"EXPLAIN {statement}", question).fetchall()
            return "\n".join(line for (line,) in rows)

        for analyzed in (False, True):
            if analyzed:
                connection.execute("ANALYZE jiyi_search.vectors")
            small = plan(tables.scopes_and_similarities)
            assert "vectors_next_pkey" in small
            assert "Seq Scan on vectors" not in small
            assert "vector_hnsw" not in small
            with connection.transaction():
                for name, value in hnsw_settings(50, iterative=True):
                    connection.execute("SELECT set_config(:name, :value, true)", {"name": name, "value": value})
                assert "Index Scan using vector_hnsw" in plan(tables.nearest("crowd", 50))


def test_a_small_scope_takes_one_round_trip(
    store: RecordStore, open_vectors: OpenVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = open_vectors()
    vectors.rebuild(store)
    entries = many("main", 30)
    vectors.apply(IndexBatch(entries, (), LogPosition(1, "x")))
    question = EMBEDDER.embed(["one"])[0]
    vectors.scan(question, ["main"])
    asked = []
    execute = psycopg.Cursor.execute

    def counted(self: psycopg.Cursor[Any], *arguments: Any, **options: Any) -> object:
        asked.append(arguments[0])
        return execute(self, *arguments, **options)

    monkeypatch.setattr(psycopg.Cursor, "execute", counted)
    scan = vectors.scan(question, ["main", "public"])
    scan.best(10)
    scan.best(5, allowed=[entries[0].id], periods=[(entries[0].created_at, entries[9].created_at)])
    scan.of([e.id for e in entries])
    assert scan.count == 30
    assert len(asked) == 1


def test_a_large_scope_with_an_overlay_answers_as_with_the_entries_taken_in(
    store: RecordStore, open_vectors: OpenVectors
) -> None:
    vectors = open_vectors(exact_rows=10)
    vectors.rebuild(store)
    held, new = many("crowd", 60), [replace(each, key=f"new {each.key}") for each in many("crowd", 20)]
    vectors.apply(IndexBatch(held, (), LogPosition(1, "x")))
    changed = [replace(held[0], content="one more time"), *new]
    batch = IndexBatch(changed, [(held[1].scope, held[1].id)], LogPosition(2, "x"))
    question = EMBEDDER.embed(["one"])[0]
    overlay = ScanOverlay(vectors.scan(question, ["crowd"]), batch, vectors.similarities(question, changed))
    ids = [each.id for each in (*held, *new)]
    early = (overlay.best(30), overlay.best(5, allowed=ids[55:70]), overlay.of(ids).tolist(), overlay.count)
    vectors.apply(batch)
    scan = vectors.scan(question, ["crowd"])
    late = (scan.best(30), scan.best(5, allowed=ids[55:70]), scan.of(ids).tolist(), scan.count)
    np.testing.assert_equal(early, late)
    assert overlay.mean == pytest.approx(scan.mean, abs=1e-4)


# --- the extension and the model ------------------------------------------------------------------------------------


def test_a_database_without_the_extension_says_what_to_run(
    postgres_url: str, open_vectors: OpenVectors, store: RecordStore
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE ROLE humble LOGIN")
        connection.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO humble")
    try:
        vectors = open_vectors(url=postgres_url.replace("postgres@", "humble@"))
        with pytest.raises(IndexingError, match="CREATE EXTENSION vector"):
            vectors.rebuild(store)
        with pytest.raises(IndexingError, match="CREATE EXTENSION vector"):
            vectors.scan(EMBEDDER.embed(["x"])[0], ["main"])
        assert vectors.log_position() is None
        assert "CREATE EXTENSION vector" in vectors.check()[0]
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("DROP OWNED BY humble")
            connection.execute("DROP ROLE humble")


def test_the_extension_may_be_in_a_schema_of_its_own(
    postgres_url: str, open_vectors: OpenVectors, store: RecordStore
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA extensions; CREATE EXTENSION vector SCHEMA extensions")
    vectors = open_vectors(exact_rows=5)
    vectors.rebuild(store)
    entries = many("main", 200)
    vectors.apply(IndexBatch(entries, (), LogPosition(1, "x")))
    vectors.wait_for_hnsw()
    assert vectors.describe()["hnsw_indexes"] == 1
    assert is_best(vectors.scan(EMBEDDER.embed(["one"])[0], ["main"]).best(5), entries, "one", 5)
    vectors.rebuild(store)
    assert vectors.log_position() == store.head()


def test_vectors_too_long_for_a_graph_are_compared_one_by_one(
    store: RecordStore, open_vectors: OpenVectors, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = RandomEmbedder(dimension=4_001)
    vectors = open_vectors(embedder, exact_rows=3)
    with caplog.at_level(logging.WARNING, "jiyi.index"):
        vectors.rebuild(store)
    assert "4001 dimensions" in caplog.text
    entries = many("main", 12)
    vectors.apply(IndexBatch(entries, (), LogPosition(1, "x")))
    vectors.wait_for_hnsw()
    assert vectors.describe()["hnsw_indexes"] == 0
    assert vectors.scan(embedder.embed([entries[7].content])[0], ["main"]).best(1) == [entries[7].id]


def test_a_question_of_another_length_is_refused(store: RecordStore, open_vectors: OpenVectors) -> None:
    vectors = open_vectors()
    vectors.rebuild(store)
    vectors.apply(IndexBatch(many("main", 3), (), LogPosition(1, "x")))
    with pytest.raises(IndexDamagedError):
        vectors.scan(np.ones(DIMENSION + 1, dtype=np.float32), ["main"])


def test_another_embedder_makes_new_vectors_and_another_length(store: RecordStore, open_vectors: OpenVectors) -> None:
    stored = store.put([draft(f"k{i}", f"text {i}") for i in range(5)], actor=ACTOR)
    open_vectors().rebuild(store)
    longer = RandomEmbedder(dimension=2 * DIMENSION)
    vectors = open_vectors(longer)
    assert vectors.log_position() is None
    vectors.rebuild(store)
    assert longer.embedded == 5
    assert vectors.scan(longer.embed(["text 3"])[0], ["main"]).best(1) == [stored[3].id]


# --- what happens to tables and servers -----------------------------------------------------------------------------


def test_the_schema_may_be_dropped_at_any_moment(
    store: RecordStore, open_vectors: OpenVectors, postgres_url: str
) -> None:
    stored = store.put([draft("k", "text")], actor=ACTOR)
    vectors = open_vectors()
    vectors.rebuild(store)
    for what in ("SCHEMA jiyi_search", "TABLE jiyi_search.vectors", "TABLE jiyi_search.vector_scopes"):
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"DROP {what} CASCADE")
        assert vectors.log_position() is None
        with pytest.raises(IndexDamagedError):
            vectors.scan(EMBEDDER.embed(["x"])[0], ["main"])
        with pytest.raises(IndexDamagedError):
            vectors.apply(IndexBatch(stored, (), LogPosition(1, "x")))
        vectors.rebuild(store)
        assert vectors.scan(EMBEDDER.embed(["x"])[0], ["main"]).best(1) == [stored[0].id]


def test_a_rebuild_that_broke_off_goes_on_where_it_was(
    store: RecordStore, open_vectors: OpenVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PostgresVectors, "batch_size", 4)
    store.put([draft(f"k{i}", f"text {i}") for i in range(20)], actor=ACTOR)
    embedder = RandomEmbedder()
    vectors = open_vectors(embedder)

    def stop(done: int, _total: int | None) -> None:
        if done == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        vectors.rebuild(store, progress=stop)
    assert vectors.log_position() is None
    store.forget("main", "k3", actor=ACTOR)
    store.put([draft("k5", "another text")], actor=ACTOR)
    embedder.embedded = 0
    vectors.rebuild(store)
    assert embedder.embedded == 9
    kept = {e.id: vectors.fingerprint(e) for e in store.scan(limit=100)}
    assert dict(vectors.contents()) == kept
    assert len(kept) == 19
    vectors.rebuild(store)
    assert embedder.embedded == 9
    assert dict(vectors.contents()) == kept


def test_a_server_that_dies_in_the_middle_of_a_batch_has_all_of_it_or_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with PostgresServer() as server:
        database = PostgresDatabase(server.url(), pool_size=2)
        store = SqlRecordStore(database)
        vectors = PostgresVectors(database, EMBEDDER, store.store_id)
        vectors.rebuild(store)
        first, second = many("main", 10), many("other", 10)
        vectors.apply(IndexBatch(first, (), LogPosition(1, "x")))
        with psycopg.connect(server.url(), autocommit=True) as connection:
            # So that the first batch, which does not wait for the disk, is there after the crash.
            connection.execute("CHECKPOINT")
        batch = IndexBatch(second, [("main", first[0].id)], LogPosition(2, "x"))
        for moment in ("fingerprints", "delete", "copy_in"):
            with monkeypatch.context() as patch:
                patch.setattr(postgres_vectors, moment, _killing(server, getattr(postgres_vectors, moment)))
                with pytest.raises(StoreUnavailableError, match="try again"):
                    vectors.apply(batch)
            with pytest.raises(StorageError):
                vectors.log_position()
            server.start()
            assert vectors.log_position() == LogPosition(1, "x")
            assert {entry_id for entry_id, _ in vectors.contents()} == {e.id for e in first}
        vectors.apply(batch)
        assert vectors.scan(EMBEDDER.embed(["x"])[0], ["main", "other"]).count == 19
        assert vectors.check() == []
        vectors.close()
        store.close()


def _killing(server: PostgresServer, original: Callable[..., object]) -> Callable[..., object]:
    """The same function, but the server is dead when it returns."""

    def die(*arguments: object) -> object:
        made = original(*arguments)
        server.kill()
        return made

    return die


def test_closing_breaks_off_a_graph_and_the_next_one_finishes_it(
    store: RecordStore, open_vectors: OpenVectors, postgres_url: str
) -> None:
    vectors = open_vectors(exact_rows=100)
    vectors.rebuild(store)
    with psycopg.connect(postgres_url) as blocking:
        # An index that is built beside others waits for whoever has written to the table and has not ended.
        blocking.execute("SELECT 1 FROM jiyi_search.vectors")
        blocking.execute("LOCK TABLE jiyi_search.vectors IN ROW EXCLUSIVE MODE")
        vectors.apply(IndexBatch(many("crowd", 300), (), LogPosition(1, "x")))
        vectors.close()
    assert open_vectors(exact_rows=100).describe()["large_scopes_without_index"] == 1
    after = open_vectors(exact_rows=100)
    after.apply(IndexBatch([entry("one", "more", scope="crowd")], (), LogPosition(2, "x")))
    after.wait_for_hnsw()
    assert after.describe()["hnsw_indexes"] == 1
    assert after.check() == []


# --- dates in a large scope ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("named", "share", "ways"),
    [
        (2_000, 10, ["by id"] * 4),
        (5, 4, ["by HNSW", "by HNSW", "scan", "by id"]),
        (5, 1, ["by HNSW", "scan", "scan", "by id"]),
    ],
)
def test_dates_in_a_large_scope_are_found_without_a_scan_where_they_are_few_or_many(
    store: RecordStore,
    open_vectors: OpenVectors,
    monkeypatch: pytest.MonkeyPatch,
    named: int,
    share: int,
    ways: list[str],
) -> None:
    monkeypatch.setattr(scan_module, "MAX_NAMED", named)
    monkeypatch.setattr(scan_module, "MIN_SHARE", share)
    texts = [
        draft(f"k{n}", f"crowd says {n}", scope="crowd", occurred_at=NOON + timedelta(minutes=n)) for n in range(600)
    ]
    entries = store.put(texts, actor=ACTOR)
    store.put([draft("k700", "crowd says 700", scope="other", occurred_at=NOON)], actor=ACTOR)
    vectors = open_vectors(exact_rows=100)
    vectors.rebuild(store)
    assert vectors.describe()["hnsw_indexes"] == 1
    question = EMBEDDER.embed(["one"])[0]
    taken: list[str] = []

    def fetch(statement: Any, parameters: Any, settings: Any = ()) -> Any:
        by_id = parameters.get("allowed") is not None
        taken.append(
            "by HNSW" if "vector" in parameters and "scopes" not in parameters else "by id" if by_id else "scan"
        )
        return original(statement, parameters, settings)

    found_ways = []
    for minutes in (600, 300, 60, 4):
        scan = vectors.scan(question, ["crowd", "public"])
        original = scan._fetch
        scan._fetch = fetch
        taken.clear()
        # Two periods, and one in which nothing happened.
        middle = minutes // 2
        periods = [
            (NOON, NOON + timedelta(minutes=middle)),
            (NOON + timedelta(minutes=middle), NOON + timedelta(minutes=minutes)),
            (NOON - timedelta(days=3), NOON - timedelta(days=2)),
        ]
        found = scan.best(3, periods=periods)
        found_ways.append(taken[-1])
        assert is_best(found, entries[:minutes], "one", 3)
        assert scan.best(3, periods=periods[-1:]) == []
    assert found_ways == ways


def test_more_periods_than_are_counted_are_scanned(store: RecordStore, open_vectors: OpenVectors) -> None:
    texts = [
        draft(f"k{n}", f"crowd says {n}", scope="crowd", occurred_at=NOON + timedelta(hours=n)) for n in range(120)
    ]
    entries = store.put(texts, actor=ACTOR)
    vectors = open_vectors(exact_rows=50)
    vectors.rebuild(store)
    periods = [(NOON + timedelta(hours=n), NOON + timedelta(hours=n + 1)) for n in range(0, 80, 2)]
    found = vectors.scan(EMBEDDER.embed(["one"])[0], ["crowd"]).best(5, periods=periods)
    assert is_best(found, entries[:80:2], "one", 5)

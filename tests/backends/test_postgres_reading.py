"""Small scopes in PostgreSQL are read whole in one round trip, and answer as the indexes would."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from typing import Any

import psycopg
import pytest
from psycopg import sql

from jiyi.backends.postgres.cursors import NamedCursor
from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.postgres.pool import ConnectionPool
from jiyi.backends.postgres.reader import PostgresReader
from jiyi.backends.postgres.session import DriverConnections
from jiyi.backends.postgres.text.index import PostgresTextIndex
from jiyi.backends.postgres.text.text_cache import NEVER, Columns, ScopeReading, TextCache
from jiyi.backends.postgres.vectors.index import PostgresVectors
from jiyi.backends.postgres.wire import (
    TEXT,
    TEXT_ARRAY,
    BoundStatement,
    PipelineConnection,
    Statement,
    text_array,
    text_parameter,
)
from jiyi.backends.records.store import SqlRecordStore
from jiyi.backends.shared.in_memory_text import InMemoryTextIndex
from jiyi.errors import ModelError, StoreBusyError, StoreUnavailableError
from jiyi.execution import Workers
from jiyi.indexing import Drainer
from jiyi.model.filters import Filters
from jiyi.ports import Draft, Reading
from jiyi.recall import RecallEngine, Request
from jiyi.recall.settings import RecallSettings
from jiyi.recall.tags import TagMirror
from jiyi.testing.conformance.examples import ACTOR, FILTERS, NOON, draft, varied_entries
from jiyi.testing.fakes import HashEmbedder
from jiyi.text import Analyzer
from tests.servers.fixtures import as_app

pytestmark = pytest.mark.server

MAIN = Filters(scopes=("main", "public"))
_analyzer = Analyzer()


class _Embedder(HashEmbedder):
    """Counts the questions, and fails when it is told to."""

    asked = 0
    broken = False

    def embed(self, texts: Any) -> Any:
        self.asked += 1
        if self.broken:
            raise ModelError("the embedder is away")
        return super().embed(texts)


@dataclass
class Setup:
    """A store with all its indexes, and two engines over it: only one of them reads scopes whole."""

    url: str
    database: PostgresDatabase
    store: SqlRecordStore
    text: PostgresTextIndex
    vectors: PostgresVectors
    embedder: _Embedder
    reader: PostgresReader
    engine: RecallEngine

    def drain(self) -> None:
        for index in (self.text, self.vectors):
            Drainer(self.store).drain(index)

    def read(self, filters: Filters = MAIN, question: str = "apple") -> Reading | None:
        return self.reader.read(filters, HashEmbedder().embed([question])[0], fields={"words", "bigrams"})

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)


@pytest.fixture
def setup(postgres_url: str) -> Iterator[Setup]:
    from concurrent.futures import ThreadPoolExecutor

    database = PostgresDatabase(postgres_url, pool_size=4, lock_timeout=0.5, statement_timeout=5)
    store = SqlRecordStore(database)
    embedder = _Embedder()
    text_index = PostgresTextIndex(database, _analyzer, store.store_id)
    text_index.follow()
    vectors = PostgresVectors(database, embedder, store.store_id)
    reader = PostgresReader(database, text_index, vectors)
    with ThreadPoolExecutor(2) as helpers:
        engine = RecallEngine(
            store,
            text_index,
            vectors,
            embedder,
            _analyzer,
            Drainer(store),
            RecallSettings(),
            UTC,
            helpers,
            TagMirror(store),
            reader,
        )
        made = Setup(postgres_url, database, store, text_index, vectors, embedder, reader, engine)
        made.drain()
        yield made
    vectors.close()
    database.close()


def _fill(setup: Setup) -> None:
    drafts = [Draft(entry) for entry in varied_entries()]
    drafts += [draft(f"said {n}", said, conversation_id="walk", position=n) for n, said in enumerate(_TALK)]
    drafts += [
        draft(f"day {n}", happened, occurred_at=NOON - timedelta(days=n // 3, minutes=n))
        for n, happened in enumerate(_DAYS)
    ]
    drafts += [draft("tea", "绿茶比红茶好喝", tags=("茶",)), draft("paper", "我每天早上看杭州早报 apple")]
    setup.store.put(drafts, actor=ACTOR)
    setup.drain()


_TALK = (
    "Shall we walk around the lake?",
    "Yes, and bring the apple cake.",
    "我带茶和早报",
    "The lake is frozen, so bring boots.",
    "Good, boots and cake it is.",
)
_DAYS = ("planted an apple tree", "看了一场电影", "met Anna at the lake", "bought boots", "read the 早报", "slept")
_QUESTIONS = (
    "apple",
    "Who brings the cake to the lake?",
    "早报",
    "绿茶和红茶哪个好喝",
    "what did I do yesterday",
    "zzz",
)


# --- the same answers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
def test_the_answer_is_that_of_the_indexes(setup: Setup, mode: str) -> None:
    _fill(setup)
    asked_one_by_one = replace(setup.engine, reader=None)
    for question in _QUESTIONS:
        for name, filters in FILTERS.items():
            request = Request(question, filters, mode=mode, now=NOON, limit=7)
            assert setup.engine.answer(request) == asked_one_by_one.answer(request), (question, name)


def test_words_numbers_and_surroundings_are_those_of_the_index(setup: Setup) -> None:
    _fill(setup)
    reading = setup.read()
    assert reading is not None
    assert reading.mode == setup.text.mode
    for question in _QUESTIONS:
        query = _analyzer.query(question)
        for field, terms in (("words", query.words), ("bigrams", query.bigrams)):
            proposed = reading.text.propose(field, terms, MAIN, limit=20, labels=field == "words")
            assert proposed == setup.text.propose(field, terms, MAIN, limit=20, labels=field == "words")
        asked_twice = (*query.words, *query.words[:1])
        numbers = reading.text.statistics(MAIN.scopes, asked_twice, query.bigrams)
        assert numbers == setup.text.statistics(MAIN.scopes, asked_twice, query.bigrams)
        talks = [("main", "c:walk"), ("main", "c:talk"), ("main", "c:nobody")]
        assert reading.text.conversations(talks, query.words) == setup.text.conversations(talks, query.words)
    ids = [entry.id for entry in setup.store.page(MAIN, limit=100, offset=0)]
    for some in (ids, ids[::5], ids[:1], []):
        for reach in (0, 1, 4):
            shown = reading.text.windows(some, reach=reach)
            assert sorted(shown) == sorted(setup.text.windows(some, reach=reach))
            # Those of one thread stand together and in their order.
            threads = [(row.scope, row.thread) for row in shown]
            assert len({*threads}) == sum(a != b for a, b in zip([None, *threads], threads, strict=False))


def test_a_recall_is_two_round_trips(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    _fill(setup)
    setup.engine.answer(Request("apple", MAIN))
    trips: list[int] = []
    ask = PipelineConnection.execute

    def count(wire: PipelineConnection, questions: Sequence[BoundStatement]) -> Any:
        trips.append(len(questions))
        return ask(wire, questions)

    monkeypatch.setattr(PipelineConnection, "execute", count)
    monkeypatch.setattr(DriverConnections, "fetch", None)
    monkeypatch.setattr(PostgresDatabase, "read", None)
    hits = setup.engine.answer(Request("apple", MAIN))
    assert hits
    # The overlays of the scope on public memories are read where there are some among the hits.
    assert len(trips) == 2 + any(hit.scope == "public" for hit in hits)


# --- never behind ----------------------------------------------------------------------------------------------------


def test_what_is_not_yet_in_an_index_is_taken_in_before_the_answer(setup: Setup) -> None:
    _fill(setup)
    assert setup.read() is not None
    setup.store.put([draft("new", "a zebra in the garden")], actor=ACTOR)
    reading = setup.read()
    assert reading is not None
    assert reading.compared is not None
    assert reading.compared.scanned_at == setup.vectors.log_position(), "the vectors do not have it"
    before = setup.embedder.asked
    hits = setup.engine.answer(Request("zebra", MAIN))
    assert [hit.key for hit in hits[:1]] == ["new"]
    assert setup.embedder.asked == before + 2, "the question was embedded once, and the new text"
    reading = setup.read()
    assert reading is not None
    assert reading.compared is not None
    assert reading.compared.scanned_at is None


def _overlaid(setup: Setup, changes: int = 200) -> RecallEngine:
    """As with an indexer in the background, which has not come to it yet."""
    return replace(setup.engine, settings=RecallSettings(overlaid_changes=changes))


def test_a_recall_right_after_a_write_writes_no_index_and_makes_few_round_trips(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(setup)
    setup.engine.answer(Request("zebra", MAIN))
    position = setup.vectors.log_position()
    setup.store.put([draft("new", "a zebra in the garden"), draft("tea", "green tea")], actor=ACTOR)
    setup.store.forget("main", "paper", actor=ACTOR)
    trips = 0
    begin = ConnectionPool.begin

    def counted(pool: ConnectionPool, first: Any) -> Any:
        nonlocal trips
        trips += 1
        return begin(pool, first)

    with monkeypatch.context() as patched:
        patched.setattr(ConnectionPool, "begin", counted)
        hits = _overlaid(setup).answer(Request("zebra", MAIN))
    assert [hit.key for hit in hits[:1]] == ["new"]
    # The scopes, what they have changed, the changed entries, their similarities, and the hits.
    assert trips == 5 + any(hit.scope == "public" for hit in hits)
    assert setup.vectors.log_position() == position
    setup.drain()
    assert setup.engine.answer(Request("zebra", MAIN)) == hits


def test_more_changes_than_an_overlay_takes_are_taken_in_first(setup: Setup) -> None:
    _fill(setup)
    setup.store.put([draft(f"new {n}", f"a zebra in garden {n}") for n in range(4)], actor=ACTOR)
    assert len(_overlaid(setup, 3).answer(Request("zebra", MAIN, limit=4))) == 4
    assert setup.vectors.log_position() == setup.store.head()


def test_where_new_texts_cannot_be_embedded_the_words_answer(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    _fill(setup)
    setup.store.put([draft("new", "a zebra in the garden")], actor=ACTOR)

    def fail(*_: object) -> None:
        raise ModelError("the embedder is away")

    monkeypatch.setattr(PostgresVectors, "similarities", fail)
    hits = _overlaid(setup).answer(Request("zebra", MAIN))
    assert [hit.key for hit in hits] == ["new"]
    assert hits[0].explanation is not None
    assert {part.index: part.answered for part in hits[0].explanation.coverage} == {"text": True, "vectors": False}


def test_what_other_scopes_have_written_keeps_nobody_waiting(setup: Setup) -> None:
    _fill(setup)
    setup.store.put([draft("new", "a zebra in the garden", scope="elsewhere")], actor=ACTOR)
    assert setup.vectors.log_position() != setup.store.head()
    assert setup.read() is not None
    elsewhere = setup.read(Filters(scopes=("elsewhere",)))
    assert elsewhere is not None
    assert elsewhere.compared is not None
    assert elsewhere.compared.scanned_at is not None


@pytest.mark.parametrize(
    "damage",
    [
        "DROP SCHEMA jiyi_search CASCADE",
        "DROP TABLE jiyi_search.texts",
        "DROP TABLE jiyi_search.vectors",
        "UPDATE jiyi_search.text_state SET identity = 'another'",
        "UPDATE jiyi_search.vector_meta SET identity = 'another'",
        # Of another history, as after a restored backup.
        "UPDATE jiyi_search.text_state SET fingerprint = 'another'",
        "UPDATE jiyi_search.vector_meta SET fingerprint = 'another'",
        "DELETE FROM jiyi_search.text_intact",
    ],
)
def test_a_lost_or_foreign_index_is_not_read_but_mended(setup: Setup, damage: str) -> None:
    _fill(setup)
    wanted = setup.engine.answer(Request("apple", MAIN))
    setup.execute(damage)
    assert setup.read() is None
    assert setup.engine.answer(Request("apple", MAIN)) == wanted
    assert setup.read() is not None


def test_large_scopes_are_not_read_whole(setup: Setup) -> None:
    setup.store.put([draft(f"k{n}", f"apple {n}") for n in range(12)], actor=ACTOR)
    setup.drain()
    small = PostgresReader(setup.database, setup.text, setup.vectors, max_texts=12)
    assert small.read(MAIN, None, fields={"words"}) is not None
    setup.store.put([draft("one more", "apple")], actor=ACTOR)
    assert small.worthwhile(MAIN.scopes)
    assert small.read(MAIN, None, fields={"words"}) is None
    assert not small.worthwhile(MAIN.scopes), "it is not tried again at once"
    assert small.worthwhile(("other", "public"))


def test_without_the_embedder_the_words_answer_and_say_so(setup: Setup) -> None:
    _fill(setup)
    setup.embedder.broken = True
    hits = setup.engine.answer(Request("apple", MAIN))
    assert hits
    explanation = hits[0].explanation
    assert explanation is not None
    assert {part.index: part.answered for part in explanation.coverage} == {"text": True, "vectors": False}
    assert "the embedder is away" in explanation.coverage[1].note


# --- the wire --------------------------------------------------------------------------------------------------------


def test_prepared_statements_that_somebody_cleared_are_prepared_again(setup: Setup) -> None:
    with psycopg.connect(setup.url, autocommit=True) as connection:
        wire, one = PipelineConnection(connection), BoundStatement(Statement("SELECT 1::bigint"))
        assert wire.execute([one, one]) == [[(1,)], [(1,)]]
        connection.execute("DEALLOCATE ALL")
        assert wire.execute([one]) == [[(1,)]]


def test_an_error_ends_what_was_sent_and_nothing_else(setup: Setup) -> None:
    with psycopg.connect(setup.url, autocommit=True) as connection:
        wire, one = PipelineConnection(connection), BoundStatement(Statement("SELECT 1::bigint"))
        for wrong in ("SELECT 1 / 0", "SELECT nothing", "SELECT 1::bigint FROM nowhere"):
            with pytest.raises(psycopg.Error):
                wire.execute([one, BoundStatement(Statement(wrong)), one])
            assert connection.info.transaction_status is psycopg.pq.TransactionStatus.IDLE
            assert wire.execute([one]) == [[(1,)]]


def test_a_connection_that_was_left_in_the_middle_of_an_answer_is_not_used_again(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(setup)
    wanted = setup.engine.answer(Request("apple", MAIN))

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("jiyi.backends.postgres.wire._wait", interrupt)
        with pytest.raises(KeyboardInterrupt):
            setup.engine.answer(Request("apple", MAIN))
        with pytest.raises(KeyboardInterrupt):
            setup.store.put([draft("lost", "a zebra")], actor=ACTOR)
    assert setup.engine.answer(Request("apple", MAIN)) == wanted
    assert setup.store.get(("main",), "lost") is None


def test_what_was_prepared_may_be_cleared_between_two_writes(setup: Setup) -> None:
    setup.store.put([draft("one", "apple")], actor=ACTOR)
    connection, _ = setup.database.pool.begin(lambda new: new.execute("DEALLOCATE ALL"))
    setup.database.pool.release(connection)
    setup.store.put([draft("two", "apple pie"), draft("one", "pear")], actor=ACTOR)
    assert setup.text.log_position() == setup.store.head()
    assert setup.text.check() == []
    setup.drain()
    assert [hit.key for hit in setup.engine.answer(Request("apple", MAIN, mode="keyword"))] == ["two"]


def test_settings_hold_for_what_is_sent_together(setup: Setup) -> None:
    with psycopg.connect(setup.url, autocommit=True) as connection:
        wire, value = (
            PipelineConnection(connection),
            BoundStatement(Statement("SELECT current_setting('jiyi.scopes', true)")),
        )
        said = BoundStatement(
            Statement("SELECT set_config('jiyi.scopes', :scopes, true)", {"scopes": TEXT}), [text_parameter("mine")]
        )
        assert wire.execute([said, value]) == [[("mine",)], [("mine",)]]
        assert wire.execute([value]) in ([[("",)]], [[(None,)]])


def test_texts_arrive_as_they_are(setup: Setup) -> None:
    hard = ["", 'a "b" \\c', "{x,y}", "NULL", "杭州\n早报", "💡", " "]
    with psycopg.connect(setup.url, autocommit=True) as connection:
        asked = BoundStatement(Statement("SELECT unnest(:texts)", {"texts": TEXT_ARRAY}), [text_array(hard)])
        assert PipelineConnection(connection).execute([asked]) == [[(value,) for value in hard]]
    # It would be cut there, and another scope might be meant.
    with pytest.raises(psycopg.DataError, match="NUL"):
        text_array(["main\x00other"])


def test_a_cursor_takes_values_by_name_or_in_order(setup: Setup) -> None:
    with psycopg.connect(setup.url, autocommit=True, cursor_factory=NamedCursor) as connection:

        def row(statement: str | sql.Composed, values: Any = None) -> Any:
            return connection.execute(statement, values).fetchone()

        statement = "SELECT :b::int, :a::text, :b::int, 'it''s :a', 7 % 4"
        for values in ({"a": "x", "b": 2, "more": 3}, [2, "x"]):
            assert row(statement, values) == (2, "x", 2, "it's :a", 3)
        assert row("SELECT ':a', 7 % 4") == (":a", 3)
        assert row("SELECT 'y' IN :values", {"values": ("x", "y")}) == (True,)
        named = sql.SQL("SELECT t.{name} FROM (SELECT :a::text AS {name}) t").format(name=sql.Identifier("it's :b"))
        assert row(named, {"a": "x"}) == ("x",)
        with connection.cursor() as cursor:
            cursor.execute("CREATE TEMPORARY TABLE pairs (a int, b text)")
            cursor.executemany("INSERT INTO pairs VALUES (:a, :b)", [(1, "x"), {"b": "y", "a": 2}])
            assert cursor.execute("SELECT * FROM pairs ORDER BY a").fetchall() == [(1, "x"), (2, "y")]


def test_a_large_question_gets_a_large_answer(setup: Setup) -> None:
    many = [f"{n:0100d}" for n in range(50_000)]
    with psycopg.connect(setup.url, autocommit=True) as connection:
        (rows,) = PipelineConnection(connection).execute(
            [BoundStatement(Statement("SELECT unnest(:texts)", {"texts": TEXT_ARRAY}), [text_array(many)])]
        )
    assert [row[0] for row in rows] == many


def test_without_prepared_statements_everything_is_found_as_well(setup: Setup) -> None:
    _fill(setup)
    database = PostgresDatabase(f"{setup.url}?prepare_threshold=0")
    try:
        reader = PostgresReader(database, setup.text, setup.vectors)
        reading = reader.read(MAIN, None, fields={"words", "bigrams"})
        assert reading is not None
        wanted = setup.text.propose("words", ["appl"], MAIN, limit=9, labels=True)
        assert reading.text.propose("words", ["appl"], MAIN, limit=9, labels=True) == wanted
        store = SqlRecordStore(database)
        assert store.fetch(wanted, MAIN) == setup.store.fetch(wanted, MAIN)
        with database.read() as connection:
            assert connection.scalar("SELECT count(*) FROM pg_prepared_statements") == 0
    finally:
        database.close()


def test_sessions_that_were_ended_are_replaced_without_a_word(setup: Setup) -> None:
    _fill(setup)
    wanted = setup.engine.answer(Request("apple", MAIN))
    with psycopg.connect(setup.url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert setup.engine.answer(Request("apple", MAIN)) == wanted


def test_who_waits_too_long_is_told_to_try_again(setup: Setup) -> None:
    _fill(setup)
    with psycopg.connect(setup.url) as connection:
        connection.execute("LOCK TABLE jiyi_search.texts IN ACCESS EXCLUSIVE MODE")
        with pytest.raises((StoreBusyError, StoreUnavailableError)):
            setup.read()
    assert setup.read() is not None


def test_records_are_read_behind_the_fence(setup: Setup) -> None:
    setup.store.put([draft("mine", "apple"), draft("theirs", "apple", scope="other")], actor=ACTOR)
    ids = [entry.id for entry in setup.store.page(Filters(scopes=("main", "other")), limit=9, offset=0)]
    fenced = SqlRecordStore(PostgresDatabase(as_app(setup.url)))
    try:
        assert {entry.key for entry in fenced.fetch(ids, MAIN).values()} == {"mine"}
        assert {entry.key for entry in fenced.fetch(ids, None).values()} == {"mine", "theirs"}
        assert fenced.time_range(("nobody",)) is None
        assert fenced.time_range(("main", "other")) == setup.store.time_range(("other", "main"))
        # Outside of what is sent together nothing is seen at all.
        with psycopg.connect(as_app(setup.url), autocommit=True) as connection:
            assert connection.execute("SELECT count(*) FROM memory_records").fetchone() == (0,)
    finally:
        fenced.close()


def test_many_threads_share_the_connections(setup: Setup) -> None:
    import asyncio

    _fill(setup)
    wanted = {question: setup.engine.answer(Request(question, MAIN)) for question in _QUESTIONS}
    workers = Workers(12, name="asking")

    async def ask() -> None:
        async def one(question: str) -> None:
            assert await workers.run(lambda: setup.engine.answer(Request(question, MAIN))) == wanted[question]

        await asyncio.gather(*(one(question) for question in _QUESTIONS * 10))

    try:
        asyncio.run(ask())
    finally:
        workers.close()


# --- texts that are kept ---------------------------------------------------------------------------------------------


def _agrees(setup: Setup, filters: Filters = MAIN) -> bool:
    """Whether the texts are those that a process reads which has kept nothing."""
    kept = setup.read(filters)
    fresh = PostgresReader(setup.database, setup.text, setup.vectors).read(filters, None, fields={"words", "bigrams"})
    assert kept is not None
    assert fresh is not None
    ids = [entry.id for entry in setup.store.page(Filters(filters.scopes), limit=500, offset=0)]
    words, bigrams = ("apple", "zebra", "早报"), ("早报", "绿茶")
    return kept.text.windows(ids, reach=2) == fresh.text.windows(ids, reach=2) and (
        kept.text.statistics((), words, bigrams) == fresh.text.statistics((), words, bigrams)
    )


def test_texts_of_a_scope_that_has_not_changed_are_not_sent_again(setup: Setup) -> None:
    _fill(setup)
    first, second = setup.read(), setup.read()
    assert first is not None
    assert second is not None
    assert second.text is first.text
    setup.store.put([draft("theirs", "apple", scope="elsewhere")], actor=ACTOR)
    third = setup.read()
    assert third is not None
    assert third.text is first.text, "a write of another scope changes nothing here"
    elsewhere = setup.read(Filters(scopes=("elsewhere",)))
    assert elsewhere is not None
    assert elsewhere.text is not first.text


def test_every_change_of_any_process_is_in_the_next_reading(setup: Setup) -> None:
    _fill(setup)
    theirs = PostgresDatabase(setup.url, pool_size=2)
    their_store = SqlRecordStore(theirs)
    PostgresTextIndex(theirs, _analyzer, their_store.store_id).follow()
    assert _agrees(setup)
    changes: dict[str, Callable[[], object]] = {
        "a new memory": lambda: their_store.put([draft("new", "a zebra reads 早报")], actor=ACTOR),
        "another text": lambda: their_store.put([draft("new", "an apple")], actor=ACTOR),
        "for everybody": lambda: their_store.put([draft("all", "apple zebra", scope="public")], actor=ACTOR),
        "forgotten": lambda: their_store.forget("main", "new", actor=ACTOR),
        "by this process": lambda: setup.store.put([draft("mine", "zebra")], actor=ACTOR),
    }
    for name, change in changes.items():
        change()
        assert _agrees(setup), name
    only = Filters(scopes=("lonely",))
    their_store.put([draft("one", "apple", scope="lonely")], actor=ACTOR)
    assert _agrees(setup, only)
    their_store.forget("lonely", "one", actor=ACTOR)
    assert _agrees(setup, only), "nothing is left, and that is a change"
    theirs.close()


def test_cached_texts_are_read_again_where_the_log_does_not_tell(setup: Setup) -> None:
    _fill(setup)
    first = setup.read()
    assert first is not None
    setup.text.rebuild(setup.store)
    second = setup.read()
    assert second is not None
    assert second.text is not first.text, "a rebuild makes another table"
    readings = setup.reader._cache
    kept = readings.get(MAIN.scopes)
    assert kept is not None
    readings.put(MAIN.scopes, replace(kept, at=kept.at._replace(entry_id="of another log")))
    third = setup.read()
    assert third is not None
    assert third.text is not second.text, "the line of the log is another one"
    readings.put(MAIN.scopes, replace(kept, at=kept.at._replace(sequence=kept.at.sequence - 3_000)))
    fourth = setup.read()
    assert fourth is not None
    assert fourth.text is not third.text, "too many lines to look through"


def test_cached_texts_have_every_column_that_was_asked_for(setup: Setup) -> None:
    _fill(setup)
    tea = Filters(MAIN.scopes, tags=("茶",))
    by_words = setup.reader.read(MAIN, None, fields={"words"})
    by_pairs = setup.reader.read(MAIN, None, fields={"words", "bigrams"})
    filtered = setup.reader.read(tea, None, fields={"words"})
    assert by_words is not None
    assert by_pairs is not None
    assert filtered is not None
    pairs = _analyzer.query("绿茶").bigrams
    expected = setup.text.propose("bigrams", pairs, MAIN, limit=5)
    assert expected
    assert by_pairs.text.propose("bigrams", pairs, MAIN, limit=5) == expected
    assert filtered.text.propose("bigrams", pairs, tea, limit=5) == expected[:1]
    last = setup.reader.read(MAIN, None, fields={"words"})
    assert last is not None
    assert last.text is filtered.text, "what has more columns serves questions that need fewer"


def test_the_cache_of_texts_has_a_limit() -> None:
    def texts(count: int) -> ScopeReading:
        rows = [("main", None, 0, 0, str(number), 1, 1, 0, b"", b"", 0) for number in range(count)]
        return ScopeReading(InMemoryTextIndex(rows), Columns(bigrams=False, filtered=False), NEVER)

    cache = TextCache(max_texts=5)
    for name in "abc":
        cache.put((name,), texts(3))
    assert [cache.get((name,)) is not None for name in "abc"] == [False, False, True]
    cache.put(("large",), texts(9))
    assert cache.get(("large",)) is not None, "the last one is always kept"
    assert cache.get(("c",)) is None


def test_a_question_with_a_common_word_is_embedded_and_compared_once(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    things = ("kayak", "ladder", "teapot", "lantern", "trumpet", "saddle", "compass", "blanket", "hammer", "kettle")
    setup.store.put([draft(f"{n}", f"Nora has bought {n} of {things[n % 10]}") for n in range(40)], actor=ACTOR)
    setup.drain()
    request = Request("Where is Nora's kayak?", MAIN)
    compared: list[Filters] = []
    compare = PostgresReader.compare

    def counted(reader: PostgresReader, filters: Filters, vector: Any) -> Any:
        compared.append(filters)
        return compare(reader, filters, vector)

    monkeypatch.setattr(PostgresReader, "compare", counted)
    first = setup.engine.answer(request)
    assert len(compared) == 1, "only the texts say that everything is about Nora"
    asked = setup.embedder.asked
    assert setup.engine.answer(request) == first == replace(setup.engine, reader=None).answer(request)
    assert len(compared) == 1
    assert setup.embedder.asked == asked + 2, "once for each of the two answers"
    for n in range(40):
        setup.store.forget("main", f"{n}", actor=ACTOR)
    setup.store.put([draft(f"x{n}", f"Otto has bought {n} of {things[n % 10]}") for n in range(40)], actor=ACTOR)
    setup.drain()
    assert setup.engine.answer(request) == replace(setup.engine, reader=None).answer(request)
    assert len(compared) == 2, "the texts that were kept had another common word"

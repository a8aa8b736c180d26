"""The text index in PostgreSQL is written with the records, and what happens to it never happens to them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.postgres.text import scorer_queries
from jiyi.backends.postgres.text.index import SCHEMA_VERSION, PostgresTextIndex
from jiyi.backends.records.store import SqlRecordStore
from jiyi.errors import IndexDamagedError
from jiyi.indexing import Drainer, verify
from jiyi.model.filters import Filters
from jiyi.recall import RecallEngine, Request
from jiyi.recall.settings import RecallSettings
from jiyi.recall.tags import TagMirror
from jiyi.sync import AgentMemory
from jiyi.testing.conformance.examples import ACTOR, draft, entry
from jiyi.text import Analyzer
from tests.servers.fixtures import NewDatabase
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.server

MAIN = Filters(scopes=("main",))
_analyzer = Analyzer()


@dataclass
class Setup:
    """A store whose index is written with the records."""

    url: str
    database: PostgresDatabase
    store: SqlRecordStore
    index: PostgresTextIndex

    def found(self, text: str, filters: Filters = MAIN, field: str = "words") -> set[str]:
        """Keys of what is proposed, without draining anything."""
        query = _analyzer.query(text)
        terms = query.words if field == "words" else query.bigrams
        ids = self.index.propose(field, terms, filters, limit=100, labels=True)
        return {e.key or "" for e in self.store.fetch(ids, filters).values()}

    def sound(self) -> bool:
        """Whether the index is exactly what the records say."""
        report = verify(self.store, Drainer(self.store), self.index)
        assert report.sound, report
        return True

    def execute(self, statement: str) -> None:
        """As somebody else would."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)


OpenSetup = Callable[..., Setup]


@pytest.fixture
def open_setup(postgres_url: str) -> Iterator[OpenSetup]:
    """Opens the store once more, as another process does."""
    opened: list[PostgresDatabase] = []

    def make(*, follow: bool = True, **options: Any) -> Setup:
        database = PostgresDatabase(postgres_url)
        opened.append(database)
        store = SqlRecordStore(database)
        index = PostgresTextIndex(database, Analyzer(), store.store_id, **{"small_scope": 0, **options})
        if follow:
            index.follow()
        return Setup(postgres_url, database, store, index)

    yield make
    for database in opened:
        database.close()


@pytest.fixture(params=[True, False], ids=["pg_search", "tsvector"])
def built(request: pytest.FixtureRequest, open_setup: OpenSetup) -> Setup:
    """An index that has been built, in each of the two ways."""
    setup = open_setup(pg_search=request.param)
    setup.index.rebuild(setup.store)
    return setup


def test_terms_that_a_recall_has_counted_are_not_counted_again(built: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    built.store.put([draft(f"k{n}", f"green tea {n} 绿茶") for n in range(5)], actor=ACTOR)
    words, pairs = ["green", "tea"], ["绿茶"]
    plain = [built.index.propose("words", words, MAIN, limit=3, labels=True)]
    plain.append(built.index.propose("bigrams", pairs, MAIN, limit=3))
    totals = built.index.statistics(MAIN.scopes, (), ())
    view = built.index.for_recall()
    counted = view.statistics(MAIN.scopes, words, pairs)
    assert counted == built.index.statistics(MAIN.scopes, words, pairs)
    monkeypatch.setattr(scorer_queries, "statistics", None)
    assert [
        view.propose("words", words, MAIN, limit=3, labels=True),
        view.propose("bigrams", pairs, MAIN, limit=3),
    ] == plain
    assert view.statistics(MAIN.scopes, (), ()) == totals


# --- in the transaction of the records --------------------------------------------------------------------------------


def test_what_was_stored_is_found_without_any_draining(built: Setup) -> None:
    built.store.put([draft("paper", "我每天早上看杭州早报"), draft("tea", "green tea")], actor=ACTOR)
    assert built.index.log_position() == built.store.head()
    assert built.found("早报") == {"paper"}
    assert built.found("tea") == {"tea"}
    built.store.put([draft("tea", "black coffee")], actor=ACTOR)
    built.store.forget("main", "paper", actor=ACTOR)
    assert built.index.log_position() == built.store.head()
    assert built.found("早报") == set()
    assert built.found("tea coffee") == {"tea"}
    assert built.sound()


def test_a_transaction_that_is_undone_leaves_nothing_in_the_index(built: Setup) -> None:
    built.store.put([draft("kept", "apple")], actor=ACTOR)
    before = built.index.log_position()

    def refuse(*_: object) -> None:
        raise RuntimeError("after the index was written")

    built.database.before_commit(refuse)
    with pytest.raises(RuntimeError):
        built.store.put([draft("lost", "apple banana"), draft("kept", "cherry")], actor=ACTOR)
    assert built.index.log_position() == before == built.store.head()
    assert built.found("apple banana cherry") == {"kept"}
    assert built.index.statistics(["main"], _analyzer.query("banana apple").words, []).word_df == (0, 1)
    assert built.sound()


def test_scopes_are_written_at_the_same_time_and_nothing_is_lost(built: Setup, open_setup: OpenSetup) -> None:
    other = open_setup(pg_search=built.index.mode.endswith("pg_search"))

    def write(setup: Setup, scope: str) -> None:
        for i in range(15):
            setup.store.put([draft(f"k{i % 5}", f"apple {scope} {i}", scope=scope)], actor=ACTOR)
            setup.store.put([draft(f"said {i}", "hello", scope=scope, conversation_id="talk", position=i)], actor=ACTOR)
            if i % 4 == 3:
                setup.store.forget(scope, f"k{i % 5}", actor=ACTOR)

    with ThreadPoolExecutor(4) as threads:
        work = [(built, "a"), (other, "b"), (built, "public"), (other, "a")]
        for future in [threads.submit(write, setup, scope) for setup, scope in work]:
            future.result()
    assert built.index.log_position() == built.store.head()
    assert built.sound()
    assert built.found("apple", Filters(scopes=("b",))) == built.found("apple", Filters(scopes=("a",))) != set()


def test_what_somebody_wrote_without_the_index_is_taken_in_before_the_mark_moves(
    built: Setup, open_setup: OpenSetup
) -> None:
    built.store.put([draft("one", "apple")], actor=ACTOR)
    mark = built.index.log_position()
    open_setup(follow=False).store.put([draft("two", "apple", scope="elsewhere")], actor=ACTOR)
    built.store.put([draft("three", "apple")], actor=ACTOR)
    assert built.index.log_position() == mark
    assert built.found("apple") == {"one", "three"}
    assert Drainer(built.store).drain(built.index) > 0
    assert built.index.log_position() == built.store.head()
    assert built.found("apple", Filters(scopes=("elsewhere",))) == {"two"}
    built.store.put([draft("four", "apple")], actor=ACTOR)
    assert built.index.log_position() == built.store.head()
    assert built.sound()


def test_roles_that_see_only_their_scopes_do_not_skip_what_others_wrote(
    built: Setup, open_setup: OpenSetup, postgres_url: str
) -> None:
    open_setup(follow=False).store.put([draft("foreign", "apple", scope="elsewhere")], actor=ACTOR)
    mark = built.index.log_position()
    role = f"fenced_{postgres_url.rpartition('/')[2]}"
    built.execute(
        f"CREATE ROLE {role} LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public, jiyi_search TO {role}; "
        f"GRANT USAGE ON SCHEMA jiyi_search TO {role}; "
        f"GRANT ALL ON ALL SEQUENCES IN SCHEMA public, jiyi_search TO {role}"
    )
    database = PostgresDatabase(postgres_url.replace("postgres@", f"{role}@"))
    try:
        store = SqlRecordStore(database)
        index = PostgresTextIndex(
            database, Analyzer(), store.store_id, pg_search=built.index.mode.endswith("pg_search")
        )
        index.follow()
        store.put([draft("own", "apple")], actor=ACTOR)
        assert index.log_position() == mark
        Drainer(store).drain(index)
        store.put([draft("own 2", "apple")], actor=ACTOR)
        assert index.log_position() == store.head()
    finally:
        database.close()
        built.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")
    assert built.found("apple") == {"own", "own 2"}
    assert built.sound()


def test_a_memory_on_postgres_has_nothing_to_drain(postgres_url: str, tmp_path: Path) -> None:
    with AgentMemory.open(tmp_path, storage=postgres_url, embedder="none", background_indexing=False) as memory:
        memory.store("first", "apple")
        memory.drain()
        memory.store("second", "apple and quince")
        memory.forget("first")
        [state] = memory.doctor()["indexes"]
        assert (state["index"], state["behind"], state["usable"]) == ("text", 0, True)
        assert [hit.key for hit in memory.recall("apple", mode="keyword")] == ["second"]
        memory.add_word("云原生网关")
        memory.store("third", "云原生网关已经上线")
        assert [hit.key for hit in memory.recall("云原生网关", mode="keyword")] == ["third"]
        assert all(report.sound for report in memory.verify())


# --- what happens to the index does not happen to the records ---------------------------------------------------------


def test_the_index_can_be_dropped_at_any_time(built: Setup) -> None:
    built.store.put([draft("one", "apple")], actor=ACTOR)
    built.execute("DROP SCHEMA jiyi_search CASCADE")
    assert built.index.log_position() is None
    with pytest.raises(IndexDamagedError):
        built.found("apple")
    built.store.put([draft("two", "apple")], actor=ACTOR)
    assert built.store.get(["main"], "two") is not None
    Drainer(built.store).drain(built.index)
    assert built.found("apple") == {"one", "two"}
    assert built.sound()


def test_a_table_of_the_index_that_is_gone_does_not_stop_a_write(built: Setup) -> None:
    built.execute("DROP TABLE jiyi_search.text_terms")
    built.store.put([draft("one", "apple")], actor=ACTOR)
    assert built.index.log_position() is None
    Drainer(built.store).drain(built.index)
    assert built.found("apple") == {"one"}


def test_an_index_that_refuses_a_change_does_not_refuse_it_for_the_records(built: Setup) -> None:
    built.execute("ALTER TABLE jiyi_search.texts ADD CONSTRAINT fussy CHECK (hash = 'never')")
    mark = built.index.log_position()
    built.store.put([draft("one", "apple")], actor=ACTOR)
    assert built.store.get(["main"], "one") is not None
    assert built.index.log_position() == mark != built.store.head()
    assert Drainer(built.store).state(built.index).behind == 1
    built.execute("ALTER TABLE jiyi_search.texts DROP CONSTRAINT fussy")
    Drainer(built.store).drain(built.index)
    assert built.sound()


def test_the_index_of_another_store_in_the_same_database_is_not_trusted(built: Setup) -> None:
    built.store.put([draft("one", "apple")], actor=ACTOR)
    stranger = PostgresTextIndex(built.database, Analyzer(), "another store", pg_search=True)
    assert stranger.log_position() is None
    assert list(stranger.contents()) == []


def test_wrong_numbers_and_lost_rows_are_noticed(built: Setup) -> None:
    built.store.put([draft(f"k{i}", f"apple {i}", conversation_id="talk", position=i) for i in range(3)], actor=ACTOR)
    assert built.index.check() == []
    built.execute("UPDATE jiyi_search.text_terms SET df = df + 1")
    built.execute("UPDATE jiyi_search.text_conversations SET length = length + 1")
    assert len(built.index.check()) >= 3
    Drainer(built.store).rebuild(built.index)
    assert built.sound()


def test_changes_during_a_rebuild_are_in_the_new_index(built: Setup) -> None:
    built.store.put([draft("one", "apple")], actor=ACTOR)

    def write(_done: int, _total: int | None) -> None:
        built.store.put([draft("two", "apple")], actor=ACTOR)
        built.store.forget("main", "one", actor=ACTOR)

    built.index.rebuild(built.store, progress=write)
    assert built.index.log_position() == built.store.head()
    assert built.found("apple") == {"two"}
    assert built.sound()


# --- the ways to propose ----------------------------------------------------------------------------------------------


def test_the_mode_is_named_and_follows_the_extension(open_setup: OpenSetup) -> None:
    lesser, best = open_setup(pg_search=False), open_setup(pg_search=True)
    lesser.index.rebuild(lesser.store)
    lesser.store.put([draft("one", "apple")], actor=ACTOR)
    described = lesser.index.describe()
    assert "without pg_search" in described["mode"] == lesser.index.mode
    assert "CREATE EXTENSION pg_search" in described["lesser_mode"]
    best.execute("CREATE EXTENSION pg_search")
    assert best.index.log_position() is None  # there is a better way now
    Drainer(best.store).drain(best.index)
    assert best.found("apple") == {"one"}
    assert best.index.mode == best.index.describe()["mode"] == "PostgreSQL, BM25 by jiyi, candidates by pg_search"
    assert "lesser_mode" not in best.index.describe()
    best.execute("DROP EXTENSION pg_search CASCADE")
    assert best.index.log_position() is None


def test_every_hit_names_the_mode(built: Setup) -> None:
    built.store.put([draft("tea", "他喜欢喝龙井茶")], actor=ACTOR)
    with ThreadPoolExecutor(1) as helpers:
        engine = RecallEngine(
            store=built.store,
            text=built.index,
            vectors=None,
            embedder=None,
            analyzer=_analyzer,
            drainer=Drainer(built.store),
            settings=RecallSettings(),
            zone=UTC,
            helpers=helpers,
            tags=TagMirror(built.store),
        )
        [hit] = engine.answer(Request("龙井", MAIN, mode="keyword"))
        assert hit.explanation is not None
        [coverage] = hit.explanation.coverage
        assert (coverage.index, coverage.answered, coverage.behind, coverage.note) == (
            "text",
            True,
            0,
            built.index.mode,
        )
        built.execute("DROP SCHEMA jiyi_search CASCADE")
        assert [again.key for again in engine.answer(Request("龙井", MAIN, mode="keyword"))] == ["tea"]


def test_two_frequent_words_find_a_text_that_no_rare_word_finds(open_setup: OpenSetup) -> None:
    setup = open_setup(pg_search=False)
    setup.index.rebuild(setup.store)
    setup.store.put([draft("both", "apple banana")], actor=ACTOR)
    for word in ("apple", "banana"):
        setup.store.put([draft(f"{word}{i}", f"{word} number{i}") for i in range(40)], actor=ACTOR)
    setup.index._by_tsvector = replace(setup.index._by_tsvector, max_candidates=10)
    best = setup.index.propose("words", _analyzer.query("apple banana").words, MAIN, limit=1)
    assert [entry.key for entry in setup.store.fetch(best, MAIN).values()] == ["both"]


def test_frequent_words_do_not_hide_what_has_the_rare_one(open_setup: OpenSetup) -> None:
    setup = open_setup(pg_search=False)
    setup.index.rebuild(setup.store)
    setup.store.put([draft(f"k{i}", f"apple number{i}") for i in range(40)], actor=ACTOR)
    setup.store.put([draft("rare", "apple quince")], actor=ACTOR)
    setup.index._by_tsvector = replace(setup.index._by_tsvector, max_candidates=10)
    assert "rare" in setup.found("apple quince")
    assert len(setup.found("apple")) == 10


def test_a_scope_that_grows_is_found_in_the_same_way_before_and_after(open_setup: OpenSetup) -> None:
    setup = open_setup(small_scope=10)
    setup.index.rebuild(setup.store)
    for size in (5, 10, 11, 30):
        setup.store.put([draft(f"k{i}", f"apple number{i} 香蕉{i}") for i in range(size)], actor=ACTOR)
        assert setup.found("apple") == {f"k{i}" for i in range(size)}
        assert setup.found("香蕉", field="bigrams") == {f"k{i}" for i in range(size)}
        assert setup.found(f"apple number{size - 1}", MAIN)
        newest = setup.index.propose(
            "words", _analyzer.query(f"apple number{size - 1}").words, MAIN, limit=1, labels=True
        )
        assert [e.key for e in setup.store.fetch(newest, MAIN).values()] == [f"k{size - 1}"]


def test_long_names_and_strange_texts_are_kept_and_found(built: Setup) -> None:
    scope, talk = "范围" * 128, "会话" * 256
    odd = [
        entry("long", "x" * 200 + " apple", scope=scope, conversation_id=talk, position=1, tags=("标" * 1_000,)),
        entry("quoted", 'it\'s \\ "apple" %s {} | & ! :*', scope=scope, tags=("a'b\\c", "{x}", "null")),
        entry("large", " ".join(f"word{i}" for i in range(8_000)), scope=scope),
    ]
    from jiyi.ports import Draft

    built.store.put([Draft(one) for one in odd], actor=ACTOR)
    filters = Filters(scopes=(scope,))
    assert built.found("apple", filters) == {"long", "quoted"}
    assert built.found("x" * 200, filters) == {"long"}
    assert built.found("word7999", filters) == {"large"}
    assert built.found("apple", Filters(scopes=(scope,), tags=("a'b\\c",))) == {"quoted"}
    assert built.found("apple", Filters(scopes=(scope,), conversations=(talk,))) == {"long"}
    assert built.found("apple", Filters(scopes=(scope,), tags=("\x00",))) == set()
    assert built.sound()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=30), tag=st.text(st.characters(exclude_categories=["Cs"]), max_size=5))
def test_any_text_is_a_legal_question(built: Setup, text: str, tag: str) -> None:
    query = _analyzer.query(text)
    filters = Filters(scopes=("main",), tags=(tag,), categories=(tag,), conversations=(tag,))
    for field, terms in (("words", query.words), ("bigrams", query.bigrams), ("words", text.split())):
        for given_filters in (MAIN, filters):
            assert built.index.propose(field, terms, given_filters, limit=5, labels=True) == []


# --- crashes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pg_search", [True, False], ids=["pg_search", "tsvector"])
def test_a_server_that_was_killed_leaves_an_index_that_is_sound_or_made_anew(
    pg_search: bool, new_postgres: NewDatabase
) -> None:
    del new_postgres
    with PostgresServer() as server:
        database = PostgresDatabase(server.url())
        try:
            store = SqlRecordStore(database)
            index = PostgresTextIndex(database, Analyzer(), store.store_id, pg_search=pg_search, small_scope=0)
            index.follow()
            index.rebuild(store)
            setup = Setup(server.url(), database, store, index)
            store.put([draft(f"k{i}", f"apple {i}") for i in range(300)], actor=ACTOR)
            server.stop()
            server.start()
            assert index.log_position() == store.head(), "a server that was stopped has lost nothing"
            store.put([draft("before", "apple pear")], actor=ACTOR)
            server.kill()
            server.start()
            if pg_search:
                assert index.log_position() is None, "its BM25 index is not in the server's log"
                assert "crash" in json.dumps(index.check())
            store.put([draft("after", "apple plum")], actor=ACTOR)
            Drainer(store).drain(index)
            assert index.log_position() == store.head()
            assert setup.found("pear plum") == {"before", "after"}
            assert setup.sound()
        finally:
            database.close()


def test_tables_of_an_older_layout_are_dropped_by_the_rebuild(built: Setup) -> None:
    built.execute("CREATE TABLE jiyi_search.text_talks (place uuid)")
    built.execute(f"UPDATE jiyi_search.text_state SET identity = replace(identity, '/{SCHEMA_VERSION}/', '/1/')")
    assert built.index.log_position() is None
    built.index.rebuild(built.store)
    assert built.index.log_position() == built.store.head()
    with pytest.raises(psycopg.errors.UndefinedTable):
        built.execute("SELECT FROM jiyi_search.text_talks")

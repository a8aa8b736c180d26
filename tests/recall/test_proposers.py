"""A proposer is one class and one entry of a list, wherever recall looks; damage is mended at every entrance."""

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC
from operator import attrgetter
from typing import Any

import pytest

from jiyi.backends.shared.in_memory_text import COLUMNS, FILTER_COLUMNS, InMemoryTextIndex
from jiyi.backends.shared.term_rows import analyse, features_of
from jiyi.components import Components
from jiyi.errors import IndexDamagedError, IndexingError, IndexUnavailableError
from jiyi.model.entry import IndexCoverage
from jiyi.model.filters import Filters
from jiyi.ports import Reading, VectorComparison
from jiyi.recall import PROPOSERS, RecallEngine, RecallSettings, Request
from jiyi.recall.question import Question
from jiyi.recall.search import Search
from jiyi.recall.tags import TagMirror
from jiyi.testing.conformance.examples import ACTOR, draft
from jiyi.testing.fakes import HashEmbedder
from jiyi.text import Analyzer
from jiyi.wiring import build

SCOPES = Filters(("main", "public"))
TEXTS = {"gate": "the garden gate is green", "lamp": "a lamp in the kitchen", "Ada": "Ada keeps bees"}


@dataclass(frozen=True)
class KeyProposer:
    """Proposes the entry whose key is the last word of the question, whatever its text says."""

    needs: str
    name: str = "keys"
    looks_in: tuple[str, ...] = ()

    def fields(self, question: Question) -> Sequence[str]:
        """As the test says."""
        return self.looks_in

    def propose(self, search: Search) -> Sequence[str]:
        """The id of the entry with that key."""
        entry = search.sources.records.get(search.request.filters.scopes, search.question.text.split()[-1])
        return [] if entry is None else [entry.id]


@dataclass(frozen=True)
class FailingProposer:
    """Cannot answer."""

    name: str = "far away"
    needs: str = "records"

    def fields(self, question: Question) -> Sequence[str]:
        """None."""
        return ()

    def propose(self, search: Search) -> Sequence[str]:
        """Fails."""
        raise IndexUnavailableError("its server is gone")


class InMemoryReader:
    """Reads every scope whole, out of the records."""

    def __init__(self, parts: Components) -> None:
        self._parts = parts
        self.readings = 0
        self.fields: AbstractSet[str] = set()

    def worthwhile(self, scopes: Sequence[str]) -> bool:
        return True

    def read(self, filters: Filters, vector: Any, *, fields: AbstractSet[str]) -> Reading | None:
        self.readings += 1
        self.fields = fields
        entries = self._parts.store.page(Filters(filters.scopes), limit=100, offset=0)
        wanted = attrgetter(*COLUMNS[: FILTER_COLUMNS.start])
        rows = [wanted(features_of(analyse(Analyzer(), entry))) for entry in entries]
        return Reading(InMemoryTextIndex(rows), "", None if vector is None else self.compare(filters, vector))

    def last_read(self, filters: Filters) -> None:
        return None

    def compare(self, filters: Filters, vector: Any) -> VectorComparison:
        engine = self._parts.engine
        assert isinstance(engine, RecallEngine)
        assert engine.vectors is not None
        return VectorComparison(engine.vectors.scan(vector, filters.scopes))


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Components]:
    parts = build(
        tmp_path_factory.mktemp("proposers"),
        embedder=HashEmbedder(),
        background_indexing=False,
        background_jobs=False,
        time_zone="UTC",
    )
    parts.store.put([draft(key, text) for key, text in TEXTS.items()], actor=ACTOR)
    for index in parts.indexes:
        parts.drainer.drain(index)
    yield parts
    parts.engine.close()
    for index in parts.indexes:
        index.close()
    parts.store.close()


@pytest.fixture(params=["indexes", "whole scopes"])
def engine(request: pytest.FixtureRequest, parts: Components) -> RecallEngine:
    """Over the indexes one by one, and over scopes that are read at once."""
    assert isinstance(parts.engine, RecallEngine)
    return replace(parts.engine, reader=InMemoryReader(parts) if request.param == "whole scopes" else None)


def proposed(engine: RecallEngine, question: str, mode: str = "keyword") -> int:
    """How many entries were compared."""
    return engine.answer_counted(Request(question, SCOPES, mode=mode)).candidates


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
@pytest.mark.parametrize("needs", ["text", "records"])
def test_a_proposer_that_is_added_to_the_list_is_heard_wherever_recall_looks(
    engine: RecallEngine, needs: str, mode: str
) -> None:
    words_alone = replace(engine, proposers=[each for each in PROPOSERS if each.name == "words"])
    with_keys = replace(words_alone, proposers=[*words_alone.proposers, KeyProposer(needs)])
    question = "which gate is green, asks lamp"
    assert proposed(words_alone, question.replace("lamp", "nobody"), mode) == 1
    assert proposed(with_keys, question.replace("green, asks lamp", "green, Ada"), mode) == 2
    if engine.reader is not None:
        assert isinstance(engine.reader, InMemoryReader)
        assert engine.reader.readings


def test_small_scopes_are_read_with_the_fields_that_the_proposers_state(parts: Components) -> None:
    assert isinstance(parts.engine, RecallEngine)
    reader = InMemoryReader(parts)
    engine = replace(parts.engine, reader=reader)
    engine.answer(Request("green gate", SCOPES))
    assert reader.fields == {"words"}
    engine.answer(Request("花园的门", SCOPES))
    assert reader.fields == {"words", "bigrams"}
    with_shapes = replace(engine, proposers=[*PROPOSERS, KeyProposer("text", looks_in=("shapes",))])
    with_shapes.answer(Request("green gate", SCOPES))
    assert reader.fields == {"words", "shapes"}


def test_both_ways_compare_the_same_candidates(parts: Components) -> None:
    assert isinstance(parts.engine, RecallEngine)
    for question in ("green gate", "bees and lamps", "zebra"):
        request = Request(question, SCOPES)
        one_by_one = replace(parts.engine, reader=None).answer_counted(request)
        assert replace(parts.engine, reader=InMemoryReader(parts)).answer_counted(request) == one_by_one


def test_a_proposer_that_cannot_answer_is_named_in_the_coverage(engine: RecallEngine) -> None:
    broken = replace(engine, proposers=[*PROPOSERS, FailingProposer()])
    hits = broken.answer(Request("green gate", SCOPES))
    assert hits[0].key == "gate"
    assert hits[0].explanation is not None
    failed = IndexCoverage("far away", answered=False, note="IndexUnavailableError: its server is gone")
    assert failed in hits[0].explanation.coverage
    with pytest.raises(IndexingError, match="far away: IndexUnavailableError"):
        broken.answer(Request("zebra", SCOPES, mode="keyword"))


@pytest.mark.parametrize(
    "entrance",
    [
        lambda engine, request: engine.answer(request),
        lambda engine, request: engine.answer_counted(request).hits,
    ],
    ids=["answer", "answer_counted"],
)
def test_every_entrance_asks_again_when_an_index_turns_out_damaged(
    parts: Components, entrance: Callable[[RecallEngine, Request], list[Any]]
) -> None:
    assert isinstance(parts.engine, RecallEngine)
    text = _DamagedOnce(parts.engine.text)
    engine = replace(parts.engine, text=text)
    assert [hit.key for hit in entrance(engine, Request("green gate", SCOPES, mode="keyword"))] == ["gate"]
    assert text.damaged


class _DamagedOnce:
    """A text index whose first proposal finds damage."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole
        self.damaged = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)

    def for_recall(self) -> Any:
        return self

    def propose(self, *asked: Any, **how: Any) -> Any:
        if not self.damaged:
            self.damaged = True
            raise IndexDamagedError("a file of the index is gone")
        return self._whole.propose(*asked, **how)


@pytest.mark.server
def test_on_postgresql_an_added_proposer_is_heard_in_small_scopes_and_without_the_short_cut(postgres_url: str) -> None:
    from jiyi.backends.postgres.database import PostgresDatabase
    from jiyi.backends.postgres.reader import PostgresReader
    from jiyi.backends.postgres.text.index import PostgresTextIndex
    from jiyi.backends.postgres.vectors.index import PostgresVectors
    from jiyi.backends.records.store import SqlRecordStore
    from jiyi.indexing import Drainer

    database = PostgresDatabase(postgres_url, pool_size=4, lock_timeout=0.5, statement_timeout=5)
    store, embedder, analyzer = SqlRecordStore(database), HashEmbedder(), Analyzer()
    text = PostgresTextIndex(database, analyzer, store.store_id)
    text.follow()
    vectors = PostgresVectors(database, embedder, store.store_id)
    drainer = Drainer(store)
    store.put([draft(key, content) for key, content in TEXTS.items()], actor=ACTOR)
    for index in (text, vectors):
        drainer.drain(index)
    reader = PostgresReader(database, text, vectors)
    with ThreadPoolExecutor(2) as helpers:
        engine = RecallEngine(
            store,
            text,
            vectors,
            embedder,
            analyzer,
            drainer,
            RecallSettings(),
            UTC,
            helpers,
            TagMirror(store),
            reader,
            [*(each for each in PROPOSERS if each.name == "words"), KeyProposer("records")],
        )
        assert reader.read(SCOPES, embedder.embed(["green"])[0], fields={"words"}) is not None
        for each in (engine, replace(engine, reader=None)):
            assert proposed(each, "which gate is green, Ada", "hybrid") == 2
    vectors.close()
    database.close()

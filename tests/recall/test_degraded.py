"""When an index is missing or behind, recall answers with what is there and says so; it never pretends."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jiyi.errors import IndexingError, IndexUnavailableError, InvalidInputError
from jiyi.model.entry import IndexCoverage
from jiyi.model.filters import Filters
from jiyi.model.recalled import RecalledEntries
from jiyi.model.relevance import MIN_RELEVANCE
from jiyi.ports import Embedder
from jiyi.recall import RecallEngine, Request
from jiyi.runtime.values import RecalledMemories
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from jiyi.testing.models import FailingEmbedder
from tests.support import keys, present

OpenMemory = Callable[..., AgentMemory]

PEOPLE = {
    "ada": "Ada keeps bees behind the house",
    "bob": "Bob repairs clocks in the cellar",
    "cao": "小曹在阳台上种番茄",
}


@pytest.fixture
def impatient(open_memory: OpenMemory) -> AgentMemory:
    """A memory whose indexes are whole, and which does not wait for them when they are not."""
    memory = open_memory(embedder=HashEmbedder(), freshness_seconds=0)
    memory.store_many({"key": key, "content": text} for key, text in PEOPLE.items())
    memory.drain()
    return memory


def remove(folder: Path, *names: str) -> None:
    """Take indexes away the way a user does. In one step: the engine may still write files into a folder."""
    away = folder / "removed"
    away.mkdir(exist_ok=True)
    for name in names:
        for path in list((folder / "data" / "search_index").glob(f"{name}*")):
            path.rename(away / path.name)


def coverage(memory: AgentMemory, question: str, **how: Any) -> dict[str, IndexCoverage]:
    """What the best hit says about the indexes."""
    return {part.index: part for part in present(memory.recall(question, **how)[0].explanation).coverage}


def test_an_answer_without_hits_says_as_well_that_an_index_did_not_answer(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=FailingEmbedder(HashEmbedder(), "500"))
    memory.runtime.remember("fact", "the cat sleeps", "", ["cat"])
    runtime = memory.runtime
    answers: list[RecalledEntries | RecalledMemories] = [
        memory.recall("zebra"),
        runtime.recall("zebra"),
        runtime.chained_recall("zebra"),
        runtime.comprehensive_recall("zebra"),
    ]
    for answer in answers:
        assert not answer
        assert [note for note in answer.notes if note.startswith("vectors did not answer") and "500" in note]
    said = memory.tools().answer("recall", {"query": "zebra"}).text
    assert said.startswith("Nothing is remembered about that. The search was incomplete: vectors did not answer")
    assert "vectors did not answer" in memory.tools().answer("recall", {"query": "cat"}).text


def test_an_answer_of_whole_indexes_lacks_nothing(impatient: AgentMemory) -> None:
    assert impatient.recall("bees").notes == ()
    assert impatient.recall("zebra", min_relevance=0.5).notes == ()
    assert "incomplete" not in impatient.tools().answer("recall", {"query": "bees"}).text


def test_whole_indexes_are_said_to_have_answered(impatient: AgentMemory) -> None:
    assert coverage(impatient, "bees") == {
        "text": IndexCoverage("text", answered=True),
        "vectors": IndexCoverage("vectors", answered=True),
    }
    assert set(coverage(impatient, "bees", mode="keyword")) == {"text"}, "meaning was not asked"


def test_what_has_no_vector_yet_is_as_relevant_as_its_words(
    open_memory: OpenMemory, bundled_embedder: Embedder
) -> None:
    memory = open_memory(embedder=bundled_embedder, freshness_seconds=0)
    memory.drain()
    memory.store("tea", "She drinks green tea")
    components = memory._target._components
    components.drainer.drain(next(index for index in components.indexes if index.name == "text"))
    (hit,) = memory.recall("tea", min_relevance=MIN_RELEVANCE)
    assert [part.behind for part in present(hit.explanation).coverage] == [0, 1]
    (by_words,) = memory.recall("tea", mode="keyword")
    assert hit.relevance_score == pytest.approx(by_words.relevance_score)
    assert hit.confident


@pytest.mark.parametrize(("question", "best"), [("bees behind the house", "ada"), ("阳台上种番茄", "cao")])
def test_without_the_text_index_meaning_answers(
    impatient: AgentMemory, tmp_path: Path, question: str, best: str
) -> None:
    remove(tmp_path, "text")
    hits = impatient.recall(question, 2)
    assert hits[0].key == best
    assert coverage(impatient, question) == {
        "text": IndexCoverage("text", answered=False, behind=3, note="missing or being rebuilt"),
        "vectors": IndexCoverage("vectors", answered=True),
    }
    shown = {name for name, part in hits[0].score_parts.items() if part}
    assert shown == {"dense", "score", "above_mean", "best_above_mean"}
    assert present(hits[0].explanation).matched_terms == ()
    assert keys(impatient.recall(question, 1, mode="semantic")) == [best]


def test_without_the_text_index_there_is_no_context_and_the_hit_says_why(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    memory = open_memory(embedder=HashEmbedder(), freshness_seconds=0)
    for position, text in enumerate(PEOPLE.values()):
        memory.store(str(position), text, conversation_id="people", position=position, tags=["person"])
    memory.drain()
    remove(tmp_path, "text")
    for hit in (memory.recall("clocks", 1, context=1)[0], memory.recall("person", mode="tags", context=1)[0]):
        assert hit.context == ()
        assert IndexCoverage("text", answered=False, behind=3, note="missing or being rebuilt") in (
            present(hit.explanation).coverage
        )


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_without_the_vectors_words_answer(impatient: AgentMemory, tmp_path: Path, mode: str) -> None:
    remove(tmp_path, "vectors")
    hits = impatient.recall("bees", mode=mode)
    assert keys(hits) == ["ada"]
    assert hits[0].score_parts["dense"] == 0
    found = coverage(impatient, "bees", mode=mode)
    assert found["text"].answered is True
    if mode == "hybrid":
        assert found["vectors"] == IndexCoverage("vectors", answered=False, behind=3, note="missing or being rebuilt")


def test_tags_need_no_index_at_all(impatient: AgentMemory, tmp_path: Path) -> None:
    impatient.store("dee", "Dee sails", tags=["boat"])
    remove(tmp_path, "text", "vectors")
    assert keys(impatient.recall("who has a boat?", mode="tags")) == ["dee"]


@pytest.mark.parametrize(
    ("gone", "mode"),
    [
        (("text", "vectors"), "hybrid"),
        (("text", "vectors"), "keyword"),
        (("text", "vectors"), "semantic"),
        (("text",), "keyword"),
        (("vectors",), "semantic"),
    ],
)
def test_when_no_index_can_answer_the_error_says_what_to_do(
    impatient: AgentMemory, tmp_path: Path, gone: tuple[str, ...], mode: str
) -> None:
    remove(tmp_path, *gone)
    with pytest.raises(IndexingError, match=r"missing or being rebuilt.*jiyi repair") as caught:
        impatient.recall("bees", mode=mode)
    for name in gone:
        if mode == "hybrid":
            assert f"{name}: missing" in str(caught.value)
    # And that helps.
    impatient.repair()
    assert keys(impatient.recall("bees behind the house", 1, mode=mode)) == ["ada"]


def test_a_patient_memory_rebuilds_what_is_missing_and_answers_in_full(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(embedder=HashEmbedder())
    memory.store_many({"key": key, "content": text} for key, text in PEOPLE.items())
    before = memory.recall("bees and clocks")
    remove(tmp_path, "text", "vectors")
    assert memory.recall("bees and clocks") == before
    assert all(part.answered and not part.behind for hit in before for part in present(hit.explanation).coverage)


def test_the_meaning_of_a_question_cannot_be_asked_without_an_embedder(memory: AgentMemory) -> None:
    memory.store("ada", PEOPLE["ada"])
    with pytest.raises(InvalidInputError, match=r"semantic.*embedder.*keyword"):
        memory.recall("bees", mode="semantic")
    (hit,) = memory.recall("bees")
    assert present(hit.explanation).coverage == (
        IndexCoverage("text", answered=True),
        IndexCoverage("vectors", answered=False, note="no embedder is configured"),
    )


def test_a_lag_is_visible(impatient: AgentMemory) -> None:
    impatient.store("dee", "Dee keeps bees as well")
    impatient.store("eve", "Eve is afraid of bees")
    impatient.store("fay", "somebody else's bees", scope="another")
    found = coverage(impatient, "bees")
    assert {name: (part.answered, part.behind) for name, part in found.items()} == {
        "text": (True, 2),
        "vectors": (True, 2),
    }
    assert keys(impatient.recall("bees", mode="keyword")) == ["ada"], "what is behind is not invented"
    impatient.drain()
    assert {part.behind for part in coverage(impatient, "bees").values()} == {0}
    assert set(keys(impatient.recall("bees", mode="keyword"))) == {"ada", "dee", "eve"}


def test_a_lag_never_shows_what_was_forgotten_or_changed(impatient: AgentMemory) -> None:
    impatient.forget("ada")
    impatient.store("bob", "Bob has sold his clocks")
    for mode in ("hybrid", "keyword", "semantic"):
        hits = impatient.recall("bees behind the house, clocks in the cellar", mode=mode)
        assert "ada" not in keys(hits)
        assert {hit.content for hit in hits if hit.key == "bob"} == {"Bob has sold his clocks"}
        assert present(hits[0].explanation).coverage[0].behind == 2


def test_one_index_may_be_behind_while_the_other_is_not(impatient: AgentMemory, tmp_path: Path) -> None:
    remove(tmp_path, "vectors")
    impatient.store("dee", "Dee keeps bees as well")
    found = coverage(impatient, "bees")
    assert (found["text"].answered, found["text"].behind) == (True, 1)
    assert (found["vectors"].answered, found["vectors"].behind) == (False, 4)


@pytest.mark.parametrize("when", ["log_position", "scan", "best", "of"])
def test_when_the_vectors_go_away_in_the_middle_of_an_answer_words_answer_alone(
    impatient: AgentMemory, when: str
) -> None:
    engine = impatient._target._components.engine
    assert isinstance(engine, RecallEngine)
    assert engine.vectors is not None
    broken = replace(engine, vectors=_Failing(engine.vectors, when))
    [hit] = broken.answer(Request("bees", Filters(("main",))))
    assert hit.key == "ada"
    assert hit.explanation is not None
    said = {part.index: part for part in hit.explanation.coverage}
    assert said["text"] == IndexCoverage("text", answered=True)
    assert said["vectors"].answered is False
    assert said["vectors"].note == "IndexUnavailableError: the server is gone"
    with pytest.raises(IndexingError, match=r"no index could answer.*the server is gone"):
        broken.answer(Request("bees", Filters(("main",)), mode="semantic"))


class _Failing:
    """An index, or a scan of it, of which one method fails."""

    def __init__(self, whole: Any, when: str) -> None:
        self._whole, self._when = whole, when

    def __getattr__(self, name: str) -> Any:
        if name == self._when:
            return self._fail
        found = getattr(self._whole, name)
        return (lambda *asked: _Failing(found(*asked), self._when)) if name == "scan" else found

    def _fail(self, *_: object, **__: object) -> Any:
        raise IndexUnavailableError("the server is gone")

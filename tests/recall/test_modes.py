"""The ways to ask, the scores of the answers, and what each hit says about why it was found."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from jiyi.errors import InvalidInputError
from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.model.relevance import CONFIDENT
from jiyi.ports import Embedder, ModelIdentity
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from tests.support import keys, present

OpenMemory = Callable[..., AgentMemory]

NOON = datetime(2025, 6, 18, 12, tzinfo=UTC)
RANKED = ("hybrid", "keyword", "semantic")
ON_TOP = {"relevance", "decay", "importance", "final"}
MEASURED = {"score", "information", "above_mean", "best_above_mean"}
"""Parts of the formula on top of relevance, not of relevance itself."""

numbers = count()


@pytest.fixture
def shared(open_memory: OpenMemory) -> AgentMemory:
    """One memory for all examples of a test, each in scopes of its own. Not of the module: each test has a profile."""
    return open_memory(embedder=HashEmbedder())


@pytest.fixture
def scope() -> str:
    return f"scope {next(numbers)}"


def store(memory: AgentMemory, scope: str, **texts: str) -> None:
    memory.store_many({"key": key, "content": text, "scope": scope} for key, text in texts.items())


# --- modes ----------------------------------------------------------------------------------------------------------


def test_keyword_finds_words_and_semantic_finds_meaning(open_memory: OpenMemory, bundled_embedder: Embedder) -> None:
    memory = open_memory(embedder=bundled_embedder)
    store(memory, "main", pet="My dog Rex barks at the postman.", serial="part number QX-7730", sky="晚上看到了流星雨")
    assert memory.recall("Which animal do I have?", mode="keyword") == []
    assert memory.recall("Which animal do I have?", mode="semantic")[0].key == "pet"
    assert memory.recall("Which animal do I have?")[0].key == "pet"
    assert keys(memory.recall("QX-7730", mode="keyword")) == ["serial"]
    assert memory.recall("QX-7730")[0].key == "serial"
    assert memory.recall("shooting stars at night", mode="semantic")[0].key == "sky"


class OppositeOfOdd:
    """An embedder to which every text means the same, and what has "odd" in it the contrary."""

    identity = ModelIdentity("opposite-of-odd", 2, "1")

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.asarray([[-1, 0] if "odd" in text else [1, 0] for text in texts], dtype=np.float32)


def test_a_word_of_the_question_is_enough_however_different_the_meaning(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=OppositeOfOdd())
    noise = {f"n{number}": f"walrus number {number}" for number in range(20)}
    store(memory, "main", tusk="the tusk of a walrus", odd="an odd walrus", **noise)
    (odd,) = (hit for hit in memory.recall("walrus tusk", 50) if hit.key == "odd")
    assert odd.score_parts["dense"] < 0, "its meaning counts against it"
    assert not odd.confident
    assert present(odd.explanation).matched_terms == ("walrus",)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    texts=st.lists(st.text("abc  山水茶", min_size=1, max_size=12).filter(str.strip), min_size=1, max_size=8),
    question=st.text("abc 山水茶", min_size=1, max_size=8).filter(str.strip),
)
def test_nothing_that_keyword_finds_is_lost_by_adding_meaning(
    shared: AgentMemory, texts: list[str], question: str
) -> None:
    scope = f"scope {next(numbers)}"
    store(shared, scope, **{f"k{number}": text for number, text in enumerate(texts)})
    by_words = keys(shared.recall(question, 50, scope=scope, mode="keyword"))
    assert set(by_words) <= set(keys(shared.recall(question, 50, scope=scope)))


def test_tags_find_what_is_tagged_with_words_of_the_question(shared: AgentMemory, scope: str) -> None:
    shared.store("both", "one", scope=scope, tags=["Tea", "绿茶"])
    shared.store("tea", "two", scope=scope, tags=["Tea"])
    shared.store("none", "tea and 绿茶 in the text only", scope=scope, tags=["river"])
    hits = shared.recall("喝ＴＥＡ还是绿茶？", scope=scope, mode="tags")
    assert keys(hits) == ["both", "tea"]
    both, tea = hits
    assert present(both.relevance_score) > 2 * present(tea.relevance_score) > 0.02
    assert both.confident
    assert not tea.confident
    assert [present(hit.explanation).matched_terms for hit in hits] == [("Tea", "绿茶"), ("Tea",)]
    assert [hit.score_parts["tags"] for hit in hits] == [1.0, 0.5]
    assert keys(shared.recall("喝ＴＥＡ还是绿茶？", scope=scope, mode="tags", min_relevance=0.2)) == ["both"]
    assert shared.recall("coffee", scope=scope, mode="tags") == []


@pytest.mark.parametrize("mode", ["", "Hybrid", "bm25", "语义"])
def test_an_unknown_mode_is_refused_with_the_known_ones(shared: AgentMemory, mode: str) -> None:
    with pytest.raises(InvalidInputError, match=r"unknown.*hybrid, keyword, semantic, tags"):
        shared.recall("tea", mode=mode)


# --- scores ---------------------------------------------------------------------------------------------------------

texts = st.text("ab 山水茶?？.\n", min_size=1, max_size=30).filter(str.strip)
drafts = st.lists(
    st.fixed_dictionaries(
        {"content": texts},
        optional={
            "conversation_id": st.sampled_from("AB"),
            "occurred_at": st.integers(0, 10**6).map(lambda seconds: NOON - timedelta(seconds=seconds)),
        },
    ),
    max_size=8,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@example(drafts=[{"content": "??"}], question="??", when="")
@given(drafts=drafts, question=texts, when=st.sampled_from(["", " yesterday", "上周"]))
def test_relevance_is_between_0_and_1_in_order_and_the_parts_add_up_to_the_score(
    shared: AgentMemory, drafts: list[dict[str, Any]], question: str, when: str
) -> None:
    scope = f"scope {next(numbers)}"
    shared.store_many({"key": str(number), "scope": scope, **draft} for number, draft in enumerate(drafts))
    for mode in RANKED:
        hits = shared.recall(question + when, scope=scope, mode=mode, now=NOON)
        scores = [present(hit.relevance_score) for hit in hits]
        assert scores == sorted(scores, reverse=True)
        for hit, score in zip(hits, scores, strict=True):
            assert 0 <= score <= 1
            assert not ON_TOP & hit.score_parts.keys()
            rules = {name: part for name, part in hit.score_parts.items() if name not in MEASURED}
            assert sum(rules.values()) == pytest.approx(hit.score_parts["score"], abs=1e-6)
            assert hit.confident is (score >= CONFIDENT)
            assert (hit.similarity is None) is (mode == "keyword")


def test_each_part_says_what_its_rule_added(shared: AgentMemory, scope: str) -> None:
    place: dict[str, Any] = {"scope": scope, "conversation_id": "boats"}
    for position, text in enumerate(["去哪儿买皮划艇？", "在港口的店里买皮划艇", "好的"]):
        moment = NOON - timedelta(days=1) + timedelta(minutes=position)
        shared.store(str(position), text, **place, position=position, occurred_at=moment)
    store(shared, scope, fact="皮划艇是蓝色的", other="今天下雨")
    hits = {hit.key: hit.score_parts for hit in shared.recall("昨天买皮划艇", scope=scope, now=NOON)}
    assert all(hits["1"][part] > 0 for part in ("words", "bigrams", "neighbours", "conversation", "date", "dense"))
    assert hits["0"]["question"] < 0
    assert hits["1"]["question"] == 0
    assert hits["2"]["words"] == 0
    assert hits["2"]["neighbours"] > 0
    assert (hits["fact"]["neighbours"], hits["fact"]["conversation"], hits["fact"]["date"]) == (0, 0, 0)
    english = shared.recall("green boat", scope=scope)
    assert all(hit.score_parts["bigrams"] == 0 for hit in english)


def test_semantic_order_is_by_similarity_and_nothing_else(shared: AgentMemory, scope: str) -> None:
    store(shared, scope, same="a boat on the river", other="zzzz")
    hits = shared.recall("a boat on the river", scope=scope, mode="semantic")
    assert hits[0].key == "same"
    assert hits[0].similarity == pytest.approx(1, abs=1e-3)
    assert hits[0].matched == ("boat", "river")
    rules = [{name for name, part in hit.score_parts.items() if part} - MEASURED for hit in hits]
    assert all(names <= {"dense"} for names in rules)


# --- the formula on top ---------------------------------------------------------------------------------------------


@pytest.fixture
def aged(open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch) -> AgentMemory:
    """Equally relevant memories that differ in age and importance."""
    memory = open_memory()
    for key, hours, importance in (("fresh", 0, 0.1), ("day", 24, 0.5), ("month", 720, 1.0)):
        monkeypatch.setattr(clock, "utc_now", lambda hours=hours: NOON - timedelta(hours=hours))
        memory.store(key, "green tea", importance=importance)
    return memory


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
@pytest.mark.parametrize("decay_rate", [0.99, 0.9, 1.0])
@pytest.mark.parametrize("weights", [(0.5, 0.2, 0.3), (1, 0, 0), (0, 1, 0), (0, 0, 1), (2.0, 0.5, 4)])
def test_weights_give_the_formula_of_the_design(
    aged: AgentMemory, mode: str, decay_rate: float, weights: tuple[float, float, float]
) -> None:
    alpha, beta, gamma = weights
    hits = aged.recall("green tea", mode=mode, weights=weights, decay_rate=decay_rate, now=NOON)
    assert len(hits) == 3
    finals = []
    for hit in hits:
        hours = {"fresh": 0, "day": 24, "month": 720}[present(hit.key)]
        parts = hit.score_parts
        assert parts["relevance"] == hit.relevance_score == hits[0].relevance_score
        assert parts["decay"] == pytest.approx(decay_rate**hours)
        assert parts["importance"] == hit.importance_score
        expected = alpha * parts["relevance"] + beta * parts["decay"] + gamma * parts["importance"]
        assert parts["final"] == pytest.approx(expected)
        finals.append(parts["final"])
    assert finals == sorted(finals, reverse=True)


def test_weights_can_bring_up_what_is_less_relevant(aged: AgentMemory) -> None:
    aged.store("vital", "tea, which among many other things nobody ever needs must never be hot", importance=1.0)
    assert keys(aged.recall("green tea", now=NOON))[-1] == "vital"
    assert set(keys(aged.recall("green tea", 2, weights=(0, 0, 1), now=NOON))) == {"vital", "month"}


def test_a_time_in_the_future_does_not_raise_a_score(aged: AgentMemory) -> None:
    hits = aged.recall("green tea", weights=(0, 1, 0), now=NOON - timedelta(days=365))
    assert {hit.score_parts["decay"] for hit in hits} == {1.0}


def test_weights_bring_as_many_hits_as_were_asked_for(open_memory: OpenMemory) -> None:
    memory = open_memory()
    store(memory, "main", **{f"k{number}": f"green tea number {number}" for number in range(70)})
    assert len(memory.recall("green tea", 70, weights=(0.5, 0.2, 0.3))) == 70


@pytest.mark.parametrize("weights", [(1, 2), (1, 2, 3, 4), (-1, 0, 0), ("a", 0, 0), (float("nan"), 0, 0), 5])
def test_weights_that_make_no_sense_are_refused(shared: AgentMemory, weights: Any) -> None:
    with pytest.raises(InvalidInputError, match="must be"):
        shared.recall("tea", weights=weights)


@pytest.mark.parametrize("decay_rate", [0, -0.5, 1.01, float("nan"), "slow"])
def test_a_decay_rate_that_makes_no_sense_is_refused(shared: AgentMemory, decay_rate: Any) -> None:
    with pytest.raises(InvalidInputError, match="decay_rate"):
        shared.recall("tea", weights=(1, 1, 1), decay_rate=decay_rate)


# --- why it was found -----------------------------------------------------------------------------------------------


def marked(hit: MemoryEntry) -> list[str]:
    assert hit.explanation is not None
    return [hit.content[start:end] for start, end in hit.explanation.highlights]


@pytest.mark.parametrize(
    ("content", "question", "expected", "terms"),
    [
        ("She was running along the Rivers of Babylon", "run river", ["running", "Rivers"], {"run", "river"}),
        ("我们在西湖边喝了一杯龙井茶", "西湖 龙井茶", ["西湖", "龙井茶"], {"西湖", "龙井茶"}),
        ("重跑gen-itgc后C盘满了", "gen-itgc", ["gen-itgc"], {"gen-itgc"}),
        ("ＡＢＣ公司的 café", "abc cafe", ["ＡＢＣ", "café"], {"abc", "cafe"}),
        ("臺灣的烏龍茶", "台湾乌龙茶", ["臺灣", "烏龍茶"], {"台湾", "乌龙茶"}),
    ],
)
def test_highlights_point_at_the_matched_words(
    shared: AgentMemory, scope: str, content: str, question: str, expected: list[str], terms: set[str]
) -> None:
    shared.store("k", content, scope=scope)
    (hit,) = shared.recall(question, scope=scope, mode="keyword", highlights=True)
    assert marked(hit) == expected
    assert terms <= set(present(hit.explanation).matched_terms)
    (plain,) = shared.recall(question, scope=scope, mode="keyword")
    assert present(plain.explanation).highlights == ()
    assert present(plain.explanation).matched_terms == present(hit.explanation).matched_terms


def test_words_of_the_key_and_the_tags_match_without_being_marked_in_the_text(shared: AgentMemory, scope: str) -> None:
    shared.store("umbrella stand", "in the hall", scope=scope, tags=["Furniture"])
    (hit,) = shared.recall("furniture umbrella", scope=scope, mode="keyword", highlights=True)
    assert set(present(hit.explanation).matched_terms) == {"umbrella", "furnitur"}
    assert marked(hit) == []


def test_matched_terms_are_those_of_the_hit_and_not_of_its_neighbours(shared: AgentMemory, scope: str) -> None:
    place: dict[str, Any] = {"scope": scope, "conversation_id": "c", "occurred_at": NOON}
    shared.store("0", "the blue kayak", **place, position=0)
    shared.store("1", "the harbour shop", **place, position=1)
    hits = {hit.key: hit for hit in shared.recall("kayak harbour", scope=scope, mode="keyword", highlights=True)}
    assert present(hits["0"].explanation).matched_terms == ("kayak",)
    assert marked(hits["1"]) == ["harbour"]


# --- filters --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [*RANKED, "tags"])
@pytest.mark.parametrize(
    "filters",
    [
        {"category": "rare"},
        {"memory_types": "rare"},
        {"domains": "rare"},
        {"tags": ["rare"]},
        {"until": NOON - timedelta(days=30)},
        {"since": NOON - timedelta(days=60), "until": NOON - timedelta(days=30)},
    ],
)
def test_a_filter_is_never_starved_by_better_matches_outside_it(
    crowd: AgentMemory, mode: str, filters: dict[str, Any]
) -> None:
    hits = crowd.recall("apples yesterday", 1, mode=mode, now=NOON, **filters)
    assert keys(hits) == ["wanted"]


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentMemory]:
    """One memory that the filters ask for, and many that match the question better."""
    folder = tmp_path_factory.mktemp("crowd")
    with AgentMemory.open(folder, embedder=HashEmbedder(), background_indexing=False, time_zone="UTC") as memory:
        memory.store_many(
            {
                "key": f"noise{number}",
                "content": "apples apples yesterday",
                "tags": ["apples", "yesterday"],
                "occurred_at": NOON - timedelta(days=1),
            }
            for number in range(300)
        )
        memory.store(
            "wanted",
            "one word about apples among many others",
            "rare",
            memory_type="rare",
            domain="rare",
            tags=["rare", "apples"],
            occurred_at=NOON - timedelta(days=45),
        )
        yield memory

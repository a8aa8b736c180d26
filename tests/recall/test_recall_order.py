"""The order of hits depends on the memories and the question alone: not on when, how often or in what order memories
were stored, taken into the indexes, changed and forgotten.
"""

import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.ports import ModelIdentity, TermStatistics, TextIndex
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from jiyi.text import Analyzer
from tests.recall.comparing import assert_same_hits
from tests.support import keys, present

OpenMemory = Callable[..., AgentMemory]
Drafts = list[dict[str, Any]]

NOON = datetime(2025, 6, 18, 12, tzinfo=UTC)
SETTINGS: dict[str, Any] = {"embedder": HashEmbedder(), "background_indexing": False, "time_zone": "UTC"}
WORDS = ("tea", "river", "green", "boat", "GX-20", "茶", "绿茶", "河边", "小船", "C盘", "the", "的")
QUESTIONS = (
    ("green tea by the river", "hybrid"),
    ("在河边喝绿茶", "hybrid"),
    ("C盘 tea on 15 June 2025", "hybrid"),
    ("6月中旬的小船", "keyword"),
    ("GX-20 boat", "semantic"),
)
MODES = ("hybrid", "keyword", "semantic")

numbers = count()


@pytest.fixture(autouse=True, scope="module")
def clock_stands_still() -> Iterator[None]:
    """Everything is stored at the same moment, so that this is no reason to prefer one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "utc_now", lambda: NOON)
        yield


@pytest.fixture
def shared(open_memory: OpenMemory) -> AgentMemory:
    """One memory for all examples of a test, each in scopes of its own. Not of the module: each test has a profile."""
    return open_memory(**SETTINGS)


def fresh_scope() -> str:
    return f"scope {next(numbers)}"


def answers(memory: AgentMemory, scope: str) -> list[list[MemoryEntry]]:
    """What each question brings."""
    return [
        memory.recall(question, 8, scope=scope, mode=mode, now=NOON, highlights=True) for question, mode in QUESTIONS
    ]


def assert_same(some: list[list[MemoryEntry]], others: list[list[MemoryEntry]]) -> None:
    for hits, other_hits in zip(some, others, strict=True):
        assert_same_hits(hits, other_hits)


# Few words, so that many texts are equally good answers.
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join) | st.sampled_from(
    ["Where is the green boat?", "茶在哪里？", "tea " * 40, "绿茶。" * 30]
)


@st.composite
def memories(draw: st.DrawFn) -> Drafts:
    """Facts, records with a time, and turns of conversations, in no order."""
    facts: Drafts = [{"content": text} for text in draw(st.lists(texts, max_size=6))]
    minutes = draw(st.lists(st.integers(0, 6_000), max_size=6, unique=True))
    records: Drafts = [{"content": draw(texts), "occurred_at": NOON - timedelta(minutes=minute)} for minute in minutes]
    places = draw(st.lists(st.tuples(st.sampled_from("AB"), st.integers(0, 9)), max_size=8, unique=True))
    turns: Drafts = [
        {
            "content": draw(texts),
            "conversation_id": name,
            "position": position,
            "occurred_at": NOON - timedelta(days=3) + timedelta(minutes=40 * position),
        }
        for name, position in places
    ]
    return [{"key": f"k{number}", **draft} for number, draft in enumerate(facts + records + turns)]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(drafts=memories(), data=st.data())
def test_the_order_of_storing_does_not_change_the_order_of_hits(
    shared: AgentMemory, drafts: Drafts, data: st.DataObject
) -> None:
    one, other = fresh_scope(), fresh_scope()
    shared.store_many({**draft, "scope": one} for draft in drafts)
    shared.store_many({**draft, "scope": other} for draft in data.draw(st.permutations(drafts)))
    assert_same(answers(shared, one), answers(shared, other))


@settings(max_examples=4)
@given(drafts=memories())
def test_many_small_batches_one_large_batch_and_a_rebuild_give_the_same_answers(drafts: Drafts) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        AgentMemory.open(Path(folder), **SETTINGS) as memory,
    ):
        for draft in drafts:
            memory.store(**draft, scope="bit by bit")
            memory.drain()
        memory.store_many({**draft, "scope": "at once"} for draft in drafts)
        memory.drain()
        before = answers(memory, "bit by bit")
        assert_same(answers(memory, "at once"), before)
        memory.rebuild()
        assert_same(answers(memory, "bit by bit"), before)
        assert_same(answers(memory, "at once"), before)


# --- what changed is forgotten without a trace ----------------------------------------------------------------------

step = st.one_of(
    st.tuples(st.sampled_from(["drain", "ask"])),
    st.tuples(st.just("forget"), st.sampled_from("abcdef")),
    st.tuples(
        st.just("store"),
        st.sampled_from("abcdef"),
        texts,
        st.sampled_from([None, "A", "B"]),
        st.sampled_from([(), ("tea",), ("river", "茶")]),
    ),
    st.tuples(st.just("say"), st.lists(texts, max_size=4)),
)


def live_through(memory: AgentMemory, scope: str, steps: Sequence[tuple[Any, ...]]) -> None:
    """Store, change, forget and talk; now and then the indexes are brought up to date, or vectors read into memory."""
    for action, *rest in steps:
        if action == "drain":
            memory.drain()
        elif action == "ask":
            memory.recall("green tea", scope=scope)
        elif action == "forget":
            memory.forget(rest[0], scope=scope)
        elif action == "store":
            key, content, conversation, tags = rest
            place = {} if conversation is None else {"conversation_id": conversation, "position": ord(key)}
            memory.store(key, content, scope=scope, tags=tags, **place)
        else:
            messages = [{"role": "user", "content": text} for text in rest[0]]
            memory.save_conversation_history("chat", messages, scope=scope)


def begin_anew(memory: AgentMemory, old: str, new: str) -> None:
    """What one scope holds now, stored in another as if nothing else had ever been there."""
    for entry in memory.list(scope=old, limit=1000):
        place: dict[str, Any] = {"conversation_id": entry.conversation_id, "position": entry.position}
        memory.store(present(entry.key), entry.content, scope=new, tags=entry.tags, **place)
    if messages := memory.load_conversation_history("chat", scope=old):
        memory.save_conversation_history("chat", messages, scope=new)


def text_index(memory: AgentMemory) -> TextIndex:
    index: TextIndex = memory._target._components.indexes[0]
    assert index.name == "text"
    return index


def statistics(memory: AgentMemory, scope: str) -> TermStatistics:
    """The numbers of a scope about every word there is."""
    everything = Analyzer().query(" ".join(WORDS) + " where is 哪里 在哪")
    return text_index(memory).statistics([scope], everything.words, everything.bigrams)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=st.lists(step, max_size=14))
def test_a_scope_with_a_past_answers_like_one_without(shared: AgentMemory, steps: list[tuple[Any, ...]]) -> None:
    lived, new = fresh_scope(), fresh_scope()
    live_through(shared, lived, steps)
    begin_anew(shared, lived, new)
    shared.drain()
    assert statistics(shared, lived) == statistics(shared, new)
    assert_same(answers(shared, lived), answers(shared, new))


@settings(max_examples=6)
@given(steps=st.lists(step, min_size=5, max_size=14))
def test_differences_add_up_to_what_a_rebuild_counts(steps: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder, AgentMemory.open(Path(folder), **SETTINGS) as memory:
        live_through(memory, "lived", steps)
        memory.drain()
        counted, answered = statistics(memory, "lived"), answers(memory, "lived")
        assert [report.to_dict() for report in memory.verify() if not report.sound] == []
        memory.rebuild()
        assert statistics(memory, "lived") == counted
        assert_same(answers(memory, "lived"), answered)


def test_an_empty_scope_and_one_that_was_emptied_have_the_same_statistics(shared: AgentMemory) -> None:
    emptied, empty = fresh_scope(), fresh_scope()
    shared.store("a", "green tea", scope=emptied, conversation_id="A", position=0)
    shared.drain()
    assert statistics(shared, emptied).entries == 1
    shared.forget("a", scope=emptied)
    shared.drain()
    assert statistics(shared, emptied) == statistics(shared, empty)


# --- ties -----------------------------------------------------------------------------------------------------------


def test_of_equal_hits_the_newer_event_comes_first(shared: AgentMemory) -> None:
    scope = fresh_scope()
    for key, days in (("b", 400), ("a", 900), ("c", 1), ("d", 30)):
        shared.store(key, "green tea", scope=scope, occurred_at=NOON - timedelta(days=days))
    for mode in MODES:
        assert keys(shared.recall("green tea", scope=scope, mode=mode)) == ["c", "d", "b", "a"]


def test_of_equal_hits_at_the_same_time_the_key_decides_and_then_the_text(shared: AgentMemory) -> None:
    scope = fresh_scope()
    shared.store("b", "tea at the lake", scope=scope)
    shared.store("c", "tea at the pond", scope=scope)
    shared.store("a", "tea at the well", scope=scope)
    assert keys(shared.recall("tea", scope=scope, mode="keyword")) == ["a", "b", "c"]
    for texts in (["tea at noon", "tea at dusk", "tea at dawn"], ["tea at dawn", "tea at noon", "tea at dusk"]):
        scope = fresh_scope()
        for number, text in enumerate(texts):
            shared.save_conversation_history(f"{number}", [{"role": "user", "content": text}], scope=scope)
        found = [hit.content for hit in shared.recall("tea", scope=scope, mode="keyword")]
        assert found == ["tea at dawn", "tea at dusk", "tea at noon"]


def test_what_was_said_twice_at_the_same_time_comes_in_the_order_of_the_conversation(shared: AgentMemory) -> None:
    scope = fresh_scope()
    said = [{"role": "user", "content": text} for text in ("tea", "boat", "boat", "boat", "tea")]
    for messages in (said[1:], said):  # the second time the places of all of them change
        shared.save_conversation_history("B", messages, scope=scope)
        shared.save_conversation_history("A", messages, scope=scope)
    hits = shared.recall("boat", 6, scope=scope, mode="semantic", duplicates=True)
    equal = [(hit.conversation_id, hit.position) for hit in hits if hit.relevance_score == hits[1].relevance_score]
    assert equal == sorted(equal)
    assert len(equal) > 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("weights", [None, (0.5, 0.2, 0.3)])
@pytest.mark.parametrize("limit", [1, 10, 100])
def test_a_limit_cuts_the_order_and_does_not_change_it(
    shared: AgentMemory, mode: str, weights: tuple[float, float, float] | None, limit: int
) -> None:
    """Forty equally good answers, stored in an order that is not that of their keys."""
    scope = fresh_scope()
    names = [f"k{(7 * number) % 40:02}" for number in range(40)]
    shared.store_many({"key": name, "content": "green tea by the river", "scope": scope} for name in names)
    hits = shared.recall("green tea", limit, scope=scope, mode=mode, weights=weights, now=NOON)
    assert keys(hits) == sorted(names)[:limit]


class Noise:
    """An embedder whose vectors are as uneven as those of a real one."""

    identity = ModelIdentity("noise", 192, "1")

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = [np.random.default_rng(zlib.crc32(text.encode())).standard_normal(192) for text in texts]
        return np.asarray([row / np.linalg.norm(row) for row in rows], dtype=np.float32).reshape(-1, 192)


@pytest.mark.parametrize("long_one", [None, 11])
def test_equal_texts_are_equally_similar_wherever_they_stand_among_the_vectors(
    open_memory: OpenMemory, long_one: int | None
) -> None:
    """A product of many rows at once is not rounded in the same way in every row."""
    memory = open_memory(embedder=Noise())
    for number in range(23):
        memory.store(f"k{number:02}", "A boat on the river. " * (90 if number == long_one else 1))
    for question in ("boat", "boat tea", "green boat", "river boat", "boat 绿茶", "boat 小船"):
        hits = memory.recall(question, 30, weights=(0, 1, 0), now=NOON)
        short = [hit for hit in hits if hit.key != f"k{long_one}"]
        assert len({hit.score_parts["dense"] for hit in short}) == 1
        assert keys(short) == sorted(map(str, keys(short)))
        assert len(short) >= 22

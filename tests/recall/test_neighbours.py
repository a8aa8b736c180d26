"""What stands next to a memory helps to find it; what is not visible stands next to nobody."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from tests.recall.comparing import assert_same_hits
from tests.support import keys

pytestmark = pytest.mark.date_sensitive

OpenMemory = Callable[..., AgentMemory]

EVENING = datetime(2025, 6, 18, 19, tzinfo=UTC)
MODES = ("hybrid", "keyword", "semantic")
TALK = (
    "We should fix the fence before winter.",
    "Where did you buy the blue kayak?",
    "At the harbour shop, from old Mister Brandt.",
    "The children want to paint it.",
    "Dinner is ready in ten minutes.",
)

numbers = count()


@pytest.fixture(autouse=True, scope="module")
def clock_stands_still() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "utc_now", lambda: EVENING)
        yield


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentMemory]:
    """One memory for all tests, each in scopes of its own."""
    folder = tmp_path_factory.mktemp("neighbours")
    with AgentMemory.open(folder, embedder=HashEmbedder(), background_indexing=False, time_zone="UTC") as opened:
        yield opened


def fresh_scope() -> str:
    return f"scope {next(numbers)}"


def talk(memory: AgentMemory, scope: str, *without: int, name: str = "boats", **more: Any) -> None:
    """The conversation, one turn a minute, each stored under its number; some turns may be left out."""
    memory.store_many(
        {
            "key": str(place),
            "content": text,
            "scope": scope,
            "conversation_id": name,
            "position": place,
            "occurred_at": EVENING + timedelta(minutes=place),
            **more,
        }
        for place, text in enumerate(TALK)
        if place not in without
    )


def by_key(hits: list[MemoryEntry]) -> dict[str | None, MemoryEntry]:
    return {hit.key: hit for hit in hits}


# --- helping --------------------------------------------------------------------------------------------------------


def test_the_answer_next_to_the_matching_question_is_found(memory: AgentMemory) -> None:
    scope = fresh_scope()
    talk(memory, scope)
    memory.store_many(
        {"key": f"noise{n}", "content": f"the shopping list number {n}", "scope": scope} for n in range(30)
    )
    hits = memory.recall("blue kayak", 4, scope=scope, mode="keyword")
    assert {"1", "2"} <= set(keys(hits))
    answer = by_key(hits)["2"].score_parts
    assert answer["words"] == 0
    assert answer["neighbours"] > 0
    assert by_key(hits)["1"].score_parts["question"] < 0, "a bare question is not an answer"


def test_records_of_the_same_hour_are_neighbours_without_a_conversation(memory: AgentMemory) -> None:
    scope = fresh_scope()
    memory.store("ticket", "买了去青岛的高铁票", scope=scope, occurred_at=EVENING)
    memory.store("paid", "支付宝付款 314 元", scope=scope, occurred_at=EVENING + timedelta(minutes=2))
    memory.store("later", "给花浇水", scope=scope, occurred_at=EVENING + timedelta(hours=5))
    hits = by_key(memory.recall("高铁票", scope=scope, mode="keyword"))
    assert hits["paid"].score_parts["neighbours"] > 0
    assert "later" not in hits


@pytest.mark.parametrize(("minutes", "near"), [(60, True), (61, False)])
@pytest.mark.parametrize("conversation", [None, "boats"])
def test_neighbours_are_at_most_an_hour_apart(
    memory: AgentMemory, minutes: int, near: bool, conversation: str | None
) -> None:
    scope = fresh_scope()
    place: dict[str, Any] = {"scope": scope, "conversation_id": conversation}
    memory.store("kayak", "the blue kayak", **place, occurred_at=EVENING)
    memory.store("other", "harbour shop", **place, occurred_at=EVENING + timedelta(minutes=minutes))
    hits = by_key(memory.recall("kayak harbour", scope=scope, mode="keyword"))
    assert (hits["kayak"].score_parts["neighbours"] > 0) is near
    assert (hits["other"].score_parts["neighbours"] > 0) is near


def test_an_hour_is_counted_from_step_to_step(memory: AgentMemory) -> None:
    scope = fresh_scope()
    for number, text in enumerate(["the blue kayak", "harbour", "shop"]):
        moment = EVENING + timedelta(minutes=45 * number)
        memory.store(str(number), text, scope=scope, conversation_id="slow", position=number, occurred_at=moment)
    hits = by_key(memory.recall("kayak", scope=scope, mode="keyword"))
    assert hits["1"].score_parts["neighbours"] > hits["2"].score_parts["neighbours"] > 0


def test_plain_facts_are_nobodys_neighbours(memory: AgentMemory) -> None:
    scope = fresh_scope()
    for key, text in (("a", "the blue kayak"), ("b", "harbour shop"), ("c", "old Mister Brandt")):
        memory.store(key, text, scope=scope)
    hits = memory.recall("kayak", scope=scope, mode="keyword")
    assert keys(hits) == ["a"]
    assert hits[0].score_parts["neighbours"] == 0
    assert by_key(memory.recall("kayak harbour", scope=scope, mode="keyword"))["b"].score_parts["neighbours"] == 0


def test_turns_of_two_conversations_are_not_neighbours(memory: AgentMemory) -> None:
    scope = fresh_scope()
    memory.store("a", "the blue kayak", scope=scope, conversation_id="one", position=0, occurred_at=EVENING)
    memory.store("b", "harbour shop", scope=scope, conversation_id="two", position=1, occurred_at=EVENING)
    memory.store("c", "harbour shop", scope=scope, occurred_at=EVENING)
    assert keys(memory.recall("kayak", scope=scope, mode="keyword")) == ["a"]


# --- foreign and forgotten ones -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("conversation", ["boats", None])
def test_a_foreign_neighbour_contributes_nothing(memory: AgentMemory, mode: str, conversation: str | None) -> None:
    alone, watched, foreign = fresh_scope(), fresh_scope(), fresh_scope()
    for scope in (alone, watched):
        talk(memory, scope, 1, 3, conversation_id=conversation)
    talk(memory, foreign, 0, 2, 4, conversation_id=conversation)
    for question in ("blue kayak", "paint the harbour fence", "children"):
        found = memory.recall(question, scope=watched, mode=mode, context=4)
        assert_same_hits(found, memory.recall(question, scope=alone, mode=mode))
        assert {entry.scope for hit in found for entry in (hit, *hit.context)} <= {watched}


def test_a_public_neighbour_of_the_same_conversation_is_another_conversation(memory: AgentMemory) -> None:
    scope = fresh_scope()
    talk(memory, scope, 1, name="said in two places")
    try:
        talk(memory, "public", 0, 2, 3, 4, name="said in two places")
        hits = by_key(memory.recall("blue kayak", scope=scope, mode="keyword", context=2))
        assert keys(hits.values()) == ["1"], "the turns around it are in another scope"
        assert hits["1"].scope == "public"
        assert hits["1"].context == ()
        both = by_key(memory.recall("blue kayak fence", scope=scope, mode="keyword", context=2))
        assert [both[key].score_parts["neighbours"] for key in ("0", "1")] == [0, 0]
        assert keys(both["0"].context) == ["2", "3"]
    finally:
        memory.forget("1", scope="public")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("conversation", ["boats", None])
@pytest.mark.parametrize("erase", [False, True])
def test_a_forgotten_neighbour_contributes_nothing(
    memory: AgentMemory, mode: str, conversation: str | None, erase: bool
) -> None:
    never, forgetful = fresh_scope(), fresh_scope()
    talk(memory, never, 1, 3, conversation_id=conversation)
    talk(memory, forgetful, conversation_id=conversation)
    assert "1" in keys(memory.recall("blue kayak", scope=forgetful, mode=mode))
    for key in ("1", "3"):
        assert memory.forget(key, scope=forgetful, erase=erase)
    for question in ("blue kayak", "paint the harbour fence", "children"):
        found = memory.recall(question, scope=forgetful, mode=mode, context=4)
        assert_same_hits(found, memory.recall(question, scope=never, mode=mode))
        assert not {"1", "3"}.intersection(key for hit in found for key in keys(hit.context))


@pytest.mark.parametrize("mode", MODES)
def test_a_neighbour_that_was_reworded_contributes_its_new_words_only(memory: AgentMemory, mode: str) -> None:
    never, changed = fresh_scope(), fresh_scope()
    talk(memory, never, 1)
    new: dict[str, Any] = {"conversation_id": "boats", "position": 1, "occurred_at": EVENING + timedelta(minutes=1)}
    memory.store("1", "Nothing of importance.", scope=never, **new)
    talk(memory, changed)
    memory.drain()
    memory.store("1", "Nothing of importance.", scope=changed)
    for question in ("blue kayak", "importance of the harbour"):
        found = memory.recall(question, scope=changed, mode=mode)
        assert_same_hits(found, memory.recall(question, scope=never, mode=mode))


def test_a_filter_does_not_bring_neighbours_from_outside_it(memory: AgentMemory) -> None:
    scope = fresh_scope()
    talk(memory, scope, 1)
    place: dict[str, Any] = {"conversation_id": "boats", "position": 1, "occurred_at": EVENING + timedelta(minutes=1)}
    memory.store("1", TALK[1], "daily", scope=scope, **place)
    for mode in MODES:
        assert keys(memory.recall("blue kayak", scope=scope, mode=mode, category="daily")) == ["1"]


# --- context --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("context", "asked", "expected"),
    [
        (0, "harbour", []),
        (1, "harbour", ["1", "3"]),
        (2, "harbour", ["0", "1", "3", "4"]),
        (50, "harbour", ["0", "1", "3", "4"]),
        (2, "fence", ["1", "2"]),
        (2, "dinner", ["2", "3"]),
    ],
)
def test_a_hit_brings_what_was_said_around_it_in_order(
    memory: AgentMemory, context: int, asked: str, expected: list[str]
) -> None:
    scope = fresh_scope()
    talk(memory, scope)
    (hit, *_) = memory.recall(asked, scope=scope, mode="keyword", context=context)
    assert keys(hit.context) == expected
    assert all(entry.relevance_score is None and entry.context == () for entry in hit.context)


def test_context_skips_what_was_forgotten_and_goes_on_behind_it(memory: AgentMemory) -> None:
    scope = fresh_scope()
    talk(memory, scope)
    memory.forget("1", scope=scope)
    memory.forget("3", scope=scope)
    (hit, *_) = memory.recall("harbour", scope=scope, mode="keyword", context=1)
    assert keys(hit.context) == ["0", "4"]


def test_context_of_a_long_conversation_is_what_stands_around_each_hit(memory: AgentMemory) -> None:
    """Long conversations are read around each hit only; two hits may stand close together or far apart."""
    scope = fresh_scope()
    special = {3: "a heron", 5: "another heron flies", 120: "the third heron", 199: "the last heron"}
    messages = [{"role": "user", "content": special.get(n, f"turn number {n}")} for n in range(200)]
    memory.save_conversation_history("long", messages, scope=scope)
    hits = memory.recall("heron", 4, scope=scope, mode="keyword", context=2)
    around = {hit.position: [entry.position for entry in hit.context] for hit in hits}
    assert around == {3: [1, 2, 4, 5], 5: [3, 4, 6, 7], 120: [118, 119, 121, 122], 199: [197, 198]}


def test_facts_and_records_have_no_context(memory: AgentMemory) -> None:
    scope = fresh_scope()
    memory.store("fact", "the blue kayak", scope=scope)
    memory.store("record", "paddled the kayak", scope=scope, occurred_at=EVENING)
    memory.store("next", "washed it", scope=scope, occurred_at=EVENING + timedelta(minutes=1))
    hits = memory.recall("kayak", 2, scope=scope, mode="keyword", context=3)
    assert set(keys(hits)) == {"fact", "record"}
    assert [hit.context for hit in hits] == [(), ()]


def test_context_comes_with_tags_as_well_even_before_anything_was_indexed(open_memory: OpenMemory) -> None:
    fresh = open_memory()
    talk(fresh, "main", 2)
    fresh.store("2", TALK[2], tags=["shop"], conversation_id="boats", position=2, occurred_at=EVENING)
    (hit,) = fresh.recall("which shop?", mode="tags", context=1)
    assert keys(hit.context) == ["1", "3"]


def test_context_is_not_bound_by_the_filters_of_the_question(memory: AgentMemory) -> None:
    scope = fresh_scope()
    talk(memory, scope, 2)
    place: dict[str, Any] = {"conversation_id": "boats", "position": 2, "occurred_at": EVENING + timedelta(minutes=2)}
    memory.store("2", TALK[2], "daily", scope=scope, **place)
    (hit,) = memory.recall("harbour", scope=scope, category="daily", context=1)
    assert keys(hit.context) == ["1", "3"]

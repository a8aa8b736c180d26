"""The order of facts in a prompt when newer ones may contradict them."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.longterm.conflicts import OpenConflicts
from jiyi.model.claim import Claim
from jiyi.model.clock import utc_now
from jiyi.model.entry import MemoryEntry, Source
from jiyi.sync import AgentMemory

START = utc_now()


def fact(number: int, *older: int) -> MemoryEntry:
    claim = Claim(conflicts_with=tuple(f"f{each}" for each in older))
    moment = START + timedelta(days=number)
    return MemoryEntry(
        id=f"f{number}",
        scope="a",
        key=f"k{number}",
        content=f"fact {number}",
        source=Source("rules", "user", claim=claim),
        created_at=moment,
        updated_at=moment,
        last_accessed_at=moment,
    )


def names(facts: list[MemoryEntry]) -> list[str]:
    return [each.id for each in facts]


def test_a_newer_fact_that_is_no_hit_is_put_before_the_older_one() -> None:
    conflicts = OpenConflicts.among([fact(5, 1)])
    assert names(conflicts.newer_first([fact(2), fact(1), fact(3)])) == ["f2", "f5", "f1", "f3"]
    assert "f1" in conflicts
    assert "f5" not in conflicts


def test_what_contradicts_the_newer_one_is_before_both() -> None:
    conflicts = OpenConflicts.among([fact(5, 1), fact(9, 5)])
    assert names(conflicts.newer_first([fact(1)])) == ["f9", "f5", "f1"]


@given(
    st.lists(st.integers(0, 9), unique=True),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] > pair[1]), max_size=8),
)
def test_every_hit_stays_once_and_after_what_may_contradict_it(hits: list[int], pairs: list[tuple[int, int]]) -> None:
    conflicts = OpenConflicts.among(fact(newer, older) for newer, older in dict(pairs).items())
    ordered = names(conflicts.newer_first([fact(number) for number in hits]))
    assert len(set(ordered)) == len(ordered)
    assert set(ordered) >= {f"f{number}" for number in hits}
    for newer, older in dict(pairs).items():
        if f"f{older}" in ordered and f"f{newer}" in ordered:
            assert ordered.index(f"f{newer}") < ordered.index(f"f{older}")


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ("我对花粉过敏。", "去医院查了过敏原，尘螨也是阳性。"),
        ("We have a son, Rory, he's three.", "Little Isla arrived at 4am, a second one!"),
        ("我左眼近视350度。", "右眼涨到了425，医生让少看手机。"),
        ("I work at the port authority.", "My brother quit his job and is now at Tesla."),
    ],
)
def test_what_adds_and_what_is_of_others_is_no_conflict(room: AgentMemory, known: str, message: str) -> None:
    for said in (known, message):
        room.longterm.extract_and_store_memories_for_round("alice", "c", said, "")
    assert room.longterm.conflicts("alice") == []


@pytest.mark.parametrize(
    ("known", "message"),
    [("我喜欢喝咖啡。", "医生让我戒咖啡。"), ("诗远乳糖不耐受。", "诗远其实不是乳糖不耐受，医生说是牛奶蛋白过敏。")],
)
def test_what_is_denied_is_a_conflict_or_replaced(room: AgentMemory, known: str, message: str) -> None:
    for said in (known, message):
        room.longterm.extract_and_store_memories_for_round("alice", "c", said, "")
    assert room.longterm.conflicts("alice") or room.longterm.superseded("alice")

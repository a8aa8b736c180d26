"""A round that is looked through after newer ones, as after an import: what has changed since becomes history."""

from datetime import UTC, datetime

import pytest

from jiyi.sync import AgentMemory
from jiyi.text.statements.replacing.given_beside import is_number_of_another

OLD = datetime(2025, 3, 1, 9, tzinfo=UTC)
NEW = datetime(2026, 3, 1, 9, tzinfo=UTC)


def tell(memory: AgentMemory, text: str, at: datetime) -> None:
    memory.longterm.extract_and_store_memories_for_round("alice", at.date().isoformat(), text, "ok", created_at=at)


def known(memory: AgentMemory) -> list[str]:
    return [entry.content for entry in memory.list(scope="alice", memory_types="fact")]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in York", "I've moved to Leeds"),
        ("My dentist is Dr Hall", "My dentist is now Dr Low"),
        ("我在中兴上班", "我现在在华为上班"),
        ("我女儿在一中上学", "我女儿换到二中了"),
    ],
)
def test_what_a_newer_fact_has_replaced_is_history_whichever_is_told_first(
    memory: AgentMemory, older: str, newer: str
) -> None:
    tell(memory, newer, NEW)
    tell(memory, older, OLD)
    assert known(memory) == [newer]
    (replaced,) = memory.longterm.superseded("alice")
    assert (replaced.entry.content, replaced.by and replaced.by.content) == (older, newer)


def test_what_is_left_of_a_late_fact_holds(memory: AgentMemory) -> None:
    tell(memory, "My sister Ruth moved to Hull", NEW)
    tell(memory, "My sister Ruth lives in Bath, she's a vet", OLD)
    assert any("vet" in text for text in known(memory))
    assert not any("Bath" in text for text in known(memory))


@pytest.mark.parametrize(
    ("older", "newer"),
    [("My brother Tim lives in York", "My sister moved to Leeds"), ("我对花生过敏", "我搬到成都了")],
)
def test_a_late_fact_that_nothing_has_changed_holds(memory: AgentMemory, older: str, newer: str) -> None:
    tell(memory, newer, NEW)
    tell(memory, older, OLD)
    assert sorted(known(memory)) == sorted([older, newer])


def test_withdrawing_the_newer_fact_brings_the_late_one_back(memory: AgentMemory) -> None:
    tell(memory, "I've moved to Leeds", NEW)
    tell(memory, "I live in York", OLD)
    (newer,) = memory.list(scope="alice", memory_types="fact")
    memory.forget(id=newer.id, scope="alice")
    assert known(memory) == ["I live in York"]


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        ("The plumber is Mr. Osowski, phone 58 620 11 94", "My phone number is 604 118 220."),
        ("Our vet is Dr. Lee (tel 555 123 45)", "My phone number is 604 118 220."),
        ("水管工老王，电话 58620114", "我的手机号是18662011234。"),
    ],
)
def test_the_number_of_somebody_else_corrects_nothing(memory: AgentMemory, stored: str, told: str) -> None:
    memory.store("k", stored, scope="alice")
    tell(memory, told, OLD)
    tell(memory, stored, NEW)
    assert told in known(memory)


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        ("The wifi password is heron-22", "The wifi password is swan-11."),
        ("I work at Kowal", "I work at Nordhav."),
        ("健身房十点关门", "健身房九点关门。"),
    ],
)
def test_what_was_stored_by_key_corrects_what_is_told_late_of_the_same_thing(
    memory: AgentMemory, stored: str, told: str
) -> None:
    memory.store("k", stored, scope="alice")
    tell(memory, told, OLD)
    assert known(memory) == [stored]


@pytest.mark.parametrize(
    "message",
    [
        *("My number is now 777 888 999", "By the way, phone 777 888 999", "New number, mobile 777 888 999"),
        *("Our landline is gone, phone 777 888 999 only", "My new phone is a Pixel, number 777 888 999"),
        *("我换号了，手机 13900002222", "对了，电话 13900002222", "换运营商了，号码13900002222"),
    ],
)
def test_a_new_number_of_the_speaker_is_of_nobody_else(message: str) -> None:
    fact = "我的手机号是18662011234。" if "手机" in message or "电话" in message else "My phone number is 604 118 220."
    assert not is_number_of_another(message, fact)

"""A new value of an attribute of which people have one, with no word for a change, and values that add up."""

from __future__ import annotations

import pytest

from jiyi.sync import AgentMemory


def facts(room: AgentMemory, *messages: str) -> list[str]:
    for number, said in enumerate(messages):
        room.longterm.extract_and_store_memories_for_round("alice", f"c{number}", said, "OK.")
    return [entry.content for entry in room.list(scope="alice", memory_types="fact")]


@pytest.mark.parametrize(
    ("first", "second", "gone"),
    [
        ("My girlfriend is called Tess", "My girlfriend's name is Yasmin", "Tess"),
        ("my boss is a man called Clive", "My boss is a lady called Marguerite", "Clive"),
        ("My car's a red Fiesta", "My car's a Skoda Fabia estate, you could fit a sofa in it", "Fiesta"),
        ("I'm allergic to wasp stings", "Tested at the clinic, I'm not allergic after all", "wasp"),
        ("我妹在卫校念大二", "我妹在县医院当护士，天天倒班", "卫校"),
        ("我用的是小米手机", "我用的是华为Mate 70", "小米"),
        ("我是A型血", "不对不对，我是O型血", "A型"),
    ],
)
def test_a_new_value_takes_the_place_of_the_one_before(room: AgentMemory, first: str, second: str, gone: str) -> None:
    known = facts(room, first, second)
    assert known
    assert not any(gone in fact for fact in known)


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        ("I'm terrified of moths", "Needles make me pass out, I'm scared of them", ("moths", "Needles")),
        ("I play the cello every week", "My brother plays the piano", ("cello", "piano")),
        ("My sister Ana is a lawyer", "My sister Ana drives a red car", ("lawyer", "red car")),
        ("我对芒果过敏", "我对花粉过敏", ("芒果", "花粉")),
        ("我姐姐是律师", "我姐姐是左撇子", ("律师", "左撇子")),
        ("我的生日是五月五号", "爷爷的生日是五月十九号", ("五月五号", "五月十九号")),
    ],
)
def test_one_more_value_another_person_and_another_attribute_replace_nothing(
    room: AgentMemory, first: str, second: str, both: tuple[str, str]
) -> None:
    known = facts(room, first, second)
    assert all(any(part in fact for fact in known) for part in both)


@pytest.mark.parametrize(
    "question",
    [
        "How do I explain fractions to my daughter Saoirse?",
        "does a whippet like mine need a coat in winter",
        "do i have to tell the bank that i got divorced in april?",
    ],
)
def test_a_question_that_tells_who_or_what_is_meant_is_kept(room: AgentMemory, question: str) -> None:
    assert facts(room, question) == [question]


@pytest.mark.parametrize(
    "question", ["What did I get for my sister Ana's birthday?", "can i freeze the rest of my soup"]
)
def test_a_question_that_only_asks_is_not_kept(room: AgentMemory, question: str) -> None:
    assert facts(room, question) == []

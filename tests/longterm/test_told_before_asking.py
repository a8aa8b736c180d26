"""A message that tells something and then asks: what it tells counts as if it stood alone."""

import pytest

from jiyi.sync import AgentMemory
from jiyi.text.statements.parts.claims import only_asks, stated_part


def say(memory: AgentMemory, *messages: str) -> list[str]:
    for message in messages:
        memory.longterm.extract_and_store_memories_for_round("alice", "c", message, "")
    return [entry.content for entry in memory.list(scope="alice", memory_types="fact")]


@pytest.mark.parametrize(
    ("known", "message", "gone", "stays"),
    [
        ("We have a caravan in Tenby and a narrowboat near Stoke.", "We sold the caravan, is there tax on that?",
         "Tenby", "narrowboat"),
        ("My mum lives in Crewe and my dad's in Malta.", "Dad's moved back to Leeds, what's on there in spring?",
         "Malta", "Crewe"),
        ("I play badminton on Mondays and sing in a choir on Thursdays.",
         "Choir's shifted to Fridays, what warm-ups are good for altos?", "Thursdays", "badminton"),
        ("我家有只猫叫咪宝，还有只兔子叫灰灰", "灰灰上周死了，怎么跟孩子说？", "兔子叫灰灰", "咪宝"),
    ],
)  # fmt: skip
def test_a_change_told_before_a_question_replaces_what_it_changes(
    memory: AgentMemory, known: str, message: str, gone: str, stays: str
) -> None:
    facts = say(memory, known, message)
    assert not any(gone in fact for fact in facts)
    assert any(stays in fact for fact in facts)


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("I've a peanut allergy so is satay off the menu?", "I've a peanut allergy"),
        ("Ditched the tutor, how do I keep up my Italian?", "Ditched the tutor"),
    ],
)
def test_the_statement_before_a_question_is_read_alone(message: str, told: str) -> None:
    assert stated_part(message) == told


@pytest.mark.parametrize(
    "message",
    [
        "If we sold the caravan, is there tax on that?",
        "When a shop has closed, who pays the staff?",
        "想换一把二胡，哪种好？",
    ],
)
def test_conditions_and_wishes_before_a_question_tell_nothing(message: str) -> None:
    assert only_asks(message)


def test_what_is_told_by_like_me_is_kept(memory: AgentMemory) -> None:
    assert say(memory, "Is creatine OK for vegans like me?")

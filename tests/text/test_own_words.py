"""What is only passed on holds no fact about the speaker and ends none."""

import pytest

from jiyi.sync import AgentMemory
from jiyi.text.statements.parts.own_words import own_words, without_requested_text

REQUESTS = [
    "Translate this commit message to Chinese: switch database from PostgreSQL to MongoDB",
    "Write a Facebook post: We are closing the shop for good on Friday",
    "Please proofread: I live in Manchester now",
    "Draft an email to my landlord: I'm moving out in May",
    "把这句话翻译成英文：我搬到上海了，我有两个孩子",
    "帮我写一条朋友圈：我们要搬家了",
    "请把下面的话改写得正式一点：我不干了",
]
PASSED_ON = [
    '报错了：sqlalchemy.exc.OperationalError: (2003, "Can\'t connect to MySQL server")',
    "ValueError: I no longer use this",
    "2026-03-01 10:22:01 ERROR switched to replica",
    "群里有人说：我辞职了",
    'She told me "I moved to Leeds"',
]
OWN = [
    "Update: I moved to Leeds",
    "房东说：下个月起3600",
    "I told him: I'm allergic to nuts",
    "我写了封信：寄给妈妈的",
    "My address: 14 Spring Lane",
    "I wrote a post about my dog, he is called Pip",
]


@pytest.mark.parametrize("said", REQUESTS)
def test_a_text_to_be_written_or_translated_is_left_out(said: str) -> None:
    assert without_requested_text(said) == ""
    assert without_requested_text(f"我住在南京。{said}").startswith("我住在南京。")


@pytest.mark.parametrize("said", PASSED_ON)
def test_error_messages_and_the_words_of_others_are_not_the_speakers(said: str) -> None:
    assert own_words(said) != said
    assert "辞职" not in own_words(said)
    assert "moved" not in own_words(said)


@pytest.mark.parametrize("said", OWN)
def test_what_the_speaker_says_stays(said: str) -> None:
    assert own_words(said) == said


@pytest.mark.parametrize("said", REQUESTS)
def test_such_a_text_becomes_no_fact_and_replaces_none(memory: AgentMemory, said: str) -> None:
    known = ("We use PostgreSQL as our database", "I live in Leeds")
    for text in (*known, said):
        memory.longterm.extract_and_store_memories_for_round("alice", "c", text, "")
    assert memory.longterm.superseded("alice") == []
    assert not [entry.content for entry in memory.list(scope="alice") if entry.content in said or said in entry.content]

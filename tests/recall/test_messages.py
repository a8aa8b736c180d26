"""Everything that was said in a conversation can be found again, as long as it is part of the record."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from jiyi.model.entry import MemoryEntry
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from tests.support import keys, present

OpenMemory = Callable[..., AgentMemory]

MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "You are a sailor's assistant."},
    {"role": "user", "content": "My sailor friend Ines moors at pier nine."},
    {"role": "assistant", "content": "Noted: Ines, pier nine."},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "sailor_lookup"}}]},
    {"role": "tool", "content": "sailor database: Ines, pier nine", "tool_call_id": "1"},
    {"role": "user", "content": "她的船叫海燕号。"},
]


def said(hits: Iterable[MemoryEntry]) -> list[str]:
    return [hit.content for hit in hits]


def user(*texts: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text} for text in texts]


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
def test_what_was_said_is_found_with_its_place(open_memory: OpenMemory, mode: str) -> None:
    memory = open_memory(embedder=HashEmbedder())
    memory.save_conversation_history("harbour", MESSAGES)
    hit = memory.recall("她的船叫什么", 1, mode=mode)[0]
    assert hit.content == "她的船叫海燕号。"
    assert hit.memory_type == "message"
    assert hit.category == "conversation"
    assert (hit.conversation_id, hit.position, hit.key) == ("harbour", 5, None)
    assert (hit.source.kind, hit.source.trust) == ("message", "user")


def test_only_what_people_and_the_assistant_said_is_found(memory: AgentMemory) -> None:
    memory.save_conversation_history("harbour", MESSAGES)
    found = {
        hit.position: hit.source.trust
        for hit in memory.recall("sailor Ines pier nine 海燕号 assistant lookup", 50, duplicates=True)
    }
    assert found == {1: "user", 2: "agent", 5: "user"}


def test_the_question_and_the_answer_before_a_tool_call_are_still_neighbours(memory: AgentMemory) -> None:
    memory.save_conversation_history("harbour", MESSAGES)
    hit = memory.recall("海燕号", 1, context=2)[0]
    assert [entry.position for entry in hit.context] == [1, 2]


def test_the_parts_of_structured_content_are_found(memory: AgentMemory) -> None:
    content = [{"type": "text", "text": "look at this heron"}, {"type": "image_url", "image_url": {"url": "x:,"}}]
    memory.save_conversation_history("s", [{"role": "user", "content": content}, {"role": "user", "content": []}])
    assert said(memory.recall("heron")) == ["look at this heron"]


def test_recall_of_messages_can_be_turned_off(open_memory: OpenMemory) -> None:
    memory = open_memory(recall_messages=False)
    memory.save_conversation_history("harbour", MESSAGES)
    assert memory.recall("Ines pier nine 海燕号") == []
    assert len(memory.load_conversation_history("harbour")) == len(MESSAGES)
    assert memory.count(memory_types="message") == 0


def test_what_leaves_the_record_leaves_recall_even_after_recall_of_messages_was_turned_off(
    open_memory: OpenMemory,
) -> None:
    before = open_memory()
    before.save_conversation_history("s", user("the heron is grey", "the otter is brown"))
    assert len(before.recall("heron otter")) == 2
    before.close()
    after = open_memory(recall_messages=False)
    after.save_conversation_history("s", user("the heron is grey"))
    assert said(after.recall("heron otter")) == ["the heron is grey"]


def test_messages_and_facts_are_told_apart_by_their_type(memory: AgentMemory) -> None:
    memory.save_conversation_history("s", user("the heron is grey"))
    memory.store("bird", "the heron eats fish")
    assert len(memory.recall("heron")) == 2
    assert said(memory.recall("heron", memory_types="message")) == ["the heron is grey"]
    assert keys(memory.recall("heron", memory_types="fact")) == ["bird"]
    assert len(memory.recall("heron", memory_types=["fact", "message"])) == 2
    assert said(memory.recall("heron", category="conversation")) == ["the heron is grey"]


def test_counting_and_listing_leave_messages_out_unless_asked(memory: AgentMemory) -> None:
    memory.save_conversation_history("s", user("one", "two", "three"))
    memory.store("bird", "the heron eats fish")
    assert (memory.count(), memory.count(memory_types="message"), memory.count(memory_types="fact")) == (1, 3, 1)
    assert keys(memory.list()) == ["bird"]
    assert {entry.content for entry in memory.list(memory_types="message")} == {"one", "two", "three"}
    assert memory.count(memory_types=["fact", "message"]) == 4


def test_a_message_that_was_replaced_is_no_longer_found(memory: AgentMemory) -> None:
    memory.save_conversation_history("s", user("the heron is grey", "the otter is brown", "the toad is green"))
    memory.save_conversation_history("s", user("the heron is grey", "the badger is striped", "the toad is green"))
    assert memory.recall("otter") == []
    (hit,) = memory.recall("badger", 1, context=1)
    assert (hit.content, hit.position) == ("the badger is striped", 1)
    assert said(hit.context) == ["the heron is grey", "the toad is green"]


def test_a_message_that_was_cut_off_is_no_longer_found(memory: AgentMemory) -> None:
    memory.save_conversation_history("s", user("the heron is grey", "the otter is brown"))
    memory.save_conversation_history("s", user("the heron is grey"))
    assert memory.recall("otter", mode="keyword") == []
    memory.save_conversation_history("s", [])
    assert memory.recall("heron") == []
    memory.save_conversation_history("s", user("the heron is grey"))
    assert len(memory.recall("heron")) == 1


def test_saving_again_and_going_on_makes_nothing_twice(memory: AgentMemory) -> None:
    talk = user("the heron is grey", "the heron is grey", "the heron eats fish")
    for length in (1, 2, 3, 3, 3):
        memory.save_conversation_history("s", talk[:length])
        memory.drain()
    hits = memory.recall("heron", 50, duplicates=True)
    assert sorted(present(hit.position) for hit in hits) == [0, 1, 2]
    assert memory.count(memory_types="message") == 3


def test_a_message_that_did_not_change_keeps_its_identity(memory: AgentMemory) -> None:
    memory.save_conversation_history("s", user("the heron is grey"))
    before = memory.recall("heron")[0]
    memory.save_conversation_history("s", user("the heron is grey", "and tall"))
    after = memory.recall("heron", 1)[0]
    assert (after.id, after.created_at, after.version) == (before.id, before.created_at, 1)


def test_sessions_and_scopes_keep_their_messages_apart(memory: AgentMemory) -> None:
    memory.save_conversation_history("s", user("the heron is grey"))
    memory.save_conversation_history("t", user("the heron is tall"))
    memory.save_conversation_history("s", user("the heron is secret"), scope="other")
    assert {hit.conversation_id: hit.content for hit in memory.recall("heron")} == {
        "s": "the heron is grey",
        "t": "the heron is tall",
    }
    assert said(memory.recall("heron", scope="other")) == ["the heron is secret"]
    memory.save_conversation_history("s", [])
    assert said(memory.recall("heron")) == ["the heron is tall"]
    assert said(memory.recall("heron", scope="other")) == ["the heron is secret"]


def test_the_name_of_a_speaker_stands_before_what_was_said_and_is_found(memory: AgentMemory) -> None:
    talk = [{"role": "user", "name": "小明", "content": "我养了一只乌龟"}, {"role": "user", "content": "真好"}]
    memory.save_conversation_history("s", talk)
    assert said(memory.recall("小明", 1)) == ["小明: 我养了一只乌龟"]
    assert [message.to_dict() for message in memory.load_conversation_history("s")] == talk


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"content": "heron\x00heron"}, "heron heron"),
        ({"content": "heron \ud800!"}, "heron ?!"),
        ({"content": "heron", "name": "Bo\x00b"}, "Bo b: heron"),
        ({"content": "heron", "name": "Bob\udfff"}, "Bob?: heron"),
        ({"content": "  heron\n"}, "heron"),
    ],
)
def test_what_no_index_can_hold_does_not_keep_a_message_from_being_saved_and_found(
    memory: AgentMemory, message: dict[str, str], expected: str
) -> None:
    whole = {"role": "user", **message}
    memory.save_conversation_history("s", [whole])
    assert said(memory.recall("heron")) == [expected]
    assert [kept.to_dict() for kept in memory.load_conversation_history("s")] == [whole]


@pytest.mark.parametrize("content", ["", "   ", "\x00", None, [], [{"type": "image_url"}]])
def test_a_message_without_words_is_saved_and_not_indexed(memory: AgentMemory, content: object) -> None:
    memory.save_conversation_history("s", [{"role": "user", "content": content}])
    assert memory.count(memory_types="message") == 0
    assert len(memory.load_conversation_history("s")) == 1


def test_messages_survive_deleting_and_rebuilding_the_indexes(memory: AgentMemory) -> None:
    memory.save_conversation_history("harbour", MESSAGES)
    before = memory.recall("Ines 海燕号", duplicates=True)
    memory.rebuild()
    assert memory.recall("Ines 海燕号", duplicates=True) == before
    assert len(before) == 3

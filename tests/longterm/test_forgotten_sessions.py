"""What becomes of the facts of a conversation that is deleted, and of the messages of a fact that is forgotten."""

import pytest

from jiyi.sync import AgentMemory


def tell(memory: AgentMemory, session: str, *said: str) -> None:
    for text in said:
        memory.longterm.extract_and_store_memories_for_round("alice", session, text, "ok")


def facts(memory: AgentMemory) -> list[str]:
    return sorted(entry.content for entry in memory.list(scope="alice", memory_types="fact"))


def test_the_receipt_says_how_many_facts_stay(room: AgentMemory) -> None:
    tell(room, "talk", "I am allergic to penicillin.", "My sister is called Mei.")
    tell(room, "other", "I work at Bosch.")
    receipt = room.forget_session("talk", scope="alice")
    assert (receipt.messages, receipt.facts, receipt.facts_kept) == (4, 0, 2)
    assert len(facts(room)) == 3
    assert room.forget_session("nobody", scope="alice").facts_kept == 0


def test_facts_of_the_session_alone_are_erased_with_it_when_that_is_asked_for(room: AgentMemory) -> None:
    tell(room, "talk", "I live in Leeds.", "I am allergic to penicillin.", "I moved to Oslo.")
    tell(room, "other", "I work at Bosch.")
    room.store("own", "kept by hand", conversation_id="talk", scope="alice")
    room.longterm.try_generate_reflection("alice", None, 0.1, 0)
    receipt = room.forget_session("talk", scope="alice", facts=True)
    assert (receipt.facts, receipt.facts_kept) == (3, 0)
    assert facts(room) == ["I work at Bosch.", "kept by hand"]
    for question in ("penicillin", "Leeds", "Oslo"):
        assert not [hit for hit in room.recall(question, scope="alice", mode="keyword") if question in hit.content]
    assert room.longterm.superseded("alice", reflections=True) == []


def test_a_fact_that_was_also_made_of_another_session_stays(room: AgentMemory) -> None:
    (first,) = room.longterm.extract_and_store_memories_for_round("alice", "talk", "I am allergic to nuts.", "ok")
    ids = [each.id for each in room.chat("other", scope="alice").messages()]
    assert ids == []
    room.chat("other", scope="alice").put({"role": "user", "content": "I live in Hangzhou."})
    (own,) = [each.id for each in room.chat("talk", scope="alice").messages() if each.message.role == "user"]
    (said,) = [each.id for each in room.chat("other", scope="alice").messages()]
    # One round of two conversations.
    room.longterm.schedule_messages("alice", "other", [own, said])
    room.run_jobs()
    assert "I live in Hangzhou." in facts(room)
    receipt = room.forget_session("other", scope="alice", facts=True)
    assert (receipt.facts, receipt.facts_kept) == (0, 1)
    assert sorted(facts(room)) == sorted([first.content, "I live in Hangzhou."])


@pytest.mark.parametrize("erase", [False, True], ids=["forgotten", "erased"])
def test_the_message_of_a_fact_that_is_forgotten_is_in_no_prompt_and_no_answer(room: AgentMemory, erase: bool) -> None:
    tell(room, "talk", "I am allergic to bees.")
    tell(room, "talk", "I live in Hangzhou.")
    (fact,) = [entry for entry in room.list(scope="alice", memory_types="fact") if "bees" in entry.content]
    assert room.forget(fact.key, scope="alice", erase=erase)
    assert not [hit for hit in room.recall("allergic to bees", scope="alice") if "bees" in hit.content]
    prompt = room.agent("next", user="alice").begin("What am I allergic to?")
    assert "bees" not in "".join(message.text for message in prompt.messages)
    # The conversation has it as it was said, until the session is forgotten, and so do other facts.
    assert room.load_conversation_history("talk", scope="alice")[0].text == "I am allergic to bees."
    assert facts(room) == ["I live in Hangzhou."]
    assert [hit.content for hit in room.recall("Hangzhou", scope="alice", memory_types="message")][:1] == [
        "I live in Hangzhou."
    ]


def test_the_message_of_a_fact_that_fades_or_is_replaced_stays_in_recall(room: AgentMemory) -> None:
    tell(room, "talk", "I live in Leeds.", "I moved to Oslo.")
    room.longterm.cleanup_forgotten_memories("alice", threshold=1.0)
    found = {hit.content for hit in room.recall("Leeds Oslo", scope="alice", memory_types="message")}
    assert {"I live in Leeds.", "I moved to Oslo."} <= found

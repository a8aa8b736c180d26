"""What becomes of the facts of a conversation that is deleted."""

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

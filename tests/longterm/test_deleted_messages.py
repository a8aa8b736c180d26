"""What was deleted before it was looked through is not learned: by whom, and in whatever way it was deleted."""

from collections.abc import Callable

import pytest

from jiyi.sync import AgentMemory
from jiyi.testing.models import ModelCall, ScriptedModel
from tests.longterm.answers import fact, model, scored
from tests.longterm.conftest import OpenMemory

Delete = Callable[[AgentMemory, str], object]


def facts(memory: AgentMemory) -> list[str]:
    return sorted(entry.content for entry in memory.list(scope="alice", memory_types="fact"))


def message_id(memory: AgentMemory, text: str) -> str:
    (found,) = [each.id for each in memory.chat("talk", scope="alice").messages() if each.message.text == text]
    return found


def forget_message(memory: AgentMemory, text: str) -> None:
    assert memory.forget(id=message_id(memory, text), scope="alice")


def forget_many(memory: AgentMemory, _text: str) -> None:
    assert memory.forget_many(scope="alice", memory_types="message").forgotten


def forget_in_the_runtime(memory: AgentMemory, text: str) -> None:
    assert memory.runtime.forget(message_id(memory, text), memory_scope="alice")


def delete_from_the_chat(memory: AgentMemory, text: str) -> None:
    chat = memory.chat("talk", scope="alice")
    assert chat.delete_message([message.text for message in chat.get_all()].index(text)) is not None


def rewrite(memory: AgentMemory, text: str) -> None:
    said = memory.load_conversation_history("talk", scope="alice")
    memory.save_conversation_history("talk", [each for each in said if each.text != text], scope="alice")


def delete_epoch(memory: AgentMemory, _text: str) -> None:
    chat = memory.chat("talk", scope="alice")
    chat.reset()
    chat.delete_epoch(1)


WAYS: dict[str, Delete] = {
    "forget": forget_message,
    "forget_many": forget_many,
    "runtime": forget_in_the_runtime,
    "delete_message": delete_from_the_chat,
    "save_conversation_history": rewrite,
    "delete_epoch": delete_epoch,
    "forget_session": lambda memory, _: memory.forget_session("talk", scope="alice"),
    "forget_scope": lambda memory, _: memory.forget_scope("alice", erase=False),
    "forget_scope erase": lambda memory, _: memory.forget_scope("alice"),
}


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_learned_of_a_message_that_was_deleted_before_its_job_ran(room: AgentMemory, way: str) -> None:
    said = "I am allergic to penicillin."
    # The reply repeats what was deleted.
    room.longterm.schedule_round("alice", "talk", said, "Noted: you are allergic to penicillin.")
    WAYS[way](room, said)
    room.run_jobs()
    assert facts(room) == []
    assert [job.state for job in room.jobs(scope="alice", states=["queued", "running", "dead"])] == []


@pytest.mark.parametrize("way", ["forget", "runtime", "delete_message", "save_conversation_history"])
def test_the_other_messages_are_learned(room: AgentMemory, way: str) -> None:
    for said in ("I am allergic to penicillin.", "I live in Hangzhou.", "My sister is called Mei."):
        room.longterm.schedule_round("alice", "talk", said, "ok")
    WAYS[way](room, "I live in Hangzhou.")
    room.run_jobs()
    assert facts(room) == ["I am allergic to penicillin.", "My sister is called Mei."]


def test_a_turn_of_an_agent_that_was_forgotten_is_not_learned(room: AgentMemory) -> None:
    turn = room.agent("talk", user="alice").begin("I am allergic to penicillin.")
    turn.finish("Noted, no penicillin.")
    forget_message(room, "I am allergic to penicillin.")
    room.run_jobs()
    assert facts(room) == []


def test_a_reply_that_was_deleted_does_not_keep_the_user_from_being_heard(room: AgentMemory) -> None:
    room.longterm.schedule_round("alice", "talk", "I am allergic to penicillin.", "Mei is your sister.")
    forget_message(room, "Mei is your sister.")
    room.run_jobs()
    assert facts(room) == ["I am allergic to penicillin."]


def test_a_message_that_was_brought_back_is_learned(room: AgentMemory) -> None:
    room.longterm.schedule_round("alice", "talk", "I am allergic to penicillin.", "ok")
    name = message_id(room, "I am allergic to penicillin.")
    room.runtime.forget(name, memory_scope="alice")
    room.runtime.restore(name, memory_scope="alice")
    room.run_jobs()
    assert facts(room) == ["I am allergic to penicillin."]


@pytest.mark.parametrize("way", WAYS)
def test_what_is_deleted_while_a_model_reads_it_is_not_kept(open_room: OpenMemory, way: str) -> None:
    other = open_room()
    asked = 0

    def answer(call: ModelCall) -> str:
        nonlocal asked
        asked += 1
        if asked == 1:
            WAYS[way](other, "I am allergic to penicillin.")
        return scored(fact("allergic to penicillin"))

    memory = open_room(llm=ScriptedModel(answer))
    memory.longterm.schedule_round("alice", "talk", "I am allergic to penicillin.", "ok")
    memory.run_jobs()
    assert facts(memory) == []
    assert asked == 1
    assert [job.state for job in memory.jobs(scope="alice", states=["queued", "running", "dead"])] == []


def test_no_model_is_asked_about_what_was_deleted(open_room: OpenMemory) -> None:
    fake = model()
    memory = open_room(llm=fake)
    memory.longterm.schedule_round("alice", "talk", "I am allergic to penicillin.", "ok")
    memory.forget_session("talk", scope="alice")
    assert memory.run_jobs() == 1
    assert fake.calls == []


def test_a_candidate_of_a_message_that_was_forgotten_is_not_taken(room: AgentMemory) -> None:
    chat = room.chat("talk", scope="alice")
    chat.put({"role": "user", "content": "请记住：我对青霉素过敏"})
    chat.put({"role": "assistant", "content": "好的"})
    chat.compact()
    assert room.candidates(scope="alice")
    forget_message(room, "请记住：我对青霉素过敏")
    assert room.longterm.take_candidates("alice") == []
    assert facts(room) == []
    assert room.candidates(scope="alice") == []

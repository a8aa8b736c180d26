"""The end of a session: what was said is searched for what is worth keeping, however the session ends."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from jiyi.errors import ModelError, ModelUnavailableError
from jiyi.sync import AgentMemory
from jiyi.testing.models import ScriptedModel

OpenMemory = Callable[..., AgentMemory]
SAID = "Please remember that I am allergic to penicillin."


def candidates(memory: AgentMemory) -> list[str]:
    return [candidate.content for candidate in memory.candidates(state=None)]


def test_closing_an_agent_flushes_its_session_once(memory: AgentMemory) -> None:
    agent = memory.agent("s")
    agent.begin(SAID).finish("I will.")
    assert candidates(memory) == []
    assert agent.close().candidates > 0
    found = candidates(memory)
    assert any("penicillin" in content for content in found)
    agent.close()
    assert candidates(memory) == found
    # It goes on where it stood.
    assert len(memory.agent("s").begin("hello").messages) == 4


def test_a_reset_flushes_first(memory: AgentMemory) -> None:
    agent = memory.agent("s")
    agent.begin(SAID).finish("I will.")
    agent.reset()
    assert any("penicillin" in content for content in candidates(memory))
    assert len(agent.begin("hello").messages) == 2


def test_a_reset_whose_search_fails_changes_nothing_unless_it_is_left_out(open_memory: OpenMemory) -> None:
    memory = open_memory(llm=ScriptedModel(lambda _: ModelUnavailableError("503")))
    chat = memory.chat("s")
    chat.put({"role": "user", "content": SAID})
    with pytest.raises(ModelError):
        chat.reset()
    assert len(chat.get_all()) == 1
    chat.reset(flush=False)
    assert chat.get_all() == []


def test_closing_the_memory_flushes_what_its_agents_said(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.agent("s").begin(SAID).finish("I will.")
    memory.close()
    assert any("penicillin" in content for content in candidates(open_memory()))


def test_maintenance_flushes_sessions_that_are_over_and_leaves_others(open_memory: OpenMemory) -> None:
    memory = open_memory(session_idle_minutes=30)
    now = datetime.now(UTC)
    for session, age in (("over", 60), ("running", 1), ("long ago", 60 * 24 * 90)):
        memory.chat(session).put({"role": "user", "content": SAID}, created_at=now - timedelta(minutes=age))
    assert memory.maintain(dry_run=True)["sessions"] == {"flushed": 1, "failed": 0}
    assert candidates(memory) == []
    assert memory.maintain()["sessions"] == {"flushed": 1, "failed": 0}
    assert {candidate.session_id for candidate in memory.candidates()} == {"over"}
    assert memory.maintain()["sessions"] == {"flushed": 0, "failed": 0}


def test_maintenance_goes_on_whatever_a_model_raises(open_memory: OpenMemory) -> None:
    def fail(_: object) -> str:
        raise ValueError("no error of jiyi")

    memory = open_memory(llm=ScriptedModel(fail))
    earlier = datetime.now(UTC) - timedelta(hours=1)
    for session in ("one", "two"):
        memory.chat(session).put({"role": "user", "content": SAID}, created_at=earlier)
    assert memory.maintain()["sessions"] == {"flushed": 0, "failed": 2}


def test_maintenance_does_not_look_again_for_what_nobody_said(open_memory: OpenMemory) -> None:
    memory = open_memory(session_idle_minutes=30)
    earlier = datetime.now(UTC) - timedelta(hours=1)
    memory.chat("prompt").put({"role": "system", "content": "Be brief."}, created_at=earlier)
    memory.chat("reset").put({"role": "user", "content": SAID}, created_at=earlier)
    memory.chat("reset").reset(flush=False)
    assert memory.maintain()["sessions"] == {"flushed": 0, "failed": 0}


def test_the_worker_flushes_a_session_that_has_been_idle(open_memory: OpenMemory, workspace: Path) -> None:
    memory = open_memory(session_idle_minutes=0, background_jobs=True, workspace=workspace)
    memory.notes.init_workspace()
    memory.agent("s").begin(SAID).finish("I will.")

    def noted() -> str:
        return "".join(file.read_text("utf-8") for file in (workspace / "memory").glob("*.md"))

    while "penicillin" not in noted():
        memory._target._queued()
    assert noted().count("penicillin") == 1


def test_a_fact_has_the_time_at_which_the_user_said_it_however_late_the_reply_came(open_memory: OpenMemory) -> None:
    memory = open_memory()
    said_at = "2026-03-02T09:00:00+08:00"
    turn = memory.agent("s").begin({"role": "user", "content": "I am allergic to penicillin.", "created_at": said_at})
    turn.finish("Noted.")
    memory.run_jobs()
    (fact,) = memory.list(memory_types="fact")
    assert fact.event_time == datetime.fromisoformat(said_at)


def test_a_turn_that_was_broken_off_long_ago_is_marked_and_its_question_is_looked_through(
    open_memory: OpenMemory,
) -> None:
    memory = open_memory()
    long_ago = datetime.now(UTC) - timedelta(hours=1)
    question = {"role": "user", "content": "我对青霉素过敏", "turn": "t-1"}
    memory.chat("s").put(question, created_at=long_ago)
    assert [turn.text for turn in memory.agent("s").unfinished()] == ["我对青霉素过敏"]
    turn = memory.agent("s").begin("hello")
    assert [message.role for message in turn.messages] == ["system", "user", "user"]
    assert [broken.turn_id for broken in memory.agent("s").unfinished()] == [turn.id]
    [_, mark, _] = memory.chat("s").get_all()
    assert mark.extra == {"turn": "t-1", "broken_off": "the process ended"}
    memory.run_jobs()
    assert any("青霉素" in fact.content for fact in memory.list(memory_types="fact"))

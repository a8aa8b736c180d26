"""Rounds in the background: acknowledged when durable, done across restarts."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from jiyi.testing.models import ModelCall, ScriptedModel
from tests.longterm.answers import model
from tests.longterm.conftest import FakeClock, OpenMemory


def test_a_scheduled_round_is_durable_before_a_model_is_asked(open_room: OpenMemory) -> None:
    fake = model()
    memory = open_room(llm=fake)
    job_id = memory.longterm.schedule_round("alice", "conversation", "I am allergic to nuts", "noted")
    assert fake.calls == []
    assert len(memory.load_conversation_history("conversation", scope="alice")) == 2
    assert [job.id for job in memory.jobs(scope="alice", states="queued")] == [job_id]
    assert memory.jobs(scope="bob", states="queued") == []


def test_what_was_scheduled_is_done_after_a_restart(open_room: OpenMemory) -> None:
    with open_room() as memory:
        memory.longterm.schedule_round("alice", "conversation", "I am allergic to nuts", "noted")
    again = open_room()
    assert again.run_jobs() == 1
    assert [entry.content for entry in again.list(scope="alice")] == ["I am allergic to nuts"]


def test_a_round_that_was_cut_off_half_way_is_done_by_whoever_comes_later(
    open_room: OpenMemory, clock: FakeClock
) -> None:
    class PulledPlugError(BaseException):
        """The process ends here."""

    def pull_the_plug(_call: ModelCall) -> str:
        raise PulledPlugError

    memory = open_room(llm=ScriptedModel(pull_the_plug))
    memory.longterm.schedule_round("alice", "conversation", "I am allergic to nuts", "noted")
    parts = memory._target._longterm_deps
    with pytest.raises(PulledPlugError):
        parts.runner.run_one()
    other = open_room(llm=model())
    assert other.run_jobs() == 0
    clock.advance(minutes=11)
    assert other.run_jobs() == 1
    assert [entry.content for entry in other.list(scope="alice")] == ["I am allergic to nuts"]


def test_the_thread_of_an_open_memory_does_the_work(tmp_path: Path) -> None:
    asked = threading.Event()

    def answer(data: dict[str, str]) -> list[dict[str, object]]:
        asked.set()
        return []

    with AgentMemory.open(tmp_path, embedder=HashEmbedder(), llm=model(answer)) as memory:
        memory.longterm.schedule_round("alice", "conversation", "I am allergic to nuts", "noted")
        assert asked.wait(30)
    with AgentMemory.open(tmp_path, embedder=HashEmbedder(), background_jobs=False) as memory:
        assert [job.state for job in memory.jobs(scope="alice", states=["queued", "running", "done", "dead"])] == [
            "done"
        ]


def test_the_same_round_done_twice_is_stored_once(open_room: OpenMemory, clock: FakeClock) -> None:
    memory = open_room()
    memory.longterm.schedule_round("alice", "conversation", "I am allergic to nuts", "noted")
    parts = memory._target._longterm_deps
    slow = parts.jobs.claim("slow", now=clock(), lease_until=clock())
    clock.advance(seconds=1)
    memory.run_jobs()
    # The slow one comes to an end as well, and finds that it is too late.
    assert memory._target.longterm._service._keep(slow) is None or memory._target.longterm._keep(slow) == []
    assert memory.count(scope="alice") == 1


def test_work_that_is_not_done_goes_with_an_export(open_room: OpenMemory, tmp_path: Path) -> None:
    memory = open_room()
    memory.longterm.schedule_round("alice", "conversation", "I am allergic to nuts", "noted")
    memory.export_jsonl(tmp_path / "export.jsonl")
    other = open_room("other")
    assert other.import_jsonl(tmp_path / "export.jsonl").jobs == 1
    assert other.import_jsonl(tmp_path / "export.jsonl").jobs == 0
    assert other.run_jobs() == 1
    assert [entry.content for entry in other.list(scope="alice")] == ["I am allergic to nuts"]


def test_looking_up_and_forgetting_load_nothing_that_reads_facts(tmp_path: Path) -> None:
    program = (
        "import json, sys\n"
        "from jiyi.sync import AgentMemory\n"
        f"with AgentMemory.open({str(tmp_path / 'data')!r}, embedder='none', background_jobs=False) as memory:\n"
        "    room = memory.longterm\n"
        "    room.schedule_round('alice', 'c1', 'I live in Harrogate', 'OK.')\n"
        "    room.retrieve_relevant_memories('alice', 'Where do I live?')\n"
        "    room.conflicts('alice'), room.cleanup_forgotten_memories('alice')\n"
        "loaded = list(sys.modules)\n"
        "import jiyi.longterm.ingest\n"
        "print(json.dumps([name for name in sys.modules if name not in loaded]))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    # Their patterns take a while to load, and a room is opened on the event loop of the caller.
    reading = {"jiyi.longterm.ingest", "jiyi.longterm.corrections", "jiyi.text.statements.parts.claims"}
    assert reading <= set(json.loads(result.stdout))

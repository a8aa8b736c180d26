"""What a scope is told of its upkeep does not depend on others, and what tells of the whole store is no tool."""

from pathlib import Path
from typing import Any

from jiyi.sync import AgentMemory
from jiyi.testing.models import FailingModel
from tests.support import QUICK

ADMINISTRATION = ("add_word", "collect_tags", "doctor", "scopes", "run_jobs", "rebuild", "forget_scope", "export")


def upkeep_of_alice(path: Path, *, others: bool) -> tuple[Any, ...]:
    """What alice is told, with or without bob in the same store."""
    with AgentMemory.open(path, **{**QUICK, "llm": FailingModel("not json")}) as memory:
        for scope in ("bob", "alice") if others else ("alice",):
            memory.runtime.remember("fact", f"tea of {scope}", "", [f"tag of {scope}"], memory_scope=scope)
            made = memory.runtime.remember("fact", "gone", "", [f"unused tag of {scope}"], memory_scope=scope)
            memory.runtime.forget(made, memory_scope=scope)
            memory.longterm.schedule_round(scope, "talk", f"My name is {scope}", "ok")
        report = memory.maintain(scope="alice")
        jobs = memory.jobs(scope="alice", states=("queued", "running", "done", "dead"))
        told = {name: value for name, value in report.items() if name not in {"dead_jobs", "consolidated"}}
        return told, [job["scope"] for job in report["dead_jobs"]], [job.scope for job in jobs]


def test_the_upkeep_of_a_scope_tells_nothing_of_others(tmp_path: Path) -> None:
    alone, among_others = (upkeep_of_alice(tmp_path / name, others=name == "two") for name in ("one", "two"))
    assert alone == among_others
    assert alone[0]["jobs"]
    assert set(alone[1]) <= {"alice"}
    assert alone[2] == ["alice"]


def test_no_tool_of_a_model_leads_to_administration(tmp_path: Path) -> None:
    with AgentMemory.open(tmp_path / "data", workspace=tmp_path / "notes", **QUICK) as memory:
        memory.notes.init_workspace()
        names = [tool["function"]["name"] for tool in memory.tools().openai()]
    assert names
    assert [name for name in names if any(word in name for word in ADMINISTRATION)] == []

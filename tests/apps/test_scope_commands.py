"""Commands that change and show single memories, and erase scopes."""

from pathlib import Path

from jiyi.sync import AgentMemory
from tests.apps.command_line import CommandLine
from tests.support import QUICK


def test_update_replaces_what_is_given_and_keeps_the_rest(jiyi: CommandLine) -> None:
    stored = jiyi("store", "pet", "a cat", "-c", "daily", "-t", "home", "--metadata", '{"legs": 4}', "--json").data
    words = ["--content", "a grey cat", "--importance", "0.8", "--expires-at", "2999-01-01", "--json"]
    new = jiyi("update", "pet", *words).data
    assert (new["version"], new["content"], new["importance_score"]) == (2, "a grey cat", 0.8)
    assert (new["category"], new["tags"], new["metadata"]) == ("daily", ["home"], {"legs": 4})
    assert new["expires_at"] == "2998-12-31T16:00:00.000000Z"
    cleared = jiyi("update", stored["id"][:13], "--clear", "expires_at", "--clear", "tags", "--json").data
    assert (cleared["expires_at"], cleared["tags"], cleared["content"]) == (None, [], "a grey cat")
    assert "version 4 of pet" in jiyi("update", "pet", "--content", "-", typed="from a pipe\n").out
    assert jiyi("update", "dog", "--content", "x").code == 1
    assert jiyi("update", "pet", "--metadata", "{").code == 2


def test_store_on_a_key_that_exists_keeps_what_is_not_given(jiyi: CommandLine) -> None:
    jiyi("store", "pet", "a cat", "-c", "daily", "-t", "home")
    again = jiyi("store", "pet", "a grey cat", "--json").data
    assert (again["category"], again["tags"]) == ("daily", ["home"])


def test_where_is_a_condition_of_recall_list_and_count(jiyi: CommandLine) -> None:
    for number in range(3):
        jiyi("store", f"k{number}", f"apple {number}", "--metadata", f'{{"n": {number}}}')
    condition = ["--where", '{"n": {"$gte": 1}}']
    assert {hit["key"] for hit in jiyi("recall", "apple", *condition, "--json").data["hits"]} == {"k1", "k2"}
    assert [entry["key"] for entry in jiyi("list", *condition, "--json").data["entries"]] == ["k2", "k1"]
    counted = jiyi("count", *condition)
    assert counted.out.startswith("2 ")
    assert "$gte" in counted.out
    refused = jiyi("list", "--where", '{"n": {"$near": 1}}')
    assert (refused.code, "$gte" in refused.err) == (2, True)


def test_a_memory_without_a_key_is_shown_told_and_forgotten_by_the_beginning_of_its_id(jiyi: CommandLine) -> None:
    with AgentMemory.open(jiyi.home, **QUICK) as memory:
        entry = memory.add("the ferry leaves at nine", metadata={"pier": "东"})
        other = memory.add("of somebody else", scope="alice")
    short = entry.id[:18]
    assert '{"pier": "东"}' in jiyi("show", short).out
    assert "ferry" in jiyi("history", short).out
    assert jiyi("history", other.id[:18]).code == 1
    assert jiyi("forget", short).code == 0
    assert jiyi("show", short).code == 1
    assert [v["operation"] for v in jiyi("history", entry.id, "--json").data["versions"]] == ["create", "forget"]


def test_a_scope_is_erased_with_a_receipt_and_not_without_being_confirmed(jiyi: CommandLine, tmp_path: Path) -> None:
    jiyi("store", "pet", "Mochi", "--scope", "alice")
    jiyi("store", "pet", "Rex")
    for words in (["forget-scope", "alice"], ["forget-scope", "alice", "--json"]):
        refused = jiyi(*words)
        assert (refused.code, "--yes" in refused.err) == (2, True)
    assert jiyi("show", "pet", "--scope", "alice").code == 0
    workspace = tmp_path / "notes"
    assert jiyi("notes", "init", JIYI_WORKSPACE=str(workspace)).code == 0
    receipt = jiyi("forget-scope", "alice", "--yes", "--json", JIYI_WORKSPACE=str(workspace), JIYI_SCOPE="alice").data
    assert (receipt["complete"], receipt["removed"]["memory_records"]) == (True, 1)
    assert receipt["note_workspaces"] == [str(workspace.resolve())]
    assert str(workspace / "MEMORY.md") in receipt["note_files"]
    assert jiyi("show", "pet", "--scope", "alice").code == 1
    assert jiyi("show", "pet").code == 0
    told = jiyi("forget-scope", "main", "--keep-history").out
    assert "memory_records" in told
    assert jiyi("history", "pet").code == 0


def test_erasing_a_name_that_was_mistyped_says_that_there_is_nothing_of_it(jiyi: CommandLine) -> None:
    jiyi("store", "pet", "Mochi", "--scope", "alice")
    missed = jiyi("forget-scope", "alcie", "--yes")
    assert (missed.code, "nothing of scope alcie" in missed.out) == (1, True)
    assert jiyi("forget-scope", "alcie", "--yes", "--json").data["found"] is False
    assert jiyi("forget-scope", "alice", "--yes", "--json").data["found"] is True

"""Scripts can tell from the exit code what happened, and people from one line on standard error."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from jiyi import errors
from jiyi.apps.cli.exit_codes import Code, code_of
from tests.apps.command_line import CommandLine

LONG = "x" * 70_000

BAD_INPUT = {
    "an empty key": ["store", "", "v"],
    "a blank key": ["store", " ", "v"],
    "an empty content": ["store", "k", ""],
    "a blank content": ["store", "k", " \t "],
    "too long a content": ["store", "k", LONG],
    "an unknown category": ["store", "k", "v", "--category", "two  words"],
    "an importance above 1": ["store", "k", "v", "--importance", "1.5"],
    "an importance that is no number": ["store", "k", "v", "--importance", "high"],
    "an empty tag": ["store", "k", "v", "--tag", ""],
    "an empty query": ["recall", ""],
    "too long a query": ["recall", LONG],
    "limit 0": ["recall", "x", "--limit", "0"],
    "limit -1": ["recall", "x", "--limit", "-1"],
    "a huge limit": ["recall", "x", "--limit", "1000000000"],
    "a limit that is no number": ["recall", "x", "--limit", "many"],
    "an unknown mode": ["recall", "x", "--mode", "psychic"],
    "a time that is none": ["recall", "x", "--since", "someday"],
    "since after until": ["recall", "x", "--since", "2026-02-01", "--until", "2026-01-01"],
    "an empty scope": ["count", "--scope", ""],
    "a blank scope": ["count", "--scope", " "],
    "a scope with white space": ["count", "--scope", "public "],
    "a negative offset": ["list", "--offset", "-1"],
    "an import file that is not there": ["import", "nowhere.jsonl"],
    "a settings file that is not there": ["count", "--config", "nowhere.yaml"],
    "a missing argument": ["recall"],
    "an unknown command": ["recal"],
    "an unknown option": ["count", "--loud"],
    "export to a dash": ["export", "-"],
}


@pytest.mark.parametrize("words", BAD_INPUT.values(), ids=BAD_INPUT.keys())
def test_bad_input_is_code_2_with_one_line_and_changes_nothing(jiyi: CommandLine, words: list[str]) -> None:
    jiyi("store", "kept", "as it was")
    refused = jiyi(*words)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("error: ")
    assert refused.err.count("\n") == 1
    assert [entry["key"] for entry in jiyi("list", "--json").data["entries"]] == ["kept"]


@pytest.mark.parametrize("words", BAD_INPUT.values(), ids=BAD_INPUT.keys())
def test_with_json_the_error_is_json_too(jiyi: CommandLine, words: list[str]) -> None:
    refused = jiyi(*words, "--json")
    assert (refused.code, refused.out) == (2, "")
    assert set(refused.error) == {"error", "message"}
    assert refused.error["error"] == "UsageError" or hasattr(errors, refused.error["error"])
    assert refused.err.count("\n") == 1


def test_a_nul_or_a_lone_surrogate_is_refused(jiyi: CommandLine) -> None:
    assert jiyi("store", "k", "-", typed=b"a\x00b").code == 2
    assert jiyi("store", "k", "\udcff").code == 2
    assert jiyi.process("store", "k", "a\udcffb").code == 2


@pytest.mark.parametrize("words", [["recall", "zebra"], ["forget", "zebra"], ["history", "zebra"]])
def test_nothing_there_is_code_1_and_no_error(jiyi: CommandLine, words: list[str]) -> None:
    jiyi.make_memory()
    nothing = jiyi(*words)
    assert (nothing.code, nothing.err) == (1, "")
    as_data = jiyi(*words, "--json")
    assert as_data.code == 1
    assert as_data.data


def test_an_unknown_setting_is_named(jiyi: CommandLine) -> None:
    refused = jiyi("count", JIYI_COLOUR="green")
    assert refused.code == 2
    assert "JIYI_COLOUR" in refused.err


def test_a_damaged_database_is_code_3(jiyi: CommandLine) -> None:
    jiyi.home.mkdir()
    (jiyi.home / "memory.db").write_bytes(b"this is not a database at all, only some text" * 100)
    refused = jiyi("count", "--json")
    assert refused.code == 3
    assert refused.error["error"] == "StoreDamagedError"


def test_a_newer_database_is_code_3(jiyi: CommandLine) -> None:
    jiyi("store", "k", "v")
    with closing(sqlite3.connect(jiyi.home / "memory.db")) as connection, connection:
        connection.execute("UPDATE schema_migrations SET version = version + 1000")
    refused = jiyi("count", "--json")
    assert (refused.code, refused.error["error"]) == (3, "StoreTooNewError")


def test_a_data_directory_that_cannot_be_made_is_code_3(jiyi: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", "utf-8")
    refused = jiyi("store", "k", "v", "--data", str(tmp_path / "file" / "data"))
    assert refused.code == 3
    assert refused.err.count("\n") == 1


def test_an_error_line_cannot_steer_the_terminal(jiyi: CommandLine) -> None:
    refused = jiyi("recall", "x", "--since", "\x1b[2Jgone\nfaked line")
    assert refused.code == 2
    assert "\x1b" not in refused.err
    assert refused.err.count("\n") == 1


def test_every_error_of_the_tree_has_its_code() -> None:
    expected = {
        errors.InvalidInputError: Code.BAD_INPUT,
        errors.InvalidScopeError: Code.BAD_INPUT,
        errors.VersionConflictError: Code.BAD_INPUT,
        errors.RequestReusedError: Code.BAD_INPUT,
        errors.ConfigError: Code.BAD_INPUT,
        errors.ImportFormatError: Code.BAD_INPUT,
        errors.MissingDependencyError: Code.BAD_INPUT,
        errors.RuntimeUnavailableError: Code.BAD_INPUT,
        errors.SimpleModeError: Code.BAD_INPUT,
        errors.MemoryClosedError: Code.STORAGE,
        errors.StorageError: Code.STORAGE,
        errors.StoreBusyError: Code.STORAGE,
        errors.StoreTooNewError: Code.STORAGE,
        errors.StoreDamagedError: Code.STORAGE,
        errors.StoreIncompleteError: Code.STORAGE,
        errors.StoreUnavailableError: Code.STORAGE,
        errors.CommitUnknownError: Code.STORAGE,
        errors.ResourceLimitError: Code.STORAGE,
        errors.IndexingError: Code.INDEX,
        errors.IndexDamagedError: Code.INDEX,
        errors.IndexUnavailableError: Code.INDEX,
        errors.NotesError: Code.STORAGE,
        errors.NoteConflictError: Code.STORAGE,
        errors.ModelError: Code.MODEL,
        errors.ModelTimeoutError: Code.MODEL,
        errors.ModelUnavailableError: Code.MODEL,
        errors.ContextOverflowError: Code.MODEL,
        errors.ModelRejectedError: Code.MODEL,
    }
    needing_more_to_be_made = {"JiyiError", "HistoryUnreadableError", "ModelReplyError"}
    assert {kind.__name__ for kind in expected} == set(errors.__all__) - needing_more_to_be_made
    assert {kind: code_of(kind("x")) for kind in expected} == expected

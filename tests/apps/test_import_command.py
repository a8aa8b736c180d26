"""`jiyi import`: what a person sees of taking in an export, also that of another program."""

from __future__ import annotations

from pathlib import Path

from tests.apps.command_line import CommandLine
from tests.importers.samples import build


def test_a_dry_run_shows_counts_reasons_and_samples_and_the_import_follows(jiyi: CommandLine, tmp_path: Path) -> None:
    path = str(build("chatgpt", tmp_path / "export"))
    planned = jiyi("import", path, "--from", "chatgpt", "--dry-run")
    assert planned.code == 0
    assert "would take in 0 memories and 6 messages of 2 conversations; 0 were here already" in planned.out
    assert "left out 4: a message of the system or of a tool" in planned.out
    assert "The cat: 我家的猫叫年糕" in planned.out
    assert jiyi("sessions", "--json").data["sessions"] == []
    done = jiyi("import", path, "--from", "chatgpt", "--scope", "ann", "--json").data
    assert (done["messages"], done["unchanged"], done["scopes"]) == (6, 0, ["ann"])
    assert jiyi("import", path, "--from", "chatgpt", "--scope", "ann", "--json").data["unchanged"] == 6


def test_what_is_wrong_with_the_options_or_the_file_is_told(jiyi: CommandLine, tmp_path: Path) -> None:
    path = str(build("csv", tmp_path / "export"))
    for words, said in (
        (["--from", "letters"], "known are mem0"),
        (["--dry-run"], "--from"),
        (["--from", "csv", "--map", "content"], "no mapping"),
        (["--from", "csv", "--map", "content=nothing"], "which the mapping names"),
        (["--from", "mem0"], "expected is memories of mem0"),
    ):
        refused = jiyi("import", path, *words)
        assert refused.code != 0
        assert said in refused.err


def test_an_export_is_taken_in_for_the_named_scope_only(jiyi: CommandLine, tmp_path: Path) -> None:
    path = str(tmp_path / "all.jsonl")
    jiyi("store", "tea", "She drinks green tea", "--scope", "ann")
    jiyi("store", "tea", "He drinks black tea", "--scope", "ben")
    assert jiyi("export", path).code == 0
    elsewhere = ("--data", str(tmp_path / "elsewhere"))
    refused = jiyi("import", path, "--scope", "ann", *elsewhere)
    assert refused.code != 0
    assert "belongs to scope 'ben'" in refused.err
    taken = jiyi("import", path, "--scope", "ann", "--skip-bad-rows", *elsewhere)
    assert taken.code == 0
    assert [one["scope"] for one in jiyi("scopes", "--json", *elsewhere).data["scopes"]] == ["ann"]

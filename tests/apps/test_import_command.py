"""`jiyi import --from`: what a person sees of taking in the export of another program."""

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

"""`jiyi notes …` from end to end, for people and for programs."""

import json
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from jiyi.apps.cli.commands_notes import notes
from tests.apps.command_line import CommandLine

COMMANDS = ["init", "append", "search", "get", "today", "take", "reindex", "watch", "promote", "curate", "import"]


@pytest.fixture
def jiyi(tmp_path: Path) -> CommandLine:
    """A command line with a workspace."""
    return CommandLine(tmp_path / "data", {"JIYI_WORKSPACE": str(tmp_path / "ws")})


def test_the_group_has_exactly_these_commands(jiyi: CommandLine) -> None:
    assert [info.name for info in notes.registered_commands] == COMMANDS
    shown = jiyi("notes", "--help").out
    assert all(f"│ {name} " in shown for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples_and_common_options(jiyi: CommandLine, name: str) -> None:
    shown = jiyi("notes", name, "--help")
    assert shown.code == 0
    for needed in (f"jiyi notes {name}", "Examples", "--json", "--data", "--scope", "--config"):
        assert needed in shown.out


@pytest.mark.date_sensitive
def test_every_example_of_the_help_works(jiyi: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for info in notes.registered_commands:
        lines = [line.strip() for line in (info.epilog or "").splitlines()]
        for example in (line for line in lines if line.startswith("jiyi ")):
            ended = jiyi(*shlex.split(example)[1:])
            assert ended.code == 0, f"{example}\n{ended.out}{ended.err}"


@pytest.mark.date_sensitive
def test_authors_are_shown_beside_the_lines_and_cannot_colour_the_terminal(jiyi: CommandLine, tmp_path: Path) -> None:
    jiyi("notes", "init", "--language", "en")
    made = jiyi("notes", "append", "Lin plays the violin", "--source", "\x9b31mchat:dinner#3", "--json").data
    jiyi("notes", "promote", made["id"], "--section", "People")
    file = tmp_path / "ws" / "MEMORY.md"
    file.write_text(file.read_text("utf-8") + "- by a person\n", "utf-8")
    shown = jiyi("notes", "get", "MEMORY.md", "--authors")
    assert any("promotion, " in line and "Lin plays the violin" in line for line in shown.lines)
    assert any("by hand" in line and "by a person" in line for line in shown.lines)
    assert "\x9b" not in shown.out
    told = jiyi("notes", "get", "MEMORY.md", "--authors", "--json").data
    assert {each["origin"] for each in told["authors"]} == {"template", "promotion", "hand"}


@pytest.mark.date_sensitive
def test_a_day_with_notes_from_init_to_search(jiyi: CommandLine, tmp_path: Path) -> None:
    assert "created MEMORY.md" in jiyi("notes", "init", "--language", "zh").lines
    assert "kept    MEMORY.md" in jiyi("notes", "init").lines
    written = jiyi("notes", "append", "杭州的会议改到周三", "--json").data
    assert jiyi("notes", "append", "-", typed="第二条\n第二行\n").code == 0
    found = jiyi("notes", "search", "会议什么时候", "--json").data["hits"]
    assert found[0]["path"] == written["path"]
    assert found[0]["content"] == "杭州的会议改到周三"
    lines = jiyi("notes", "search", "会议").lines
    assert f"{found[0]['path']}:{found[0]['start_line']}-{found[0]['end_line']}" in lines[1]
    assert any("words" in line for line in jiyi("notes", "search", "会议", "--explain").lines)
    [shown] = jiyi("notes", "get", written["path"], "--from", "3", "--to", "3").lines
    assert shown.endswith("** 杭州的会议改到周三")
    today = jiyi("notes", "today", "--json").data["entries"]
    assert [entry["text"] for entry in today] == ["杭州的会议改到周三", "第二条\n第二行"]
    assert any(written["id"] in line for line in jiyi("notes", "today").lines)


def test_it_looks_good_on_a_terminal(jiyi: CommandLine) -> None:
    jiyi("notes", "init")
    jiyi("notes", "append", "a zebra crossed the road")
    shown = jiyi.on_a_terminal("notes", "search", "zebra")
    assert "\x1b[" in shown.out
    assert any("zebra crossed" in line for line in shown.lines)


def test_nothing_found_is_exit_code_1(jiyi: CommandLine) -> None:
    jiyi("notes", "init", "--no-context-files")
    assert jiyi("notes", "search", "zebra").code == 1
    assert jiyi("notes", "today").code == 1


def test_a_group_is_fenced_here_too(jiyi: CommandLine, tmp_path: Path) -> None:
    jiyi("notes", "init")
    (tmp_path / "ws/MEMORY.md").write_text("zebra\n", "utf-8")
    assert jiyi("notes", "search", "zebra").code == 0
    assert jiyi("notes", "search", "zebra", "--group").code == 1
    refused = jiyi("notes", "get", "MEMORY.md", "--group", "--json")
    assert (refused.code, refused.error["error"]) == (2, "InvalidInputError")


@pytest.mark.date_sensitive
def test_a_proposal_is_shown_as_a_diff_and_accepted_by_its_id(jiyi: CommandLine, tmp_path: Path) -> None:
    jiyi("notes", "init")
    jiyi("notes", "append", "I prefer green tea over coffee.")
    before = (tmp_path / "ws/MEMORY.md").read_text("utf-8")
    proposal = jiyi("notes", "curate", "--json").data["proposal"]
    assert any(line.startswith("+- I prefer green tea") for line in jiyi("notes", "curate").lines)
    assert (tmp_path / "ws/MEMORY.md").read_text("utf-8") == before
    assert jiyi("notes", "curate", "--accept", proposal["id"]).code == 0
    assert "green tea" in (tmp_path / "ws/MEMORY.md").read_text("utf-8")
    assert jiyi("notes", "curate", "--accept", proposal["id"]).code == 2
    assert "there is nothing to propose" in jiyi("notes", "curate").lines


@pytest.mark.date_sensitive
def test_promote_needs_an_entry(jiyi: CommandLine) -> None:
    jiyi("notes", "init")
    assert jiyi("notes", "promote").code == 2
    assert jiyi("notes", "promote", "--last").code == 2
    entry = jiyi("notes", "append", "x", "--json").data["id"]
    assert jiyi("notes", "promote", entry, "--section", "People", "--json").data["added"] == [entry]


def test_bad_files_are_told_on_standard_error(jiyi: CommandLine, tmp_path: Path) -> None:
    jiyi("notes", "init")
    (tmp_path / "ws/memory/latin.md").write_bytes(b"caf\xe9 zebra\n")
    jiyi("notes", "append", "zebra")
    found = jiyi("notes", "search", "zebra")
    assert found.code == 0
    assert "note: note memory/latin.md" in found.err
    assert any("memory/latin.md" in line for line in jiyi("notes", "reindex").lines)


def test_without_a_workspace_the_setting_is_named(tmp_path: Path) -> None:
    ended = CommandLine(tmp_path / "data")("notes", "append", "x", "--json")
    assert (ended.code, ended.error["error"]) == (2, "ConfigError")
    assert "JIYI_WORKSPACE" in ended.error["message"]
    assert CommandLine(tmp_path / "data")("notes", "append", "x", "-w", str(tmp_path / "none")).code == 3


def test_init_without_a_place_uses_this_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert CommandLine(tmp_path / "data")("notes", "init").code == 0
    assert (tmp_path / "here/MEMORY.md").is_file()


def test_a_watcher_reports_until_it_is_interrupted(jiyi: CommandLine, tmp_path: Path) -> None:
    jiyi("notes", "init", "--no-context-files")
    (tmp_path / "ws/MEMORY.md").write_text("a horse\n", "utf-8")
    process = jiyi.start("notes", "watch", "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    first = json.loads(process.stdout.readline())
    assert first["files"] == 1
    assert b"watching" in process.stderr.readline()
    (tmp_path / "ws/memory/a.md").write_text("zebra\n", "utf-8")
    second = json.loads(process.stdout.readline())
    assert second["chunks_added"] == 1
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130


@pytest.mark.date_sensitive
def test_it_works_in_the_folder_where_init_was_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jiyi = CommandLine(tmp_path / "data", {})
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path / "mine")
    assert jiyi("notes", "append", "nowhere to go").code != 0
    assert jiyi("notes", "init").code == 0
    written = jiyi("notes", "append", "a zebra", "--json").data
    assert "a zebra" in (tmp_path / "mine" / written["path"]).read_text("utf-8")
    with (tmp_path / "mine" / written["path"]).open("a", encoding="utf-8") as file:
        file.write("\n* by hand\n")
    today = jiyi("notes", "today", "--json").data["entries"]
    assert [(entry["text"], entry["by_hand"]) for entry in today] == [("a zebra", False), ("by hand", True)]
    assert any("by hand" in line for line in jiyi("notes", "today").lines)
    assert jiyi("notes", "promote", today[1]["id"], "--section", "Preferences").code == 0
    assert "## Preferences\n\n- by hand\n" in (tmp_path / "mine/MEMORY.md").read_text("utf-8")
    assert jiyi("notes", "search", "zebra", "--mode", "keyword").code == 0
    monkeypatch.chdir(tmp_path)
    assert jiyi("notes", "today").code not in {0, 1}


@pytest.mark.date_sensitive
def test_a_proposal_is_accepted_item_by_item(jiyi: CommandLine, tmp_path: Path) -> None:
    jiyi("notes", "init")
    for said in ("I prefer green tea over coffee.", "I am allergic to peanuts."):
        jiyi("notes", "append", said)
    shown = jiyi("notes", "curate")
    assert any("1. add  Preferences: I prefer green tea" in line for line in shown.lines)
    proposal = jiyi("notes", "curate", "--json").data["proposal"]
    assert jiyi("notes", "curate", "--accept", proposal["id"], "--items", "2").code == 0
    text = (tmp_path / "ws/MEMORY.md").read_text("utf-8")
    assert "peanuts" in text
    assert "green tea" not in text
    assert jiyi("notes", "curate", "--reject", proposal["id"]).code == 0
    assert jiyi("notes", "curate", "--json").data["proposal"]["items"] == []
    assert jiyi("notes", "curate", "--items", "1").code != 0
    assert jiyi("notes", "curate", "--accept", proposal["id"], "--items", "x").code != 0

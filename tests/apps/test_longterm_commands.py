"""The commands of the long-term room, as people use them."""

import shlex
from pathlib import Path

import pytest

from jiyi.apps.cli.commands_longterm import longterm
from jiyi.apps.cli.forgetting_plot import as_svg, as_text, make_curves
from jiyi.model.forgetting_curve import EbbinghausForgetting
from tests.apps.command_line import CommandLine

COMMANDS = (  # noqa: SIM905
    "add-round take-candidates recall reflect forget restore pin explain conflicts settle superseded curve"
).split()


def examples(command: str) -> list[str]:
    epilog = next(info for info in longterm.registered_commands if info.name == command).epilog or ""
    return [line.strip() for line in epilog.splitlines() if line.strip().startswith("jiyi ")]


def test_the_room_has_the_commands_that_are_listed() -> None:
    assert [info.name for info in longterm.registered_commands] == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples_and_common_options(jiyi: CommandLine, command: str) -> None:
    shown = jiyi("longterm", command, "--help")
    assert shown.code == 0
    for needed in (f"jiyi longterm {command}", "Examples", "--json", "--data", "--scope", "--config"):
        assert needed in shown.out
    assert examples(command)


@pytest.mark.date_sensitive
def test_every_example_of_the_help_works(jiyi: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # Without meanings a question such as "which database do we use" has no word in common with PostgreSQL.
    jiyi.env["JIYI_EMBEDDER"] = "bundled"
    jiyi("store", "stack", "We use PostgreSQL")
    # Settling needs a conflict, and has a test of its own.
    for command in (name for name in COMMANDS if name != "settle"):
        for example in examples(command):
            ended = jiyi(*shlex.split(example)[1:])
            assert ended.code == 0, f"{example}\n{ended.out}{ended.err}"
    assert (tmp_path / "c.svg").read_text("utf-8").startswith("<svg")


def test_the_room_alone_shows_its_help(jiyi: CommandLine) -> None:
    shown = jiyi("longterm")
    assert shown.code == 0
    assert "add-round" in shown.out


@pytest.mark.date_sensitive
def test_a_round_is_kept_recalled_explained_and_forgotten(jiyi: CommandLine) -> None:
    stored = jiyi("longterm", "add-round", "我每周三晚上打羽毛球", "好的", "--json").data["stored"]
    assert [entry["content"] for entry in stored] == ["我每周三晚上打羽毛球"]
    hits = jiyi("longterm", "recall", "羽毛球", "--json").data["hits"]
    assert hits[0]["id"] == stored[0]["id"]
    assert "final" in hits[0]["explanation"]["parts"]
    explained = jiyi("longterm", "explain", stored[0]["id"])
    assert "我每周三晚上打羽毛球" in explained.out
    assert jiyi("longterm", "explain", "nobody").code == 1
    plan = jiyi("longterm", "forget", "--threshold", "1.0", "--dry-run", "--json").data
    assert plan["count"] == 1
    assert jiyi("longterm", "forget", "--threshold", "1.0", "--json").data == {"forgotten": 1}
    assert jiyi("longterm", "recall", "羽毛球").code == 1
    assert jiyi("longterm", "restore").out == "brought back 1 memories\n"
    assert jiyi("longterm", "recall", "羽毛球").code == 0


@pytest.mark.date_sensitive
def test_what_was_replaced_is_listed_with_what_took_its_place_and_comes_back(jiyi: CommandLine) -> None:
    jiyi("longterm", "add-round", "I live in Leeds.", "ok")
    assert jiyi("longterm", "superseded").out == "nothing was replaced\n"
    jiyi("longterm", "add-round", "I moved to Oslo.", "ok")
    shown = jiyi("longterm", "superseded")
    assert [line.split()[0] for line in shown.lines[1:3]] == ["replaced", "by"]
    assert "I live in Leeds." in shown.lines[1]
    assert "I moved to Oslo." in shown.lines[2]
    (replaced,) = jiyi("longterm", "superseded", "--json").data["superseded"]
    assert jiyi("longterm", "restore", replaced["entry"]["key"]).out == "brought back 1 memories\n"
    assert jiyi("longterm", "superseded", "--json").data == {"superseded": []}
    assert jiyi("longterm", "superseded", "--scope", "bob").out == "nothing was replaced\n"


@pytest.mark.date_sensitive
@pytest.mark.parametrize(
    ("keep", "gone"), [("newer", ["I live in Leeds."]), ("older", ["I moved to Oslo."]), ("both", [])]
)
def test_a_conflict_is_listed_and_settled(jiyi: CommandLine, keep: str, gone: list[str]) -> None:
    (first,) = jiyi("longterm", "add-round", "I live in Leeds.", "ok", "--json").data["stored"]
    assert jiyi("longterm", "conflicts").out == "no facts contradict each other\n"
    # What is pinned is not replaced.
    jiyi("longterm", "pin", first["key"])
    jiyi("longterm", "add-round", "I moved to Oslo.", "ok")
    shown = jiyi("longterm", "conflicts")
    assert [line.split()[0] for line in shown.lines[1:3]] == ["newer", "older"]
    assert "jiyi longterm settle" in shown.lines[-1]
    (found,) = jiyi("longterm", "conflicts", "--json").data["conflicts"]
    pair = (found["newer"]["key"], found["older"]["key"])
    assert jiyi("longterm", "settle", *pair, "--keep", "nobody").code == 2
    assert jiyi("longterm", "settle", *pair, "--keep", keep).out == "settled\n"
    assert jiyi("longterm", "settle", *pair, "--keep", keep).code == 1
    assert [each["entry"]["content"] for each in jiyi("longterm", "superseded", "--json").data["superseded"]] == gone


def test_users_are_scopes(jiyi: CommandLine) -> None:
    jiyi("longterm", "add-round", "我对青霉素过敏", "好的", "--scope", "alice")
    assert jiyi("longterm", "recall", "过敏", "--scope", "bob").code == 1
    assert jiyi("longterm", "recall", "过敏", "--scope", "alice").code == 0


@pytest.mark.date_sensitive
def test_a_round_for_later_is_done_by_maintain(jiyi: CommandLine) -> None:
    job = jiyi("longterm", "add-round", "我对青霉素过敏", "好的", "--later", "--json").data["job"]
    assert [each["id"] for each in jiyi("jobs", "--state", "queued", "--json").data["jobs"]] == [job]
    report = jiyi("maintain", "--json").data
    assert report["jobs_run"] == 1
    assert jiyi("longterm", "recall", "过敏").code == 0
    assert jiyi("jobs", "--retry", job).code == 1


def test_small_talk_finds_nothing_and_says_why(jiyi: CommandLine) -> None:
    jiyi.make_memory()
    found = jiyi("longterm", "recall", "你好")
    assert found.code == 1
    assert "small talk" in found.out


@pytest.mark.parametrize("words", [["--days", "0"], ["--threshold", "2"], ["--importance", "3"], ["--out", "c.gif"]])
def test_a_curve_that_cannot_be_drawn_is_refused(jiyi: CommandLine, words: list[str]) -> None:
    assert jiyi("longterm", "curve", *words).code == 2


def test_a_curve_is_drawn_to_png_where_matplotlib_is(jiyi: CommandLine, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "curve.png"
    assert jiyi("longterm", "curve", "--out", str(file)).code == 0
    assert file.read_bytes().startswith(b"\x89PNG")


def test_the_picture_shows_every_curve_and_the_threshold() -> None:
    curves = make_curves(EbbinghausForgetting(), [0, 2], 0.5, 30, 0.1)
    lines = as_text(curves, 30, 0.1)
    assert any("┄" in line for line in lines)
    assert "● recalled 0 times: below 0.1 after 19.1 days" in lines[-2]
    svg = as_svg(curves, 30, 0.1)
    assert svg.count('stroke-width="2"/>') == 4
    assert "recalled 2 times" in svg


def test_recall_says_that_nothing_fits_where_nothing_is_relevant(jiyi: CommandLine) -> None:
    jiyi.env["JIYI_EMBEDDER"] = "bundled"
    jiyi("longterm", "add-round", "My cat Miso hates dogs", "ok")
    nothing = jiyi("longterm", "recall", "quantum physics")
    assert nothing.code == 1
    assert "nothing fits among" in nothing.out
    assert jiyi("longterm", "recall", "quantum physics", "--json").data["hits"] == []
    assert "Miso" in jiyi("longterm", "recall", "quantum physics", "--min-relevance", "0").out
    assert jiyi("longterm", "recall", "what does my cat hate?").code == 0

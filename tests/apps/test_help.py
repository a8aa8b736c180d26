"""The help is complete, and what it shows works."""

import shlex
from pathlib import Path

import pytest
import typer.main

from jiyi.apps.cli.app import app
from jiyi.apps.cli.exit_codes import MEANINGS
from tests.apps.command_line import CommandLine
from tests.importers.samples import build

COMMANDS = (  # noqa: SIM905
    "store recall update forget count list history scopes sessions changes show forget-scope "
    "export import migrate verify repair rebuild doctor maintain jobs chat mcp serve console demo"
).split()


def examples(command: str) -> list[str]:
    """The examples at the end of a command's help."""
    epilog = next(info for info in app.registered_commands if info.name == command).epilog or ""
    return [line.strip() for line in epilog.splitlines() if line.strip().startswith("jiyi ")]


def test_the_help_names_exactly_the_commands_there_are(jiyi: CommandLine) -> None:
    group = typer.main.get_command(app)
    assert [info.name for info in app.registered_commands] == COMMANDS
    shown = jiyi("--help").out
    assert group.name == "jiyi"
    assert all(f"│ {name} " in shown for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples_and_common_options(jiyi: CommandLine, command: str) -> None:
    for option in ("--help", "-h"):
        shown = jiyi(command, option)
        assert shown.code == 0
        for needed in (f"jiyi {command}", "Examples", "--json", "--data", "--scope", "--config"):
            assert needed in shown.out
    assert examples(command)


def test_no_command_at_all_shows_the_help(jiyi: CommandLine) -> None:
    assert jiyi().code == 0
    assert "Usage: jiyi" in jiyi().out


def test_the_help_lists_every_exit_code(jiyi: CommandLine) -> None:
    lines = [line.strip() for line in jiyi("--help").out.splitlines()]
    for code, meaning in MEANINGS.items():
        assert f"{int(code)}  {meaning}" in lines


def test_every_example_of_the_help_works(jiyi: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    build("chatgpt", tmp_path)
    (tmp_path / "notes.csv").write_text("text,day\nthe ferry was late,2026-03-04\n", "utf-8")
    # In the order of a day: what is forgotten comes last; the story and the move to a server have tests of their own.
    order = [name for name in COMMANDS if name not in {"forget", "forget-scope", "demo", "migrate"}] + ["forget"]
    for command in order:
        for example in examples(command):
            ended = jiyi(*shlex.split(example)[1:])
            assert ended.code == 0, f"{example}\n{ended.out}{ended.err}"

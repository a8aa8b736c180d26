"""`jiyi demo` executes and checks every step, and says so when a check fails."""

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from jiyi.apps.cli import demo
from jiyi.apps.cli.demo import scenario
from jiyi.memory import AgentMemory
from jiyi.model.entry import MemoryEntry
from jiyi.text import Analyzer
from tests.apps.command_line import CommandLine


def test_the_story_comes_true_in_both_languages(jiyi: CommandLine) -> None:
    told = jiyi.process("demo", JIYI_EMBEDDER="bundled")
    assert (told.code, told.err) == (0, "")
    for question, key in scenario.QUESTIONS:
        assert question in told.out
        assert dict(scenario.MEMORIES)[key].split()[0] in told.out
    for said in ("早报", "SIGKILL", "search_index/", "alice", "什么也没丢", "nothing is lost"):
        assert said in told.out
    program = f"{sys.executable} -m jiyi"
    assert told.out.splitlines()[-3:] == [f"  {program} {arguments}" for arguments in demo.NEXT_ARGUMENTS]
    assert not jiyi.home.exists()


@pytest.mark.parametrize(("question", "key"), scenario.QUESTIONS)
def test_the_questions_share_no_word_and_no_character_pair_with_their_answers(question: str, key: str) -> None:
    analyzer = Analyzer()
    asked, answer = analyzer.query(question), analyzer.analyze(dict(scenario.MEMORIES)[key])
    assert asked.words
    assert not set(asked.words) & set(answer.words)
    assert not set(asked.bigrams) & set(answer.bigrams)


def test_a_story_that_does_not_come_true_is_code_1(jiyi: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    async def find_nothing(_: AgentMemory, *__: Any, **___: Any) -> Sequence[MemoryEntry]:
        return []

    monkeypatch.setattr(AgentMemory, "recall", find_nothing)
    told = jiyi("demo", "--json")
    assert told.code == 1
    assert told.data["came_true"] is False
    assert [chapter["title"]["en"] for chapter in told.data["chapters"]] == ["Store"]
    assert "a step of the demo failed" in told.error["message"]


def test_a_child_that_never_acknowledges_breaks_the_story(jiyi: CommandLine) -> None:
    with pytest.raises(scenario.DemoFailedError, match="did not acknowledge"):
        scenario._store_and_kill(jiyi.home, "", "an empty key is refused")


def test_the_next_commands_work(jiyi: CommandLine) -> None:
    jiyi.env["JIYI_EMBEDDER"] = "bundled"
    ended = [jiyi(*shlex.split(arguments)) for arguments in demo.NEXT_ARGUMENTS]
    assert [end.code for end in ended] == [0, 0, 0]
    assert "年糕" in ended[1].out


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program `jiyi` that is not on PATH, in a folder with a space in its name; its tree is the current directory."""
    path = tmp_path / "my tree" / ".venv" / "bin" / "jiyi"
    path.parent.mkdir(parents=True)
    path.touch(0o755)
    monkeypatch.chdir(tmp_path / "my tree")
    monkeypatch.setenv("PATH", str(tmp_path))
    return path


@pytest.mark.parametrize("started_as", [".venv/bin/jiyi", "{script}"])
def test_a_program_below_the_current_directory_is_named_by_its_relative_path(script: Path, started_as: str) -> None:
    assert demo.program_as_typed(started_as.format(script=script)) == ".venv/bin/jiyi"


def test_a_program_in_the_current_directory_is_named_with_a_dot(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(script.parent)
    assert demo.program_as_typed("./jiyi") == "./jiyi"


def test_a_program_elsewhere_is_named_by_its_quoted_path(
    script: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert shlex.split(demo.program_as_typed(str(script))) == [str(script)]


def test_a_program_on_the_path_is_named_by_its_name(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join([str(script.parent), "/usr/bin"]))
    assert demo.program_as_typed(str(script)) == "jiyi"


def test_another_program_of_that_name_on_the_path_is_not_taken_for_it(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jiyi").touch(0o755)
    assert demo.program_as_typed(str(script)) == ".venv/bin/jiyi"

"""The story of `jiyi demo` is true, and admits it when it is not."""

import shlex
from collections.abc import Sequence
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
    for command in demo.NEXT_COMMANDS:
        assert command in told.out
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
        scenario._store_and_die(jiyi.home, "", "an empty key is refused")


def test_the_next_commands_work(jiyi: CommandLine) -> None:
    jiyi.env["JIYI_EMBEDDER"] = "bundled"
    ended = [jiyi(*shlex.split(command)[1:]) for command in demo.NEXT_COMMANDS]
    assert [end.code for end in ended] == [0, 0, 0]
    assert "年糕" in ended[1].out

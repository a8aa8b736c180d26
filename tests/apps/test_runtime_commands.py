"""`jiyi runtime`, as people and scripts use it."""

import json
import shlex
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from jiyi.apps.cli.app import app
from jiyi.model import clock
from tests.apps.command_line import CommandLine

COMMANDS = ("remember", "recall", "feedback", "consolidate", "tags", "history", "restore", "forget")


@pytest.fixture(params=["true", "false"], ids=["simple", "vector"])
def run(jiyi: CommandLine, request: pytest.FixtureRequest) -> Any:
    """`run("recall", ...)` is `jiyi runtime recall ...` with either runtime below."""
    jiyi.env["JIYI_ENABLE_SIMPLE_MEMORY"] = request.param
    return lambda *words, **options: jiyi("runtime", *words, **options)


@pytest.fixture
def clock_later(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Puts the clock forward."""

    def later(**by: float) -> None:
        now = clock.utc_now() + timedelta(**by)
        monkeypatch.setattr(clock, "utc_now", lambda: now)

    return later


def times_of_access(jiyi: CommandLine) -> list[str]:
    return [entry["last_accessed_at"] for entry in jiyi("list", "--json").data["entries"]]


def remember(run: Any, judgment: str, *tags: str, scope: str = "main") -> str:
    words = [word for tag in tags for word in ("--tag", tag)]
    memory_id: str = run("remember", judgment, *words, "--scope", scope, "--json").data["memory_id"]
    return memory_id


def group_commands() -> dict[str, str]:
    """The commands of the group with what stands at the end of their help."""
    groups = [each.typer_instance for each in app.registered_groups if each.typer_instance is not None]
    [group] = [each for each in groups if each.info.name == "runtime"]
    return {str(info.name): info.epilog or "" for info in group.registered_commands}


def test_the_help_names_the_commands_and_each_has_examples(jiyi: CommandLine) -> None:
    assert tuple(group_commands()) == COMMANDS
    shown = jiyi("runtime", "--help").out
    assert all(f"│ {name} " in shown for name in COMMANDS)
    assert "│ runtime " in jiyi("--help").out
    for name in COMMANDS:
        help_text = jiyi("runtime", name, "--help").out
        for needed in (f"jiyi runtime {name}", "Examples", "--json", "--data", "--scope", "--config"):
            assert needed in help_text


def test_every_example_of_the_help_works(run: Any) -> None:
    ids = {"ID1": remember(run, "小明爱吃火锅", "小明", "火锅"), "ID2": remember(run, "小明是工程师", "小明")}
    order = ["remember", "recall", "feedback", "consolidate", "tags", "history", "restore", "forget"]
    for name in order:
        for line in group_commands()[name].splitlines():
            if line.strip().startswith("jiyi "):
                words = shlex.split(line)[2:]
                words = [",".join(ids.get(part, part) for part in word.split(",")) for word in words]
                ended = run(*words)
                assert ended.code == 0, f"{line}\n{ended.out}{ended.err}"


def test_what_was_remembered_is_recalled_with_its_tags(run: Any) -> None:
    memory_id = remember(run, "小明爱吃火锅", "小明", "火锅")
    found = run("recall", "小明说晚上去吃火锅")
    assert found.code == 0
    for part in ("小明爱吃火锅", "小明, 火锅", memory_id):
        assert part in found.out
    data = run("recall", "小明说晚上去吃火锅", "--json").data
    assert data["memories"][0]["id"] == memory_id
    assert data["runtime"] in {"SimpleMemoryRuntime", "VectorMemoryRuntime"}


def test_nothing_found_is_exit_code_1(run: Any) -> None:
    remember(run, "treasure is buried", "treasure", scope="alice")
    assert (run("recall", "tea").code, run("recall", "tea", "--json").data["memories"]) == (1, [])
    for command in ("history", "restore", "forget"):
        assert run(command, "no-such-id").code == 1


def test_scopes_are_apart(run: Any) -> None:
    memory_id = remember(run, "treasure is buried", "treasure", scope="alice")
    assert run("recall", "treasure", "--scope", "alice").code == 0
    assert run("recall", "treasure", "--scope", "bob").code == 1
    assert run("forget", memory_id, "--scope", "bob").code == 1
    refused = run("recall", "treasure", "--scope", "")
    assert (refused.code, "scope" in refused.err) == (2, True)


def test_looking_on_the_command_line_does_not_count_as_recalled(run: Any, jiyi: CommandLine, clock_later: Any) -> None:
    remember(run, "小明爱吃火锅", "小明")
    before = times_of_access(jiyi)
    clock_later(hours=2)
    for how in ((), ("--chained",), ("--comprehensive",)):
        assert run("recall", "小明", *how).code == 0
    assert times_of_access(jiyi) == before


@pytest.mark.parametrize(("mode", "told"), [("hybrid", True), ("keyword", False), ("tags", False)])
def test_recall_on_the_command_line_says_that_there_is_no_embedder(jiyi: CommandLine, mode: str, told: bool) -> None:
    jiyi.env["JIYI_EMBEDDER"] = "none"
    jiyi("runtime", "remember", "the cat sleeps", "--tag", "cat")
    assert ("note: no embedder is configured" in jiyi("recall", "cat", "--mode", mode).out) is told
    assert bool(jiyi("recall", "cat", "--mode", mode, "--json").data["notes"]) is told


def test_recall_says_without_a_hit_as_well_what_was_not_searched(jiyi: CommandLine) -> None:
    jiyi("runtime", "remember", "the cat sleeps", JIYI_EMBEDDER="none")
    nothing = jiyi("runtime", "recall", "zebra", JIYI_EMBEDDER="none")
    assert (nothing.code, "note: no embedder is configured" in nothing.out) == (1, True)
    assert jiyi("runtime", "recall", "zebra", "--json", JIYI_EMBEDDER="none").data["notes"]


@pytest.mark.parametrize("how", [(), ("--chained",), ("--comprehensive",)], ids=["plain", "chained", "comprehensive"])
def test_recall_says_that_nothing_fits_where_nothing_is_relevant(jiyi: CommandLine, how: tuple[str, ...]) -> None:
    jiyi.env["JIYI_EMBEDDER"] = "bundled"
    jiyi("runtime", "remember", "The cat sleeps on the sofa")
    nothing = jiyi("runtime", "recall", "quantum physics", *how)
    assert nothing.code == 1
    assert "nothing fits among 1 memories" in nothing.out
    assert "--min-relevance 0 shows the nearest" in nothing.out
    assert "The cat sleeps" in jiyi("runtime", "recall", "quantum physics", "--min-relevance", "0", *how).out
    assert jiyi("runtime", "recall", "where does the cat sleep?", *how).code == 0


def test_a_chained_recall_shows_the_link(run: Any) -> None:
    remember(run, "小明 likes hotpot", "小明", "hotpot")
    remember(run, "the hotpot place is in the arcade", "hotpot", "arcade")
    shown = run("recall", "小明", "--chained").out
    assert "of 1" in shown
    assert run("recall", "小明", "--chained", "--comprehensive").code == 2


def test_feedback_from_options_and_from_a_file(run: Any, tmp_path: Path) -> None:
    one, two = remember(run, "green tea", "tea"), remember(run, "black tea", "tea")
    said = run("feedback", "--useful", one, "--useful", "nobody", "--merge", f"{one}, {two}", "--request-id", "7")
    assert "strengthened 1, added 0, merged 1 groups" in said.out
    assert "unknown: nobody" in said.out
    again = run("feedback", "--useful", one, "--useful", "nobody", "--merge", f"{one}, {two}", "--request-id", "7")
    assert "nothing was changed" in again.out
    file = tmp_path / "feedback.json"
    file.write_text(json.dumps({"new_memories": [{"memory_type": "fact", "judgment": "white tea", "tags": ["tea"]}]}))
    assert len(run("feedback", "--file", str(file), "--json").data["created"]) == 1
    assert len(run("recall", "tea", "--json").data["memories"]) == 2


@pytest.mark.parametrize("content", ["[]", "{", '{"color": []}', '{"merge_groups": "x"}', '{"new_memories": [{}]}'])
def test_a_file_that_is_no_feedback_is_refused(run: Any, tmp_path: Path, content: str) -> None:
    file = tmp_path / "feedback.json"
    file.write_text(content)
    refused = run("feedback", "--file", str(file))
    assert (refused.code, refused.out) == (2, "")


def test_feedback_about_nothing_is_refused(run: Any) -> None:
    assert run("feedback").code == 2


def test_consolidation_tells_what_it_would_do_and_does_it(run: Any) -> None:
    for _ in range(2):
        remember(run, "tea is green", "tea")
    assert "would merge 2 near-duplicates into 1" in run("consolidate", "--dry-run").out
    assert len(run("recall", "tea", "--json").data["memories"]) == 2
    assert run("consolidate", "--json").data["merged"] == 2
    assert len(run("recall", "tea", "--json").data["memories"]) == 1


def test_tags_are_listed_and_collected(run: Any) -> None:
    memory_id = remember(run, "tea is green", "tea", "green")
    remember(run, "more tea", "tea")
    assert [line.split() for line in run("tags").lines] == [["tag", "memories"], ["tea", "2"], ["green", "1"]]
    assert run("tags", "gc", "--json").data == {"removed": 0}
    assert run("forget", memory_id, "--erase").code == 0
    assert run("tags", "--json").data == {"tags": [{"tag": "tea", "memories": 1}]}
    assert run("tags", "nonsense").code == 2
    assert "no tags here" in run("tags", "--scope", "bob").out


def test_the_history_shows_what_became_of_a_memory_and_it_can_come_back(run: Any) -> None:
    one, two = remember(run, "green tea", "tea"), remember(run, "black tea", "tea")
    run("feedback", "--merge", f"{one},{two}")
    assert [v["operation"] for v in run("history", one, "--json").data["versions"]] == ["create", "update"]
    assert "green tea" in run("history", one).out
    assert "is active again" in run("restore", one).out
    assert len(run("recall", "tea", "--json").data["memories"]) == 2


def test_a_memory_without_tags_is_noted_in_simple_mode(jiyi: CommandLine) -> None:
    said = jiyi("runtime", "remember", "lost", JIYI_ENABLE_SIMPLE_MEMORY="true")
    assert said.code == 0
    assert "note: " in said.err
    assert "no tags" in said.err


def test_a_mode_that_simple_mode_has_not_is_exit_code_2(jiyi: CommandLine) -> None:
    jiyi.make_memory()
    refused = jiyi("recall", "tea", "--mode", "keyword", JIYI_ENABLE_SIMPLE_MEMORY="true")
    assert refused.code == 2
    assert "off in simple mode" in refused.err

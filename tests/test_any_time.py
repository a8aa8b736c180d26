"""Any legal time works everywhere, in every zone; any number and any depth of arguments is an error of the tree."""

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.errors import InvalidInputError, JiyiError, ModelReplyError
from jiyi.model.replies import parse_json_reply
from jiyi.sync import AgentMemory
from tests.apps.command_line import CommandLine
from tests.support import QUICK

FIRST = datetime(1, 1, 1, tzinfo=UTC)
LAST = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
EDGES = [FIRST, FIRST + timedelta(hours=20), LAST - timedelta(hours=20), LAST]
ZONES = ["Asia/Shanghai", "America/New_York", "UTC"]


@pytest.mark.parametrize("zone", ZONES)
def test_memories_of_any_time_are_shown_in_any_zone(tmp_path: Path, zone: str) -> None:
    settings = {**QUICK, "time_zone": zone}
    with AgentMemory.open(tmp_path / "data", workspace=tmp_path / "notes", **settings) as memory:
        memory.notes.init_workspace()
        for number, moment in enumerate(EDGES):
            memory.store(f"k{number}", f"tea number {number}", occurred_at=moment, domain="user_preferences")
        questions = ["tea", "tea yesterday", "tea in the year 1", "tea on 31 December 9999", "昨天的茶", "公元1年的茶"]
        for question in questions:
            memory.recall(question, context=2)
            memory.runtime.recall(question)
        assert len(memory.recall("tea")) == len(EDGES)
        assert len(memory.recall("tea", since=FIRST, until=LAST)) == len(EDGES) - 1
        block = memory.longterm.get_memory_context_for_prompt("main", "tea")
        assert block.count("tea number") == len(EDGES)
        for name in ("recall", "list"):
            memory.tools().call(name, {"query": "tea"} if name == "recall" else {})
        for moment in EDGES:
            memory.longterm.retrieve_relevant_memories("main", "tea", as_of=moment)
            with suppress(InvalidInputError):
                memory.notes.memory_append("tea", at=moment)
        memory.notes.memory_search("tea")
        memory.notes.build_context()
        memory.notes.curate()
        memory.maintain()
        memory.runtime.consolidate_memories()
    jiyi = CommandLine(tmp_path)
    for command in (["recall", "tea", "--explain"], ["list"], ["history", "k0"], ["history", "k3"]):
        ended = jiyi(*command, "--data", str(tmp_path / "data"), JIYI_TIME_ZONE=zone)
        assert ended.code == 0, (command, ended.err)


def test_any_legal_time_can_be_imported_and_used(tmp_path: Path) -> None:
    with AgentMemory.open(tmp_path / "one", **QUICK) as memory:
        for number in range(4):
            memory.runtime.remember("fact", f"tea {number}", "", ["tea"])
            memory.store(f"k{number}", f"coffee {number}", domain="user_preferences")
        memory.save_conversation_history("s", [{"role": "user", "content": "hello"}])
        memory.export_jsonl(tmp_path / "export.jsonl")
    lines = (tmp_path / "export.jsonl").read_text("utf-8").splitlines()
    for edge in ("0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z"):
        changed = []
        for line in lines:
            row = json.loads(line)
            times = {name: edge for name in row if name.endswith("_at") and row[name] is not None}
            changed.append(json.dumps({**row, **times}))
        file = tmp_path / "changed.jsonl"
        file.write_text("\n".join(changed), "utf-8")
        with AgentMemory.open(tmp_path / edge[:4], **{**QUICK, "time_zone": "Asia/Shanghai"}) as memory:
            assert memory.import_jsonl(file).entries == len([line for line in lines if '"kind":"entry"' in line])
            memory.recall("tea coffee yesterday")
            memory.runtime.feedback([hit.id for hit in memory.runtime.recall("tea")])
            memory.longterm.get_memory_context_for_prompt("main", "coffee")
            memory.longterm.explain("main", "k0")
            memory.longterm.cleanup_forgotten_memories("main")
            memory.runtime.consolidate_memories()
            memory.chat("s").get()
            memory.export_jsonl(tmp_path / "again.jsonl")


DEEP = "[" * 60_000 + "]" * 60_000
HUGE = "9" * 20_000
arguments = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.floats(), st.text(max_size=5), st.integers(), st.sampled_from([10**400, -(10**30)])
    ),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def tooled(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A memory with every tool."""
    folder = tmp_path_factory.mktemp("tools")
    with AgentMemory.open(folder / "data", workspace=folder / "notes", **QUICK) as memory:
        memory.notes.init_workspace()
        yield memory


def called(memory: AgentMemory, name: str, given: Any) -> None:
    with suppress(JiyiError):
        memory.tools().call(name, given)


def names_of(memory: AgentMemory) -> list[str]:
    return [tool["function"]["name"] for tool in memory.tools().openai()]


def test_numbers_of_any_length_and_objects_of_any_depth_are_errors_of_the_tree(tooled: AgentMemory) -> None:
    for name in names_of(tooled):
        for text in (DEEP, HUGE, f'{{"query": {HUGE}}}', f'{{"limit": {HUGE}}}', f'{{"query": {DEEP}}}', "NaN", "{"):
            with pytest.raises(JiyiError):
                tooled.tools().call(name, text)
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    for text in (DEEP, HUGE, f'{{"n": {DEEP}}}', f'{{"n": {HUGE}}}', '{"n": NaN}', '{"n": 1e999}'):
        with pytest.raises(ModelReplyError):
            parse_json_reply(text, schema)


@given(data=st.data())
def test_any_arguments_of_a_tool_are_taken_or_refused(tooled: AgentMemory, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(names_of(tooled)))
    known = next(tool for tool in tooled.tools().openai() if tool["function"]["name"] == name)
    fields = [*known["function"]["parameters"]["properties"], "unknown"]
    given_ = data.draw(st.dictionaries(st.sampled_from(fields), arguments, max_size=4))
    called(tooled, name, given_)


def test_a_time_in_a_far_zone_is_an_error_of_the_tree(tooled: AgentMemory) -> None:
    far = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))
    with pytest.raises(InvalidInputError, match="years 1 to 9999"):
        tooled.store("k", "v", occurred_at=far)

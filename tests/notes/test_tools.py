"""The tools that models call: one definition, strict arguments, and nothing about whose notes they are."""

import json
from typing import Any

import pytest

from jiyi.errors import InvalidInputError
from tests.notes.conftest import Desk

pytestmark = pytest.mark.date_sensitive

NEVER = {"scope", "workspace", "kind", "principal", "user_id", "actor", "by", "source", "id", "data"}


def test_the_definitions_are_ready_for_function_calling(desk: Desk) -> None:
    tools = desk.notes.tools()
    assert [tool["function"]["name"] for tool in tools] == ["memory_search", "memory_append", "memory_get"]
    for tool in tools:
        assert tool["type"] == "function"
        parameters = tool["function"]["parameters"]
        assert parameters["type"] == "object"
        assert parameters["additionalProperties"] is False
        assert set(parameters["required"]) <= set(parameters["properties"])
        assert all(schema["description"] for schema in parameters["properties"].values())
        assert NEVER.isdisjoint(parameters["properties"])
    assert json.loads(json.dumps(tools)) == tools


def test_a_model_appends_searches_and_reads(desk: Desk) -> None:
    written = desk.notes.call_tool("memory_append", {"text": "杭州的会议改到周三"})
    found = desk.notes.call_tool("memory_search", '{"query": "会议什么时候", "limit": 1, "path": null}')
    [hit] = found["hits"]
    assert (hit["path"], hit["text"]) == (written["path"], "杭州的会议改到周三")
    first, last = map(int, hit["lines"].split("-"))
    shown = desk.notes.call_tool("memory_get", json.dumps({"path": hit["path"], "from": first, "to": last}))
    assert "杭州的会议改到周三" in shown["text"]
    assert json.dumps([written, found, shown])


def test_the_session_comes_from_the_program_and_not_from_the_model(desk: Desk) -> None:
    desk.write("MEMORY.md", "zebra\n")
    assert desk.notes.call_tool("memory_search", {"query": "zebra"}, kind="group") == {"hits": []}
    with pytest.raises(InvalidInputError, match="there is no note"):
        desk.notes.call_tool("memory_get", {"path": "MEMORY.md"}, kind="group")
    assert desk.notes.call_tool("memory_append", {"text": "x"}, kind="group")["path"].startswith("memory/shared/")
    with pytest.raises(InvalidInputError, match="kind"):
        desk.notes.call_tool("memory_search", {"query": "zebra"}, kind="admin")


@pytest.mark.parametrize("name", sorted(NEVER))
def test_an_argument_that_names_somebody_is_refused(desk: Desk, name: str) -> None:
    for tool, needed in (
        ("memory_search", {"query": "x"}),
        ("memory_append", {"text": "x"}),
        ("memory_get", {"path": "MEMORY.md"}),
    ):
        with pytest.raises(InvalidInputError, match=f"has no argument .*{name}"):
            desk.notes.call_tool(tool, {**needed, name: "main"})
    assert not (desk.root / "memory").exists()


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("memory_search", {}),
        ("memory_search", {"query": None}),
        ("memory_search", {"query": 7}),
        ("memory_search", {"query": "x", "limit": True}),
        ("memory_search", {"query": "x", "limit": 1_000}),
        ("memory_search", {"query": "x", "limit": "ten"}),
        ("memory_search", {"query": "x", "since": "soon"}),
        ("memory_search", {"query": "x", "path": "../x"}),
        ("memory_get", {"path": "/etc/passwd"}),
        ("memory_get", {"path": "MEMORY.md", "from": 0}),
        ("memory_get", {"path": "MEMORY.md", "from": 5, "to": 1}),
        ("memory_append", {"text": ""}),
        ("memory_append", {"text": ["x"]}),
        ("memory_append", "{not json"),
        ("memory_append", "[1]"),
        ("memory_append", 7),
        ("memory_delete", {}),
        (None, {}),
    ],
)
def test_wrong_calls_are_refused_and_change_nothing(desk: Desk, tool: Any, arguments: Any) -> None:
    desk.write("MEMORY.md", "zebra\n")
    with pytest.raises(InvalidInputError):
        desk.notes.call_tool(tool, arguments)
    assert not (desk.root / "memory").exists()

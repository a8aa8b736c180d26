"""The tools of a memory: one definition for every model API, one check, calls with and without async."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jiyi import AgentMemory, NoopMemory, sync
from jiyi.errors import InvalidInputError
from jiyi.tools import Tool
from tests.support import QUICK

OpenMemory = Callable[..., sync.AgentMemory]
NOTES = ["memory_search", "memory_append", "memory_get"]
RUNTIME = ["core_memory_remember", "core_memory_recall"]
TOOL = Tool(
    "find",
    "Find something.",
    {
        "query": {"type": "string", "minLength": 1, "description": "What."},
        "kinds": {"type": "array", "items": {"type": "string", "maxLength": 9}, "maxItems": 2, "description": "Which."},
        "order": {"type": "string", "enum": ["new", "old"], "default": "new", "description": "How."},
        "exact": {"type": "boolean", "description": "Whether."},
    },
    ("query",),
)


def names(toolbox: sync.Toolbox) -> list[str]:
    return [tool.name for tool in toolbox.tools]


# --- shapes -----------------------------------------------------------------------------------------------------------


def test_a_tool_has_the_form_of_every_model_api() -> None:
    schema = TOOL.parameters
    assert schema["required"] == ["query"]
    assert schema["additionalProperties"] is False
    assert TOOL.openai() == {
        "type": "function",
        "function": {"name": "find", "description": "Find something.", "parameters": schema},
    }
    assert TOOL.anthropic() == {"name": "find", "description": "Find something.", "input_schema": schema}
    assert TOOL.mcp() == {"name": "find", "description": "Find something.", "inputSchema": schema}


def test_strict_mode_requires_every_argument_and_lets_optional_ones_be_null() -> None:
    tool = TOOL.openai_responses()
    assert (tool["type"], tool["name"], tool["strict"]) == ("function", "find", True)
    parameters = tool["parameters"]
    assert parameters["required"] == ["query", "kinds", "order", "exact"]
    assert parameters["additionalProperties"] is False
    assert parameters["properties"] == {
        "query": {"type": "string", "description": "What."},
        "kinds": {"type": ["array", "null"], "items": {"type": "string"}, "maxItems": 2, "description": "Which."},
        "order": {"type": ["string", "null"], "enum": ["new", "old", None], "description": "How."},
        "exact": {"type": ["boolean", "null"], "description": "Whether."},
    }


def test_every_tool_of_a_memory_is_json_in_every_form(open_memory: OpenMemory, tmp_path: Path) -> None:
    tools = open_memory(workspace=tmp_path / "notes").tools()
    for form in (tools.openai(), tools.openai_responses(), tools.anthropic(), tools.mcp()):
        assert json.loads(json.dumps(form)) == form
        assert len(form) == len(NOTES + RUNTIME)
    for tool in tools.tools:
        assert all(schema["description"] for schema in tool.properties.values())


# --- the check --------------------------------------------------------------------------------------------------------


def test_arguments_may_be_a_mapping_or_json_and_null_means_left_out() -> None:
    assert TOOL.check({"query": "x", "kinds": None}) == {"query": "x"}
    assert TOOL.check('{"query": "x", "exact": true, "order": null}') == {"query": "x", "exact": True}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "needs query"),
        ("", "needs query"),
        ({"query": None}, "needs query"),
        ({"query": ""}, "query of find has length 0; it must be at least 1"),
        ({"query": 3}, "query of find must be string, not integer"),
        ({"query": "x", "kinds": "x"}, "kinds of find must be array, not string"),
        ({"query": "x", "kinds": ["a", "b", "c"]}, "at most 2"),
        ({"query": "x", "kinds": ["a", 1]}, r"kinds of find\[1\] must be string"),
        ({"query": "x", "order": "best"}, "not one of new, old"),
        ({"query": "x", "exact": 1}, "must be boolean"),
        ({"query": "x", "scope": "bob"}, "has no argument 'scope'; it takes query, kinds, order, exact"),
        ("{not json", "not JSON"),
        ("[1]", "must be an object, not list"),
        (7, "must be an object, not int"),
    ],
)
def test_what_the_schema_does_not_allow_is_refused_with_a_sentence(arguments: Any, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        TOOL.check(arguments)


# --- calls ------------------------------------------------------------------------------------------------------------


def test_tools_are_called_without_async(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(workspace=tmp_path / "notes")
    memory.notes.init_workspace()
    tools = memory.tools()
    assert names(tools) == NOTES + RUNTIME
    made = tools.call("core_memory_remember", {"judgment": "likes tea", "tags": ["tea"]})
    found = tools.call("core_memory_recall", '{"query": "tea", "limit": null}')
    assert [memory["memory_id"] for memory in found["memories"]] == [made["memory_id"]]
    written = tools.call("memory_append", {"text": "the meeting is on Wednesday"})
    assert tools.call("memory_search", {"query": "meeting"})["hits"][0]["path"] == written["path"]
    with pytest.raises(InvalidInputError, match="there is no tool 'memory_erase'; known are memory_search"):
        tools.call("memory_erase", {})


def test_tools_are_called_with_async(tmp_path: Path) -> None:
    async def agent() -> dict[str, Any]:
        async with AgentMemory.open(tmp_path, **QUICK) as memory:
            tools = memory.tools()
            await tools.call("core_memory_remember", {"judgment": "likes tea", "tags": ["tea"]})
            return await tools.call("core_memory_recall", {"query": "tea"})

    assert asyncio.run(agent())["memories"][0]["judgment"] == "likes tea"


def test_the_tools_of_notes_belong_to_the_scope_of_the_workspace(open_memory: OpenMemory, tmp_path: Path) -> None:
    assert names(open_memory().tools()) == RUNTIME
    memory = open_memory(workspace=tmp_path / "notes")
    assert names(memory.tools(scope="somebody")) == RUNTIME
    with pytest.raises(InvalidInputError, match="kind"):
        memory.tools(kind="admin")


def test_a_memory_that_keeps_nothing_offers_no_tools() -> None:
    assert NoopMemory().tools().openai() == []
    with sync.NoopMemory() as memory, pytest.raises(InvalidInputError, match="there is no tool"):
        memory.tools().call("core_memory_recall", {"query": "x"})

"""The tools for models: what they take, what they refuse, what they return."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from jiyi.errors import InvalidInputError
from jiyi.sync import AgentMemory
from jiyi.tools.entries import RECALL, REMEMBER

OpenMemory = Callable[..., AgentMemory]


@pytest.fixture
def call(open_memory: OpenMemory) -> Callable[..., Any]:
    memory = open_memory(enable_simple_memory=True)

    def do(name: str, arguments: Any, scope: str | None = "alice") -> Any:
        return memory.tools(scope=scope).call(name, arguments)

    return do


def test_the_schemas_are_functions_as_models_know_them() -> None:
    for tool in (REMEMBER.under("core_memory_remember").openai(), RECALL.under("core_memory_recall").openai()):
        assert json.loads(json.dumps(tool)) == tool
        assert tool["type"] == "function"
        parameters = tool["function"]["parameters"]
        assert parameters["additionalProperties"] is False
        assert set(parameters["required"]) <= set(parameters["properties"])
        # Whose memory it is, the program says and never the model.
        assert not any("scope" in name or "user" in name for name in parameters["properties"])
        assert tool["function"]["description"]


def test_everything_a_model_gives_is_remembered(call: Callable[..., Any]) -> None:
    given = {
        "judgment": "小明爱吃火锅",
        "reasoning": "他自己说的",
        "tags": ["小明"],
        "memory_type": "preference",
        "strength": 5,
    }
    made = call("core_memory_remember", given)
    [memory] = call("core_memory_recall", {"query": "小明来了", "limit": 3})["memories"]
    assert memory.pop("date")
    assert memory.pop("content") == given.pop("judgment")
    assert memory == {"id": made["id"], "score": memory["score"], **given}
    assert json.dumps(memory)


@pytest.mark.parametrize(
    ("name", "arguments", "named"),
    [
        ("core_memory_remember", {"judgment": "x"}, "needs tags"),
        ("core_memory_remember", {"judgment": "x", "tags": []}, "tags"),
        ("core_memory_remember", {"judgment": "x", "tags": "x, y"}, "tags"),
        ("core_memory_remember", {"judgment": "x", "tags": [1]}, "tags"),
        ("core_memory_remember", {"judgment": "", "tags": ["x"]}, "judgment"),
        ("core_memory_remember", {"judgment": "x", "tags": ["x"], "strength": 0}, "strength"),
        ("core_memory_remember", {"judgment": "x", "tags": ["x"], "strength": True}, "strength"),
        ("core_memory_remember", {"judgment": "x", "tags": ["x"], "scope": "bob"}, "has no argument 'scope'"),
        ("core_memory_recall", {"query": "x", "memory_scope": "bob"}, "has no argument 'memory_scope'"),
        ("core_memory_recall", {"query": "x", "limit": 1000}, "limit"),
        ("core_memory_recall", {}, "needs query"),
        ("core_memory_recall", "{not json", "not JSON"),
        ("core_memory_recall", "[1]", "must be an object"),
        ("core_memory_erase", {}, "no tool"),
    ],
)
def test_what_the_schema_does_not_allow_is_refused(
    call: Callable[..., Any], name: str, arguments: Any, named: str
) -> None:
    with pytest.raises(InvalidInputError, match=named):
        call(name, arguments)
    assert call("core_memory_recall", {"query": "x"}) == {"memories": []}

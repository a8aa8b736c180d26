"""Tools for models that call functions: `core_memory_remember` and `core_memory_recall`.

The scope comes from the program, never from the model: it is no parameter of the tools, and a call that brings one, or
any other argument that the schema does not have, is refused. What the tools return is data for the model to read, not
instructions for it to follow.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from jiyi.errors import InvalidInputError

if TYPE_CHECKING:
    from jiyi.runtime.api import MemoryRuntime
    from jiyi.runtime.values import BaseMemory

Arguments: TypeAlias = str | Mapping[str, Any]
"""As the model gives them: JSON text, or what was read from it."""

MAX_RECALLED: Final = 50

CORE_MEMORY_REMEMBER: Final[dict[str, Any]] = {
    "type": "function",
    "function": {
        "name": "core_memory_remember",
        "description": (
            "Keep something worth knowing later: a fact, preference, event or skill. "
            "State one judgment, say why you hold it, and give the words by which it shall be found again."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "judgment": {
                    "type": "string",
                    "minLength": 1,
                    "description": "What is to be remembered, in one sentence.",
                },
                "reasoning": {"type": "string", "description": "Why you believe it, or where it comes from."},
                "tags": {
                    "type": "array",
                    "items": {"type": "string", "minLength": 1},
                    "minItems": 1,
                    "description": (
                        "Names and topics as people say them, such as 小明, 火锅, budget. "
                        "The memory comes back when one of them is mentioned."
                    ),
                },
                "memory_type": {
                    "type": "string",
                    "description": "One word for its kind, such as fact, preference, event, skill.",
                    "default": "fact",
                },
                "strength": {"type": "integer", "minimum": 1, "maximum": 100, "default": 1},
            },
            "required": ["judgment", "tags"],
            "additionalProperties": False,
        },
    },
}

CORE_MEMORY_RECALL: Final[dict[str, Any]] = {
    "type": "function",
    "function": {
        "name": "core_memory_recall",
        "description": "Look up what is remembered about what is being talked about.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "minLength": 1,
                    "description": "A question, or the latest part of the conversation.",
                },
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_RECALLED, "default": 10},
            },
            "required": ["query"],
            "additionalProperties": False,
        },
    },
}

TOOLS: Final = (CORE_MEMORY_REMEMBER, CORE_MEMORY_RECALL)
"""The schemas, as the `tools` of an OpenAI-style request."""


async def core_memory_remember(
    runtime: MemoryRuntime, arguments: Arguments, *, memory_scope: str | None = None
) -> dict[str, Any]:
    """Do what a call of the tool asks for; returns the id of the memory."""
    given = _checked(CORE_MEMORY_REMEMBER, arguments)
    memory_id = await runtime.remember(
        given.get("memory_type", "fact"),
        given["judgment"],
        given.get("reasoning", ""),
        given["tags"],
        strength=given.get("strength", 1),
        memory_scope=memory_scope,
    )
    return {"memory_id": memory_id}


async def core_memory_recall(
    runtime: MemoryRuntime, arguments: Arguments, *, memory_scope: str | None = None
) -> dict[str, Any]:
    """Do what a call of the tool asks for; returns the memories, best first."""
    given = _checked(CORE_MEMORY_RECALL, arguments)
    found = await runtime.recall(given["query"], given.get("limit", 10), memory_scope=memory_scope)
    return {"memories": [_shown(memory) for memory in found]}


_CALLS: Final[dict[str, Callable[..., Awaitable[dict[str, Any]]]]] = {
    "core_memory_remember": core_memory_remember,
    "core_memory_recall": core_memory_recall,
}


async def call_tool(
    runtime: MemoryRuntime, name: str, arguments: Arguments, *, memory_scope: str | None = None
) -> dict[str, Any]:
    """Do what a model's call asks for, by the name of the tool."""
    call = _CALLS.get(name)
    if call is None:
        raise InvalidInputError(f"there is no tool {name!r}; known are {', '.join(_CALLS)}")
    return await call(runtime, arguments, memory_scope=memory_scope)


def _shown(memory: BaseMemory) -> dict[str, Any]:
    return {
        "memory_id": memory.id,
        "memory_type": memory.memory_type,
        "judgment": memory.judgment,
        "reasoning": memory.reasoning,
        "tags": list(memory.tags),
        "strength": memory.strength,
        "created_at": memory.created_at.isoformat(timespec="minutes"),
    }


def _checked(schema: Mapping[str, Any], arguments: Arguments) -> Mapping[str, Any]:
    """The arguments, if they are what the schema says."""
    name = schema["function"]["name"]
    parameters = schema["function"]["parameters"]
    given = _read(name, arguments)
    known = parameters["properties"]
    unknown = [str(argument) for argument in given if argument not in known]
    missing = [argument for argument in parameters["required"] if argument not in given]
    if unknown or missing:
        what = f"takes no {', '.join(unknown)}" if unknown else f"needs {', '.join(missing)}"
        raise InvalidInputError(f"{name} {what}; its arguments are {', '.join(known)}")
    for argument, value in given.items():
        problem = _problem(known[argument], value)
        if problem is not None:
            raise InvalidInputError(f"{name}: {argument} {problem}")
    return given


def _read(name: str, arguments: Arguments) -> Mapping[str, Any]:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (json.JSONDecodeError, RecursionError) as error:
            raise InvalidInputError(f"{name}: the arguments are not JSON: {error}") from None
    if not isinstance(arguments, Mapping):
        raise InvalidInputError(f"{name}: the arguments must be an object, not {type(arguments).__name__}")
    return arguments


def _problem(schema: Mapping[str, Any], value: object) -> str | None:
    """What is wrong with a value, for the few forms that the schemas above use."""
    kind = schema["type"]
    if kind == "string":
        return None if isinstance(value, str) and len(value) >= schema.get("minLength", 0) else "must be some text"
    if kind == "integer":
        least, most = schema["minimum"], schema["maximum"]
        fits = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
        return None if fits else f"must be a whole number from {least} to {most}"
    if not isinstance(value, list) or len(value) < schema["minItems"]:
        return "must be a list of at least one text"
    return "must be a list of texts" if any(_problem(schema["items"], item) for item in value) else None

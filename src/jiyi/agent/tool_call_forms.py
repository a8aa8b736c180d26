"""Tool calls as model clients give them: of OpenAI (chat, responses) or Anthropic, as mappings or objects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from jiyi.model.identity import new_id
from jiyi.ports.models import ToolCall


def read_tool_call(given: Any) -> ToolCall:
    """The call, whatever its form. What a model left out is empty, which the tools refuse with a sentence."""
    if isinstance(given, ToolCall):
        return given
    function = _field(given, "function")
    source = given if function is None or isinstance(function, str) else function
    arguments = next(
        (value for name in ("arguments", "input", "args") if (value := _field(source, name)) is not None), "{}"
    )
    call_id = _text(_field(given, "call_id")) or _text(_field(given, "id"))
    return ToolCall(
        call_id or f"call_{new_id()[-12:]}",
        _text(_field(source, "name")),
        arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str),
    )


def as_openai(call: ToolCall) -> dict[str, Any]:
    """The call as it is stored in a message."""
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def words_of(call: ToolCall) -> str:
    """The texts among the arguments, one a line, without ids; the arguments as they are where they are no JSON."""
    try:
        given = json.loads(call.arguments)
    except ValueError:
        return call.arguments
    values = [value for name, value in given.items() if name != "id"] if isinstance(given, Mapping) else [given]
    return "\n".join(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in values)


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

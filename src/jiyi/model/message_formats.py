"""Messages in the forms that model servers take: OpenAI's chat completions, and Anthropic's messages.

Both refuse what they do not know, so only known fields are sent; a tool call always has its results, and a result its
call. What a form cannot express becomes text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from jiyi.model.chat import SYSTEM_ROLES
from jiyi.model.message import Message

__all__ = ["to_anthropic", "to_openai"]

_ROLES: Final = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "chatbot": "assistant",
    "tool": "tool",
    "tool_result": "tool",
    "function": "tool",
}
_NAME: Final = re.compile(r"[\s<>|\\/]+")
_DATA_URL: Final = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+);base64,(?P<data>.*)", re.DOTALL)
_NO_RESULT: Final = "(no result)"
_CONTINUED: Final = "(the conversation goes on)"


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    arguments: str


@dataclass(slots=True)
class _Result:
    call_id: str
    text: str


@dataclass(slots=True)
class _Turn:
    """A message, taken apart; results of tools stand by themselves."""

    role: str
    name: str | None = None
    parts: list[dict[str, Any]] = field(default_factory=list)
    """Texts and images, in OpenAI's form."""
    calls: list[_Call] = field(default_factory=list)
    result: _Result | None = None

    @property
    def text(self) -> str:
        """The words alone."""
        return "\n".join(part["text"] for part in self.parts if part["type"] == "text")


def to_openai(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """The messages for `client.chat.completions.create(messages=…)`."""
    return [_openai(turn) for turn in _turns(messages)]


def to_anthropic(messages: Iterable[Message]) -> dict[str, Any]:
    """The arguments `system` and `messages` for `client.messages.create(…)`; system messages stand in `system`."""
    system: list[str] = []
    said: list[dict[str, Any]] = []
    for turn in _turns(messages):
        if turn.role in SYSTEM_ROLES:
            system.append(turn.text)
            continue
        role = "assistant" if turn.role == "assistant" else "user"
        blocks = _anthropic_blocks(turn)
        if not blocks:
            continue
        if said and said[-1]["role"] == role:
            said[-1]["content"] += blocks
        else:
            said.append({"role": role, "content": blocks})
    if said and said[0]["role"] == "assistant":
        said.insert(0, {"role": "user", "content": [{"type": "text", "text": _CONTINUED}]})
    arguments: dict[str, Any] = {"messages": said}
    if any(text.strip() for text in system):
        arguments["system"] = "\n\n".join(text for text in system if text.strip())
    return arguments


# --- taking apart ---------------------------------------------------------------------------------------------------


def _turns(messages: Iterable[Message]) -> list[_Turn]:
    """The messages taken apart, with a result for every call and a call for every result."""
    found = [turn for message in messages for turn in _split(message)]
    paired: list[_Turn] = []
    waiting: dict[str, None] = {}
    for turn in found:
        if turn.result is not None:
            call_id = turn.result.call_id or next(iter(waiting), "")
            if call_id not in waiting:
                paired += _missing_results(waiting)
                paired.append(_Turn("user", parts=[_text_part(f"Result of a tool: {turn.result.text}")]))
                continue
            del waiting[call_id]
            turn.result.call_id = call_id
        else:
            paired += _missing_results(waiting)
            waiting = dict.fromkeys(call.id for call in turn.calls)
        paired.append(turn)
    return paired


def _missing_results(waiting: dict[str, None]) -> list[_Turn]:
    """Results for calls after which the conversation went on without them."""
    missing = [_Turn("tool", result=_Result(call_id, _NO_RESULT)) for call_id in waiting]
    waiting.clear()
    return missing


def _split(message: Message) -> Iterator[_Turn]:
    if message.item_type is not None:
        yield from _item(message)
        return
    role = _ROLES.get(message.role.strip().lower(), "user")
    parts, calls, results = _content(message.content)
    calls += _tool_calls(message)
    if role == "tool":
        text = message.text if not results else "\n".join(result.text for result in results)
        yield _Turn("tool", result=_Result(message.tool_call_id or (results[0].call_id if results else ""), text))
        return
    for result in results:
        yield _Turn("tool", result=result)
    if parts or calls or not results:
        # A role that servers do not know is who said it.
        name = message.name or (message.role if message.role.strip().lower() not in _ROLES else None)
        yield _Turn(role, _NAME.sub("_", name)[:64] if name else None, parts, calls)


def _item(message: Message) -> Iterator[_Turn]:
    """An item without a role: a call, its output, or something of which only the words can be sent."""
    extra = message.extra
    if message.item_type == "function_call":
        call = _Call(str(extra.get("call_id", "")), message.name or "tool", str(extra.get("arguments", "{}")))
        yield _Turn("assistant", calls=[call])
    elif message.item_type == "function_call_output":
        yield _Turn("tool", result=_Result(str(extra.get("call_id", "")), _result_text(extra.get("output"))))
    elif message.text.strip() and message.item_type != "reasoning":
        yield _Turn("user", parts=[_text_part(message.text)])


def _content(content: str | Sequence[Any] | None) -> tuple[list[dict[str, Any]], list[_Call], list[_Result]]:
    parts: list[dict[str, Any]] = []
    calls: list[_Call] = []
    results: list[_Result] = []
    for part in [content] if isinstance(content, str) else content or ():
        kind = part.get("type") if isinstance(part, Mapping) else None
        if isinstance(part, str):
            parts.append(_text_part(part))
        elif kind == "tool_use":
            calls.append(_Call(str(part.get("id", "")), str(part.get("name", "")), _as_json(part.get("input") or {})))
        elif kind == "tool_result":
            results.append(_Result(str(part.get("tool_use_id", "")), _result_text(part.get("content"))))
        elif kind in {"image", "image_url"}:
            parts += _image(part)
        elif isinstance(part, Mapping) and isinstance(part.get("text"), str):
            parts.append(_text_part(part["text"]))
    return parts, calls, results


def _tool_calls(message: Message) -> list[_Call]:
    calls = []
    for number, call in enumerate(message.tool_calls or ()):
        if not isinstance(call, Mapping):
            continue
        function = call.get("function")
        source: Mapping[str, Any] = function if isinstance(function, Mapping) else call
        name = source.get("name") or call.get("tool_name") or "tool"
        arguments: object = next(
            (source[key] for key in ("arguments", "args", "tool_kwargs", "input") if key in source), {}
        )
        call_id = call.get("id") or call.get("tool_call_id") or f"call_{number}"
        calls.append(_Call(str(call_id), str(name), arguments if isinstance(arguments, str) else _as_json(arguments)))
    old = message.extra.get("function_call")
    if isinstance(old, Mapping):
        calls.append(_Call("call_0", str(old.get("name", "tool")), str(old.get("arguments", "{}"))))
    return calls


def _result_text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return "" if content is None else _as_json(content)


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image(part: Mapping[str, Any]) -> list[dict[str, Any]]:
    """An image of either form in OpenAI's; nothing when it names no image."""
    if part["type"] == "image_url":
        image = part.get("image_url")
        return (
            [{"type": "image_url", "image_url": {"url": image} if isinstance(image, str) else image}] if image else []
        )
    source = part.get("source")
    if not isinstance(source, Mapping):
        return []
    url = source.get("url") or f"data:{source.get('media_type', 'image/png')};base64,{source.get('data', '')}"
    return [{"type": "image_url", "image_url": {"url": url}}]


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


# --- putting together -----------------------------------------------------------------------------------------------


def _openai(turn: _Turn) -> dict[str, Any]:
    if turn.result is not None:
        return {"role": "tool", "tool_call_id": turn.result.call_id, "content": turn.result.text}
    only_text = all(part["type"] == "text" for part in turn.parts)
    content: str | list[dict[str, Any]] | None = turn.text if only_text else turn.parts
    if turn.calls and not turn.parts:
        content = None
    found: dict[str, Any] = {"role": turn.role, "content": content}
    if turn.name:
        found["name"] = turn.name
    if turn.calls:
        found["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in turn.calls
        ]
    return found


def _anthropic_blocks(turn: _Turn) -> list[dict[str, Any]]:
    if turn.result is not None:
        return [{"type": "tool_result", "tool_use_id": turn.result.call_id, "content": turn.result.text}]
    blocks: list[dict[str, Any]] = []
    for part in turn.parts:
        if part["type"] != "text":
            blocks.append(_anthropic_image(str(part["image_url"]["url"])))
        elif text := part["text"].rstrip():
            blocks.append(_text_part(f"{turn.name}: {text}" if turn.name else text))
    blocks += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _arguments(call.arguments)}
        for call in turn.calls
    ]
    return blocks


def _anthropic_image(url: str) -> dict[str, Any]:
    data = _DATA_URL.fullmatch(url)
    if data is None:
        return {"type": "image", "source": {"type": "url", "url": url}}
    return {"type": "image", "source": {"type": "base64", "media_type": data["type"], "data": data["data"]}}


def _arguments(text: str) -> dict[str, Any]:
    """The arguments of a call; what a model wrote that is not an object is kept as text."""
    try:
        value = json.loads(text)
    except ValueError:
        return {"arguments": text}
    return value if isinstance(value, dict) else {"arguments": value}

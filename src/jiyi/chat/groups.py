"""Which messages belong together: a tool call and its results stay in the window, or leave it, as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jiyi.model.chat import StoredMessage
from jiyi.model.message import Message

RESULT_ROLES = ("tool", "tool_result", "function")


def tool_call_ids(message: Message) -> tuple[str, ...]:
    """The ids of the tool calls that a message makes; an empty text for a call without an id."""
    if _is_plain(message):
        return ()
    calls = message.tool_calls or ()
    found = [_text(call.get("id")) if isinstance(call, Mapping) else "" for call in calls]
    if message.extra.get("function_call"):
        found.append("")
    if message.item_type == "function_call":
        found.append(_text(message.extra.get("call_id")))
    found += [_text(part.get("id")) for part in _content_parts(message, "tool_use")]
    return tuple(found)


def tool_result_ids(message: Message) -> tuple[str, ...]:
    """The ids of the calls whose results a message brings."""
    if _is_plain(message):
        return ()
    found = [_text(part.get("tool_use_id")) for part in _content_parts(message, "tool_result")]
    if message.tool_call_id:
        found.append(message.tool_call_id)
    if message.item_type == "function_call_output":
        found.append(_text(message.extra.get("call_id")))
    return tuple(found)


def is_tool_result(message: Message) -> bool:
    """Whether a message brings the result of a call, with or without its id."""
    return message.role in RESULT_ROLES or bool(tool_result_ids(message))


def groups(messages: Sequence[StoredMessage]) -> list[list[StoredMessage]]:
    """Cut a stretch of messages (without system messages) into what must stay together, in order.

    A group is one message, or a call with everything up to the last of its results, whatever is in between. A call
    whose results have not come yet keeps everything after it, as long as the assistant has not gone on without them.
    """
    last_of = _group_ends(messages)
    found: list[list[StoredMessage]] = []
    end = -1
    for index, message in enumerate(messages):
        if index > end:
            found.append([])
        found[-1].append(message)
        end = max(end, last_of[index])
    return found


def _group_ends(messages: Sequence[StoredMessage]) -> list[int]:
    """For each message the index of the last one that belongs to it."""
    results: dict[str, list[int]] = {}
    last_reply = -1
    for index, stored in enumerate(messages):
        for call_id in tool_result_ids(stored.message):
            results.setdefault(call_id, []).append(index)
        if stored.message.role == "assistant":
            last_reply = index
    ends = list(range(len(messages)))
    for index, stored in enumerate(messages):
        calls = tool_call_ids(stored.message)
        if not calls:
            continue
        end = index
        while end + 1 < len(messages) and is_tool_result(messages[end + 1].message):
            end += 1
        has_results = end > index
        for call_id in calls:
            result = next((place for place in results.get(call_id, ()) if place > index), None) if call_id else None
            if result is not None:
                end = max(end, result)
            elif index == last_reply and not (has_results and not call_id):
                end = len(messages) - 1
        ends[index] = end
    return ends


def orphaned_results(messages: Sequence[StoredMessage]) -> set[int]:
    """Positions of results whose call is not among the messages before them."""
    called: set[str] = set()
    found: set[int] = set()
    any_call = False
    for stored in messages:
        ids = tool_result_ids(stored.message)
        if ids:
            if not called.intersection(ids):
                found.add(stored.position)
        elif stored.message.role in RESULT_ROLES and not any_call:
            found.add(stored.position)
        calls = tool_call_ids(stored.message)
        called.update(calls)
        any_call = any_call or bool(calls)
    return found


def _is_plain(message: Message) -> bool:
    """Whether it is words and nothing else, as most messages are."""
    return isinstance(message.content, str) and not (message.tool_calls or message.tool_call_id or message.extra)


def _content_parts(message: Message, kind: str) -> list[Mapping[str, Any]]:
    if not isinstance(message.content, list):
        return []
    return [part for part in message.content if isinstance(part, Mapping) and part.get("type") == kind]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""

"""Exports of ChatGPT: `conversations.json`, or `conversations-000.json` and so on, in a zip archive or a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from jiyi.errors import ImportFormatError
from jiyi.importers.json_stream import objects_of_array
from jiyi.importers.records import ImportedConversation, LeftOut, Stream, digest, imported_message, time_of
from jiyi.importers.sources import Source, base
from jiyi.model.storable import storable

EXPECTED: Final = (
    "an export of ChatGPT: conversations.json (or conversations-000.json …), an array of conversations with a mapping "
    "of messages, alone, in a folder or in the zip archive"
)
_FILE: Final = re.compile(r"conversations(-\d+)?\.json")
_ROLES: Final = ("user", "assistant")
_UNSPOKEN: Final = ("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context")


def read(source: Source) -> Stream:
    """The conversations, each along the branch that was shown last."""
    names = [source.path.name] if source.is_file else source.names(lambda name: bool(_FILE.fullmatch(base(name))))
    if not names:
        raise ImportFormatError(f"{source.path} has no conversations.json; expected is {EXPECTED}")
    for name in names:
        with source.text(name) as stream:
            for index, found in enumerate(objects_of_array(stream, name, EXPECTED)):
                yield from _conversation(found, f"{name}[{index}]")


def _conversation(found: dict[str, Any], place: str) -> Stream:
    mapping = found.get("mapping")
    if not isinstance(mapping, dict):
        raise ImportFormatError(f"{place} has no mapping of messages; expected is {EXPECTED}")
    named = found.get("conversation_id") or found.get("id")
    title = found["title"] if isinstance(found.get("title"), str) else ""
    began = time_of(found.get("create_time"))
    messages = []
    for node_id, message in _branch(mapping, found.get("current_node")):
        reason, text = _spoken(message)
        if reason:
            yield LeftOut(reason)
            continue
        when = time_of(message.get("create_time")) or began
        messages.append(imported_message(message["author"]["role"], text, str(message.get("id") or node_id), when))
    if not messages:
        yield LeftOut("a conversation without messages")
        return
    own = str(named) if named else digest(title, str(found.get("create_time")), str(messages[0]["content"]))
    yield ImportedConversation(f"chatgpt:{own}", tuple(messages), storable(title))


def _branch(mapping: Mapping[str, Any], current: object) -> list[tuple[str, dict[str, Any]]]:
    """The messages from the first to the one that was shown last.

    A chain that runs in a circle ends where it meets itself, and one that leads nowhere ends there.
    """
    node_id = current if isinstance(current, str) and current in mapping else _last_leaf(mapping)
    chain: list[tuple[str, dict[str, Any]]] = []
    seen: set[str] = set()
    while isinstance(node_id, str) and node_id in mapping and node_id not in seen:
        seen.add(node_id)
        node = mapping[node_id]
        if not isinstance(node, dict):
            break
        if isinstance(node.get("message"), dict):
            chain.append((node_id, node["message"]))
        node_id = node.get("parent")
    return chain[::-1]


def _last_leaf(mapping: Mapping[str, Any]) -> str | None:
    """Of the messages that nothing follows the newest; without leaves the newest of all."""
    nodes = {key: node for key, node in mapping.items() if isinstance(node, dict)}
    parents = {node.get("parent") for node in nodes.values() if isinstance(node.get("parent"), str)}
    leaves = [key for key in nodes if key not in parents] or list(nodes)
    return max(leaves, key=lambda key: _seconds(nodes[key].get("message")), default=None)


def _seconds(message: object) -> float:
    when = time_of(message.get("create_time")) if isinstance(message, dict) else None
    return 0.0 if when is None else when.timestamp()


def _spoken(message: Mapping[str, Any]) -> tuple[str, str]:
    """Why a message is left out, or else its words."""
    author, content, about = message.get("author"), message.get("content"), message.get("metadata")
    role = author.get("role") if isinstance(author, dict) else None
    if role not in _ROLES:
        return "a message of the system or of a tool", ""
    if message.get("recipient", "all") != "all":
        return "a message to a tool", ""
    if isinstance(about, dict) and about.get("is_visually_hidden_from_conversation"):
        return "a hidden message", ""
    if not isinstance(content, dict) or content.get("content_type") in _UNSPOKEN:
        return "thoughts of the model", ""
    text = "\n".join(_parts(content)).strip()
    return ("", text) if text else ("a message without text", "")


def _parts(content: Mapping[str, Any]) -> Iterator[str]:
    parts = content.get("parts")
    for part in parts if isinstance(parts, list) else [content.get("text")]:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            yield part["text"]
        elif isinstance(part, dict):
            yield f"[{str(part.get('content_type', 'attachment')).removesuffix('_asset_pointer').replace('_', ' ')}]"

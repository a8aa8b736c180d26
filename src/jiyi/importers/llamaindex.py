"""Chat stores of LlamaIndex: the file of `SimpleChatStore.persist`."""

from __future__ import annotations

from typing import Any, Final

from jiyi.errors import ImportFormatError
from jiyi.importers.json_stream import JsonReader
from jiyi.importers.records import ImportedConversation, LeftOut, Stream, digest
from jiyi.importers.sources import Source
from jiyi.model.storable import storable

EXPECTED: Final = 'a chat store of LlamaIndex: {"store": {"key": [{"role": …, "content": …}]}}'


def read(source: Source) -> Stream:
    """The conversations, with every field of their messages."""
    if not source.is_file:
        raise ImportFormatError(f"{source.path} is no file; expected is {EXPECTED}")
    name = source.path.name
    with source.text(name) as stream:
        reader = JsonReader(stream, name)
        if reader.peek() != "{":
            raise ImportFormatError(f"{name} is no object; expected is {EXPECTED}")
        known = False
        for member in reader.members():
            if member == "store" and reader.peek() == "{":
                known = True
                for key in reader.members():
                    yield from _conversation(key, reader.value(), name)
            else:
                reader.value()
        if not known:
            raise ImportFormatError(f"{name} has no store; expected is {EXPECTED}")
        reader.end()


def _conversation(key: str, found: Any, name: str) -> Stream:
    if not isinstance(found, list):
        raise ImportFormatError(f"{name}: store[{key!r}] is no list of messages; expected is {EXPECTED}")
    messages = []
    for index, message in enumerate(found):
        role = message.get("role") if isinstance(message, dict) else None
        if not isinstance(message, dict) or not isinstance(role, str) or not storable(role).strip():
            raise ImportFormatError(f"{name}: store[{key!r}][{index}] has no role; expected is {EXPECTED}")
        content = message.get("content")
        text = storable(content if isinstance(content, str) else _words(message.get("blocks")))
        extra = message.get("additional_kwargs")
        calls = extra.get("tool_calls") if isinstance(extra, dict) else None
        if not text.strip() and not calls:
            yield LeftOut("a message without text")
            continue
        said: dict[str, Any] = {"role": storable(role).strip(), "content": text, "id": digest(key, str(index), text)}
        if isinstance(calls, list) and calls:
            said["tool_calls"] = calls
        if isinstance(extra, dict) and isinstance(extra.get("tool_call_id"), str):
            said["tool_call_id"] = extra["tool_call_id"]
        messages.append(said)
    if messages:
        yield ImportedConversation(f"llamaindex:{key}", tuple(messages), key)
    else:
        yield LeftOut("a conversation without messages")


def _words(blocks: object) -> str:
    found = [
        block["text"]
        for block in (blocks if isinstance(blocks, list) else [])
        if isinstance(block, dict) and isinstance(block.get("text"), str)
    ]
    return "\n".join(found)

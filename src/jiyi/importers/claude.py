"""Exports of Claude: `conversations.json`, `memories.json`, `projects.json` or `projects/…`, in a zip or a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from jiyi.errors import ImportFormatError
from jiyi.importers.json_stream import JsonReader, objects_of_array
from jiyi.importers.records import (
    ImportedConversation,
    LeftOut,
    Stream,
    digest,
    entries_of_text,
    imported_message,
    origin,
    time_of,
)
from jiyi.importers.sources import Source, base
from jiyi.model.storable import storable

EXPECTED: Final = (
    "an export of Claude: conversations.json (an array of conversations with chat_messages), memories.json and "
    "projects, alone, in a folder or in the zip archive"
)
_NAMES: Final = re.compile(r"(.*/)?(conversations|memories|projects)\.json|(.*/)?projects/[^/]+\.json")
_ROLES: Final = {"human": "user", "assistant": "assistant"}


def read(source: Source) -> Stream:
    """The conversations, the memories that Claude keeps of them, and the documents of projects."""
    names = [source.path.name] if source.is_file else source.names(lambda name: bool(_NAMES.fullmatch(name)))
    if not names:
        raise ImportFormatError(f"{source.path} has none of the files; expected is {EXPECTED}")
    for name in names:
        with source.text(name) as stream:
            if re.fullmatch(r"(.*/)?projects/[^/]+\.json", name):
                yield from _project(JsonReader(stream, name).value(), name)
                continue
            for index, found in enumerate(objects_of_array(stream, name, EXPECTED)):
                yield from _element(found, f"{name}[{index}]", base(name))


def _element(found: dict[str, Any], place: str, name: str) -> Stream:
    if isinstance(found.get("chat_messages"), list):
        yield from _conversation(found, place)
    elif "conversations_memory" in found or "project_memories" in found:
        yield from _memories(found)
    elif name == "projects.json":
        yield from _project(found, place)
    else:
        raise ImportFormatError(f"{place} has no chat_messages; expected is {EXPECTED}")


def _conversation(found: dict[str, Any], place: str) -> Stream:
    messages = []
    for index, message in enumerate(found["chat_messages"]):
        if not isinstance(message, dict):
            raise ImportFormatError(f"{place}.chat_messages[{index}] is no object; expected is {EXPECTED}")
        text = storable("\n".join(_words(message)).strip())
        role = _ROLES.get(str(message.get("sender")))
        if role is None or not text:
            yield LeftOut("a message without text" if role else "a message of neither the user nor Claude")
            continue
        when = time_of(message.get("created_at")) or time_of(found.get("created_at"))
        messages.append(imported_message(role, text, str(message.get("uuid") or digest(str(index), text)), when))
    if not messages:
        yield LeftOut("a conversation without messages")
        return
    own = found.get("uuid") or digest(str(found.get("created_at")), messages[0]["content"])
    title = found["name"] if isinstance(found.get("name"), str) else ""
    yield ImportedConversation(f"claude:{own}", tuple(messages), storable(title))


def _words(message: dict[str, Any]) -> Iterator[str]:
    blocks = message.get("content")
    texts = [
        block["text"]
        for block in (blocks if isinstance(blocks, list) else [])
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
    ]
    text = message.get("text")
    yield from texts if any(each.strip() for each in texts) else [text if isinstance(text, str) else ""]
    for kind in ("attachments", "files"):
        files = message.get(kind)
        for file in files if isinstance(files, list) else []:
            if isinstance(file, dict) and file.get("file_name"):
                yield f"[attachment: {file['file_name']}]"


def _memories(found: dict[str, Any]) -> Stream:
    text = found.get("conversations_memory")
    if isinstance(text, str) and text.strip():
        yield from entries_of_text(
            f"claude/memory/{digest(text)}", text, tags=("claude",), metadata=origin("claude", kind="memory")
        )
    projects = found.get("project_memories")
    for project, about in (projects if isinstance(projects, dict) else {}).items():
        if isinstance(about, str) and about.strip():
            key = f"claude/memory/{project}/{digest(about)}"
            yield from entries_of_text(
                key, about, tags=("claude",), metadata=origin("claude", kind="project memory", project=project)
            )


def _project(found: Any, place: str) -> Stream:
    if not isinstance(found, dict) or not ({"uuid", "name", "docs"} & found.keys()):
        raise ImportFormatError(f"{place} is no project; expected is {EXPECTED}")
    project = str(found.get("uuid") or digest(str(found.get("name"))))
    when = time_of(found.get("created_at"))
    name = str(found.get("name") or "")
    for field in ("description", "prompt_template"):
        text = found.get(field)
        if isinstance(text, str) and text.strip():
            about = origin("claude", kind=field, project=project, title=name)
            key = f"claude/project/{project}/{field}"
            yield from entries_of_text(key, f"{name}\n{text}", tags=("claude",), metadata=about, occurred_at=when)
    docs = found.get("docs")
    for index, document in enumerate(docs if isinstance(docs, list) else []):
        text = document.get("content") if isinstance(document, dict) else None
        if isinstance(text, str) and text.strip():
            own = str(document.get("uuid") or index)
            about = origin("claude", kind="document", project=project, file=document.get("filename"))
            key = f"claude/project/{project}/{own}"
            when_added = time_of(document.get("created_at"))
            yield from entries_of_text(key, text, tags=("claude",), metadata=about, occurred_at=when_added)
        else:
            yield LeftOut("a document without text")

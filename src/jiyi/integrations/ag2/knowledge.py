"""JiyiKnowledgeStore: the virtual files of AG2 in a memory.

A file is a conversation with the id `ag2:<path>`. What is written whole is one message of the assistant, which recall
finds. What is appended are messages of a tool, which are kept and not searched: AG2 appends logs. Adding a message is
atomic in every process and on every storage, and so is an append.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any, Final
from uuid import uuid4

from ag2.knowledge import ChangeCallback, ChangeSubscription

from jiyi.errors import InvalidInputError
from jiyi.integrations.opened import AnyMemory, check_any_memory, finished
from jiyi.model.message import Message
from jiyi.model.scope import named_scope

_SESSION: Final = "ag2:"
_APPENDED: Final = "ag2_append"


class JiyiKnowledgeStore:
    """A `KnowledgeStore` of AG2 on a memory: paths such as `/memory/working.md`, of one scope.

    `memory` is open, with async or without; it is not closed here. What is overwritten stays in the record of the
    memory; what is deleted is deleted for good. Callbacks of `on_change` see the changes that are made through this
    object.
    """

    def __init__(self, memory: AnyMemory, *, scope: str | None = None) -> None:
        self._memory = check_any_memory("JiyiKnowledgeStore", memory)
        self._scope = named_scope(scope, self._memory.settings)
        self._subscribers: dict[str, builtins.list[ChangeCallback]] = {}

    async def read(self, path: str) -> str | None:
        """The text of a file; `None` when there is none."""
        parts = [message.text for message in await self._messages(_normalized(path))]
        return "".join(parts) if parts else None

    async def write(self, path: str, content: str) -> None:
        """Make this the text of a file, in one transaction."""
        where = _normalized(path)
        said = {"role": "assistant", "content": _checked(content)}
        await finished(self._memory.save_conversation_history, _session(where), [said], scope=self._scope)
        await self._notify(where)

    async def list(self, path: str = "/") -> builtins.list[str]:
        """The names below a directory, sorted; those of directories end with `/`."""
        prefix = _normalized(path).rstrip("/") + "/"
        names = set()
        async for found in self._paths():
            if found.startswith(prefix):
                name, slash, _ = found.removeprefix(prefix).partition("/")
                names.add(name + slash)
        return sorted(names)

    async def delete(self, path: str) -> None:
        """Delete a file for good, or everything below a directory."""
        where = _normalized(path)
        for found in [each async for each in self._paths() if _is_below(each, where)]:
            await finished(self._memory.forget_session, _session(found), scope=self._scope)
            await self._notify(found)

    async def exists(self, path: str) -> bool:
        """Whether there is such a file or directory."""
        where = _normalized(path)
        return any([_is_below(found, where) async for found in self._paths()])

    async def append(self, path: str, content: str) -> int:
        """Add to the end of a file in one step; returns the offset in bytes at which it stands."""
        where = _normalized(path)
        token = uuid4().hex
        said = {"role": "tool", "content": _checked(content), _APPENDED: token}
        await finished(self._memory.chat(_session(where), scope=self._scope).put, said)
        offset = 0
        # Others may have appended before and behind it meanwhile.
        for message in await self._messages(where):
            if message.extra.get(_APPENDED) == token:
                break
            offset += len(message.text.encode("utf-8"))
        await self._notify(where)
        return offset

    async def read_range(self, path: str, start: int, end: int | None = None) -> str:
        """The bytes from `start` up to `end`, or to the end, as text; empty when there is no such file."""
        data = (await self.read(path) or "").encode("utf-8")
        return data[start : len(data) if end is None else end].decode("utf-8")

    async def on_change(self, path: str, callback: ChangeCallback) -> ChangeSubscription:
        """Call `callback(path)` after each change of a file at or below a path."""
        where = _normalized(path)
        self._subscribers.setdefault(where, []).append(callback)
        return _Subscription(self._subscribers, where, callback)

    def __repr__(self) -> str:
        return f"<JiyiKnowledgeStore scope={self._scope!r}>"

    async def _messages(self, where: str) -> builtins.list[Message]:
        return [*await finished(self._memory.load_conversation_history, _session(where), scope=self._scope)]

    async def _paths(self) -> Any:
        for session in await finished(self._memory.list_sessions, scope=self._scope):
            if session.startswith(_SESSION):
                yield session.removeprefix(_SESSION)

    async def _notify(self, changed: str) -> None:
        for where, callbacks in [*self._subscribers.items()]:
            if _is_below(changed, where):
                for callback in [*callbacks]:
                    await callback(changed)


class _Subscription:
    """Ends the calls of a callback."""

    def __init__(self, subscribers: dict[str, list[ChangeCallback]], where: str, callback: ChangeCallback) -> None:
        self._subscribers = subscribers
        self._where = where
        self._callback = callback

    async def close(self) -> None:
        """Stop; again does nothing."""
        callbacks = self._subscribers.get(self._where, [])
        if self._callback in callbacks:
            callbacks.remove(self._callback)


def _session(where: str) -> str:
    return f"{_SESSION}{where}"


def _normalized(path: str) -> str:
    """A path from the root, without empty parts and without a slash at its end."""
    if not isinstance(path, str):
        raise InvalidInputError(f"path must be a text such as '/memory/working.md', not {type(path).__name__}")
    return "/" + "/".join(_parts(path))


def _parts(path: str) -> Iterator[str]:
    return (part for part in path.split("/") if part)


def _checked(content: object) -> str:
    if not isinstance(content, str):
        raise InvalidInputError(f"content must be text, not {type(content).__name__}")
    return content


def _is_below(path: str, where: str) -> bool:
    return path == where or path.startswith(where.rstrip("/") + "/")

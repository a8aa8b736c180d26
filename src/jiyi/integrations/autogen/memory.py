"""JiyiMemory: a `Memory` of autogen-core on a memory."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Mapping
from typing import Any, Final, Self, TypeVar

from autogen_core import CancellationToken, Component
from autogen_core.memory import Memory, MemoryContent, MemoryMimeType, MemoryQueryResult, UpdateContextResult
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import UserMessage
from pydantic import BaseModel

from jiyi.compat.memory_owner import SharesMemory
from jiyi.errors import InvalidInputError
from jiyi.integrations.opened import AnyMemory, check_any_memory, finished, use_memory
from jiyi.integrations.quoting import quoted
from jiyi.model.entry import MemoryEntry
from jiyi.model.relevance import MIN_RELEVANCE

_OWN: Final = "autogen"
"""The namespace of what is added, and the field of its metadata with what only AutoGen knows."""
_TEXTS: Final = (MemoryMimeType.TEXT.value, MemoryMimeType.MARKDOWN.value)
_JSON: Final = MemoryMimeType.JSON.value
_ASKED: Final = ("limit", "min_relevance", "where")

R = TypeVar("R")


class JiyiMemoryConfig(BaseModel):
    """How a `JiyiMemory` is made again from its component: the path of the memory, not what is in it."""

    path: str
    scope: str | None = None
    name: str = "jiyi"
    limit: int = 5
    min_relevance: float = MIN_RELEVANCE


class JiyiMemory(SharesMemory, Memory, Component[JiyiMemoryConfig]):
    """Recalls what fits the last message of the user; keeps what is added, durable and with every version.

    Give it a path, or a memory that is open, with async or without (it is not closed here). `query` and
    `update_context` find everything that the scope remembers; `clear` forgets what was added under this `name`.
    """

    component_type = "memory"
    component_provider_override = "jiyi.integrations.autogen.JiyiMemory"
    component_config_schema = JiyiMemoryConfig

    def __init__(
        self,
        memory: AnyMemory | str | os.PathLike[str],
        *,
        scope: str | None = None,
        name: str = "jiyi",
        limit: int = 5,
        min_relevance: float = MIN_RELEVANCE,
    ) -> None:
        """`limit` is how many memories are recalled at most, and `min_relevance` how likely each has to fit."""
        self._memory: AnyMemory
        if isinstance(memory, str | os.PathLike):
            self._memory, self._owned = use_memory("JiyiMemory", memory, scope)
        else:
            self._memory, self._owned = check_any_memory("JiyiMemory", memory), False
        self._scope = scope
        self._name = name
        self._limit = limit
        self._min_relevance = min_relevance

    @property
    def name(self) -> str:
        """The name under which things are added, and that stands as the source of messages in a context."""
        return self._name

    async def add(self, content: MemoryContent, cancellation_token: CancellationToken | None = None) -> None:
        """Keep a text, Markdown or JSON; on disk when this returns."""
        kind = _mime(content)
        own: dict[str, Any] = {"name": self._name, "mime_type": kind}
        if content.metadata:
            own["metadata"] = dict(content.metadata)
        work = finished(
            self._memory.add,
            _text_of(content, kind),
            scope=self._scope,
            metadata={_OWN: own},
            namespace=(_OWN, self._name),
        )
        await _cancellable(work, cancellation_token)

    async def query(
        self, query: str | MemoryContent, cancellation_token: CancellationToken | None = None, **kwargs: Any
    ) -> MemoryQueryResult:
        """What fits the query best, best first, each with its `relevance_score` in the metadata.

        Besides the query it takes `limit`, `min_relevance` and `where` of `memory.recall`.
        """
        unknown = sorted(set(kwargs) - set(_ASKED))
        if unknown:
            raise InvalidInputError(f"query does not know {', '.join(unknown)}; it takes {', '.join(_ASKED)}")
        text = query if isinstance(query, str) else _text_of(query, _mime(query))
        if not text.strip():
            return MemoryQueryResult(results=[])
        work = finished(
            self._memory.recall,
            text,
            kwargs.get("limit", self._limit),
            scope=self._scope,
            min_relevance=kwargs.get("min_relevance", self._min_relevance),
            where=kwargs.get("where"),
        )
        hits = await _cancellable(work, cancellation_token)
        return MemoryQueryResult(results=[_content_of(hit) for hit in hits])

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Add what fits the last message of the user as a quoted message, without what the context has already."""
        messages = await model_context.get_messages()
        texts = [message.content for message in messages if isinstance(getattr(message, "content", None), str)]
        asked = [
            message.content
            for message in messages
            if isinstance(message, UserMessage) and message.source != self._name and isinstance(message.content, str)
        ]
        found = await self.query(asked[-1]) if asked else MemoryQueryResult(results=[])
        new = [content for content in found.results if not _is_shown(_line_of(content), texts)]
        if new:
            block = UserMessage(content=quoted([_line_of(content) for content in new]), source=self._name)
            await model_context.add_message(block)
        return UpdateContextResult(memories=MemoryQueryResult(results=new))

    async def clear(self) -> None:
        """Forget what was added under this name; its history stays, and other memories of the scope too."""
        await finished(self._memory.forget_many, scope=self._scope, namespace=(_OWN, self._name))

    async def close(self) -> None:
        """Close the memory if this object has opened it."""
        if self._owned:
            await finished(self._memory.close)

    def _to_config(self) -> JiyiMemoryConfig:
        path = self._memory.settings.path
        if path is None:
            raise InvalidInputError("this JiyiMemory is on a memory without a path; only one on disk can be dumped")
        return JiyiMemoryConfig(
            path=str(path), scope=self._scope, name=self._name, limit=self._limit, min_relevance=self._min_relevance
        )

    @classmethod
    def _from_config(cls, config: JiyiMemoryConfig) -> Self:
        return cls(
            config.path,
            scope=config.scope,
            name=config.name,
            limit=config.limit,
            min_relevance=config.min_relevance,
        )


async def _cancellable(work: Awaitable[R], token: CancellationToken | None) -> R:
    task = asyncio.ensure_future(work)
    if token is not None:
        token.link_future(task)
    return await task


def _mime(content: MemoryContent) -> str:
    kind = content.mime_type
    return kind.value if isinstance(kind, MemoryMimeType) else str(kind)


def _text_of(content: MemoryContent, kind: str) -> str:
    """What is searched. Pictures and bytes have no words."""
    value = content.content
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    raise InvalidInputError(
        f"a memory of words keeps {', '.join((*_TEXTS, _JSON))}, not {type(value).__name__} as {kind}; "
        "add a description of it as text"
    )


def _content_of(hit: MemoryEntry) -> MemoryContent:
    own = hit.metadata.get(_OWN)
    own = own if isinstance(own, Mapping) else {}
    kind = str(own.get("mime_type") or MemoryMimeType.TEXT.value)
    content: Any = hit.content
    if kind == _JSON:
        content = _decoded(hit.content)
    about = own.get("metadata") if own else hit.metadata
    return MemoryContent(
        content=content,
        mime_type=MemoryMimeType(kind) if kind in {each.value for each in MemoryMimeType} else kind,
        metadata={
            **(about or {}),
            "id": hit.id,
            "occurred_at": hit.event_time.isoformat(),
            "relevance_score": hit.relevance_score,
            "trust": hit.source.trust,
        },
    )


def _decoded(text: str) -> Any:
    """An object that was stored as JSON; anything else stays text."""
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return found if isinstance(found, dict) else text


def _line_of(content: MemoryContent) -> str:
    return content.content if isinstance(content.content, str) else json.dumps(content.content, ensure_ascii=False)


def _is_shown(line: str, texts: list[str]) -> bool:
    plain = " ".join(line.split())
    return any(plain in " ".join(text.split()) for text in texts)

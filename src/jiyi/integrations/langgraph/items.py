"""Items of a LangGraph store as entries of a memory, and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from langgraph.store.base import Item, PutOp, SearchItem, get_text_at_path, tokenize_path

from jiyi.errors import InvalidInputError
from jiyi.model.entry import MemoryEntry
from jiyi.model.metadata import check_metadata

KIND: Final = "langgraph"
"""The memory type of the entries, the first part of their namespaces, and the field of their metadata."""
VALUE: Final = f"{KIND}.value"
INDEXED: Final = f"{KIND}.indexed"
IN_CONTENT: Final = f"{KIND}.in_content"
_NOTHING: Final = "-"
"""The content of an item that is not searched; an entry must have some."""
_MAX_KEY: Final = 512


def entry_key(namespace: Sequence[str], key: str) -> str:
    """The key of the entry, unique in its scope: readable, and a digest where it would be too long."""
    if not isinstance(key, str) or not key:
        raise InvalidInputError(f"key must be a text that is not empty, not {ascii(key)[:80]}")
    parts = [KIND, *(part.replace("%", "%25").replace("/", "%2F") for part in (*namespace, key))]
    text = "/".join(parts)
    if len(text) <= _MAX_KEY:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{KIND}/#{digest}"


def stored(op: PutOp, fields: Sequence[str], now: datetime) -> dict[str, Any]:
    """The arguments of `store` for an item."""
    value = _as_json(op.value, op.key)
    text = "" if op.index is False else _text_of(value, fields if op.index is None else op.index)
    about: dict[str, Any] = {"key": op.key, "indexed": bool(text)}
    if op.ttl is not None:
        about["ttl"] = float(op.ttl)
    content = text or _NOTHING
    try:
        metadata = check_metadata({KIND: {**about, "value": value}})
    except InvalidInputError:
        # Too large, too deep, or with names that metadata do not have: the content has room for it.
        metadata = {KIND: {**about, "in_content": True}}
        content = json.dumps(value, ensure_ascii=False)
    arguments: dict[str, Any] = {
        "key": entry_key(op.namespace, op.key),
        "content": content,
        "memory_type": KIND,
        "metadata": metadata,
        "namespace": (KIND, *op.namespace),
    }
    if op.ttl is not None:
        arguments["expires_at"] = now + timedelta(minutes=op.ttl)
    return arguments


def _as_json(value: object, key: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"the value of {ascii(key)[:80]} must be a dict, not {type(value).__name__}")
    try:
        copied: dict[str, Any] = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"the value of {ascii(key)[:80]} cannot be written as JSON: {error}") from None
    return copied


def _text_of(value: dict[str, Any], fields: Sequence[str]) -> str:
    """What is searched of a value: the texts and numbers of these fields, each once."""
    found: dict[str, None] = {}
    for path in fields:
        texts = _leaves(value) if path == "$" else get_text_at_path(value, tokenize_path(path))
        found.update(dict.fromkeys(text.strip() for text in texts if text and text.strip()))
    return "\n".join(found)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def value_of(entry: MemoryEntry) -> dict[str, Any]:
    """The value of the item that an entry holds."""
    about = entry.metadata[KIND]
    value: dict[str, Any] = json.loads(entry.content) if about.get("in_content") else dict(about["value"])
    return value


def ttl_of(entry: MemoryEntry) -> timedelta | None:
    """How long the item lives after it was read or written; `None` for ever."""
    minutes = entry.metadata[KIND].get("ttl")
    return None if minutes is None or entry.expires_at is None else timedelta(minutes=minutes)


def item_of(entry: MemoryEntry) -> Item:
    """The item that an entry holds."""
    return Item(
        value=value_of(entry),
        key=entry.metadata[KIND]["key"],
        namespace=entry.namespace[1:],
        created_at=entry.created_at,
        updated_at=entry.updated_at,
    )


def search_item_of(entry: MemoryEntry) -> SearchItem:
    """The same as an answer to a search, with the score of a hit."""
    return SearchItem(
        namespace=entry.namespace[1:],
        key=entry.metadata[KIND]["key"],
        value=value_of(entry),
        created_at=entry.created_at,
        updated_at=entry.updated_at,
        score=entry.relevance_score,
    )

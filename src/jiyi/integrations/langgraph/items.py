"""Items of a LangGraph store as entries of a memory, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from langgraph.store.base import Item, PutOp, SearchItem, get_text_at_path, tokenize_path

from jiyi.compat import langgraph_forms as forms
from jiyi.compat.langgraph_forms import KIND
from jiyi.model.entry import MemoryEntry

VALUE: Final = f"{KIND}.value"
INDEXED: Final = f"{KIND}.indexed"
IN_CONTENT: Final = f"{KIND}.in_content"


def stored(op: PutOp, fields: Sequence[str], now: datetime) -> dict[str, Any]:
    """The arguments of `store` for an item."""
    value = forms.as_json(op.value, op.key)
    text = "" if op.index is False else forms.joined(_texts(value, fields if op.index is None else op.index))
    arguments = forms.stored_item(op.namespace, op.key, value, text=text, ttl=op.ttl)
    if op.ttl is not None:
        arguments["expires_at"] = now + timedelta(minutes=op.ttl)
    return arguments


def _texts(value: dict[str, Any], fields: Sequence[str]) -> Iterator[str]:
    """What is searched of a value: the texts and numbers of these fields."""
    for path in fields:
        yield from forms.leaves(value) if path == "$" else get_text_at_path(value, tokenize_path(path))


def value_of(entry: MemoryEntry) -> dict[str, Any]:
    """The value of the item that an entry holds."""
    return forms.value_of(entry.metadata, entry.content)


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

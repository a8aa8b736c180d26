"""Drafts: the arguments of `store` and `store_many`, checked and made into entries to be written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from typing import Any

from jiyi.errors import InvalidInputError
from jiyi.model import clock
from jiyi.model.category import MemoryCategory, check_word
from jiyi.model.entry import DEFAULT_IMPORTANCE, DEFAULT_MEMORY_TYPE, MemoryEntry
from jiyi.model.identity import new_id
from jiyi.model.limits import Limits, check_importance, check_whole
from jiyi.model.metadata import check_metadata
from jiyi.model.namespace import check_namespace
from jiyi.ports import Draft


def make_drafts(limits: Limits, scope_of: Callable[[Any], str], entries: Iterable[Mapping[str, Any]]) -> list[Draft]:
    """The drafts of mappings with the argument names of `store`; `scope_of` checks a scope and knows the default."""
    if isinstance(entries, str | bytes | Mapping) or not isinstance(entries, Iterable):
        raise InvalidInputError(f"entries must be a list of mappings, not {type(entries).__name__}")
    drafts = []
    for index, entry in enumerate(entries):
        if not isinstance(entry, Mapping):
            raise InvalidInputError(
                f"entries[{index}] is a {type(entry).__name__}; pass a mapping with key and content"
            )
        unknown = [str(name) for name in entry if name not in STORE_ARGUMENTS]
        missing = [name for name in ("key", "content") if name not in entry]
        if unknown or missing:
            what = f"unknown {', '.join(unknown)}" if unknown else f"without {', '.join(missing)}"
            raise InvalidInputError(f"entries[{index}] is {what}; known names are {', '.join(STORE_ARGUMENTS)}")
        try:
            given = dict(entry)
            drafts.append(make_draft(limits, scope_of(given.pop("scope", None)), **given))
        except InvalidInputError as error:
            raise type(error)(f"entries[{index}]: {error}") from None
    return drafts


def make_draft(
    limits: Limits,
    scope: str,
    *,
    key: object,
    content: object,
    category: object = None,
    tags: object = None,
    importance: object = None,
    memory_type: object = None,
    domain: object = None,
    conversation_id: object = None,
    occurred_at: object = None,
    position: object = None,
    metadata: object = None,
    namespace: object = None,
    expires_at: object = None,
) -> Draft:
    """A new entry with checked values, and the names of the fields that an existing entry keeps."""
    now = clock.utc_now()
    entry = MemoryEntry(
        id=new_id(),
        scope=scope,
        key=limits.check_key(key),
        content=limits.check_content(content),
        category=MemoryCategory.CORE if category is None else check_category(category),
        memory_type=DEFAULT_MEMORY_TYPE if memory_type is None else check_word(memory_type, "memory_type"),
        domain=None if domain is None else check_word(domain, "domain"),
        importance_score=DEFAULT_IMPORTANCE if importance is None else check_importance(importance),
        tags=limits.check_tags(tags),
        conversation_id=None
        if conversation_id is None
        else limits.check_session_id(conversation_id, "conversation_id"),
        position=None if position is None else check_whole(position, "position", 0, 2**31 - 1),
        occurred_at=None if occurred_at is None else clock.require_aware(occurred_at, "occurred_at"),
        metadata={} if metadata is None else check_metadata(metadata),
        namespace=() if namespace is None else check_namespace(namespace),
        expires_at=None if expires_at is None else clock.require_aware(expires_at, "expires_at"),
        created_at=now,
        updated_at=now,
        last_accessed_at=now,
    )
    unsaid = {
        "importance_score": importance,
        "memory_type": memory_type,
        "domain": domain,
        "conversation_id": conversation_id,
        "occurred_at": occurred_at,
        "position": position,
        "category": category,
        "tags": tags,
        "metadata": metadata,
        "namespace": namespace,
        "expires_at": expires_at,
    }
    return Draft(entry, frozenset(name for name, value in unsaid.items() if value is None))


def check_category(category: object) -> MemoryCategory:
    """A category: one word."""
    if not isinstance(category, str):
        raise InvalidInputError(f"category must be a word, not {type(category).__name__}: {category!r}")
    return MemoryCategory(category)


# In the order of the parameters of `store`.
STORE_ARGUMENTS = ("key", "content", "category", "scope", *list(signature(make_draft).parameters)[5:])

"""Drafts: the arguments of `store` and `store_many`, checked and made into entries to be written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from jiyi.errors import InvalidInputError
from jiyi.model import clock
from jiyi.model.category import MemoryCategory, check_word
from jiyi.model.entry import TRUST_LEVELS, MemoryEntry, Source
from jiyi.model.identity import new_id, new_ids
from jiyi.model.limits import MAX_POSITION, Limits, check_importance, check_whole
from jiyi.model.metadata import check_metadata
from jiyi.model.namespace import check_namespace
from jiyi.ports import Draft

_STORED = Source()


def source_of_trust(trust: object) -> Source:
    """The source of entries that a caller stores, and says where they come from."""
    if not isinstance(trust, str) or trust not in TRUST_LEVELS:
        raise InvalidInputError(f"trust {ascii(trust)[:80]} is unknown; use one of {', '.join(TRUST_LEVELS)}")
    return Source("import" if trust == "import" else "stored", trust)


def make_drafts(
    limits: Limits, scope_of: Callable[[Any], str], entries: Iterable[Mapping[str, Any]], source: Source
) -> list[Draft]:
    """The drafts of mappings with the argument names of `store`; `scope_of` checks a scope and knows the default."""
    if isinstance(entries, str | bytes | Mapping) or not isinstance(entries, Iterable):
        raise InvalidInputError(f"entries must be a list of mappings, not {type(entries).__name__}")
    checked: list[tuple[str, str, dict[str, Any]]] = []
    for index, entry in enumerate(entries):
        if not isinstance(entry, Mapping):
            raise InvalidInputError(
                f"entries[{index}] is a {type(entry).__name__}; pass a mapping with key and content"
            )
        if not (_ARGUMENTS.issuperset(entry) and "key" in entry and "content" in entry):
            raise _wrong_names(index, entry)
        try:
            key = limits.check_key(entry["key"])
            checked.append((scope_of(entry.get("scope")), key, checked_fields(limits, entry)))
        except InvalidInputError as error:
            raise type(error)(f"entries[{index}]: {error}") from None
    # One time for all: they are stored by one call, and their ids tell their order.
    now = clock.utc_now()
    identified = zip(new_ids(len(checked)), checked, strict=True)
    return [_draft(limits, new, scope, key, given, now, source) for new, (scope, key, given) in identified]


def _wrong_names(index: int, entry: Mapping[Any, Any]) -> InvalidInputError:
    unknown = [str(name) for name in entry if name not in _ARGUMENTS]
    missing = [name for name in ("key", "content") if name not in entry]
    what = f"unknown {', '.join(unknown)}" if unknown else f"without {', '.join(missing)}"
    return InvalidInputError(f"entries[{index}] is {what}; known names are {', '.join(STORE_ARGUMENTS)}")


def new_draft(limits: Limits, scope: str, key: str | None, given: Mapping[str, Any]) -> Draft:
    """A draft with these fields, which are checked; without a key it is always a new entry."""
    return _draft(limits, new_id(), scope, key, given, clock.utc_now(), _STORED)


def _draft(
    limits: Limits, new: str, scope: str, key: str | None, given: Mapping[str, Any], now: datetime, source: Source
) -> Draft:
    if "content" not in given:
        limits.check_content(None)
    entry = MemoryEntry(
        id=new, scope=scope, key=key, source=source, created_at=now, updated_at=now, last_accessed_at=now, **given
    )
    return Draft(entry, _PATCHED if len(given) == 1 else _PATCHED - given.keys())


def checked_fields(limits: Limits, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an entry that are among the arguments of a method, which are its `locals()`, checked.

    `None` means not given.
    """
    found = {}
    for name, value in arguments.items():
        if value is not None and (check := _CHECKS.get(name)) is not None:
            found["importance_score" if name == "importance" else name] = check(limits, value)
    return found


_CHECKS: dict[str, Callable[[Limits, Any], Any]] = {
    "content": Limits.check_content,
    "category": lambda _, value: check_category(value),
    "tags": Limits.check_tags,
    "importance": lambda _, value: check_importance(value),
    "memory_type": lambda _, value: check_word(value, "memory_type"),
    "domain": lambda _, value: check_word(value, "domain"),
    "conversation_id": lambda limits, value: limits.check_id(value, "conversation_id"),
    "occurred_at": lambda _, value: clock.require_aware(value, "occurred_at"),
    "position": lambda _, value: check_whole(value, "position", 0, MAX_POSITION),
    "metadata": lambda _, value: check_metadata(value),
    "namespace": lambda _, value: check_namespace(value),
    "expires_at": lambda _, value: clock.require_aware(value, "expires_at"),
}
"""The arguments of `store`, `add` and `update` that become fields of the entry, in the order of the parameters.

Key and scope, which are not among them, are checked by themselves."""


_PATCHED = frozenset(
    {"category", "tags", "importance_score", "memory_type", "domain", "conversation_id"}
    | {"occurred_at", "position", "metadata", "namespace", "expires_at", "strength"}
)
"""What an existing entry keeps where nothing is said about it."""
_CLEARABLE: dict[str, Any] = {
    "tags": (),
    "domain": None,
    "conversation_id": None,
    "occurred_at": None,
    "position": None,
    "metadata": {},
    "namespace": (),
    "expires_at": None,
}


def cleared_fields(clear: object, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that a caller wants to be empty, with their empty values."""
    if isinstance(clear, str | bytes) or not isinstance(clear, Iterable):
        raise InvalidInputError(f"clear must be a list of names, not {type(clear).__name__}: {ascii(clear)[:80]}")
    names = list(clear)
    for name in names:
        if not isinstance(name, str) or name not in _CLEARABLE:
            raise InvalidInputError(f"clear has {ascii(name)[:80]}; known names are {', '.join(_CLEARABLE)}")
        if name in changes:
            raise InvalidInputError(f"clear has {name}, which is given as well; pass one of them")
    return {name: _CLEARABLE[name] for name in names}


def check_category(category: object) -> MemoryCategory:
    """A category: one word."""
    if not isinstance(category, str):
        raise InvalidInputError(f"category must be a word, not {type(category).__name__}: {category!r}")
    return MemoryCategory(category)


# In the order of the parameters of `store`.
STORE_ARGUMENTS = ("key", "content", "category", "scope", *list(_CHECKS)[2:])
_ARGUMENTS = frozenset(STORE_ARGUMENTS)

"""Checks of exported rows before an import takes them in; each returns the values to be stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, Final

from jiyi.backends.records.codec import COLUMNS, to_json
from jiyi.backends.records.tables import BOOLEAN, INTEGER, REAL, TIME, Column
from jiyi.errors import InvalidInputError
from jiyi.model import clock
from jiyi.model.category import check_word
from jiyi.model.entry import MemoryEntry, Source
from jiyi.model.limits import Limits, check_importance, check_whole
from jiyi.model.metadata import check_metadata
from jiyi.model.namespace import check_namespace
from jiyi.model.scope import PUBLIC, check_scope
from jiyi.text import Analyzer

CHANGE_FIELDS: Final = ("entry_id", "scope", "key", "version", "operation", "changed_by")
MESSAGE_FIELDS: Final = ("scope", "session_id", "position", "message_id", "role", "content")
OPERATIONS: Final = ("create", "update", "forget", "restore", "erase", "archive", "import")
_REQUIRED: Final = (
    *("id", "scope", "key", "content", "category", "tags", "source"),
    *("created_at", "updated_at", "last_accessed_at"),
)
_ENDLESS: Final = 1 << 62
# The sizes were limited when the entry was stored; here only what would break something is refused.
_LIMITS: Final = Limits(
    max_content_bytes=_ENDLESS,
    max_key_characters=_ENDLESS,
    max_tags=_ENDLESS,
    max_tag_characters=_ENDLESS,
)


def checked_entry(data: Mapping[str, Any]) -> MemoryEntry:
    """An entry."""
    missing = [name for name in _REQUIRED if name not in data]
    if missing:
        raise InvalidInputError(f"an entry without {', '.join(missing)}")
    _only(data, tuple(f.name for f in fields(MemoryEntry)))
    if not isinstance(data["tags"], list) or _LIMITS.check_tags(data["tags"]) != tuple(data["tags"]):
        raise InvalidInputError(f"tags {data['tags']!r} are no list of different texts")
    entry = MemoryEntry.from_dict(data).as_record()
    for column in COLUMNS:
        value = getattr(entry, column.name)
        if value is not None or not column.nullable:
            _check_value(column, value)
    return entry


def _check_value(column: Column, value: Any) -> None:
    """By the name of the column if there is a rule for it, otherwise by its type."""
    own = _OWN_CHECKS.get(column.name)
    if own is not None:
        own(value)
    elif column.type is TIME:
        clock.require_aware(value, column.name)
    elif column.type is BOOLEAN:
        if not isinstance(value, bool):
            raise InvalidInputError(f"{column.name} {value!r} is neither true nor false")
    elif column.type is INTEGER:
        check_whole(value, column.name, 0, _ENDLESS)
    elif column.type is REAL:
        check_importance(value)
    else:
        _LIMITS.check_session_id(value, column.name)


def _check_source(source: Source) -> None:
    for text in (source.kind, source.trust, *source.references):
        _LIMITS.check_session_id(text, "source")


def _check_domains(domains: Iterable[object]) -> None:
    for domain in domains:
        check_word(domain, "more_domains")


def _unchecked(_value: object) -> None:
    """Checked already, while the entry was made."""


_OWN_CHECKS: Final[dict[str, Callable[[Any], object]]] = {
    "scope": check_scope,
    "content": _LIMITS.check_content,
    "reasoning": lambda value: value == "" or _LIMITS.check_content(value, "reasoning"),
    "category": _unchecked,
    "memory_type": lambda value: check_word(value, "memory_type"),
    "domain": lambda value: check_word(value, "domain"),
    "strength": lambda value: check_whole(value, "strength", -_ENDLESS, _ENDLESS),
    "tags": _unchecked,
    "source": _check_source,
    "more_domains": _check_domains,
    "metadata": check_metadata,
    "namespace": check_namespace,
    "version": lambda value: check_whole(value, "version", 1, _ENDLESS),
}


def checked_change(data: Mapping[str, Any]) -> dict[str, Any]:
    """A line of a change log."""
    _only(data, (*CHANGE_FIELDS, "changed_at", "changed", "before"))
    if data["operation"] not in OPERATIONS:
        raise InvalidInputError(f"operation {data['operation']!r} is none of {', '.join(OPERATIONS)}")
    changed = data["changed"]
    if not isinstance(changed, list) or not all(isinstance(name, str) for name in changed):
        raise InvalidInputError(f"changed {changed!r} is no list of field names")
    before = data["before"]
    if before is not None:
        before = checked_entry(before).to_dict()
        if (before["id"], before["scope"], before["key"]) != (data["entry_id"], data["scope"], data["key"]):
            raise InvalidInputError("before is another entry than the one that was changed")
    return {
        "entry_id": _LIMITS.check_session_id(data["entry_id"], "entry_id"),
        "scope": check_scope(data["scope"]),
        "key": None if data["key"] is None else _LIMITS.check_session_id(data["key"], "key"),
        "version": check_whole(data["version"], "version", 1, _ENDLESS),
        "operation": data["operation"],
        "changed_by": _LIMITS.check_session_id(data["changed_by"], "changed_by"),
        "changed_at": clock.from_text(data["changed_at"]),
        "changed": changed,
        "before": before,
    }


def checked_usage(data: Mapping[str, Any]) -> dict[str, Any]:
    """How often a memory of the runtime was useful."""
    _only(data, ("memory_id", "scope", "useful", "missed", "decayed_at"))
    return {
        "memory_id": _LIMITS.check_session_id(data["memory_id"], "memory_id"),
        "scope": check_scope(data["scope"]),
        "useful": check_whole(data["useful"], "useful", 0, _ENDLESS),
        "missed": check_whole(data["missed"], "missed", 0, _ENDLESS),
        "decayed_at": clock.from_text(data["decayed_at"]) if data["decayed_at"] is not None else None,
    }


def checked_overlay(data: Mapping[str, Any]) -> dict[str, Any]:
    """What a private scope thinks of a public memory."""
    counters = ("strength", "useful", "missed", "access_count")
    _only(data, ("scope", "memory_id", *counters, "last_accessed_at", "superseded_by"))
    if check_scope(data["scope"]) == PUBLIC:
        raise InvalidInputError(f"{PUBLIC} has no opinion of its own memories; only private scopes have")
    last, front = data["last_accessed_at"], data["superseded_by"]
    return {
        "scope": data["scope"],
        "memory_id": _LIMITS.check_session_id(data["memory_id"], "memory_id"),
        **{name: check_whole(data[name], name, 0, _ENDLESS) for name in counters},
        "last_accessed_at": clock.from_text(last) if last is not None else None,
        "superseded_by": _LIMITS.check_session_id(front, "superseded_by") if front is not None else None,
    }


def checked_message(data: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a conversation."""
    _only(data, (*MESSAGE_FIELDS, "created_at", "replaced_at"))
    if not isinstance(data["content"], str):
        raise InvalidInputError(f"content is a {type(data['content']).__name__}, not text")
    return {
        "scope": check_scope(data["scope"]),
        "session_id": _LIMITS.check_session_id(data["session_id"]),
        "position": check_whole(data["position"], "position", 0, _ENDLESS),
        "message_id": _LIMITS.check_session_id(data["message_id"], "message_id"),
        "role": _LIMITS.check_session_id(data["role"], "role"),
        "content": data["content"],
        "created_at": clock.from_text(data["created_at"]),
        "replaced_at": clock.from_text(data["replaced_at"]) if data["replaced_at"] is not None else None,
    }


def checked_job(data: Mapping[str, Any]) -> dict[str, Any]:
    """Background work that was not done; it is queued, or dead as it was."""
    _only(data, ("id", "work", "scope", "payload", "dead", "reason", "created_at"))
    if not isinstance(data["payload"], dict) or not isinstance(data["dead"], bool):
        raise InvalidInputError("a job has a payload and is dead or not")
    if not isinstance(data["reason"], str):
        raise InvalidInputError(f"reason {data['reason']!r} is no text")
    created_at = clock.from_text(data["created_at"])
    return {
        "id": _LIMITS.check_session_id(data["id"], "id"),
        "kind": _LIMITS.check_session_id(data["work"], "work"),
        "scope": check_scope(data["scope"]),
        "payload": to_json(data["payload"]),
        "state": "dead" if data["dead"] else "queued",
        "attempt": 0,
        "not_before": created_at,
        "lease_until": None,
        "lease_by": None,
        "reason": data["reason"],
        "created_at": created_at,
        "finished_at": clock.utc_now() if data["dead"] else None,
        "dedupe_key": None,
    }


def checked_word(data: Mapping[str, Any]) -> str:
    """A word of the user dictionary."""
    _only(data, ("word",))
    word = _LIMITS.check_session_id(data["word"], "word")
    # A word that cannot be indexed would make the whole store unusable.
    Analyzer([word])
    return word


def _only(data: Mapping[str, Any], names: tuple[str, ...]) -> None:
    unknown = sorted(set(data) - set(names))
    if unknown:
        raise InvalidInputError(f"unknown fields: {', '.join(unknown)}")

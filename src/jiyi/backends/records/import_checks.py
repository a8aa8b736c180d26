"""The schema of exported rows: what is wrong is refused before anything is stored; each check returns the values.

The bounds are those of the API, so that whatever was taken in can be exported, merged, consolidated and indexed again
by every engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, Final

from jiyi.backends.records.codec import COLUMNS, to_json
from jiyi.backends.records.column_checks import (
    MAX_COUNT,
    MAX_REFERENCES,
    check_bool,
    check_column,
    check_id,
    long_texts,
)
from jiyi.errors import InvalidInputError
from jiyi.model import clock
from jiyi.model.entry import MESSAGE_TYPE, MemoryEntry
from jiyi.model.limits import Limits, check_whole
from jiyi.model.metadata import check_json
from jiyi.model.scope import ERASED_SCOPE, PUBLIC, check_scope
from jiyi.text import Analyzer

CHANGE_FIELDS: Final = ("entry_id", "scope", "key", "version", "operation", "changed_by")
MESSAGE_FIELDS: Final = ("scope", "session_id", "position", "message_id", "role", "content")
OPERATIONS: Final = ("create", "update", "forget", "restore", "erase", "archive", "import")
_MAX_TAGS: Final = 1_024
_MAX_CHANGED: Final = 64
_REQUIRED: Final = (
    *("id", "scope", "key", "content", "category", "tags", "source"),
    *("created_at", "updated_at", "last_accessed_at"),
)


class ImportSchema:
    """Checks rows against the limits of a memory."""

    def __init__(self, limits: Limits) -> None:
        # Merged memories have the tags of all their sources.
        self._limits = replace(limits, max_tags=max(_MAX_TAGS, limits.max_tags))
        self._long = long_texts(self._limits)

    # --- entries ----------------------------------------------------------------------------------------------------

    def entry(self, data: Mapping[str, Any]) -> MemoryEntry:
        """An entry."""
        if not isinstance(data, Mapping):
            raise InvalidInputError(f"an entry is an object, not {type(data).__name__}")
        missing = [name for name in _REQUIRED if name not in data]
        if missing:
            raise InvalidInputError(f"an entry without {', '.join(missing)}")
        _only(data, tuple(f.name for f in fields(MemoryEntry)))
        if not isinstance(data["tags"], list) or self._limits.check_tags(data["tags"]) != tuple(data["tags"]):
            raise InvalidInputError("tags are no list of different texts")
        if not isinstance(data["source"], Mapping) or not isinstance(data["source"].get("references"), list):
            raise InvalidInputError("source is no object with a list of references")
        if len(data["source"]["references"]) > MAX_REFERENCES:
            raise InvalidInputError(f"source has more than {MAX_REFERENCES:,} references")
        for name in ("more_domains", "namespace"):
            if not isinstance(data.get(name, []), list):
                raise InvalidInputError(f"{name} is no list")
        entry = MemoryEntry.from_dict(data).as_record()
        for column in COLUMNS:
            value = getattr(entry, column.name)
            if value is not None or not column.nullable:
                check_column(column, self._limits, value)
        long = self._long if entry.memory_type == MESSAGE_TYPE else self._limits
        long.check_content(entry.content)
        return entry

    def change(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """A line of a change log."""
        _only(data, (*CHANGE_FIELDS, "changed_at", "changed", "before"))
        if data["operation"] not in OPERATIONS:
            raise InvalidInputError(f"operation {ascii(data['operation'])[:80]} is none of {', '.join(OPERATIONS)}")
        changed = data["changed"]
        if not isinstance(changed, list) or len(changed) > _MAX_CHANGED:
            raise InvalidInputError("changed is no list of field names")
        for name in changed:
            self._limits.check_id(name, "changed")
        before = data["before"]
        if before is not None:
            before = self.entry(before).to_dict()
            if (before["id"], before["scope"], before["key"]) != (data["entry_id"], data["scope"], data["key"]):
                raise InvalidInputError("before is another entry than the one that was changed")
        return {
            "entry_id": check_id(data["entry_id"], "entry_id"),
            # A line of a scope that was erased there: it has an id and a time, and no text.
            "scope": data["scope"] if data["scope"] == ERASED_SCOPE else check_scope(data["scope"]),
            "key": None if data["key"] is None else self._limits.check_key(data["key"]),
            "version": check_whole(data["version"], "version", 1, MAX_COUNT),
            "operation": data["operation"],
            "changed_by": self._limits.check_id(data["changed_by"], "changed_by"),
            "changed_at": check_time(data["changed_at"], "changed_at"),
            "changed": changed,
            "before": before,
        }

    # --- runtime ----------------------------------------------------------------------------------------------------

    def usage(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """How often a memory of the runtime was useful."""
        _only(data, ("memory_id", "scope", "useful", "missed", "decayed_at"))
        return {
            "memory_id": check_id(data["memory_id"], "memory_id"),
            "scope": check_scope(data["scope"]),
            "useful": check_whole(data["useful"], "useful", 0, MAX_COUNT),
            "missed": check_whole(data["missed"], "missed", 0, MAX_COUNT),
            "decayed_at": _time_or_none(data["decayed_at"], "decayed_at"),
        }

    def overlay(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """The overlay of a private scope on a public memory."""
        counters = ("strength", "useful", "missed", "access_count")
        _only(data, ("scope", "memory_id", *counters, "last_accessed_at", "superseded_by"))
        if check_scope(data["scope"]) == PUBLIC:
            raise InvalidInputError(f"{PUBLIC} has no opinion of its own memories; only private scopes have")
        front = data["superseded_by"]
        return {
            "scope": data["scope"],
            "memory_id": check_id(data["memory_id"], "memory_id"),
            **{name: check_whole(data[name], name, 0, MAX_COUNT) for name in counters},
            "last_accessed_at": _time_or_none(data["last_accessed_at"], "last_accessed_at"),
            "superseded_by": None if front is None else check_id(front, "superseded_by"),
        }

    # --- conversations, work, words ---------------------------------------------------------------------------------

    def message(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """A row of a conversation."""
        _only(data, (*MESSAGE_FIELDS, "created_at", "replaced_at"))
        content = data["content"]
        if not isinstance(content, str):
            raise InvalidInputError(f"content is a {type(content).__name__}, not text")
        if content and not content.isspace():
            self._long.check_content(content)
        return {
            "scope": check_scope(data["scope"]),
            "session_id": self._limits.check_session_id(data["session_id"]),
            "position": check_whole(data["position"], "position", 0, MAX_COUNT),
            "message_id": check_id(data["message_id"], "message_id"),
            "role": self._limits.check_id(data["role"], "role"),
            "content": content,
            "created_at": check_time(data["created_at"], "created_at"),
            "replaced_at": _time_or_none(data["replaced_at"], "replaced_at"),
        }

    def job(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Background work that was not done; it is queued, or dead as it was."""
        _only(data, ("id", "work", "scope", "payload", "dead", "reason", "created_at"))
        check_bool(data["dead"], "dead")
        if not isinstance(data["reason"], str):
            raise InvalidInputError("reason is no text")
        if data["reason"]:
            self._limits.check_content(data["reason"], "reason")
        created_at = check_time(data["created_at"], "created_at")
        return {
            "id": check_id(data["id"], "id"),
            "kind": self._limits.check_id(data["work"], "work"),
            "scope": check_scope(data["scope"]),
            "payload": to_json(self._payload(data["payload"])),
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

    def _payload(self, payload: object) -> dict[str, Any]:
        """Work names what it is about: a conversation, and messages by their ids."""
        checked = check_json(payload, "payload") if isinstance(payload, dict) else None
        if checked is None:
            raise InvalidInputError("payload is no object")
        messages = checked.get("messages", [])
        if not isinstance(messages, list) or len(messages) > MAX_REFERENCES:
            raise InvalidInputError("payload.messages is no list of ids")
        for each in messages:
            check_id(each, "payload.messages")
        if checked.get("conversation_id") is not None:
            self._limits.check_id(checked["conversation_id"], "payload.conversation_id")
        return dict(checked)

    def word(self, data: Mapping[str, Any]) -> str:
        """A word of the user dictionary."""
        _only(data, ("word",))
        word = self._limits.check_user_word(data["word"])
        # A word that cannot be indexed would make the whole store unusable.
        Analyzer([word])
        return word

    def text(self, value: object, name: str) -> str:
        """A text of the chat room."""
        return self._long.check_content(value, name)


def check_time(value: object, name: str) -> datetime:
    """A time with an offset, as exports have them."""
    if not isinstance(value, str) or len(value) > 64:
        raise InvalidInputError(f"{name} {ascii(value)[:80]} is no time")
    try:
        return clock.from_text(value)
    except (ValueError, OverflowError):
        raise InvalidInputError(
            f"{name} {ascii(value)[:80]} is no time with an offset in the years 1 to 9999"
        ) from None


def _time_or_none(value: object, name: str) -> datetime | None:
    return None if value is None else check_time(value, name)


def _only(data: Mapping[str, Any], names: Iterable[str]) -> None:
    unknown = sorted(set(data) - set(names))
    if unknown:
        raise InvalidInputError(f"unknown fields: {ascii(', '.join(unknown))[:200]}")

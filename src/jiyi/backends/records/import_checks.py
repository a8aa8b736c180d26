"""The schema of exported rows: what is wrong is refused before anything is stored; each check returns the values.

The bounds are those of the API, so that whatever was taken in can be exported, merged, consolidated and indexed again
by every engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from functools import partial
from typing import Any, Final

from jiyi.backends.records.codec import COLUMNS, to_json
from jiyi.backends.records.tables import BOOLEAN, INTEGER, REAL, TIME, Column
from jiyi.errors import InvalidInputError
from jiyi.model import clock
from jiyi.model.category import check_word
from jiyi.model.claim import Claim
from jiyi.model.entry import MAX_NAME, MESSAGE_TYPE, TRUST_LEVELS, MemoryEntry, Source
from jiyi.model.feedback import MAX_STRENGTH
from jiyi.model.limits import MAX_POSITION, Limits, check_importance, check_whole
from jiyi.model.metadata import check_json, check_metadata
from jiyi.model.namespace import check_namespace
from jiyi.model.scope import ERASED_SCOPE, PUBLIC, check_scope
from jiyi.text import Analyzer

CHANGE_FIELDS: Final = ("entry_id", "scope", "key", "version", "operation", "changed_by")
MESSAGE_FIELDS: Final = ("scope", "session_id", "position", "message_id", "role", "content")
OPERATIONS: Final = ("create", "update", "forget", "restore", "erase", "archive", "import")
MAX_COUNT: Final = 1_000_000_000
"""Of every counter and number of a row: sums of many still fit into 64 bits."""
MAX_TEXT_BYTES: Final = 16 << 20
"""Of a message and of what the chat room keeps; other texts have the limit of the settings."""
_MAX_TAGS: Final = 1_024
_MAX_REFERENCES: Final = 10_000
_MAX_REFERENCE_CHARACTERS: Final = 2_048
_MAX_CHANGED: Final = 64
# UUIDs, and what other programs may use for ids: no sign that means something elsewhere, and short enough to index.
_ID: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,63}")
_REQUIRED: Final = (
    *("id", "scope", "key", "content", "category", "tags", "source"),
    *("created_at", "updated_at", "last_accessed_at"),
)
_ID_COLUMNS: Final = ("id", "superseded_by", "summarized_by")


class ImportSchema:
    """Checks rows against the limits of a memory."""

    def __init__(self, limits: Limits) -> None:
        # Merged memories have the tags of all their sources.
        self._limits = replace(limits, max_tags=max(_MAX_TAGS, limits.max_tags))
        self._long = replace(self._limits, max_content_bytes=max(MAX_TEXT_BYTES, limits.max_content_bytes))
        self._own: dict[str, Callable[[Any], object]] = {
            "scope": check_scope,
            "content": _unchecked,
            "reasoning": lambda value: value == "" or self._limits.check_content(value, "reasoning"),
            "category": lambda value: check_word(str(value), "category"),
            "memory_type": lambda value: check_word(value, "memory_type"),
            "domain": lambda value: check_word(value, "domain"),
            "strength": lambda value: check_whole(value, "strength", 0, MAX_STRENGTH),
            "tags": _unchecked,
            "source": self._check_source,
            "more_domains": _check_domains,
            "metadata": check_metadata,
            "namespace": check_namespace,
            "position": lambda value: check_whole(value, "position", 0, MAX_POSITION),
            "version": lambda value: check_whole(value, "version", 1, MAX_COUNT),
            **{name: partial(check_id, name=name) for name in _ID_COLUMNS},
        }

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
        if len(data["source"]["references"]) > _MAX_REFERENCES:
            raise InvalidInputError(f"source has more than {_MAX_REFERENCES:,} references")
        for name in ("more_domains", "namespace"):
            if not isinstance(data.get(name, []), list):
                raise InvalidInputError(f"{name} is no list")
        entry = MemoryEntry.from_dict(data).as_record()
        for column in COLUMNS:
            value = getattr(entry, column.name)
            if value is not None or not column.nullable:
                self._check_value(column, value)
        long = self._long if entry.memory_type == MESSAGE_TYPE else self._limits
        long.check_content(entry.content)
        return entry

    def _check_value(self, column: Column, value: Any) -> None:
        """By the name of the column if there is a rule for it, otherwise by its type."""
        own = self._own.get(column.name)
        if own is not None:
            own(value)
        elif column.type is TIME:
            clock.require_aware(value, column.name)
        elif column.type is BOOLEAN:
            _check_bool(value, column.name)
        elif column.type is INTEGER:
            check_whole(value, column.name, 0, MAX_COUNT)
        elif column.type is REAL:
            check_importance(value)
        else:
            self._limits.check_id(value, column.name)

    def _check_source(self, source: Source) -> None:
        self._limits.check_id(source.kind, "source.kind")
        if source.name is not None and (not isinstance(source.name, str) or not 0 < len(source.name) <= MAX_NAME):
            raise InvalidInputError(f"source.name {ascii(source.name)[:80]} is no name of up to {MAX_NAME} characters")
        if source.role not in {None, "user", "assistant"}:
            raise InvalidInputError(f"source.role {ascii(source.role)[:80]} is neither user nor assistant")
        if source.trust not in TRUST_LEVELS:
            raise InvalidInputError(f"source.trust {ascii(source.trust)[:80]} is none of {', '.join(TRUST_LEVELS)}")
        for reference in source.references:
            if len(self._long.check_content(reference, "source.references")) > _MAX_REFERENCE_CHARACTERS:
                raise InvalidInputError(f"a reference has more than {_MAX_REFERENCE_CHARACTERS:,} characters")
        if source.claim is not None:
            self._check_claim(source.claim)

    def _check_claim(self, claim: Claim) -> None:
        for name in ("subject", "attribute", "value", "when", "said_by", "lasting"):
            value = getattr(claim, name)
            if value != "":
                self._limits.check_content(value, f"claim.{name}")
        for name in ("negated", "single"):
            _check_bool(getattr(claim, name), f"claim.{name}")
        if len(claim.conflicts_with) > _MAX_REFERENCES:
            raise InvalidInputError(f"claim.conflicts_with has more than {_MAX_REFERENCES:,} ids")
        for each in claim.conflicts_with:
            check_id(each, "claim.conflicts_with")

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
        _check_bool(data["dead"], "dead")
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
        if not isinstance(messages, list) or len(messages) > _MAX_REFERENCES:
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


def check_id(value: object, name: str) -> str:
    """An id of an entry, a message or a job."""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise InvalidInputError(
            f"{name} {ascii(value)[:80]} is no id: letters, digits and '._-', at most 64, the first no sign"
        )
    return value


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


def _check_bool(value: object, name: str) -> None:
    if not isinstance(value, bool):
        raise InvalidInputError(f"{name} {ascii(value)[:80]} is neither true nor false")


def _check_domains(domains: Sequence[object]) -> None:
    for domain in domains:
        check_word(domain, "more_domains")
    if len(domains) > _MAX_CHANGED:
        raise InvalidInputError(f"more_domains has more than {_MAX_CHANGED} domains")


def _unchecked(_value: object) -> None:
    """Checked elsewhere."""


def _only(data: Mapping[str, Any], names: Iterable[str]) -> None:
    unknown = sorted(set(data) - set(names))
    if unknown:
        raise InvalidInputError(f"unknown fields: {ascii(', '.join(unknown))[:200]}")

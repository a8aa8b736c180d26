"""Merge: exported rows into a store that may know some of them already.

Nothing is lost, the newer wins, and doing it twice is doing it once:

- Changes that the store does not have are added to its log. Where the two logs have parted (both changed the same
  version of an entry), the other one goes on under an id of its own, the same one each time.
- Of two entries with one key the newer stays; the other stands in the history as forgotten. What was forgotten here
  after the export was made stays forgotten, and what was erased stays erased.
- Of two states of a conversation the one last written to stays; the other's messages are kept as replaced.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from jiyi.backends.records import store as records
from jiyi.backends.records.changelog import log_changes
from jiyi.backends.records.chat_export import ChatMerge
from jiyi.backends.records.rows import ENTRY_COLUMNS, changed_fields, entry_of, entry_values, to_json
from jiyi.backends.records.schema import conversation_history, jobs, memory_changes, memory_records, runtime_memories
from jiyi.backends.records.tags import write_tags
from jiyi.backends.records.user_words import add_user_word
from jiyi.errors import InvalidInputError
from jiyi.model import clock
from jiyi.model.category import check_word
from jiyi.model.entry import MemoryEntry
from jiyi.model.limits import Limits, check_importance, check_whole
from jiyi.model.scope import check_scope
from jiyi.ports import ImportCounts
from jiyi.text import Analyzer

CHANGE_FIELDS = ("entry_id", "scope", "key", "version", "operation", "changed_by")
MESSAGE_FIELDS = ("scope", "session_id", "position", "message_id", "role", "content")
OPERATIONS = ("create", "update", "forget", "restore", "erase", "archive", "import")
_GONE = ("forget", "erase", "archive")
_UNCHANGED = ImportCounts(unchanged=1)
_ENDLESS = 1 << 62
# How much is taken was decided when it was stored; here only what would break something is refused.
_LIMITS = Limits(
    max_content_bytes=_ENDLESS,
    max_key_characters=_ENDLESS,
    max_tags=_ENDLESS,
    max_tag_characters=_ENDLESS,
)

_NEVER = datetime.min.replace(tzinfo=UTC)
_NEEDED = (
    *("id", "scope", "key", "content", "category", "tags", "source"),
    *("created_at", "updated_at", "last_accessed_at"),
)
_BATCH = 500
_changes = memory_changes.c
_messages = conversation_history.c
_ERASED = sa.select(_changes.entry_id).where(_changes.operation == "erase", _changes.key.is_(None))
_kept = runtime_memories.c
_TAKEN_KEYS = sa.select(memory_records.c.scope, memory_records.c.key).where(memory_records.c.key.is_not(None))


@dataclass(slots=True)
class _Session:
    """One conversation in both states: here before the import, and in the file."""

    live_here: frozenset[str]
    last_here: datetime
    live_there: set[str] = field(default_factory=set)
    last_there: datetime = _NEVER
    replaced_there: dict[str, datetime] = field(default_factory=dict)


class Merge:
    """One import, inside the caller's transaction."""

    def __init__(self, connection: sa.Connection, actor: str) -> None:
        self._connection = connection
        self._actor = actor
        self._renamed: dict[str, str] = {}
        self._erased: set[str] = set()
        self._sessions: dict[tuple[str, str], _Session] = {}
        self.chat = ChatMerge(connection)
        # What the store has never heard of needs no second look, and is written in batches.
        self._ids = set(connection.execute(sa.select(_changes.entry_id).distinct()).scalars())
        self._keys = {(row.scope, row.key) for row in connection.execute(_TAKEN_KEYS)}
        self._erased_messages = set(connection.execute(_ERASED).scalars())
        self._message_ids = set(connection.execute(sa.select(_messages.message_id)).scalars())
        self._versions: dict[str, int] = {}
        self._new_changes: list[dict[str, Any]] = []
        self._new_entries: list[MemoryEntry] = []
        self._new_messages: list[dict[str, Any]] = []

    # --- the change log -------------------------------------------------------------------------------------------

    def change(self, data: Mapping[str, Any]) -> ImportCounts:
        """Take in one line of a change log."""
        values = _checked_change(data)
        original = values["entry_id"]
        if original in self._erased:
            return _UNCHANGED
        if original not in self._ids and values["version"] > self._versions.get(original, 0):
            self._versions[original] = values["version"]
            self._new_changes.append(_columns(values))
            self._write_batch(_BATCH)
            return ImportCounts(versions=1)
        self._write_batch()
        values = _under_id(values, self._renamed.get(original, original))
        present = self._change_at(values["entry_id"], values["version"])
        if present is not None:
            if _same_change(present, values):
                return _UNCHANGED
            if self._last_change(values["entry_id"]).operation == "erase":
                self._erased.add(original)
                return _UNCHANGED
            self._renamed[original] = _id_of_branch(values)
            values = _under_id(values, self._renamed[original])
            if self._change_at(values["entry_id"], values["version"]) is not None:
                return _UNCHANGED
        log_changes(self._connection, [_columns(values)])
        if values["operation"] in _GONE:
            self._connection.execute(memory_records.delete().where(memory_records.c.id == values["entry_id"]))
        if values["operation"] == "erase":
            erased = memory_changes.update().where(_changes.entry_id == values["entry_id"])
            self._connection.execute(erased.values(before=None, changed="[]"))
        return ImportCounts(versions=1)

    # --- entries --------------------------------------------------------------------------------------------------

    def entry(self, data: Mapping[str, Any]) -> ImportCounts:
        """Take in one entry as it was when the export was made."""
        entry = _checked_entry(data)
        original = entry.id
        if original in self._erased:
            return _UNCHANGED
        place = (entry.scope, entry.key)
        if original not in self._ids and self._versions.get(original) == entry.version and place not in self._keys:
            self._new_entries.append(entry)
            self._ids.add(original)
            if entry.key is not None:
                self._keys.add(place)
            self._write_batch(_BATCH)
            return ImportCounts(entries=1)
        self._write_batch()
        entry = replace(entry, id=self._renamed.get(original, original))
        present = self._one(memory_records.c.id == entry.id)
        if present is not None:
            return self._update(present, entry)
        last = self._last_change(entry.id)
        if last is not None and last.version > entry.version:
            return _UNCHANGED
        if last is None or last.version < entry.version:
            # Every version of an entry stands in the change log, or no index would hear of it.
            self._log(entry, "import", None)
        if self._superseded(entry, original):
            gone = replace(entry, version=entry.version + 1, updated_at=clock.utc_now())
            self._log(gone, "forget", entry)
            return ImportCounts(versions=1)
        self._connection.execute(memory_records.insert(), [entry_values(entry)])
        write_tags(self._connection, [entry])
        return ImportCounts(entries=1)

    def _update(self, present: MemoryEntry, entry: MemoryEntry) -> ImportCounts:
        if (entry.scope, entry.key) != (present.scope, present.key):
            raise InvalidInputError(f"entry {entry.id} has another scope or key here; it belongs to another store")
        if (entry.updated_at, entry.version) <= (present.updated_at, present.version):
            return _UNCHANGED
        last = self._last_change(entry.id)
        if last is None or last.version != entry.version or entry.version == present.version:
            # The file tells what is new but not how it came about.
            entry = replace(entry, version=max(present.version, last.version if last is not None else 0) + 1)
            self._log(entry, "import", present)
        values = entry_values(entry)
        self._connection.execute(memory_records.update().where(memory_records.c.id == entry.id).values(values))
        write_tags(self._connection, [entry])
        return ImportCounts(entries=1)

    def _superseded(self, entry: MemoryEntry, original: str) -> bool:
        """Whether something newer is here in its place. If something older is, that makes room."""
        if entry.id != original:
            last = self._last_change(original)
            if last is not None and last.operation in _GONE and last.changed_at >= entry.updated_at:
                return True
        if entry.key is None:
            return False
        other = self._one((memory_records.c.scope == entry.scope) & (memory_records.c.key == entry.key))
        if other is None:
            return False
        if (other.updated_at, other.id) > (entry.updated_at, entry.id):
            return True
        records.remove_entry(self._connection, other, self._actor, "forget")
        return False

    # --- the runtime ----------------------------------------------------------------------------------------------

    def usage(self, data: Mapping[str, Any]) -> ImportCounts:
        """Take in how a memory of the runtime has fared; where both stores know it, the greater numbers stay."""
        values = _checked_usage(data)
        self._write_batch()
        memory_id = self._renamed.get(values["memory_id"], values["memory_id"])
        entry = self._one(memory_records.c.id == memory_id)
        if entry is None:
            return _UNCHANGED
        if entry.scope != values["scope"]:
            raise InvalidInputError(f"memory {memory_id} has another scope here; it belongs to another store")
        here = self._connection.execute(sa.select(runtime_memories).where(_kept.memory_id == memory_id)).one_or_none()
        if here is None:
            new = {**values, "memory_id": memory_id, "memory_type": entry.memory_type}
            self._connection.execute(runtime_memories.insert(), [new])
            return ImportCounts()
        moments = [moment for moment in (here.decayed_at, values["decayed_at"]) if moment is not None]
        both = {
            "useful": max(here.useful, values["useful"]),
            "missed": max(here.missed, values["missed"]),
            "decayed_at": max(moments, default=None),
        }
        if both == {name: getattr(here, name) for name in both}:
            return _UNCHANGED
        self._connection.execute(runtime_memories.update().where(_kept.memory_id == memory_id).values(both))
        return ImportCounts()

    # --- conversations --------------------------------------------------------------------------------------------

    def message(self, data: Mapping[str, Any]) -> ImportCounts:
        """Take in one row of a conversation."""
        values = _checked_message(data)
        if values["message_id"] in self._erased_messages:
            return _UNCHANGED
        session = self._session(values["scope"], values["session_id"])
        if values["replaced_at"] is None:
            session.live_there.add(values["message_id"])
        else:
            session.replaced_there[values["message_id"]] = values["replaced_at"]
        session.last_there = max(session.last_there, values["replaced_at"] or values["created_at"])
        if values["message_id"] in self._message_ids:
            return _UNCHANGED
        self._message_ids.add(values["message_id"])
        self._new_messages.append(values)
        self._write_batch(_BATCH)
        return ImportCounts(messages=1)

    def _session(self, scope: str, session_id: str) -> _Session:
        session = self._sessions.get((scope, session_id))
        if session is None:
            statement = sa.select(_messages.message_id, _messages.created_at, _messages.replaced_at).where(
                _messages.scope == scope, _messages.session_id == session_id
            )
            rows = self._connection.execute(statement).all()
            session = _Session(
                live_here=frozenset(row.message_id for row in rows if row.replaced_at is None),
                last_here=max((row.replaced_at or row.created_at for row in rows), default=_NEVER),
            )
            self._sessions[scope, session_id] = session
        return session

    # --- background work ------------------------------------------------------------------------------------------

    def job(self, data: Mapping[str, Any]) -> ImportCounts:
        """Take in work that was not done where it came from: it is done here, as often as it takes."""
        _only(data, ("id", "work", "scope", "payload", "dead", "reason", "created_at"))
        if not isinstance(data["payload"], dict) or not isinstance(data["dead"], bool):
            raise InvalidInputError("a job has a payload and is dead or not")
        if not isinstance(data["reason"], str):
            raise InvalidInputError(f"reason {data['reason']!r} is no text")
        job_id = _LIMITS.check_session_id(data["id"], "id")
        known = self._connection.execute(sa.select(jobs.c.id).where(jobs.c.id == job_id)).first()
        if known is not None:
            return _UNCHANGED
        moment = clock.from_text(data["created_at"])
        self._connection.execute(
            jobs.insert().values(
                id=job_id,
                kind=_LIMITS.check_session_id(data["work"], "work"),
                scope=check_scope(data["scope"]),
                payload=to_json(data["payload"]),
                state="dead" if data["dead"] else "queued",
                attempt=0,
                not_before=moment,
                reason=data["reason"],
                created_at=moment,
                finished_at=clock.utc_now() if data["dead"] else None,
            )
        )
        return ImportCounts(jobs=1)

    # --- the dictionary -------------------------------------------------------------------------------------------

    def word(self, data: Mapping[str, Any]) -> ImportCounts:
        """Take in one word of the user dictionary."""
        _only(data, ("word",))
        word = _LIMITS.check_session_id(data["word"], "word")
        # One that cannot be indexed would make the whole store unusable.
        Analyzer([word])
        return ImportCounts(words=1) if add_user_word(self._connection, word) else _UNCHANGED

    def finish(self) -> None:
        """Write what is left, and let one state of each conversation stand."""
        self._write_batch()
        for (scope, session_id), session in self._sessions.items():
            new_here = session.last_here == _NEVER or session.live_here == session.live_there
            theirs_stands = session.last_there > session.last_here and not new_here
            self.chat.settle(scope, session_id, theirs_stands=theirs_stands, new_here=new_here)
            if new_here:
                continue
            stands = session.live_there if theirs_stands else session.live_here
            last = max(session.last_there, session.last_here)
            for message_id in sorted((session.live_here | session.live_there) - stands):
                moment = session.replaced_there.get(message_id, last)
                one = (_messages.message_id == message_id) & _messages.replaced_at.is_(None)
                self._connection.execute(conversation_history.update().where(one).values(replaced_at=moment))
                entry = self._one(memory_records.c.id == message_id)
                if entry is not None:
                    records.remove_entry(self._connection, entry, self._actor, "forget")
            for message_id in sorted(stands - session.live_here):
                one = (_messages.message_id == message_id) & _messages.replaced_at.is_not(None)
                if self._connection.execute(conversation_history.update().where(one).values(replaced_at=None)).rowcount:
                    self._restore(message_id)
        self.chat.finish()

    def _restore(self, entry_id: str) -> None:
        """Bring back the entry of a message that was replaced here and stands again."""
        last = self._last_change(entry_id)
        if last is None or last.operation != "forget" or last.before is None:
            return
        before = MemoryEntry.from_dict(json.loads(last.before))
        entry = replace(before, version=last.version + 1, updated_at=clock.utc_now())
        self._log(entry, "restore", None)
        self._connection.execute(memory_records.insert(), [entry_values(entry)])

    # --- writing and looking ----------------------------------------------------------------------------------------

    def _write_batch(self, least: int = 1) -> None:
        """Write what is new once there is enough of it."""
        if len(self._new_changes) >= least:
            log_changes(self._connection, self._new_changes)
            self._new_changes = []
        if len(self._new_entries) >= least:
            self._connection.execute(memory_records.insert(), [entry_values(entry) for entry in self._new_entries])
            write_tags(self._connection, self._new_entries)
            self._new_entries = []
        if len(self._new_messages) >= least:
            self._connection.execute(conversation_history.insert(), self._new_messages)
            self._new_messages = []

    def _one(self, condition: sa.ColumnElement[bool]) -> MemoryEntry | None:
        row = self._connection.execute(sa.select(*ENTRY_COLUMNS).where(condition)).one_or_none()
        return entry_of(row) if row is not None else None

    def _change_at(self, entry_id: str, version: int) -> sa.Row[Any] | None:
        statement = sa.select(memory_changes).where(_changes.entry_id == entry_id, _changes.version == version)
        return self._connection.execute(statement).one_or_none()

    def _last_change(self, entry_id: str) -> Any:
        statement = sa.select(memory_changes).where(_changes.entry_id == entry_id)
        return self._connection.execute(statement.order_by(_changes.version.desc()).limit(1)).one_or_none()

    def _log(self, entry: MemoryEntry, operation: str, before: MemoryEntry | None) -> None:
        changed = changed_fields(before, entry) if before is not None and operation not in _GONE else []
        values = records.change_values(entry, operation, self._actor, changed, before)
        log_changes(self._connection, [values])


def _same_change(row: sa.Row[Any], values: Mapping[str, Any]) -> bool:
    if row.operation in _GONE and values["operation"] in _GONE:
        return True
    return (row.operation, row.changed_at, row.changed_by) == (
        values["operation"],
        values["changed_at"],
        values["changed_by"],
    )


def _id_of_branch(values: Mapping[str, Any]) -> str:
    """The id under which a history goes on that has parted from ours: named by where and how it parted."""
    name = "/".join(str(values[part]) for part in ("entry_id", "version", "operation", "changed_at", "changed_by"))
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def _under_id(values: dict[str, Any], entry_id: str) -> dict[str, Any]:
    before = values["before"]
    return {**values, "entry_id": entry_id, "before": None if before is None else {**before, "id": entry_id}}


def _columns(values: Mapping[str, Any]) -> dict[str, Any]:
    before = values["before"]
    return {
        **values,
        "changed": to_json(values["changed"]),
        "before": to_json(before) if before is not None else None,
    }


# --- checking -----------------------------------------------------------------------------------------------------


def _checked_change(data: Mapping[str, Any]) -> dict[str, Any]:
    _only(data, (*CHANGE_FIELDS, "changed_at", "changed", "before"))
    if data["operation"] not in OPERATIONS:
        raise InvalidInputError(f"operation {data['operation']!r} is none of {', '.join(OPERATIONS)}")
    changed = data["changed"]
    if not isinstance(changed, list) or not all(isinstance(name, str) for name in changed):
        raise InvalidInputError(f"changed {changed!r} is no list of field names")
    before = data["before"]
    if before is not None:
        before = _checked_entry(before).to_dict()
        if (before["id"], before["scope"], before["key"]) != (data["entry_id"], data["scope"], data["key"]):
            raise InvalidInputError("before is another entry than the one that was changed")
    return {
        "entry_id": _LIMITS.check_session_id(data["entry_id"], "entry_id"),
        "scope": check_scope(data["scope"]),
        "key": _optional_text(data["key"], "key"),
        "version": check_whole(data["version"], "version", 1, _ENDLESS),
        "operation": data["operation"],
        "changed_by": _LIMITS.check_session_id(data["changed_by"], "changed_by"),
        "changed_at": clock.from_text(data["changed_at"]),
        "changed": changed,
        "before": before,
    }


def _checked_entry(data: Mapping[str, Any]) -> MemoryEntry:
    missing = [name for name in _NEEDED if name not in data]
    if missing:
        raise InvalidInputError(f"an entry without {', '.join(missing)}")
    _only(data, tuple(f.name for f in fields(MemoryEntry)))
    if not isinstance(data["tags"], list) or _LIMITS.check_tags(data["tags"]) != tuple(data["tags"]):
        raise InvalidInputError(f"tags {data['tags']!r} are no list of different texts")
    entry = MemoryEntry.from_dict(data).as_record()
    for name in ("created_at", "updated_at", "last_accessed_at"):
        clock.require_aware(getattr(entry, name), name)
    check_scope(entry.scope)
    _LIMITS.check_session_id(entry.id, "id")
    _LIMITS.check_content(entry.content)
    check_importance(entry.importance_score)
    check_word(entry.memory_type, "memory_type")
    for name in ("key", "conversation_id", "superseded_by", "summarized_by"):
        _optional_text(getattr(entry, name), name)
    for domain in entry.more_domains:
        check_word(domain, "more_domains")
    if entry.domain is not None:
        check_word(entry.domain, "domain")
    if entry.reasoning != "":
        _LIMITS.check_content(entry.reasoning, "reasoning")
    if entry.position is not None:
        check_whole(entry.position, "position", 0, _ENDLESS)
    check_whole(entry.strength, "strength", -_ENDLESS, _ENDLESS)
    check_whole(entry.access_count, "access_count", 0, _ENDLESS)
    check_whole(entry.version, "version", 1, _ENDLESS)
    for name in ("is_active", "pinned"):
        if not isinstance(getattr(entry, name), bool):
            raise InvalidInputError(f"{name} {getattr(entry, name)!r} is neither true nor false")
    for text in (entry.source.kind, entry.source.trust, *entry.source.references):
        _LIMITS.check_session_id(text, "source")
    return entry


def _checked_usage(data: Mapping[str, Any]) -> dict[str, Any]:
    _only(data, ("memory_id", "scope", "useful", "missed", "decayed_at"))
    return {
        "memory_id": _LIMITS.check_session_id(data["memory_id"], "memory_id"),
        "scope": check_scope(data["scope"]),
        "useful": check_whole(data["useful"], "useful", 0, _ENDLESS),
        "missed": check_whole(data["missed"], "missed", 0, _ENDLESS),
        "decayed_at": clock.from_text(data["decayed_at"]) if data["decayed_at"] is not None else None,
    }


def _checked_message(data: Mapping[str, Any]) -> dict[str, Any]:
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


def _only(data: Mapping[str, Any], names: tuple[str, ...]) -> None:
    unknown = sorted(set(data) - set(names))
    if unknown:
        raise InvalidInputError(f"unknown fields: {', '.join(unknown)}")


def _optional_text(value: object, name: str) -> str | None:
    return None if value is None else _LIMITS.check_session_id(value, name)

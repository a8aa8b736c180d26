"""Merge: exported rows into a store that may know some of them already.

What is there stays as it is: rows about entries and conversations that the store knows are left out. With `update`
nothing is lost either, the newer wins, and doing it twice is doing it once:

- Changes that the store does not have are added to its log. Where the two logs have parted (both changed the same
  version of an entry), the imported one continues under an id of its own, the same one each time.
- Of two entries with one key the newer stays; the other is in the history as forgotten. What was forgotten here
  after the export was made stays forgotten, and what was erased stays erased. What was forgotten there after it was
  changed here is forgotten; what was erased there is erased, unless it says something else here since.
- Of two states of a conversation the one last written to stays; the other's messages are kept as replaced.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from jiyi.backends.records.change_lines import columns, id_of_branch, same_change, under_id
from jiyi.backends.records.changelog import REMOVED, erase_texts, log_changes, log_line, past_entry
from jiyi.backends.records.chat_export import NEVER, ChatMerge, SessionStates
from jiyi.backends.records.codec import BY_KEY, SELECT_ENTRY, changed_fields, entry_of
from jiyi.backends.records.import_checks import ImportSchema
from jiyi.backends.records.longterm import drop_outdated_reflections
from jiyi.backends.records.meta import add_user_word
from jiyi.backends.records.overlays import merge_overlay, merge_usage
from jiyi.backends.records.references import drop_foreign_references
from jiyi.backends.records.schema import conversation_history, jobs, memory_changes
from jiyi.backends.records.sql import CHUNK, Connection, Params, chunks
from jiyi.backends.records.tags import write_tags
from jiyi.backends.records.writes import delete_rows, forget_messages, insert_rows, remove_entry, update_row
from jiyi.errors import InvalidInputError
from jiyi.model import clock
from jiyi.model.entry import MESSAGE_TYPE, MemoryEntry
from jiyi.model.scope import ERASED_SCOPE, PUBLIC
from jiyi.ports import ImportCounts

_UNCHANGED: Final = ImportCounts(unchanged=1)
_STAYS_ERASED: Final = ImportCounts(erased=1)
_BY_ID = f"{SELECT_ENTRY} WHERE id = :id"
_SCOPE_OF = "SELECT scope FROM memory_changes WHERE entry_id = :id LIMIT 1"
_PLACE_OF_MESSAGE = "SELECT scope, session_id FROM conversation_history WHERE message_id = :id"
_CHANGE_AT = f"{memory_changes.select} WHERE entry_id = :id AND version = :version"
_LAST_CHANGE = f"{memory_changes.select} WHERE entry_id = :id ORDER BY version DESC LIMIT 1"
_ERASED_MESSAGES = "SELECT entry_id FROM memory_changes WHERE operation = 'erase' AND key IS NULL"
_ERASED_ENTRIES = "SELECT entry_id FROM memory_changes WHERE operation = 'erase' AND key IS NOT NULL"
_TAKEN_KEYS = "SELECT scope, key FROM memory_records WHERE key IS NOT NULL"
_MESSAGES_OF_SESSION = f"{conversation_history.select} WHERE scope = :scope AND session_id = :session_id"
_REPLACE_MESSAGE = (
    "UPDATE conversation_history SET replaced_at = :moment WHERE message_id = :id AND replaced_at IS NULL"
)
_RESTORE_MESSAGE = (
    "UPDATE conversation_history SET replaced_at = NULL WHERE message_id = :id AND replaced_at IS NOT NULL"
)


class Merge:
    """One import, inside the caller's transaction."""

    def __init__(self, connection: Connection, actor: str, schema: ImportSchema, *, update: bool) -> None:
        self._connection = connection
        self._actor = actor
        self._schema = schema
        self._update_known = update
        self._referring: list[str] = []
        self._renamed: dict[str, str] = {}
        self._parted: dict[str, int] = {}
        self._erased: set[str] = set()
        self._sessions: dict[tuple[str, str], SessionStates] = {}
        self.chat = ChatMerge(connection, schema, update=update)
        # Rows of entries and sessions that the store does not know are written in batches, without comparing.
        self._ids: dict[str, str] = dict(connection.rows("SELECT DISTINCT entry_id, scope FROM memory_changes"))
        """The scope of each entry that is known here."""
        self._keys = set(connection.rows(_TAKEN_KEYS))
        self._erased_messages = set(connection.column(_ERASED_MESSAGES))
        self._erased_before = self._erased_messages | set(connection.column(_ERASED_ENTRIES))
        self._message_ids = set(connection.column("SELECT message_id FROM conversation_history"))
        self._added_messages: set[str] = set()
        self._changed: dict[str, str] = {}
        self._versions: dict[str, int] = {}
        self._new_changes: list[dict[str, Any]] = []
        self._new_entries: list[MemoryEntry] = []
        self._new_messages: list[dict[str, Any]] = []

    # --- the change log -------------------------------------------------------------------------------------------

    def change(self, data: Mapping[str, Any]) -> ImportCounts:
        """Take in one line of a change log."""
        values = self._schema.change(data)
        counts = self._change(values)
        return counts if values["before"] is None else self._told(counts, values["entry_id"])

    def _told(self, counts: ImportCounts, original: str) -> ImportCounts:
        """A line that changed nothing because its text was erased here says so."""
        return _STAYS_ERASED if counts is _UNCHANGED and original in self._erased_before else counts

    def _change(self, values: dict[str, Any]) -> ImportCounts:
        original = values["entry_id"]
        if original in self._erased:
            return _UNCHANGED
        if original not in self._ids and values["version"] > self._versions.get(original, 0):
            self._versions[original] = values["version"]
            self._new_changes.append(columns(values))
            self._write_batch(CHUNK)
            return ImportCounts(versions=1)
        self._write_batch()
        if original in self._ids:
            self._refuse_foreign(original, values["scope"])
            if original in self._erased or (not self._update_known and original not in self._versions):
                return _UNCHANGED
        return self._continue(under_id(values, self._renamed.get(original, original)), original)

    def _continue(self, values: dict[str, Any], original: str) -> ImportCounts:
        """A line of an entry that is known here, or whose lines come in another order."""
        present = self._change_at(values["entry_id"], values["version"])
        if present is not None:
            if same_change(present, values):
                return _UNCHANGED
            last = self._last_change(values["entry_id"])
            if last is not None and last["operation"] == "erase":
                self._erased.add(original)
                return _UNCHANGED
            self._renamed[original] = id_of_branch(values)
            self._parted[original] = values["version"]
            values = under_id(values, self._renamed[original])
            if self._change_at(values["entry_id"], values["version"]) is not None:
                return _UNCHANGED
        log_changes(self._connection, [columns(values)])
        if values["operation"] in REMOVED:
            delete_rows(self._connection, [values["entry_id"]])
            self._changed[values["entry_id"]] = values["scope"]
            if original in self._parted:
                self._remove_here(original, values)
        if values["operation"] == "erase":
            erase_texts(self._connection, "entry_id = :id", {"id": values["entry_id"]})
        return ImportCounts(versions=1)

    def _remove_here(self, entry_id: str, values: Mapping[str, Any]) -> None:
        """Remove an entry that was changed here and removed there, if that is newer, or erased what it still says."""
        parted_at = self._parted[entry_id]
        line, erases = self._change_at(entry_id, parted_at), values["operation"] == "erase"
        common = None if line is None or line["before"] is None else past_entry(line["before"]).content
        if erases:
            # Up to there the logs are one: these are the texts that were erased.
            known = {"id": entry_id, "version": parted_at}
            erase_texts(self._connection, "entry_id = :id AND version <= :version", known)
        here = self._one(_BY_ID, {"id": entry_id})
        if here is None or not (values["changed_at"] >= here.updated_at or (erases and here.content == common)):
            return
        remove_entry(self._connection, here, self._actor, values["operation"])
        if erases:
            erase_texts(self._connection, "entry_id = :id", {"id": entry_id})
        self._changed[entry_id] = here.scope

    def _refuse_foreign(self, entry_id: str, scope: str) -> None:
        """Refuse a row about an entry that is known here under another scope: its owner did not ask for it.

        One of a scope that was erased stays erased, also if it had been forgotten before.
        """
        known = self._ids.get(entry_id, scope)
        if known == ERASED_SCOPE:
            self._erased.add(entry_id)
        elif known != scope:
            raise InvalidInputError(f"entry {entry_id} has another scope here; it belongs to another store")

    # --- entries --------------------------------------------------------------------------------------------------

    def entry(self, data: Mapping[str, Any]) -> ImportCounts:
        """Take in one entry as it was when the export was made."""
        entry = self._schema.entry(data)
        return self._told(self._entry(entry), entry.id)

    def _entry(self, entry: MemoryEntry) -> ImportCounts:
        original = entry.id
        if original in self._erased or self._is_of_known_session(entry):
            return _UNCHANGED
        place = (entry.scope, entry.key)
        if original not in self._ids and self._versions.get(original) == entry.version and place not in self._keys:
            self._new_entries.append(entry)
            self._note_references(entry)
            self._ids[original] = entry.scope
            if entry.key is not None:
                self._keys.add(place)
            self._write_batch(CHUNK)
            return ImportCounts(entries=1)
        self._write_batch()
        if original in self._ids:
            self._refuse_foreign(original, entry.scope)
            if original in self._erased:
                return _UNCHANGED
        entry = replace(entry, id=self._renamed.get(original, original))
        present = self._one(_BY_ID, {"id": entry.id})
        if present is not None and (entry.scope, entry.key) != (present.scope, present.key):
            raise InvalidInputError(f"entry {entry.id} has another scope or key here; it belongs to another store")
        if present is None and original in self._ids and (missing := self._last_if_missing(entry.id)) is not None:
            # Anew: the indexes have passed the line of its version.
            entry = replace(entry, version=max(entry.version, missing) + 1)
        elif not self._update_known and (original in self._ids or present is not None):
            return _UNCHANGED
        self._note_references(entry)
        if present is not None:
            return self._update(present, entry)
        return self._insert(entry, original)

    def _last_if_missing(self, entry_id: str) -> int | None:
        """The last version of an entry that the log has and the records lack: its row was cut off in another file."""
        last = self._last_change(entry_id)
        return None if last is None or last["operation"] in REMOVED else last["version"]

    def _is_of_known_session(self, entry: MemoryEntry) -> bool:
        """Whether it is a message of a conversation that stays as it is."""
        if self._update_known or entry.memory_type != MESSAGE_TYPE or entry.conversation_id is None:
            return False
        return self._session(entry.scope, entry.conversation_id).last_here != NEVER

    def _insert(self, entry: MemoryEntry, original: str) -> ImportCounts:
        last = self._last_change(entry.id)
        if last is not None and last["version"] > entry.version:
            return _UNCHANGED
        if last is None or last["version"] < entry.version:
            # Every version of an entry is in the change log, because the indexes follow the log.
            self._log(entry, "import", None)
        if self._superseded(entry, original):
            forgotten = replace(entry, version=entry.version + 1, updated_at=clock.utc_now())
            self._log(forgotten, "forget", entry)
            return ImportCounts(versions=1)
        insert_rows(self._connection, [entry])
        write_tags(self._connection, [entry])
        return ImportCounts(entries=1)

    def _update(self, present: MemoryEntry, entry: MemoryEntry) -> ImportCounts:
        if (entry.updated_at, entry.version) <= (present.updated_at, present.version):
            return _UNCHANGED
        last = self._last_change(entry.id)
        if last is None or last["version"] != entry.version or entry.version == present.version:
            # The file tells what is new but not how it came about.
            entry = replace(entry, version=max(present.version, last["version"] if last is not None else 0) + 1)
            self._log(entry, "import", present)
        update_row(self._connection, entry)
        write_tags(self._connection, [entry])
        self._changed[entry.id] = entry.scope
        return ImportCounts(entries=1)

    def _superseded(self, entry: MemoryEntry, original: str) -> bool:
        """Whether something newer is here in its place. If something older is, that makes room."""
        if entry.id != original:
            last = self._last_change(original)
            if last is not None and last["operation"] in REMOVED and last["changed_at"] >= entry.updated_at:
                return True
        if entry.key is None:
            return False
        other = self._one(BY_KEY, {"scope": entry.scope, "key": entry.key})
        if other is None:
            return False
        if not self._update_known or (other.updated_at, other.id) > (entry.updated_at, entry.id):
            return True
        remove_entry(self._connection, other, self._actor, "forget")
        return False

    # --- the runtime ----------------------------------------------------------------------------------------------

    def usage(self, data: Mapping[str, Any]) -> ImportCounts:
        """Take in how useful a memory of the runtime was; where both stores know it, the greater numbers stay."""
        values = self._schema.usage(data)
        self._write_batch()
        memory_id = self._renamed.get(values["memory_id"], values["memory_id"])
        entry = self._one(_BY_ID, {"id": memory_id})
        if entry is None:
            return _UNCHANGED
        if entry.scope != values["scope"]:
            raise InvalidInputError(f"memory {memory_id} has another scope here; it belongs to another store")
        known = {**values, "memory_id": memory_id, "memory_type": entry.memory_type}
        return ImportCounts() if merge_usage(self._connection, known, update=self._update_known) else _UNCHANGED

    def overlay(self, data: Mapping[str, Any]) -> ImportCounts:
        """Take in the overlay of a private scope on a public memory; where both stores know it, the greater numbers."""
        values = self._schema.overlay(data)
        self._write_batch()
        for name in ("memory_id", "superseded_by"):
            values[name] = self._renamed.get(values[name], values[name])
        if self._scope_of(values["memory_id"]) != PUBLIC:
            return _UNCHANGED
        front = values["superseded_by"]
        if front is not None:
            # Not asked of the entries: one that was forgotten stands in front again when it is restored.
            known = self._connection.scalar(_SCOPE_OF, {"id": front})
            if known not in {values["scope"], ERASED_SCOPE}:
                raise InvalidInputError(f"memory {front} is none of the scope that it should stand in front for")
            values["superseded_by"] = front if known == values["scope"] else None
        changed = merge_overlay(self._connection, values, update=self._update_known)
        return ImportCounts() if changed else _UNCHANGED

    def _scope_of(self, entry_id: str) -> str | None:
        entry = self._one(_BY_ID, {"id": entry_id})
        return None if entry is None else entry.scope

    # --- conversations --------------------------------------------------------------------------------------------

    def message(self, data: Mapping[str, Any]) -> ImportCounts:
        """Take in one row of a conversation."""
        values = self._schema.message(data)
        # Whoever deletes or replaces a message removes the entry with its id: that must be one of the same scope.
        self._refuse_foreign(values["message_id"], values["scope"])
        if values["message_id"] in self._erased_messages or values["message_id"] in self._erased:
            self.chat.erased(values["scope"], values["session_id"], values["position"])
            return _STAYS_ERASED
        if values["message_id"] in self._message_ids:
            self._write_batch()
            place = self._connection.row(_PLACE_OF_MESSAGE, {"id": values["message_id"]})
            if place is not None and tuple(place) != (values["scope"], values["session_id"]):
                raise InvalidInputError(f"message {values['message_id']} is in another conversation here")
        session = self._session(values["scope"], values["session_id"])
        if not self._update_known and session.last_here != NEVER:
            return _UNCHANGED
        if values["replaced_at"] is None:
            session.live_there.add(values["message_id"])
        else:
            session.replaced_there[values["message_id"]] = values["replaced_at"]
        session.last_there = max(session.last_there, values["replaced_at"] or values["created_at"])
        if values["message_id"] in self._message_ids:
            return _UNCHANGED
        self._message_ids.add(values["message_id"])
        self._added_messages.add(values["message_id"])
        self._new_messages.append(values)
        self._write_batch(CHUNK)
        return ImportCounts(messages=1)

    def _session(self, scope: str, session_id: str) -> SessionStates:
        session = self._sessions.get((scope, session_id))
        if session is None:
            found = self._connection.rows(_MESSAGES_OF_SESSION, {"scope": scope, "session_id": session_id})
            rows = [conversation_history.values(row) for row in found]
            session = SessionStates(
                live_here=frozenset(row["message_id"] for row in rows if row["replaced_at"] is None),
                last_here=max((row["replaced_at"] or row["created_at"] for row in rows), default=NEVER),
            )
            self._sessions[scope, session_id] = session
        return session

    # --- background work ------------------------------------------------------------------------------------------

    def job(self, data: Mapping[str, Any]) -> ImportCounts:
        """Take in work that was not done where it came from: it is done here, as often as it takes."""
        values = self._schema.job(data)
        about = json.loads(values["payload"]).get("messages")
        if about and self._added_messages.isdisjoint(about):
            # What was said is known here, or erased: so was what followed from it.
            return _UNCHANGED
        if self._connection.row("SELECT id FROM jobs WHERE id = :id", values) is not None:
            return _UNCHANGED
        self._connection.execute(jobs.insert, values)
        return ImportCounts(jobs=1)

    # --- the dictionary -------------------------------------------------------------------------------------------

    def word(self, data: Mapping[str, Any]) -> ImportCounts:
        """Take in one word of the user dictionary."""
        word = self._schema.word(data)
        return ImportCounts(words=1) if add_user_word(self._connection, word) else _UNCHANGED

    def finish(self) -> None:
        """Write what is left, and keep one state of each conversation."""
        self._write_batch()
        for (scope, session_id), session in self._sessions.items():
            if not self._update_known and session.last_here != NEVER:
                self.chat.leave(scope, session_id)
                continue
            new_here = session.last_here == NEVER or session.live_here == session.live_there
            keep_theirs = session.last_there > session.last_here and not new_here
            self.chat.settle(scope, session_id, keep_theirs=keep_theirs, new_here=new_here)
            if new_here:
                continue
            kept = session.live_there if keep_theirs else session.live_here
            last = max(session.last_there, session.last_here)
            for message_id in sorted((session.live_here | session.live_there) - kept):
                moment = session.replaced_there.get(message_id, last)
                self._connection.execute(_REPLACE_MESSAGE, {"moment": moment, "id": message_id})
                forget_messages(self._connection, scope, [message_id], self._actor)
            for message_id in sorted(kept - session.live_here):
                if self._connection.execute(_RESTORE_MESSAGE, {"id": message_id}).rowcount:
                    self._restore(scope, message_id)
        self.chat.finish()
        self._drop_foreign_references()
        for entry_id, scope in self._changed.items():
            drop_outdated_reflections(self._connection, scope, entry_id, self._actor)

    def _note_references(self, entry: MemoryEntry) -> None:
        if entry.source.references or entry.superseded_by or entry.summarized_by or entry.source.claim:
            self._referring.append(entry.id)

    def _drop_foreign_references(self) -> None:
        """No imported entry names one that its scope cannot see."""
        for chunk in chunks(self._referring):
            drop_foreign_references(self._connection, chunk)

    def _restore(self, scope: str, entry_id: str) -> None:
        """Restore the entry of a message that was replaced here and is part of the conversation again."""
        last = self._last_change(entry_id)
        if last is None or last["operation"] != "forget" or last["before"] is None or last["scope"] != scope:
            return
        entry = replace(past_entry(last["before"]), version=last["version"] + 1, updated_at=clock.utc_now())
        self._log(entry, "restore", None)
        insert_rows(self._connection, [entry])

    # --- writing and looking ----------------------------------------------------------------------------------------

    def _write_batch(self, min_rows: int = 1) -> None:
        """Write the rows that are new once there are so many."""
        if len(self._new_changes) >= min_rows:
            log_changes(self._connection, self._new_changes)
            self._new_changes = []
        if len(self._new_entries) >= min_rows:
            insert_rows(self._connection, self._new_entries)
            write_tags(self._connection, self._new_entries)
            self._new_entries = []
        if len(self._new_messages) >= min_rows:
            self._connection.executemany(conversation_history.insert, self._new_messages)
            self._new_messages = []

    def _one(self, sql: str, params: Params) -> MemoryEntry | None:
        row = self._connection.row(sql, params)
        return entry_of(row) if row is not None else None

    def _change_at(self, entry_id: str, version: int) -> dict[str, Any] | None:
        row = self._connection.row(_CHANGE_AT, {"id": entry_id, "version": version})
        return memory_changes.values(row) if row is not None else None

    def _last_change(self, entry_id: str) -> dict[str, Any] | None:
        row = self._connection.row(_LAST_CHANGE, {"id": entry_id})
        return memory_changes.values(row) if row is not None else None

    def _log(self, entry: MemoryEntry, operation: str, before: MemoryEntry | None) -> None:
        changed = changed_fields(before, entry) if before is not None and operation not in REMOVED else []
        log_changes(self._connection, [log_line(entry, operation, self._actor, changed, before)])

"""The forms of mem0: how one of its memories is an entry here, and an entry one of its memories."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

from jiyi.errors import InvalidInputError
from jiyi.model.entry import EntryVersion, MemoryEntry

NAMESPACE: Final = ("mem0",)
"""Where the memories of mem0 are filed in their scope."""
IDS: Final = ("user_id", "agent_id", "run_id")
PROMOTED: Final = (*IDS, "actor_id", "role", "expiration_date")
"""What mem0 shows beside the metadata of a memory."""
_EVENTS: Final = {"create": "ADD", "import": "ADD", "forget": "DELETE", "erase": "DELETE"}


def scope_of(ids: Mapping[str, Any]) -> str:
    """The scope of a memory: its user, or else its agent or run, which never is the name of a user."""
    user = ids.get("user_id")
    if user is not None:
        if user == "public" or str(user).startswith(("agent:", "run:")):
            raise InvalidInputError(
                f"user_id {ascii(user)[:80]} is a name that others share; choose another one, such as 'user-{user}'"
            )
        return str(user)
    for name in ("agent_id", "run_id"):
        if ids.get(name) is not None:
            return f"{name.removesuffix('_id')}:{ids[name]}"
    raise InvalidInputError("one of user_id, agent_id and run_id is needed")


def checked_ids(given: Mapping[str, Any]) -> dict[str, str]:
    """The ids that were given, without white space around them."""
    found = {}
    for name in IDS:
        value = given.get(name)
        if value is None:
            continue
        if not isinstance(value, str) or not value.strip():
            raise InvalidInputError(f"{name} must be a text that is not empty, not {ascii(value)[:80]}")
        found[name] = value.strip()
    return found


def expiry_of(value: object) -> tuple[str, datetime] | None:
    """A date of mem0 and the moment at which it has passed, in UTC."""
    if value is None:
        return None
    if isinstance(value, datetime):
        day = value.date()
    elif isinstance(value, date):
        day = value
    else:
        try:
            day = date.fromisoformat(str(value))
        except ValueError:
            raise InvalidInputError(f"expiration_date {ascii(value)[:80]} is no date; write it as YYYY-MM-DD") from None
    return day.isoformat(), datetime.combine(day + timedelta(days=1), time(), UTC)


def memory_of(entry: MemoryEntry, *, score: float | None = None, in_list: bool = True) -> dict[str, Any]:
    """An entry in the form of mem0."""
    own = {name: value for name, value in entry.metadata.items() if name not in PROMOTED}
    found: dict[str, Any] = {
        "id": entry.id,
        "memory": entry.content,
        "hash": hashlib.md5(entry.content.encode("utf-8"), usedforsecurity=False).hexdigest(),
        "metadata": own or None,
        "created_at": entry.created_at.isoformat(),
        "updated_at": entry.updated_at.isoformat() if entry.version > 1 else None,
    }
    if not in_list or score is not None:
        found["score"] = score
    found.update({name: entry.metadata[name] for name in PROMOTED if name in entry.metadata})
    return found


def history_of(memory_id: str, versions: Iterable[EntryVersion]) -> list[dict[str, Any]]:
    """The versions of an entry as mem0 tells them: only changes of the text and the deletion."""
    rows: list[dict[str, Any]] = []
    old: str | None = None
    about: Mapping[str, Any] = {}
    created = None
    for version in versions:
        new = None if version.entry is None else version.entry.content
        about = about if version.entry is None else version.entry.metadata
        created = created or version.changed_at
        event = _EVENTS.get(version.operation, "UPDATE")
        if event != "UPDATE" or new != old:
            rows.append(
                {
                    "id": f"{memory_id}:{version.version}",
                    "memory_id": memory_id,
                    "old_memory": old,
                    "new_memory": new,
                    "event": event,
                    "created_at": created.isoformat(),
                    "updated_at": None if event == "ADD" else version.changed_at.isoformat(),
                    "is_deleted": event == "DELETE",
                    "actor_id": about.get("actor_id"),
                    "role": about.get("role"),
                }
            )
        old = new
    return rows

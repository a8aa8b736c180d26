"""Lines of a change log that come from a file: whether we have them, under which id they go on, and as columns."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from jiyi.backends.records.changelog import REMOVED
from jiyi.backends.records.codec import to_json


def same_change(here: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Whether a line of our log and one of a file are the same."""
    if here["operation"] in REMOVED and values["operation"] in REMOVED:
        return True
    return all(here[name] == values[name] for name in ("operation", "changed_at", "changed_by"))


def id_of_branch(values: Mapping[str, Any]) -> str:
    """The id under which a history goes on that has parted from ours: named by where and how it parted."""
    name = "/".join(str(values[part]) for part in ("entry_id", "version", "operation", "changed_at", "changed_by"))
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def under_id(values: dict[str, Any], entry_id: str) -> dict[str, Any]:
    """A line under another id."""
    before = values["before"]
    return {**values, "entry_id": entry_id, "before": None if before is None else {**before, "id": entry_id}}


def columns(values: Mapping[str, Any]) -> dict[str, Any]:
    """A line of a file as the columns of our log."""
    before = values["before"]
    return {
        **values,
        "changed": to_json(values["changed"]),
        "before": to_json(before) if before is not None else None,
    }

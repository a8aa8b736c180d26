"""What was kept of a fact when one part of it was replaced: its other clauses, as a fact of their own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from jiyi.model.entry import MemoryEntry

_CLAUSE_ENDS: Final = re.compile(r"[,，.。;；!！：:]")


def is_rest_of(part: MemoryEntry, whole: MemoryEntry) -> bool:
    """Whether a fact was left of another one: of the same messages, as old, and nothing in it is new.

    Either all its clauses stand in the other one, or one run of words was cut out of that, such as a day.
    """
    if part.id == whole.id or part.source.references != whole.source.references:
        return False
    if part.created_at != whole.created_at:
        return False
    clauses = _CLAUSE_ENDS.split(part.content)
    return all(clause.strip() in whole.content for clause in clauses) or _is_cut(part.content, whole.content)


def _is_cut(part: str, whole: str) -> bool:
    """Whether a text is another one without a run of characters; spaces do not count."""
    left, text = "".join(part.split()), "".join(whole.split())
    if not 0 < len(left) < len(text):
        return False
    return any(text.startswith(left[:cut]) and text.endswith(left[cut:]) for cut in range(1, len(left)))

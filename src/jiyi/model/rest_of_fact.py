"""What was kept of a fact when one part of it was replaced: its other clauses, as a fact of their own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from jiyi.model.entry import MemoryEntry

_CLAUSE_ENDS: Final = re.compile(r"[,，.。;；!！：:]")
_UNIT: Final = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")
_EARLIER: Final = re.compile(r"^(?:Earlier: |以前：)")


def is_rest_of(part: MemoryEntry, whole: MemoryEntry) -> bool:
    """Whether a fact was left of another one: of the same messages, as old, and nothing in it is new.

    Either all its clauses stand in the other one, or a run of characters was cut out of that, such as a day. A rest
    that says when it was said is known as one, and may leave out more than one run.
    """
    if part.id == whole.id or part.source.references != whole.source.references:
        return False
    if part.created_at != whole.created_at:
        return False
    text = _EARLIER.sub("", part.content)
    if all(clause.strip() in whole.content for clause in _CLAUSE_ENDS.split(text)) or _is_cut(text, whole.content):
        return True
    return part.occurred_at == whole.event_time and _is_within(text, whole.content)


def _is_cut(part: str, whole: str) -> bool:
    """Whether a text is another one without a run of characters; spaces do not count."""
    left, text = "".join(part.split()), "".join(whole.split())
    if not 0 < len(left) < len(text):
        return False
    return any(text.startswith(left[:cut]) and text.endswith(left[cut:]) for cut in range(1, len(left)))


def _is_within(part: str, whole: str) -> bool:
    """Whether the words of a text, or its Chinese characters, stand in another one in the same order."""
    left = iter(_UNIT.findall(whole.casefold()))
    return all(unit in left for unit in _UNIT.findall(part.casefold()))

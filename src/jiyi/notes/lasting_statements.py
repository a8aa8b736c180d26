"""Which sentences of a note say something lasting, by rules, and under which heading they belong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from jiyi.text.cues import find_statements

_WORTH_KEEPING: Final = 0.7
# What holds only for a while stays in the daily notes.
_PASSING: Final = frozenset({"date"})
# Headings of the templates; a file with other headings gets a section of its own.
_SECTIONS: Final = {
    "preference": ("Preferences", "偏好"),
    "instruction": ("Preferences", "偏好"),
    "relation": ("People", "人物"),
    "identity": ("About the user", "关于用户"),
    "health": ("About the user", "关于用户"),
    "decision": ("Decisions and lessons", "决定与教训"),
}


def lasting_statements(text: str) -> list[tuple[str, str]]:
    """(kind, sentence) of what is worth knowing in every session."""
    return [
        (statement.kind, statement.content)
        for statement in find_statements(text)
        if statement.importance >= _WORTH_KEEPING and statement.kind not in _PASSING
    ]


def section_for(kind: str, headings: Sequence[str], otherwise: str) -> str:
    """The heading of the file under which a statement of this kind belongs."""
    known = {heading.casefold(): heading for heading in headings}
    return next((known[name.casefold()] for name in _SECTIONS.get(kind, ()) if name.casefold() in known), otherwise)

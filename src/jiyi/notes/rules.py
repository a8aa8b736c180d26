"""Which sentences of a note say something lasting, by rules."""

from __future__ import annotations


def lasting_statements(text: str) -> list[str]:
    """Sentences that are worth keeping for every session."""
    from jiyi.text.cues import find_statements

    return [statement.text for statement in find_statements(text)]

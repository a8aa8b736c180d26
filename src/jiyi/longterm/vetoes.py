"""What forbids that a message replaces or contradicts an older fact, whatever the trained models say."""

from __future__ import annotations

from collections.abc import Sequence

from jiyi.text.persons import about_other_persons, persons_of

__all__ = ["forbidden", "forbids"]


def forbids(message: str, fact: str) -> bool:
    """Whether a message surely neither replaces nor contradicts a fact."""
    return forbidden(message, [fact])[0]


def forbidden(message: str, facts: Sequence[str]) -> list[bool]:
    """Of each fact whether a message surely neither replaces nor contradicts it."""
    persons = persons_of(message)
    return [about_other_persons(message, fact, persons) for fact in facts]

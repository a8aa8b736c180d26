"""What forbids that a message replaces or contradicts an older fact, whatever the trained models say."""

from __future__ import annotations

from collections.abc import Sequence

from jiyi.text.beginnings import takes_up_something_else
from jiyi.text.ended_things import ends_something_else
from jiyi.text.no_change import changes_nothing_of, only_differs
from jiyi.text.persons import about_other_persons, persons_of
from jiyi.text.requests import asks_something_else

__all__ = ["forbidden", "forbids", "only_differs"]


def forbids(message: str, fact: str) -> bool:
    """Whether a message surely neither replaces nor contradicts a fact."""
    return forbidden(message, [fact])[0]


def forbidden(message: str, facts: Sequence[str]) -> list[bool]:
    """Of each fact whether a message surely neither replaces nor contradicts it."""
    persons = persons_of(message)
    return [
        about_other_persons(message, fact, persons)
        or changes_nothing_of(message, fact)
        or asks_something_else(message, fact)
        or ends_something_else(message, fact)
        or takes_up_something_else(message, fact)
        for fact in facts
    ]

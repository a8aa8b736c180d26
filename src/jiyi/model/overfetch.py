"""Overfetching: where a condition is checked after the search, more of the best are fetched until enough pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias, TypeVar

T = TypeVar("T")
Fetched: TypeAlias = tuple[list[T], bool]
"""Those of the fetched ones that pass, best first, and whether there are no others to fetch."""

FACTOR: Final = 4
"""So many times the limit are fetched first."""


def fetch_until_enough(
    fetch: Callable[[int], Fetched[T] | None], limit: int, first: int, *, max_fetched: int | None = None
) -> list[T] | None:
    """The best that pass, `limit` or more of them if there are so many.

    `None` if `fetch` has no answer, or if fewer than `limit` of the `max_fetched` best pass.
    """
    asked = first
    while True:
        fetched = fetch(asked)
        if fetched is None:
            return None
        passed, are_all = fetched
        if len(passed) >= limit or are_all:
            return passed
        if max_fetched is not None and asked >= max_fetched:
            return None
        asked = _more(asked, len(passed), limit)
        if max_fetched is not None:
            asked = min(asked, max_fetched)


def enough(limit: int, passing: int, count: int) -> int:
    """How many of the best of `count` to fetch so that `limit` pass, if those that pass are spread evenly."""
    return min(count, 3 * limit * count // (2 * passing + 2))


def _more(asked: int, passed: int, limit: int) -> int:
    """How many to fetch next, after so few have passed: as many as should do, and some more."""
    return max(2 * asked, asked * limit * 3 // (2 * max(passed, 1)))

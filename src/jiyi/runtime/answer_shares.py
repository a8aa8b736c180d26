"""How the places of an answer are shared out: among the memory types, between direct and linked memories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def fair_shares(ranked: Sequence[T], kind_of: Callable[[T], str], limit: int) -> list[T]:
    """The best `limit` of a ranked list when every kind gives one in turn, in the order of the list."""
    by_kind: dict[str, list[int]] = {}
    for place, each in enumerate(ranked):
        by_kind.setdefault(kind_of(each), []).append(place)
    chosen: list[int] = []
    turn = 0
    while len(chosen) < limit:
        given = [places[turn] for places in by_kind.values() if turn < len(places)]
        if not given:
            break
        # In one turn the better ones first: with fewer places than kinds the weakest kinds go without.
        chosen += sorted(given)[: limit - len(chosen)]
        turn += 1
    return [ranked[place] for place in sorted(chosen)]


def chained_shares(direct: Sequence[T], linked: Sequence[T], limit: int) -> tuple[Sequence[T], Sequence[T]]:
    """How many of each an answer has: at most half of it is linked, unless there are fewer direct ones."""
    room = max(limit // 2, limit - len(direct))
    taken = linked[:room]
    return direct[: limit - len(taken)], taken

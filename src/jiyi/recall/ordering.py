"""The order of scored candidates, along which their relevance falls.

Scores put texts of one kind in order, and neighbours in a conversation raise them far above what the text itself says:
"hm" behind the same question, asked before. So a candidate comes before those with better scores that are far less
likely to answer, and its relevance stays its own.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from heapq import heappop, heappush
from typing import Final, NamedTuple

from jiyi.model.relevance import MIN_RELEVANCE

_TOLERATED: Final = 2.0
"""In a conversation, and among dated texts, the better score comes first unless its log-odds are lower by more: what
stands around a text tells more than what stands in it. Where this ends below `MIN_RELEVANCE`, the scores decide."""
_TINY: Final = 1e-9


class Key(NamedTuple):
    """By which candidates of one kind are put in order; equal ones are told apart by the records."""

    behind: float
    """The score, with its sign turned."""
    unlikely: float
    """The relevance, with its sign turned."""
    older: int
    """The time, with its sign turned."""

    @property
    def relevance(self) -> float:
        """The probability that the candidate answers, by itself."""
        return -self.unlikely


class Ordered(NamedTuple):
    """Candidates, best first."""

    places: list[int]
    ranks: dict[int, int]
    """Place -> rank. Equals share one: which of them comes first, only the records tell."""
    relevance: dict[int, float]
    """Place -> its own probability to answer, but never more than that of the candidate before it."""


def by_score(places: Sequence[int], keys: Sequence[Key]) -> Ordered:
    """In the order of the scores alone."""
    return _capped(sorted(places, key=keys.__getitem__), keys)


def by_relevance(places: Sequence[int], keys: Sequence[Key], standalone: Sequence[bool]) -> Ordered:
    """In the order of the scores, but none before one that is far more likely to answer.

    Where one of the two stands alone, any difference is far: a score that neighbours raise is no measure for it.
    """
    lowest = _log_odds(MIN_RELEVANCE)
    odds = {place: _log_odds(keys[place].relevance) for place in places}
    # The most likely one last, from where it is taken.
    ascending = sorted(odds, key=odds.__getitem__)
    waiting = {alone: [place for place in ascending if standalone[place] == alone] for alone in (False, True)}
    left = {alone: each.copy() for alone, each in waiting.items()}
    ready: list[tuple[Key, int]] = []
    done: set[int] = set()
    order: list[int] = []
    while len(order) < len(odds):
        best = {alone: _best_left(each, done, odds) for alone, each in left.items()}
        tolerated = best[False] - _TOLERATED
        least = {
            False: max(best[True], tolerated if tolerated > lowest else -math.inf),
            True: max(best.values()),
        }
        for alone, each in waiting.items():
            while each and odds[each[-1]] >= least[alone]:
                place = each.pop()
                heappush(ready, (keys[place], place))
        _, place = heappop(ready)
        done.add(place)
        order.append(place)
    return _capped(order, keys)


def _best_left(places: list[int], done: Collection[int], odds: Mapping[int, float]) -> float:
    while places and places[-1] in done:
        places.pop()
    return odds[places[-1]] if places else -math.inf


def _capped(order: list[int], keys: Sequence[Key]) -> Ordered:
    ranks: dict[int, int] = {}
    relevance: dict[int, float] = {}
    rank, cap = 0, 1.0
    for number, place in enumerate(order):
        rank += number > 0 and keys[place] != keys[order[number - 1]]
        cap = min(cap, keys[place].relevance)
        ranks[place], relevance[place] = rank, cap
    return Ordered(order, ranks, relevance)


def _log_odds(relevance: float) -> float:
    bounded = min(max(relevance, _TINY), 1.0 - _TINY)
    return math.log(bounded / (1.0 - bounded))

"""What the dates of a question say: which texts are of that time, and how far that answers it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from jiyi.model import clock
from jiyi.model.entry import REFLECTION_TYPE
from jiyi.model.filters import Filters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from jiyi.recall.question import Period
    from jiyi.recall.scorer import Candidates, Floats, Rows
    from jiyi.recall.search import Search

STORED_THEN: Final = 0.75
"""How near to a date a text is that has no time but that it was stored then, where it is asked what happened."""
_DAY = 86_400_000_000


def inside_dates(search: Search) -> int:
    """How many visible texts are inside the times that the question names."""
    if not search.periods:
        return 0
    periods = tuple((period.start, period.end) for period in search.periods)
    # A reflection did not happen when it was made.
    without = (REFLECTION_TYPE,) if search.reflections else ()
    filters = Filters(search.request.filters.scopes, periods=periods, without_types=without)
    return search.sources.records.count(filters)


def date_nearness(search: Search, moments: Rows, standalone: NDArray[np.bool_]) -> Floats:
    """How near each is to the question's dates; what has only the day on which it was stored did not happen then."""
    found = _nearness(moments, search.periods)
    return np.where(standalone, STORED_THEN * found, found) if search.question.only_events else found


def of_that_time(candidates: Candidates) -> NDArray[np.bool_] | None:
    """Candidate -> whether it is of the time that the question names; `None` where it names none.

    That it was stored then counts only where whatever was at that time is asked for: "how old is she this year?".
    """
    if candidates.date_nearness is None:
        return None
    inside = candidates.date_nearness >= STORED_THEN
    return inside if candidates.only_dates else inside & ~candidates.standalone


def information_with_date(candidates: Candidates, share: Floats, whole: float, asked: float, dated: float) -> Floats:
    """The share of the question's information, in which its date counts like a word that is as rare.

    `whole` is what all words say and `asked` what those say that do more than tell when; `dated` is what the date says.
    """
    nearness, inside = candidates.date_nearness, of_that_time(candidates)
    if nearness is None or inside is None:
        return share
    if candidates.only_dates:
        return np.maximum(share, nearness)
    found = (share * whole + nearness * dated) / (whole + dated)
    if candidates.when_words is None:
        return found
    return np.where(inside, np.maximum(found, (np.minimum(asked, share * whole) + dated) / (asked + dated)), found)


def _nearness(moments: Rows, periods: Sequence[Period]) -> Floats:
    """1 inside a period, 0.6 within a day of it, 0.3 within three; only short periods have such edges."""
    found = np.zeros(len(moments))
    for period in periods:
        start, end = clock.microseconds(period.start), clock.microseconds(period.end)
        distance = np.maximum(np.maximum(start - moments, moments - (end - 1)), 0)
        found = np.maximum(found, distance == 0)
        if period.soft:
            edge = np.where(distance <= _DAY, 0.6, np.where(distance <= 3 * _DAY, 0.3, 0.0))
            found = np.maximum(found, edge)
    return found.astype(np.float64)

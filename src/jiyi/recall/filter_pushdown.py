"""What the records know of a request before the indexes are asked, and whether an answer is short because of expiry."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from jiyi.model import clock

if TYPE_CHECKING:
    from jiyi.ports import RecordStore
    from jiyi.recall.request import Answer, Request
    from jiyi.recall.settings import RecallSettings

_MAX_NAMED_IDS: Final = 2_000
"""Up to so many entries are named to the indexes; above, the best proposals are checked until enough have passed."""
_MAX_COUNTED: Final = 25_000
_MAX_LISTED_IDS: Final = 12_000
"""Up to here reading the ids of what may meet a condition takes less time than checking it for each proposal."""


def with_restored(request: Request) -> Request:
    """The request whose filters admit its restored entries; of these only those that meet the other conditions."""
    if not request.restored:
        return request
    filters = replace(request.filters, also_active=frozenset(entry.id for entry in request.restored))
    return replace(request, filters=filters, restored=tuple(each for each in request.restored if filters.admits(each)))


def push_down_filters(request: Request, store: RecordStore) -> Request:
    """With what the records know of the conditions that no index can check.

    That is the ids among which to look, or how many entries may meet them, or the ids of all that do if these are only
    a few.
    """
    filters = request.filters
    if not filters.needs_record_check or request.mode == "tags":
        return request
    estimate = store.estimate(filters, limit=_MAX_COUNTED)
    if estimate is not None:
        superset = store.listed_matches(filters, limit=_MAX_LISTED_IDS)
        return replace(request, filters=replace(filters, superset_ids=superset, estimate=estimate))
    ids = store.few_matching(filters, limit=_MAX_NAMED_IDS)
    return request if ids is None else replace(request, filters=replace(filters, exact_ids=frozenset(ids)))


def short_because_of_expiry(request: Request, answer: Answer, store: RecordStore, settings: RecallSettings) -> bool:
    """Whether the answer may be short because the indexes proposed what has expired and was not archived yet.

    Asked only where proposals may have been cut off: an answer that found everything is not short because of it.
    """
    filters = request.filters
    if len(answer.hits) >= request.limit or request.mode == "tags" or filters.beyond_expired:
        return False
    if filters.only_scopes and answer.candidates < settings.min_candidates:
        return False
    return store.count_expired(filters.scopes, filters.alive_at or clock.utc_now()) > 0

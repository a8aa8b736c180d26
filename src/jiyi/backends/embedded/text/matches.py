"""The best matches of a question, by numbers of the visible scopes alone.

tantivy finds the texts and adds up the weights of their terms; the length of each text is then taken into account here,
as BM25 does it for a term that occurs once. Nothing depends on entries of other scopes: the weights and the mean length
are those of the visible scopes, sums of whole numbers are the same in every order, and equal matches are told apart by
time and id, never by their place in tantivy's files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import tantivy
from tantivy import DocAddress, Occur, Query, Searcher

from jiyi.backends.embedded.text.documents import LENGTHS, RECENCY, stored_text
from jiyi.backends.embedded.text.queries import build_query
from jiyi.backends.shared.bm25 import WIDE, by_length
from jiyi.model.filters import Filters

_MIN_BETTER: Final = 2
"""So many times the limit have to be better than the last group of equals; otherwise the latest matches are added."""


def best_matches(
    searcher: Searcher,
    schema: tantivy.Schema,
    field: str,
    weights: Mapping[str, int],
    filters: Filters,
    *,
    labels: bool,
    mean_length: float,
    limit: int,
) -> list[str]:
    """Ids of the best matches, the latest first among equals."""
    query = build_query(schema, field, weights, filters, labels=labels)
    wide = max(WIDE, 2 * _MIN_BETTER * limit)
    hits = _search(searcher, query, wide)
    if len(hits) == wide:
        # The last group of equals may be incomplete, and which of them are missing depends on the files.
        last = hits[-1][0]
        hits = [hit for hit in hits if hit[0] > last]
        if len(hits) < _MIN_BETTER * limit:
            hits += _latest(searcher, schema, query, wide, last)
    return _ordered(searcher, hits, LENGTHS[field], mean_length, limit)


def _search(searcher: Searcher, query: Query, limit: int) -> list[tuple[Any, DocAddress]]:
    return searcher.search(query, limit, count=False).hits


def _latest(
    searcher: Searcher, schema: tantivy.Schema, query: Query, wide: int, most: float
) -> list[tuple[Any, DocAddress]]:
    """The latest matches with at most this score."""
    latest = searcher.search(query, wide, count=False, order_by_field=RECENCY).hits
    # The oldest of them is left out: another entry may have the same number.
    recent = Query.range_query(
        schema, RECENCY, tantivy.FieldType.Integer, latest[-1][0], None, include_lower=False, include_upper=True
    )
    both = Query.boolean_query([(Occur.Must, query), (Occur.Must, Query.const_score_query(recent, 0.0))])
    return [hit for hit in _search(searcher, both, wide) if hit[0] <= most]


def _ordered(
    searcher: Searcher, hits: Sequence[tuple[Any, DocAddress]], length_field: str, mean_length: float, limit: int
) -> list[str]:
    if not hits:
        return []
    addresses = [address for _, address in hits]
    lengths, recency = (_numbers(searcher, name, addresses) for name in (length_field, RECENCY))
    scores = by_length([score for score, _ in hits], lengths, mean_length)
    order = sorted(range(len(hits)), key=lambda place: (-scores[place], -recency[place]))
    end = limit
    while end < len(order) and _equal(scores, recency, order[end], order[end - 1]):
        end += 1
    found = [
        (-scores[place], -recency[place], stored_text(searcher.doc(addresses[place]), "id")) for place in order[:end]
    ]
    return [entry_id for _, _, entry_id in sorted(found)][:limit]


def _numbers(searcher: Searcher, name: str, addresses: list[DocAddress]) -> list[int]:
    return [int(value or 0) for value in searcher.fast_field_values(name, addresses)]


def _equal(scores: Sequence[float], recency: Sequence[int], one: int, other: int) -> bool:
    return scores[one] == scores[other] and recency[one] == recency[other]

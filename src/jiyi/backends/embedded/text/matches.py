"""The best matches of a question, by numbers of the visible scopes alone.

tantivy finds the texts and adds up the weights of their terms; the length of each text is then taken into account here,
as BM25 does it for a term that occurs once. Nothing depends on entries of other scopes: the weights and the mean length
are those of the visible scopes, sums of whole numbers are the same in every order, and equal matches are told apart by
time and id, never by their place in tantivy's files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import tantivy
from tantivy import DocAddress, Occur, Query, Searcher

from jiyi.backends.embedded.text.documents import ID_HASH, LENGTHS, RECENCY, id_hash, stored_text
from jiyi.backends.embedded.text.queries import build_query
from jiyi.backends.shared.bm25 import WIDE, by_length
from jiyi.model.filters import Filters
from jiyi.model.overfetch import FACTOR, Fetched, enough, fetch_until_enough

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.int64]

_IDS_IN_QUERY: Final = 100
"""More ids than these are compared with the matches: as terms of the query they take 5 µs each."""
_IDS_HASHED: Final = 3_000
"""Of more ids it takes longer to make the hashes than to read the ids of some hundreds of matches."""
_WORTH_HASHING: Final = 4
"""The words and the pairs of characters of a second question under the same condition."""
_MATCHES_LOOKED_AT: Final = 10_000
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
    expected: int,
    entries: int,
) -> list[str]:
    """Ids of the best matches, the latest first among equals.

    The visible scopes have so many `entries`; about `expected` documents have one of the terms.
    """
    wide = max(WIDE, 2 * _MIN_BETTER * limit)
    ids = filters.superset_ids if filters.exact_ids is None else filters.exact_ids
    if ids is not None and _IDS_IN_QUERY < len(ids) <= _IDS_HASHED and expected <= _MATCHES_LOOKED_AT:
        everything = build_query(schema, field, weights, replace(filters, exact_ids=None), labels=labels)
        chosen = _all_among(searcher, everything, ids)
        if chosen is not None and len(chosen) < wide:
            return _ordered(searcher, chosen, LENGTHS[field], mean_length, limit)
    if filters.superset_ids is None or len(filters.superset_ids) <= _IDS_HASHED:
        query = build_query(schema, field, weights, replace(filters, exact_ids=ids), labels=labels)
        hits, _ = _best(searcher, schema, query, wide, limit)
        return _ordered(searcher, hits, LENGTHS[field], mean_length, limit)
    query = build_query(schema, field, weights, filters, labels=labels)
    # As many as where the matches are checked one by one: the answer must not depend on what is known of the condition.
    asked = max(FACTOR * limit, enough(limit, len(filters.superset_ids), entries))

    def fetch(looked_at: int) -> Fetched[str]:
        hits, are_all = _best(searcher, schema, query, looked_at, asked)
        return _ordered(searcher, hits, LENGTHS[field], mean_length, limit, filters.superset_ids), are_all

    return fetch_until_enough(fetch, limit, max(WIDE, 2 * _MIN_BETTER * asked)) or []


def _best(
    searcher: Searcher, schema: tantivy.Schema, query: Query, wide: int, limit: int
) -> tuple[list[tuple[Any, DocAddress]], bool]:
    """The best of at most so many matches, and whether these are all."""
    hits = _search(searcher, query, wide)
    if len(hits) < wide:
        return hits, True
    # The last group of equals may be incomplete, and which of them are missing depends on the files.
    last = hits[-1][0]
    hits = [hit for hit in hits if hit[0] > last]
    if len(hits) < _MIN_BETTER * limit:
        hits += _latest(searcher, schema, query, wide, last)
    return hits, False


def _all_among(searcher: Searcher, query: Query, ids: frozenset[str]) -> list[tuple[Any, DocAddress]] | None:
    """All matches that are documents of these entries; `None` if there are too many matches to look at."""
    hits = _search(searcher, query, 2 * _MATCHES_LOOKED_AT)
    if len(hits) == 2 * _MATCHES_LOOKED_AT:
        return None
    likely = _are_among(_numbers(searcher, RECENCY, [address for _, address in hits]), _hashes(ids))
    return [hit for hit in (hits[place] for place in likely) if stored_text(searcher.doc(hit[1]), "id") in ids]


@lru_cache(maxsize=4)
def _hashes(ids: frozenset[str]) -> Numbers:
    """In order. Kept, because the words and the pairs of characters of one question are looked for among the same."""
    return np.sort(np.fromiter(map(id_hash, ids), dtype=np.int64, count=len(ids)))


def _are_among(recency: Numbers, hashes: Numbers) -> list[int]:
    """The places of those that have one of these hashes: they are likely to be among the entries."""
    own = recency & ID_HASH
    if not len(hashes):
        return []
    found: list[int] = np.flatnonzero(hashes[np.minimum(hashes.searchsorted(own), len(hashes) - 1)] == own).tolist()
    return found


def _hash_array(ids: frozenset[str]) -> Numbers | None:
    """The hashes of a set that is asked for again, in order; `None` before: making them takes longer than it saves."""
    seen = _id_sets.get(ids)
    if seen is None:
        _id_sets[ids] = _IdSet()
        return None
    seen.times += 1
    if seen.hashes is None and seen.times >= _WORTH_HASHING:
        seen.hashes = _hashes(ids)
    return seen.hashes


@dataclass(slots=True)
class _IdSet:
    """A set of ids among which to look."""

    times: int = 1
    hashes: Numbers | None = None


_id_sets: WeakKeyDictionary[frozenset[str], _IdSet] = WeakKeyDictionary()


def _search(searcher: Searcher, query: Query, limit: int) -> list[tuple[Any, DocAddress]]:
    return searcher.search(query, limit, count=False).hits


def _latest(
    searcher: Searcher, schema: tantivy.Schema, query: Query, wide: int, max_score: float
) -> list[tuple[Any, DocAddress]]:
    """The latest matches with at most this score."""
    latest = searcher.search(query, wide, count=False, order_by_field=RECENCY).hits
    # The oldest of them is left out: another entry may have the same number.
    recent = Query.range_query(
        schema, RECENCY, tantivy.FieldType.Integer, latest[-1][0], None, include_lower=False, include_upper=True
    )
    both = Query.boolean_query([(Occur.Must, query), (Occur.Must, Query.const_score_query(recent, 0.0))])
    return [hit for hit in _search(searcher, both, wide) if hit[0] <= max_score]


def _ordered(
    searcher: Searcher,
    hits: Sequence[tuple[Any, DocAddress]],
    length_field: str,
    mean_length: float,
    limit: int,
    superset_ids: frozenset[str] | None = None,
) -> list[str]:
    """Ids of the best of these matches, of the entries among which to look."""
    if not hits:
        return []
    addresses = [address for _, address in hits]
    hashes = _hash_array(superset_ids) if superset_ids is not None else None
    recency: Numbers | None = None
    if hashes is not None:
        # Nothing more is read of the others: most of the matches.
        recency = _numbers(searcher, RECENCY, addresses)
        likely = _are_among(recency, hashes)
        hits, recency = [hits[place] for place in likely], recency[likely]
        addresses = [address for _, address in hits]
    scores = by_length([score for score, _ in hits], _numbers(searcher, length_field, addresses), mean_length)
    if superset_ids is None and limit < len(hits):
        # Nor of those that are behind.
        best = np.flatnonzero(scores >= np.partition(scores, len(hits) - limit)[len(hits) - limit])
        addresses, scores = [addresses[place] for place in best.tolist()], scores[best]
    if recency is None:
        recency = _numbers(searcher, RECENCY, addresses)
    ranks = list(zip((-scores).tolist(), (-recency).tolist(), strict=True))
    found: list[tuple[tuple[float, int], str]] = []
    for place in np.lexsort((-recency, -scores)).tolist():
        rank = ranks[place]
        if len(found) >= limit and found[-1][0] != rank:
            break
        entry_id = stored_text(searcher.doc(addresses[place]), "id")
        if superset_ids is None or entry_id in superset_ids:
            found.append((rank, entry_id))
    return [entry_id for _, entry_id in sorted(found)][:limit]


def _numbers(searcher: Searcher, name: str, addresses: list[DocAddress]) -> Numbers:
    values = searcher.fast_field_values(name, addresses)
    return np.asarray([value or 0 for value in values], dtype=np.int64)

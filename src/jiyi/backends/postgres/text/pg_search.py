"""`PgSearchProposer`: proposes texts by the BM25 index of the extension pg_search.

Queries are built from terms, as JSON: nothing that a person typed is parsed. The BM25 of pg_search counts the texts of
all scopes together, and rows that are not vacuumed yet. So terms get constant scores instead: their idf in the visible
scopes. The length of each text is taken into account here, and equal matches are told apart by time and id, or, where
so many are equal that they are cut off, by a hash of the id.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias, assert_never

from jiyi.backends.postgres.text.scorer_queries import Fetch
from jiyi.backends.postgres.text.tables import ID_HASH, TEXTS, word_column
from jiyi.backends.shared.bm25 import WIDE, by_length, term_weights
from jiyi.backends.shared.filters import AnyDomain, AnyId, AnyOf, EveryTag, InPeriods, NoneOf, conditions
from jiyi.backends.shared.term_rows import CollectionStatistics
from jiyi.model import clock
from jiyi.model.filters import Filters
from jiyi.model.overfetch import FACTOR, Fetched, enough, fetch_until_enough
from jiyi.model.storable import is_storable

Query: TypeAlias = dict[str, Any]

_TEXT_COLUMNS = {"words": "word_text", "bigrams": "bigram_text"}
_LENGTH_COLUMNS = {"words": "length", "bigrams": "bigram_length"}


@dataclass(frozen=True, slots=True)
class PgSearchProposer:
    """The best matches of the BM25 index; scope and filters are clauses of its query that add nothing to the score."""

    fetch: Fetch
    mode: str = "PostgreSQL, BM25 by jiyi, candidates by pg_search"

    def propose(
        self,
        field: str,
        terms: Sequence[str],
        filters: Filters,
        numbers: CollectionStatistics,
        *,
        limit: int,
        labels: bool = False,
    ) -> list[str]:
        """Ids of the best matches, best first; `numbers` are those of the terms, each of which is there once."""
        weights = term_weights(terms, numbers.df, numbers.entries)
        query = build_query((_TEXT_COLUMNS[field], *(["label_text"] if labels else [])), weights, filters)
        if query is None:
            return []
        among = filters.superset_ids
        if among is None:
            return self._ordered(self._rows(field, query, _wide(limit)), numbers.mean_length)[:limit]
        # As many as where the matches are checked one by one: the answer must not depend on what is known.
        first = _wide(max(FACTOR * limit, enough(limit, len(among), numbers.entries)))

        def fetch(wide: int) -> Fetched[tuple[Any, ...]]:
            rows = self._rows(field, query, wide)
            return [row for row in rows if row[2] in among], len(rows) < wide

        return self._ordered(fetch_until_enough(fetch, limit, first) or [], numbers.mean_length)[:limit]

    def _rows(self, field: str, query: Query, wide: int) -> list[tuple[Any, ...]]:
        # The limit is a literal: with a parameter the planner would not know how few rows are wanted.
        return self.fetch(
            f"SELECT paradedb.score(entry_id), event_time, entry_id, {_LENGTH_COLUMNS[field]} FROM {TEXTS} "
            "WHERE entry_id @@@ :query::jsonb "
            f"ORDER BY paradedb.score(entry_id) DESC, event_time DESC, {ID_HASH} LIMIT {wide:d}",
            {"query": json.dumps(query)},
        )

    def _ordered(self, rows: Sequence[tuple[Any, ...]], mean_length: float) -> list[str]:
        """The ids of the rows, compared by length as well."""
        if not rows:
            return []
        scores = by_length([row[0] for row in rows], [row[3] for row in rows], mean_length).tolist()
        order = sorted(range(len(rows)), key=lambda place: (-scores[place], -rows[place][1], rows[place][2]))
        return [rows[place][2] for place in order]


def _wide(limit: int) -> int:
    """How many matches to compare by length for so many of the best."""
    return max(WIDE, min(2 * limit, limit + WIDE // 2))


def build_query(fields: Sequence[str], weights: Mapping[str, int], filters: Filters) -> Query | None:
    """Texts with any of the terms in any of the fields that meet the filters; `None` if nothing can match.

    The score of a text is the sum of the weights of its terms.
    """
    wanted = [
        _constant(float(weight), {"boolean": {"should": [_term(name, term) for name in fields]}})
        for term, weight in weights.items()
        if is_storable(term)
    ]
    must: list[Query | None] = [_any_of("scope", filters.scopes)]
    must_not: list[Query] = []
    for condition in conditions(filters):
        if isinstance(condition, NoneOf):
            excluded = _any_of(*_column(condition))
            must_not += [excluded] if excluded is not None else []
        else:
            must += _clauses(condition)
    clauses = [_constant(0.0, clause) for clause in must if clause is not None]
    if not wanted or len(clauses) < len(must):
        return None
    query: Query = {"must": [{"boolean": {"should": wanted}}, *clauses]}
    if must_not:
        query["must_not"] = must_not
    return {"boolean": query}


def _clauses(condition: AnyOf | AnyDomain | EveryTag | InPeriods | AnyId) -> list[Query | None]:
    """Clauses that must all match; `None` for one that nothing can match."""
    match condition:
        case AnyOf():
            return [_any_of(*_column(condition))]
        case AnyDomain(domains):
            return [_any_of("domains", domains)]
        case EveryTag(tags):
            return [_term("tags", tag) if is_storable(tag) else None for tag in tags]
        case InPeriods(periods):
            return [{"boolean": {"should": [_between(*period) for period in periods]}}]
        case AnyId(ids):
            return [_any_of("entry_id", sorted(ids))]
        case _:
            assert_never(condition)


def _column(condition: AnyOf | NoneOf) -> tuple[str, Sequence[str]]:
    return word_column(condition.word, condition.values)


def _constant(score: float, query: Query) -> Query:
    return {"const_score": {"score": score, "query": query}}


def _term(field: str, value: str) -> Query:
    return {"term": {"field": field, "value": value}}


def _any_of(field: str, values: Sequence[str]) -> Query | None:
    terms = [{"field": field, "value": value} for value in values if is_storable(value)]
    return {"term_set": {"terms": terms}} if terms else None


def _between(start: datetime | None, end: datetime | None) -> Query:
    return {
        "range": {
            "field": "event_time",
            "lower_bound": None if start is None else {"included": clock.microseconds(start)},
            "upper_bound": None if end is None else {"excluded": clock.microseconds(end)},
        }
    }

"""`PgSearchProposer`: proposes texts by the BM25 index of the extension pg_search.

Queries are built from terms, as JSON: nothing that a person typed is parsed. pg_search computes document frequencies
over the whole index, all scopes together and with rows that are not vacuumed yet; the scorer ranks inside the visible
scopes afterwards. Proposals only have to be among the best.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias, assert_never

from jiyi.backends.postgres.text.scorer_queries import Fetch
from jiyi.backends.postgres.text.tables import TEXTS, is_storable, word_column
from jiyi.backends.shared.filters import AnyDomain, AnyOf, EveryTag, InPeriods, NoneOf, conditions
from jiyi.model import clock
from jiyi.model.filters import Filters

Query: TypeAlias = dict[str, Any]

_TEXT_COLUMNS = {"words": "word_text", "bigrams": "bigram_text"}


@dataclass(frozen=True, slots=True)
class PgSearchProposer:
    """The best matches of the BM25 index; scope and filters are clauses of its query that add nothing to the score."""

    fetch: Fetch
    mode: str = "PostgreSQL, BM25 by pg_search"

    def propose(
        self, field: str, terms: Sequence[str], filters: Filters, *, limit: int, labels: bool = False
    ) -> list[str]:
        """Ids of the best matches, best first."""
        query = build_query((_TEXT_COLUMNS[field], *(["label_text"] if labels else [])), terms, filters)
        if query is None:
            return []
        # The limit is a literal: with a parameter the planner would not know how few rows are wanted.
        rows = self.fetch(
            f"SELECT entry_id FROM {TEXTS} WHERE entry_id @@@ %(query)s::jsonb "
            f"ORDER BY paradedb.score(entry_id) DESC LIMIT {limit:d}",
            {"query": json.dumps(query)},
        )
        return [row[0] for row in rows]


def build_query(fields: Sequence[str], terms: Sequence[str], filters: Filters) -> Query | None:
    """Texts with any of the terms in any of the fields that meet the filters; `None` if nothing can match."""
    wanted = [_term(name, term) for name in fields for term in terms if is_storable(term)]
    must: list[Query | None] = [_any_of("scope", filters.scopes)]
    must_not: list[Query] = []
    for condition in conditions(filters):
        if isinstance(condition, NoneOf):
            excluded = _any_of(*_column(condition))
            must_not += [excluded] if excluded is not None else []
        else:
            must += _clauses(condition)
    clauses = [{"const_score": {"score": 0.0, "query": clause}} for clause in must if clause is not None]
    if not wanted or len(clauses) < len(must):
        return None
    query: Query = {"must": [{"boolean": {"should": wanted}}, *clauses]}
    if must_not:
        query["must_not"] = must_not
    return {"boolean": query}


def _clauses(condition: AnyOf | AnyDomain | EveryTag | InPeriods) -> list[Query | None]:
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
        case _:
            assert_never(condition)


def _column(condition: AnyOf | NoneOf) -> tuple[str, Sequence[str]]:
    return word_column(condition.word, condition.values)


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

"""Queries for tantivy. They are built from terms and values: nothing that a person typed is parsed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import assert_never

import tantivy
from tantivy import Occur, Query

from jiyi.backends.shared.filters import AnyDomain, AnyId, AnyOf, EveryTag, InPeriods, NoneOf, conditions
from jiyi.model import clock
from jiyi.model.filters import Filters

_MAX_TERM_QUERIES = 32
"""A `term_set` query takes three times as long as a few term queries."""


def build_query(
    schema: tantivy.Schema, field: str, weights: Mapping[str, int], filters: Filters, *, labels: bool = False
) -> Query:
    """Documents with any of the terms that meet the filters; the score is the sum of the weights of their terms.

    tantivy's own BM25 is not used: its numbers are those of all scopes together, and of deleted documents.
    """
    fields = (field, "labels") if labels else (field,)
    wanted = [
        Query.const_score_query(_any([Query.term_query(schema, name, term, "basic") for name in fields]), weight)
        for term, weight in weights.items()
    ]
    clauses = [(Occur.Must, _any(wanted)), (Occur.Must, _unscored(_any_of(schema, "scope", filters.scopes)))]
    for condition in conditions(filters):
        if isinstance(condition, NoneOf):
            clauses.append((Occur.MustNot, _any_of(schema, condition.word, condition.values)))
        else:
            clauses += [(Occur.Must, _unscored(query)) for query in _queries(schema, condition)]
    return Query.boolean_query(clauses)


def _unscored(query: Query) -> Query:
    """A filter must not change the order."""
    return Query.const_score_query(query, 0.0)


def _queries(schema: tantivy.Schema, condition: AnyOf | AnyDomain | EveryTag | InPeriods | AnyId) -> list[Query]:
    """Queries that must all match."""
    match condition:
        case AnyOf(word, values):
            return [_any_of(schema, word, values)]
        case AnyDomain(domains):
            return [_any_of(schema, "domain", domains)]
        case EveryTag(tags):
            return [Query.term_query(schema, "tags", tag, "basic") for tag in tags]
        case InPeriods(periods):
            return [_any([_between(schema, *period) for period in periods])]
        case AnyId(ids):
            return [_any_of(schema, "id", sorted(ids))]
        case _:
            assert_never(condition)


def _any(queries: Sequence[Query]) -> Query:
    return queries[0] if len(queries) == 1 else Query.boolean_query([(Occur.Should, query) for query in queries])


def _any_of(schema: tantivy.Schema, name: str, values: Sequence[str]) -> Query:
    if len(values) > _MAX_TERM_QUERIES:
        return Query.term_set_query(schema, name, list(values))
    return _any([Query.term_query(schema, name, value, "basic") for value in values])


def _between(schema: tantivy.Schema, start: datetime | None, end: datetime | None) -> Query:
    return Query.range_query(
        schema,
        "event_time",
        tantivy.FieldType.Integer,
        None if start is None else clock.microseconds(start),
        None if end is None else clock.microseconds(end),
        include_upper=end is None,  # tantivy calls an open end inclusive
    )

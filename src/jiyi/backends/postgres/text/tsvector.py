"""`TsvectorProposer`: proposes texts without pg_search, by a `tsvector` for candidates and BM25 in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, assert_never

import numpy as np

from jiyi.backends.postgres.text.scorer_queries import Fetch, statistics
from jiyi.backends.postgres.text.tables import TEXTS, is_storable, word_column
from jiyi.backends.postgres.text.writer import lexeme
from jiyi.backends.shared.bm25 import bm25_order, count_terms
from jiyi.backends.shared.filters import AnyDomain, AnyId, AnyOf, Condition, EveryTag, InPeriods, NoneOf, conditions
from jiyi.backends.shared.term_rows import CollectionStatistics, term_id
from jiyi.model import clock
from jiyi.model.filters import Filters

_MAX_CANDIDATES = 3_000
_MAX_FREQUENT = 6
_COUNT_COLUMNS = {
    "words": "length, words, word_counts",
    # The bigrams of a text without Han characters are its words.
    "bigrams": "bigram_length, CASE bigrams WHEN '' THEN words ELSE bigrams END, "
    "CASE bigrams WHEN '' THEN word_counts ELSE bigram_counts END",
}


@dataclass(frozen=True, slots=True)
class TsvectorProposer:
    """The texts that have the rarest of the terms, at most a few thousand, ordered by BM25 of the visible scopes.

    Of terms that stand in thousands of texts a text has to have two: with a single one of them it is not found.
    """

    fetch: Fetch
    max_candidates: int = _MAX_CANDIDATES
    mode: str = "PostgreSQL without pg_search: candidates by tsvector, BM25 by jiyi"

    def propose(
        self, field: str, terms: Sequence[str], filters: Filters, *, limit: int, labels: bool = False
    ) -> list[str]:
        """Ids of the best matches, best first."""
        terms = list(dict.fromkeys(terms))
        by_words = field == "words"
        numbers = statistics(self.fetch, filters.scopes, terms if by_words else (), () if by_words else terms)
        df = numbers.word_df if by_words else numbers.bigram_df
        names = ["words", "labels"] if labels else ["words"]
        if not by_words:
            # A text without Han characters has its bigrams under its words.
            names = ["bigrams", *names]
        # Among a few named texts frequent terms cost nothing.
        chosen = (terms, [], False) if filters.ids is not None else _rarest(terms, df, self.max_candidates)
        rarest, frequent, capped = chosen
        rows = self._rows(field, " | ".join(_any_of(filters.scopes, names, rarest)), filters, newest=capped)
        pairs = [
            f"({' | '.join(_any_of([scope], names, [one]))}) & ({' | '.join(_any_of([scope], names, [other]))})"
            for scope in filters.scopes
            for one, other in combinations(frequent, 2)
        ]
        if pairs:
            known = {row[0] for row in rows}
            both = self._rows(field, " | ".join(f"({pair})" for pair in pairs), filters, newest=True)
            rows += [row for row in both if row[0] not in known]
        mean = numbers.mean_length if by_words else numbers.mean_bigram_length
        return _best(rows, terms, limit, CollectionStatistics(df, numbers.entries, mean))

    def _rows(self, field: str, query: str, filters: Filters, *, newest: bool) -> list[tuple[Any, ...]]:
        """The texts that match a query of lexemes, at most `max_candidates`: then the newest."""
        where, values = _where(filters)
        order = "ORDER BY event_time DESC, entry_id" if newest else ""
        return self.fetch(
            f"SELECT entry_id, event_time, {_COUNT_COLUMNS[field]} FROM {TEXTS} "
            f"WHERE terms @@ %(query)s::tsquery{where} {order} LIMIT {self.max_candidates:d}",
            {"query": query, **values},
        )


def _any_of(scopes: Sequence[str], names: Sequence[str], terms: Sequence[str]) -> list[str]:
    """The lexemes of these terms. They consist of hexadecimal digits, whatever the terms are."""
    return [lexeme(name, scope, term_id(term)) for scope in scopes for name in names for term in terms]


def _rarest(terms: Sequence[str], df: Sequence[int], max_texts: int) -> tuple[list[str], list[str], bool]:
    """The rarest terms that together match at most `max_texts` texts, at least one; and whether they may match more.

    Between them the rarest of the frequent terms. Terms without statistics, such as stop words, may be frequent: they
    come last.
    """
    order = sorted(range(len(terms)), key=lambda place: (df[place] == 0, df[place]))
    chosen, total = [order[0]], df[order[0]]
    for place in order[1:]:
        if total + df[place] > max_texts:
            break
        total += df[place]
        chosen.append(place)
    unknown = any(df[place] == 0 for place in chosen)
    known = [place for place in order if df[place]]
    frequent = [place for place in known if place not in chosen or total > max_texts][:_MAX_FREQUENT]
    return [terms[place] for place in chosen], [terms[place] for place in frequent], unknown or total > max_texts


def _where(filters: Filters) -> tuple[str, dict[str, Any]]:
    """The filters as SQL over the columns of a text; the scopes are part of the lexemes."""
    parameters = _Parameters()
    found = [_sql(condition, parameters) for condition in conditions(filters)]
    return "".join(f" AND {condition}" for condition in found), parameters.values


class _Parameters:
    """Named parameters of a statement."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    def add(self, value: Any) -> str:
        """The placeholder for a value."""
        name = f"p{len(self.values)}"
        self.values[name] = value
        return f"%({name})s"


def _sql(condition: Condition, parameters: _Parameters) -> str:
    match condition:
        case AnyOf(word, values):
            column, wanted = word_column(word, values)
            return f"{column} = ANY ({parameters.add(_storable(wanted))})"
        case NoneOf(word, values):
            column, excluded = word_column(word, values)
            return f"{column} <> ALL ({parameters.add(_storable(excluded))})"
        case AnyDomain(domains):
            return f"domains && {parameters.add(_storable(domains))}::text[]"
        case EveryTag(tags):
            # No text has a tag that cannot be stored.
            return f"tags @> {parameters.add(list(tags))}::text[]" if all(map(is_storable, tags)) else "false"
        case InPeriods(periods):
            bounds = []
            for start, end in periods:
                after = "" if start is None else f"event_time >= {parameters.add(clock.microseconds(start))}"
                before = "" if end is None else f"event_time < {parameters.add(clock.microseconds(end))}"
                bounds.append(" AND ".join(part for part in (after, before) if part))
            return f"({' OR '.join(bounds)})"
        case AnyId(ids):
            return f"entry_id = ANY ({parameters.add(sorted(ids))})"
        case _:
            assert_never(condition)


def _storable(values: Sequence[str]) -> list[str]:
    return [value for value in values if is_storable(value)]


def _best(
    rows: Sequence[tuple[Any, ...]], terms: Sequence[str], limit: int, collection: CollectionStatistics
) -> list[str]:
    """The rows with the highest BM25, the newest first among equals."""
    if not rows:
        return []
    terms_of, counts_of = [row[3] for row in rows], [row[4] for row in rows]
    tf = count_terms(terms_of, counts_of, [term_id(term) for term in terms], [0] * len(rows)).tf
    lengths = np.asarray([row[2] for row in rows], dtype=np.int64)
    ids = [str(row[0]) for row in rows]
    return [ids[place] for place in bm25_order(tf, lengths, [row[1] for row in rows], ids, limit, collection)]

"""`TsvectorProposer`: proposes texts without pg_search, by a `tsvector` for candidates and BM25 in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from jiyi.backends.postgres.text.compared_texts import best_of, compared_columns, conditions_sql
from jiyi.backends.postgres.text.scorer_queries import Fetch
from jiyi.backends.postgres.text.tables import TEXTS
from jiyi.backends.postgres.text.writer import lexeme
from jiyi.backends.shared.term_rows import CollectionStatistics
from jiyi.model.filters import Filters
from jiyi.text.term_ids import term_id

_MAX_CANDIDATES = 3_000
_MAX_FREQUENT = 6


@dataclass(frozen=True, slots=True)
class TsvectorProposer:
    """The texts that have the rarest of the terms, at most a few thousand, ordered by BM25 of the visible scopes.

    Of terms that stand in thousands of texts a text has to have two: with a single one of them it is not found.
    """

    fetch: Fetch
    max_candidates: int = _MAX_CANDIDATES
    mode: str = "PostgreSQL without pg_search: candidates by tsvector, BM25 by jiyi"

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
        names = ["words", "labels"] if labels else ["words"]
        if field == "bigrams":
            # A text without Han characters has its bigrams under its words.
            names = ["bigrams", *names]
        rarest, frequent, capped = _rarest(terms, numbers.df, self.max_candidates)
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
        if filters.superset_ids is not None:
            rows = [row for row in rows if row[0] in filters.superset_ids]
        return best_of(rows, terms, limit, numbers)

    def _rows(self, field: str, query: str, filters: Filters, *, newest: bool) -> list[tuple[Any, ...]]:
        """The texts that match a query of lexemes, at most `max_candidates`: then the newest."""
        where, values = conditions_sql(filters)
        order = "ORDER BY event_time DESC, entry_id" if newest else ""
        return self.fetch(
            f"SELECT {compared_columns(field)} FROM {TEXTS} "
            f"WHERE terms @@ :query::tsquery{where} {order} LIMIT {self.max_candidates:d}",
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

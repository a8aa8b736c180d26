"""Texts that are read from the table and compared by BM25 in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np

from jiyi.backends.postgres.text.scorer_queries import Fetch
from jiyi.backends.postgres.text.tables import TEXTS, word_column
from jiyi.backends.shared.bm25 import bm25_order, count_terms
from jiyi.backends.shared.filters import AnyDomain, AnyId, AnyOf, Condition, EveryTag, InPeriods, NoneOf, conditions
from jiyi.backends.shared.term_rows import CollectionStatistics
from jiyi.model import clock
from jiyi.model.filters import Filters
from jiyi.model.storable import is_storable
from jiyi.text.term_ids import term_id

_COUNT_COLUMNS = {
    "words": "length, words, word_counts",
    # The bigrams of a text without Han characters are its words.
    "bigrams": "bigram_length, CASE bigrams WHEN '' THEN words ELSE bigrams END, "
    "CASE bigrams WHEN '' THEN word_counts ELSE bigram_counts END",
}


@dataclass(frozen=True, slots=True)
class NamedTextsProposer:
    """The best of texts that the filters name by id: to read some thousand is faster than to search for them."""

    fetch: Fetch

    def propose(
        self, field: str, terms: Sequence[str], filters: Filters, numbers: CollectionStatistics, *, limit: int
    ) -> list[str]:
        """Ids of the best matches, best first; `numbers` are those of the terms."""
        where, values = conditions_sql(filters)
        statement = f"SELECT {compared_columns(field)} FROM {TEXTS} WHERE scope = ANY (:scopes){where}"
        rows = self.fetch(statement, {"scopes": list(filters.scopes), **values})
        return best_of(rows, terms, limit, numbers)


def compared_columns(field: str) -> str:
    """The columns of the rows for `best_of`."""
    return f"entry_id, event_time, {_COUNT_COLUMNS[field]}"


def conditions_sql(filters: Filters) -> tuple[str, dict[str, Any]]:
    """The filters without their scopes as SQL over the columns of a text, each part behind an AND."""
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
        return f":{name}"


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


def best_of(
    rows: Sequence[tuple[Any, ...]], terms: Sequence[str], limit: int, collection: CollectionStatistics
) -> list[str]:
    """The rows with the highest BM25, the newest first among equals."""
    if not rows:
        return []
    terms_of, counts_of = [row[3] for row in rows], [row[4] for row in rows]
    tf = count_terms(terms_of, counts_of, [term_id(term) for term in terms])
    lengths = np.asarray([row[2] for row in rows], dtype=np.int64)
    ids = [str(row[0]) for row in rows]
    return [ids[place] for place in bm25_order(tf, lengths, [row[1] for row in rows], ids, limit, collection)]

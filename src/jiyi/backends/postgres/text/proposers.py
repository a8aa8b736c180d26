"""Who proposes texts inside PostgreSQL: pg_search's BM25 index, or our own BM25 over what a `tsvector` finds.

Scopes of a few hundred texts are read whole and compared by our own BM25 in both cases: that is exact, and takes a part
of the time that the index needs to be opened.

Nothing that a person typed is parsed: queries are built from terms, as values.

pg_search weighs a term by how rare it is in the whole index, all scopes together, and in the rows that are not yet
vacuumed away; the scorer weighs it inside the visible scopes afterwards. Proposals only have to be among the best.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Any

import numpy as np

from jiyi.backends.postgres.text.reader import Ask, statistics
from jiyi.backends.postgres.text.rows import lexeme
from jiyi.backends.postgres.text.tables import SCOPES, TEXTS
from jiyi.backends.shared.in_memory_text import bm25_order, count_terms
from jiyi.backends.shared.term_rows import term_id
from jiyi.model import clock
from jiyi.model.filters import Filters
from jiyi.ports import CONVERSATION, TextProposer

_TEXT_OF = {"words": "word_text", "bigrams": "bigram_text"}
_MAX_COMPARED = 3_000

WHOLE_SCOPE = 400
"""Scopes of so many texts are read whole: in less time than a BM25 index takes to be opened."""
_SECONDS_LARGE = 60.0
_MAX_REMEMBERED = 10_000
_COUNTS = {
    "words": "length, words, word_counts",
    # A text without Han has its pairs under its words.
    "bigrams": "bigram_length, CASE bigrams WHEN '' THEN words ELSE bigrams END, "
    "CASE bigrams WHEN '' THEN word_counts ELSE bigram_counts END",
}

Query = dict[str, Any]


class SmallScopes:
    """Reads scopes of a few texts whole, and compares them all."""

    def __init__(self, ask: Ask, few: int = WHOLE_SCOPE) -> None:
        self._ask = ask
        self._few = few
        # Which scopes were found to be large, and until when that is believed: they are not asked each time.
        self._large: dict[tuple[str, ...], float] = {}

    def propose(
        self, field: str, terms: Sequence[str], filters: Filters, *, limit: int, labels: bool = False
    ) -> list[str] | None:
        """Ids, best first; `None` when the scopes are too large for that."""
        if field == "words" and not labels:
            # The words of keys and tags are counted with those of the text.
            return None
        if self._large.get(filters.scopes, 0.0) > time.monotonic():
            return None
        where, values = _conditions(filters)
        size = f"(SELECT coalesce(sum(entries), 0)::bigint FROM {SCOPES} WHERE scope = ANY (%(scopes)s))"
        # The size is asked once, and if it is too much nothing else is read.
        (_, entries, *_), *rows = self._ask(
            f"SELECT NULL::text, {size}, 0, ''::bytea, ''::bytea UNION ALL "
            f"SELECT entry_id, event_time, {_COUNTS[field]} FROM {TEXTS} WHERE scope = ANY (%(scopes)s) "
            f"AND {size} <= {self._few:d}{where}",
            {"scopes": list(filters.scopes), **values},
        )
        if entries > self._few:
            if len(self._large) >= _MAX_REMEMBERED:
                self._large.clear()
            self._large[filters.scopes] = time.monotonic() + _SECONDS_LARGE
            return None
        return _best(rows, list(dict.fromkeys(terms)), limit)


@dataclass(frozen=True, slots=True)
class PgSearchProposer:
    """The best matches of the BM25 index; scope and filters are clauses of its query that add nothing to the score."""

    ask: Ask
    small: SmallScopes
    mode: str = "PostgreSQL, BM25 by pg_search"

    def propose(
        self, field: str, terms: Sequence[str], filters: Filters, *, limit: int, labels: bool = False
    ) -> list[str]:
        """Ids, best first."""
        found = self.small.propose(field, terms, filters, limit=limit, labels=labels)
        if found is not None:
            return found
        fields = (_TEXT_OF[field], "label_text") if labels else (_TEXT_OF[field],)
        wanted = [_term(name, term) for name in fields for term in terms if _storable(term)]
        clauses = _clauses(filters)
        if not wanted or clauses is None:
            return []
        must, must_not = clauses
        query: Query = {"must": [{"boolean": {"should": wanted}}, *must]}
        if must_not:
            query["must_not"] = must_not
        # The limit stands in the text: with a parameter the plan would not know how few are wanted.
        rows = self.ask(
            f"SELECT entry_id FROM {TEXTS} WHERE entry_id @@@ %(query)s::jsonb "
            f"ORDER BY paradedb.score(entry_id) DESC LIMIT {limit:d}",
            {"query": json.dumps({"boolean": query})},
        )
        return [row[0] for row in rows]


def _storable(value: str) -> bool:
    """PostgreSQL has no text with this character in it, so nothing can match it."""
    return "\x00" not in value


def _term(field: str, value: str | int) -> Query:
    return {"term": {"field": field, "value": value}}


def _clauses(filters: Filters) -> tuple[list[Query], list[Query]] | None:
    """What must hold and what must not; `None` when nothing can meet it."""
    must: list[Query] = []

    def add(query: Query) -> None:
        # Worth nothing, so that a filter does not change the order.
        must.append({"const_score": {"score": 0.0, "query": query}})

    for name, values in (
        ("scope", filters.scopes),
        ("category", filters.categories),
        ("memory_type", filters.memory_types),
        ("domains", filters.domains),
        ("thread", tuple(CONVERSATION + conversation for conversation in filters.conversations)),
    ):
        if values:
            known = [value for value in values if _storable(value)]
            if not known:
                return None
            add(_any_of(name, known))
    for tag in filters.tags:
        if not _storable(tag):
            return None
        add(_term("tags", tag))
    if filters.since is not None or filters.until is not None:
        add(_between(filters.since, filters.until))
    if filters.periods:
        add({"boolean": {"should": [_between(start, end) for start, end in filters.periods]}})
    without = [value for value in filters.without_types if _storable(value)]
    return must, [_any_of("memory_type", without)] if without else []


def _any_of(field: str, values: Sequence[str]) -> Query:
    return {"term_set": {"terms": [{"field": field, "value": value} for value in values]}}


def _between(start: datetime | None, end: datetime | None) -> Query:
    return {
        "range": {
            "field": "event_time",
            "lower_bound": None if start is None else {"included": clock.microseconds(start)},
            "upper_bound": None if end is None else {"excluded": clock.microseconds(end)},
        }
    }


@dataclass(frozen=True, slots=True)
class TsvectorProposer:
    """What has the rarest of the terms, at most a few thousand, put in order by BM25 of the visible scopes.

    In a large scope a text that has only terms which are in thousands of others is not found by them: that is what is
    lesser here. Another engine `beside`, which knows them all, makes up for it.
    """

    ask: Ask
    small: SmallScopes
    beside: TextProposer | None = None
    most: int = _MAX_COMPARED

    @property
    def mode(self) -> str:
        """How proposals are made, in words."""
        own = "PostgreSQL without pg_search: candidates by tsvector, BM25 by jiyi"
        return own if self.beside is None else f"{own}; in large scopes also {self.beside.mode}"

    def propose(
        self, field: str, terms: Sequence[str], filters: Filters, *, limit: int, labels: bool = False
    ) -> list[str]:
        """Ids, best first."""
        found = self.small.propose(field, terms, filters, limit=limit, labels=labels)
        if found is not None:
            return found
        terms = list(dict.fromkeys(terms))
        by_words = field == "words"
        numbers = statistics(self.ask, filters.scopes, terms if by_words else (), () if by_words else terms)
        df = numbers.word_df if by_words else numbers.bigram_df
        chosen, capped = _rarest(terms, df, self.most)
        names = ["words", "labels"] if labels else ["words"]
        if not by_words:
            # A text without Han has its pairs under its words.
            names = ["bigrams", *names]
        # Made of hexadecimal digits and nothing else, whatever the terms are.
        query = " | ".join(
            lexeme(name, scope, term_id(term)) for scope in filters.scopes for name in names for term in chosen
        )
        where, values = _conditions(filters)
        newest = "ORDER BY event_time DESC, entry_id" if capped else ""
        rows = self.ask(
            f"SELECT entry_id, event_time, {_COUNTS[field]} FROM {TEXTS} WHERE terms @@ %(query)s::tsquery{where} "
            f"{newest} LIMIT {self.most:d}",
            {"query": query, **values},
        )
        mean = numbers.mean_length if by_words else numbers.mean_bigram_length
        own = _best(rows, terms, limit, df, numbers.entries, mean)
        if self.beside is None:
            return own
        others = self.beside.propose(field, terms, filters, limit=limit, labels=labels)
        in_turn = dict.fromkeys(entry_id for pair in zip_longest(own, others) for entry_id in pair if entry_id)
        return list(in_turn)[:limit]


def _rarest(terms: Sequence[str], df: Sequence[int], most: int) -> tuple[list[str], bool]:
    """The rarest terms, as many as find no more than `most` texts, at least one; and whether that one finds more.

    Terms without statistics, such as stop words, are not known to be rare: they come last.
    """
    order = sorted(range(len(terms)), key=lambda place: (df[place] == 0, df[place]))
    chosen, total = [order[0]], df[order[0]]
    for place in order[1:]:
        if total + df[place] > most:
            break
        total += df[place]
        chosen.append(place)
    unknown = any(df[place] == 0 for place in chosen)
    return [terms[place] for place in chosen], unknown or total > most


def _conditions(filters: Filters) -> tuple[str, dict[str, Any]]:
    """Everything but the scopes, as SQL over the columns of a text."""
    conditions: list[str] = []
    values: dict[str, Any] = {}

    def add(condition: str, name: str, value: Any) -> None:
        conditions.append(condition)
        values[name] = value

    def known(given: Sequence[str]) -> list[str]:
        return [value for value in given if _storable(value)]

    if filters.categories:
        add("category = ANY (%(categories)s)", "categories", known(filters.categories))
    if filters.memory_types:
        add("memory_type = ANY (%(types)s)", "types", known(filters.memory_types))
    if filters.without_types:
        add("memory_type <> ALL (%(without)s)", "without", known(filters.without_types))
    if filters.domains:
        add("domains && %(domains)s::text[]", "domains", known(filters.domains))
    if filters.tags:
        # A tag that cannot be stored is one that nobody has.
        tags = known(filters.tags)
        add("tags @> %(tags)s::text[]" if len(tags) == len(filters.tags) else "%(tags)s::text[] IS NULL", "tags", tags)
    if filters.conversations:
        threads = [CONVERSATION + conversation for conversation in known(filters.conversations)]
        add("thread = ANY (%(threads)s)", "threads", threads)
    if filters.since is not None:
        add("event_time >= %(since)s", "since", clock.microseconds(filters.since))
    if filters.until is not None:
        add("event_time < %(until)s", "until", clock.microseconds(filters.until))
    if filters.periods:
        starts, ends = zip(*filters.periods, strict=True)
        add(
            "EXISTS (SELECT FROM unnest(%(starts)s::bigint[], %(ends)s::bigint[]) AS p (first, behind) "
            "WHERE event_time >= p.first AND event_time < p.behind)",
            "starts",
            [clock.microseconds(start) for start in starts],
        )
        values["ends"] = [clock.microseconds(end) for end in ends]
    return "".join(f" AND {condition}" for condition in conditions), values


def _best(
    rows: Sequence[tuple[Any, ...]],
    terms: Sequence[str],
    limit: int,
    df: Sequence[int] | None = None,
    entries: int = 0,
    mean: float = 0.0,
) -> list[str]:
    """The rows with the highest BM25; of equal ones the newest. Without `df` the numbers are those of the rows."""
    if not rows:
        return []
    terms_of, counts_of = [row[3] for row in rows], [row[4] for row in rows]
    tf = count_terms(terms_of, counts_of, [term_id(term) for term in terms], [0] * len(rows)).tf
    lengths = np.asarray([row[2] for row in rows], dtype=np.int64)
    places = bm25_order(tf, lengths, [row[1] for row in rows], limit, df, entries, mean)
    return [str(rows[place][0]) for place in places]

"""What the scorer reads from the tables of `PostgresTextIndex`: one statement each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from jiyi.backends.postgres.text.tables import CONVERSATION_LENGTHS, CONVERSATION_TERMS, SCOPES, TERMS, TEXTS
from jiyi.backends.postgres.text.writer import place_of, signed
from jiyi.backends.shared.term_rows import (
    BIGRAMS,
    CONVERSATIONS,
    WORDS,
    CollectionStatistics,
    mean_length,
    term_row,
)
from jiyi.ports import TermRow, TermStatistics
from jiyi.text.term_ids import term_id

Fetch: TypeAlias = Callable[[str, dict[str, Any]], list[tuple[Any, ...]]]
"""Returns the rows of a statement with named parameters."""

_COLUMNS = (
    "scope, thread, position, event_time, entry_id, length, bigram_length, question_share, "
    "words, word_counts, bigrams, bigram_counts"
)
_STATISTICS = f"""
SELECT -1::smallint, 0, coalesce(sum(entries), 0)::bigint, coalesce(sum(shortness), 0)::bigint,
       coalesce(sum(bigram_shortness), 0)::bigint, coalesce(sum(conversations), 0)::bigint,
       coalesce(sum(conversation_shortness), 0)::bigint
FROM {SCOPES} WHERE scope = ANY (:scopes)
UNION ALL
SELECT t.field, t.term, sum(t.df)::bigint, 0, 0, 0, 0
FROM {SCOPES} s
CROSS JOIN unnest(:fields::smallint[], :terms::integer[]) AS wanted (field, term)
JOIN {TERMS} t ON t.scope = s.number AND t.field = wanted.field AND t.term = wanted.term
WHERE s.scope = ANY (:scopes)
GROUP BY t.field, t.term
"""
_WINDOWS = f"""
WITH wanted AS MATERIALIZED (
    SELECT {_COLUMNS}, place FROM {TEXTS} WHERE entry_id = ANY (:ids)
)
SELECT {_COLUMNS} FROM wanted
UNION ALL
SELECT near.* FROM wanted w CROSS JOIN LATERAL (
    (SELECT {_COLUMNS} FROM {TEXTS} t WHERE t.place = w.place
        AND (t.position, t.event_time, t.entry_id) < (w.position, w.event_time, w.entry_id)
        ORDER BY t.place DESC, t.position DESC, t.event_time DESC, t.entry_id DESC LIMIT :reach)
    UNION ALL
    (SELECT {_COLUMNS} FROM {TEXTS} t WHERE t.place = w.place
        AND (t.position, t.event_time, t.entry_id) > (w.position, w.event_time, w.entry_id)
        ORDER BY t.place, t.position, t.event_time, t.entry_id LIMIT :reach)
) near WHERE w.place IS NOT NULL
"""
_CONVERSATIONS = f"""
SELECT c.place, c.length, t.term, t.tf FROM {CONVERSATION_LENGTHS} c
LEFT JOIN {CONVERSATION_TERMS} t ON t.conversation = c.number AND t.term = ANY (:terms)
WHERE c.place = ANY (:places)
"""


def statistics(fetch: Fetch, scopes: Sequence[str], words: Sequence[str], bigrams: Sequence[str]) -> TermStatistics:
    """Numbers of these scopes together."""
    word_ids, bigram_ids = [signed(term_id(word)) for word in words], [signed(term_id(pair)) for pair in bigrams]
    wanted = [(field, term) for field in (WORDS, CONVERSATIONS) for term in dict.fromkeys(word_ids)]
    wanted += [(BIGRAMS, term) for term in dict.fromkeys(bigram_ids)]
    total, *rows = fetch(
        _STATISTICS,
        {"scopes": list(scopes), "fields": [field for field, _ in wanted], "terms": [term for _, term in wanted]},
    )
    df: Counter[tuple[int, int]] = Counter({(row[0], row[1]): row[2] for row in rows})
    _, _, entries, shortness, bigram_shortness, conversations, conversation_shortness = total
    return TermStatistics(
        entries=entries,
        mean_length=mean_length(entries, shortness),
        mean_bigram_length=mean_length(entries, bigram_shortness),
        word_df=tuple(df[WORDS, term] for term in word_ids),
        bigram_df=tuple(df[BIGRAMS, term] for term in bigram_ids),
        conversations=conversations,
        mean_conversation_length=mean_length(conversations, conversation_shortness),
        conversation_df=tuple(df[CONVERSATIONS, term] for term in word_ids),
    )


def collection(fetch: Fetch, field: str, terms: Sequence[str], scopes: Sequence[str]) -> CollectionStatistics:
    """The numbers of these scopes for terms of one field."""
    if field == "words":
        numbers = statistics(fetch, scopes, terms, ())
        return CollectionStatistics(numbers.word_df, numbers.entries, numbers.mean_length)
    numbers = statistics(fetch, scopes, (), terms)
    return CollectionStatistics(numbers.bigram_df, numbers.entries, numbers.mean_bigram_length)


def windows(fetch: Fetch, ids: Sequence[str], reach: int) -> list[TermRow]:
    """Texts by id with up to `reach` others before and after each in its thread, in order."""
    rows = fetch(_WINDOWS, {"ids": list(ids), "reach": reach})
    # The windows of neighbours overlap: each text once.
    lines = sorted({row[:5] for row in rows})
    by_line = {row[:5]: row for row in rows}
    shown = (by_line[line] for line in lines)
    return [term_row(row[0], row[1], row[3], row[4], row[5:]) for row in shown]


def conversations(
    fetch: Fetch, threads: Iterable[tuple[str, str]], words: Sequence[str]
) -> dict[tuple[str, str], tuple[int, tuple[int, ...]]]:
    """For each (scope, conversation) its length and how often each word occurs in it."""
    places = {thread: place_of(*thread) for thread in threads}
    ids = [signed(term_id(word)) for word in words]
    lengths: dict[Any, int] = {}
    counts: Counter[tuple[Any, int]] = Counter()
    for place, length, term, tf in fetch(_CONVERSATIONS, {"terms": ids, "places": list(places.values())}):
        lengths[place] = length
        if term is not None:
            counts[place, term] = tf
    return {
        thread: (lengths.get(place, 0), tuple(counts[place, term] for term in ids)) for thread, place in places.items()
    }

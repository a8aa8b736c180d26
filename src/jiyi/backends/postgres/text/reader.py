"""The questions of the scorer to the tables of `PostgresTextIndex`: one statement each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from jiyi.backends.postgres.text.rows import place_of, signed
from jiyi.backends.postgres.text.tables import SCOPES, TALK_TERMS, TALKS, TERMS, TEXTS
from jiyi.backends.shared.term_rows import BIGRAMS, CONVERSATIONS, WORDS, mean_length, term_id, term_row
from jiyi.ports import TermRow, TermStatistics

Ask: TypeAlias = Callable[[str, dict[str, Any]], list[tuple[Any, ...]]]
"""Gives the rows of a statement with named parameters."""

_SHOWN = (
    "scope, thread, position, event_time, entry_id, length, bigram_length, question_share, "
    "words, word_counts, bigrams, bigram_counts"
)
_LINE = "position, event_time, entry_id"
_STATISTICS = f"""
SELECT -1::smallint, 0, coalesce(sum(entries), 0)::bigint, coalesce(sum(shortness), 0)::bigint,
       coalesce(sum(bigram_shortness), 0)::bigint, coalesce(sum(conversations), 0)::bigint,
       coalesce(sum(conversation_shortness), 0)::bigint
FROM {SCOPES} WHERE scope = ANY (%(scopes)s)
UNION ALL
SELECT t.field, t.term, sum(t.df)::bigint, 0, 0, 0, 0
FROM {SCOPES} s
CROSS JOIN unnest(%(fields)s::smallint[], %(terms)s::integer[]) AS asked (field, term)
JOIN {TERMS} t ON t.scope = s.number AND t.field = asked.field AND t.term = asked.term
WHERE s.scope = ANY (%(scopes)s)
GROUP BY t.field, t.term
"""
_WINDOWS = f"""
WITH wanted AS MATERIALIZED (
    SELECT {_SHOWN}, place FROM {TEXTS} WHERE entry_id = ANY (%(ids)s)
)
SELECT {_SHOWN} FROM wanted
UNION ALL
SELECT near.* FROM wanted w CROSS JOIN LATERAL (
    (SELECT {_SHOWN} FROM {TEXTS} t WHERE t.place = w.place
        AND (t.position, t.event_time, t.entry_id) < (w.position, w.event_time, w.entry_id)
        ORDER BY t.place DESC, t.position DESC, t.event_time DESC, t.entry_id DESC LIMIT %(reach)s)
    UNION ALL
    (SELECT {_SHOWN} FROM {TEXTS} t WHERE t.place = w.place
        AND (t.position, t.event_time, t.entry_id) > (w.position, w.event_time, w.entry_id)
        ORDER BY t.place, t.position, t.event_time, t.entry_id LIMIT %(reach)s)
) near WHERE w.place IS NOT NULL
"""
_TALKS = f"""
SELECT t.place, t.length, w.term, w.tf FROM {TALKS} t
LEFT JOIN {TALK_TERMS} w ON w.talk = t.number AND w.term = ANY (%(terms)s)
WHERE t.place = ANY (%(places)s)
"""


def statistics(ask: Ask, scopes: Sequence[str], words: Sequence[str], bigrams: Sequence[str]) -> TermStatistics:
    """Numbers of these scopes together."""
    word_ids, bigram_ids = [signed(term_id(word)) for word in words], [signed(term_id(pair)) for pair in bigrams]
    asked = [(field, term) for field in (WORDS, CONVERSATIONS) for term in dict.fromkeys(word_ids)]
    asked += [(BIGRAMS, term) for term in dict.fromkeys(bigram_ids)]
    total, *rows = ask(
        _STATISTICS,
        {"scopes": list(scopes), "fields": [field for field, _ in asked], "terms": [term for _, term in asked]},
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


def windows(ask: Ask, ids: Sequence[str], reach: int) -> list[TermRow]:
    """Texts by id with up to `reach` others before and after each in its thread, in order."""
    rows = ask(_WINDOWS, {"ids": list(ids), "reach": reach})
    # The surroundings of neighbours overlap: each text once.
    lines = sorted({row[:5] for row in rows})
    by_line = {row[:5]: row for row in rows}
    shown = (by_line[line] for line in lines)
    return [term_row(row[0], row[1], row[3], row[4], row[5:]) for row in shown]


def conversations(
    ask: Ask, threads: Iterable[tuple[str, str]], words: Sequence[str]
) -> dict[tuple[str, str], tuple[int, tuple[int, ...]]]:
    """For each (scope, conversation) its length and how often each word stands in it."""
    places = {thread: place_of(*thread) for thread in threads}
    ids = [signed(term_id(word)) for word in words]
    lengths: dict[Any, int] = {}
    counts: Counter[tuple[Any, int]] = Counter()
    for place, length, term, tf in ask(_TALKS, {"terms": ids, "places": list(places.values())}):
        lengths[place] = length
        if term is not None:
            counts[place, term] = tf
    return {
        thread: (lengths.get(place, 0), tuple(counts[place, term] for term in ids)) for thread, place in places.items()
    }

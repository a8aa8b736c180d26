"""From proposals to the arrays of the scorer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from jiyi.model import clock
from jiyi.ports import TIMED
from jiyi.recall.scorer import NOBODY, Candidates, FieldCounts, Floats, Rows

if TYPE_CHECKING:
    from jiyi.ports import TermRow, TermStatistics, TextIndex, VectorScan
    from jiyi.recall.question import Period, Question
    from jiyi.recall.settings import ScoringWeights

EXPANSION = 2
"""Entries this near to a proposal are candidates as well: an answer often stands next to what was asked."""
REACH = 2 * EXPANSION
"""How far to read around a proposal, so that every candidate knows its own neighbours."""
NEIGHBOUR_SECONDS = 3600
_DAY = 86_400_000_000
_DAYS_TO_1970 = 719_163
_MICROSECOND = timedelta(microseconds=1)
_STEPS = (-1, 1, -2, 2)
# Few texts say little about what an unrelated one looks like: count this many with similarity 0 beside them.
_PRIOR_TEXTS = 3


@dataclass(frozen=True, slots=True)
class Gathered:
    """The candidates by id, and what the scorer needs."""

    ids: list[str]
    times: list[int]
    candidates: Candidates


def gather(
    question: Question,
    proposals: Sequence[str],
    text: TextIndex,
    statistics: TermStatistics,
    scan: VectorScan | None,
    scopes: Sequence[str],
    weights: ScoringWeights,
    *,
    periods: Sequence[Period],
    inside_dates: int,
    offset: timedelta,
    admit: Callable[[Sequence[str]], set[str]] | None,
    known: Sequence[TermRow],
    allowed: Sequence[str] | None,
) -> Gathered:
    """Read the proposals with their surroundings; the statistics are those of the visible texts.

    `known` are some of the proposals that were read before and that have no surroundings.
    """
    read = {row.entry_id for row in known}
    rows = [*known, *text.windows([each for each in proposals if each not in read], reach=REACH, scopes=scopes)]
    places = _candidate_rows(rows, set(proposals))
    if admit is not None:
        admitted = admit([rows[place].entry_id for place in places])
        places = [place for place in places if rows[place].entry_id in admitted]
    scored = np.asarray(places, dtype=np.int64)
    neighbours, last = _neighbours(rows, places)
    conversation, counts = _conversations(question, rows, places, text, statistics)
    return Gathered(
        ids=[rows[place].entry_id for place in places],
        times=[rows[place].event_time for place in places],
        candidates=Candidates(
            scored=scored,
            neighbours=neighbours,
            entries=statistics.entries,
            words=_field(
                [row.words for row in rows],
                [row.word_counts for row in rows],
                [row.length for row in rows],
                text.term_ids(question.words),
                statistics.word_df,
                statistics.mean_length,
            ),
            bigrams=_field(
                [row.bigrams for row in rows],
                [row.bigram_counts for row in rows],
                [row.bigram_length for row in rows],
                text.term_ids(question.bigrams),
                statistics.bigram_df,
                statistics.mean_bigram_length,
            )
            if question.bigrams
            else None,
            conversation=conversation,
            conversation_counts=counts,
            conversations=statistics.conversations,
            date_nearness=_nearness([rows[place].event_time for place in places], periods) if question.dates else None,
            inside_dates=inside_dates,
            cosine=scan.of([row.entry_id for row in rows]).astype(np.float64) if scan is not None else None,
            mean_cosine=_usual_similarity(scan, allowed) if scan is not None else 0.0,
            question_share=_question_shares(rows, places, last, weights),
            day=np.asarray([_day(rows[place], offset) for place in places], dtype=np.int64),
        ),
    )


def gather_without_text(scan: VectorScan, ids: Sequence[str], allowed: Sequence[str] | None) -> Gathered:
    """Candidates when the text index cannot be asked: similarity alone, no neighbours."""
    count = len(ids)
    return Gathered(
        ids=list(ids),
        times=[0] * count,
        candidates=Candidates(
            scored=np.arange(count),
            neighbours=np.full((count, len(_STEPS)), NOBODY),
            entries=scan.count,
            words=FieldCounts(np.zeros((count, 0)), np.zeros(count), np.zeros(0), 1.0),
            bigrams=None,
            conversation=np.full(count, NOBODY),
            conversation_counts=FieldCounts(np.zeros((0, 0)), np.zeros(0), np.zeros(0), 1.0),
            conversations=0,
            date_nearness=None,
            inside_dates=0,
            cosine=scan.of(ids).astype(np.float64),
            mean_cosine=_usual_similarity(scan, allowed),
            question_share=np.zeros(count),
            day=np.full(count, NOBODY),
        ),
    )


def _usual_similarity(scan: VectorScan, allowed: Sequence[str] | None) -> float:
    """How similar the question is to a text that has nothing to do with it, as far as the searched ones tell."""
    mean, count = scan.mean, scan.count
    if allowed is not None:
        similarities = scan.of(allowed)
        known = similarities[np.isfinite(similarities)]
        mean, count = (float(known.mean()), len(known)) if len(known) else (0.0, 0)
    return mean * count / (count + _PRIOR_TEXTS)


def _day(row: TermRow, offset: timedelta) -> int:
    """The local day of a record, counted from the year 1. An hour of summer time more or less does not matter here."""
    if not row.thread.startswith(TIMED):
        return NOBODY
    return _DAYS_TO_1970 + (row.event_time + offset // _MICROSECOND) // _DAY


def _candidate_rows(rows: Sequence[TermRow], proposed: set[str]) -> list[int]:
    """Places of the proposals and of what stands near them."""
    found: set[int] = set()
    for place, row in enumerate(rows):
        if row.entry_id in proposed:
            found.add(place)
            for step in range(-EXPANSION, EXPANSION + 1):
                near = place + step
                if 0 <= near < len(rows) and _same_thread(rows[near], row):
                    found.add(near)
    return sorted(found)


def _same_thread(one: TermRow, other: TermRow) -> bool:
    return one.thread == other.thread and one.scope == other.scope


def _neighbours(rows: Sequence[TermRow], places: Sequence[int]) -> tuple[Rows, list[bool]]:
    """Each candidate's neighbours, at most an hour from step to step; and whether it is the last of its thread."""
    gap = NEIGHBOUR_SECONDS * 1_000_000

    def next_to(place: int, step: int) -> int:
        near = place + step
        if place == NOBODY or not 0 <= near < len(rows) or not _same_thread(rows[near], rows[place]):
            return NOBODY
        return near if abs(rows[near].event_time - rows[place].event_time) <= gap else NOBODY

    found = np.full((len(places), len(_STEPS)), NOBODY, dtype=np.int64)
    last = []
    for line, place in enumerate(places):
        before, after = next_to(place, -1), next_to(place, 1)
        found[line] = (before, after, next_to(before, -1), next_to(after, 1))
        last.append(place + 1 >= len(rows) or not _same_thread(rows[place + 1], rows[place]))
    return found, last


def _question_shares(
    rows: Sequence[TermRow], places: Sequence[int], last: Sequence[bool], weights: ScoringWeights
) -> Floats:
    """A bare question is not an answer, unless nothing followed it."""
    return np.asarray(
        [
            rows[place].question_share
            if rows[place].in_conversation and not final and rows[place].length <= weights.question_length
            else 0.0
            for place, final in zip(places, last, strict=True)
        ],
        dtype=np.float64,
    )


def _field(
    terms: Sequence[bytes],
    counts: Sequence[bytes],
    lengths: Sequence[int],
    wanted: Sequence[int],
    df: Sequence[int],
    mean_length: float,
) -> FieldCounts:
    """Count the wanted terms in every row at once."""
    tf = np.zeros((len(terms), len(wanted)))
    if wanted and terms:
        ids = np.frombuffer(b"".join(terms), dtype="<u4")
        times = np.frombuffer(b"".join(counts), dtype=np.uint8)
        row_of = np.repeat(np.arange(len(terms)), [len(count) for count in counts])
        order = np.argsort(np.asarray(wanted, dtype=np.uint32))
        ordered = np.asarray(wanted, dtype=np.uint32)[order]
        at = np.minimum(np.searchsorted(ordered, ids), len(ordered) - 1)
        match = ordered[at] == ids
        tf[row_of[match], order[at[match]]] = times[match]
    return FieldCounts(tf, np.asarray(lengths, dtype=np.float64), np.asarray(df, dtype=np.float64), mean_length)


def _conversations(
    question: Question, rows: Sequence[TermRow], places: Sequence[int], text: TextIndex, statistics: TermStatistics
) -> tuple[Rows, FieldCounts]:
    threads = list(dict.fromkeys((rows[p].scope, rows[p].thread) for p in places if rows[p].in_conversation))
    found = text.conversations(threads, question.words) if threads and question.words else {}
    number = {thread: line for line, thread in enumerate(found)}
    tf = np.asarray([counts for _, counts in found.values()], dtype=np.float64).reshape(len(found), len(question.words))
    lengths = np.asarray([length for length, _ in found.values()], dtype=np.float64)
    df = np.asarray(statistics.conversation_df, dtype=np.float64)
    which = np.asarray([number.get((rows[p].scope, rows[p].thread), NOBODY) for p in places], dtype=np.int64)
    return which, FieldCounts(tf, lengths, df, statistics.mean_conversation_length)


def _nearness(times: Sequence[int], periods: Sequence[Period]) -> Floats:
    """1 inside a period, 0.6 within a day of it, 0.3 within three; only short periods have such edges."""
    moments = np.asarray(times, dtype=np.int64)
    found = np.zeros(len(moments))
    for period in periods:
        start, end = clock.microseconds(period.start), clock.microseconds(period.end)
        distance = np.maximum(np.maximum(start - moments, moments - (end - 1)), 0)
        found = np.maximum(found, distance == 0)
        if period.soft:
            edge = np.where(distance <= _DAY, 0.6, np.where(distance <= 3 * _DAY, 0.3, 0.0))
            found = np.maximum(found, edge)
    return found.astype(np.float64)

"""The rows from which the scorer ranks texts, the same for every engine that stores them.

For each entry: its terms with counts, its length, its time and its place in the conversation. From the rows that a
batch removes and adds follow the changes of all statistics about scopes and conversations.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from jiyi.model import clock
from jiyi.model.bm25 import LENGTH_FLOOR
from jiyi.model.entry import MESSAGE_TYPE, REFLECTION_TYPE, MemoryEntry
from jiyi.ports import ALONE, CONVERSATION, TIMED, TermRow
from jiyi.text import question_share
from jiyi.text.term_ids import term_id

if TYPE_CHECKING:
    from jiyi.text import Analysis, Analyzer

UNIT = 1 << 32
"""The numerator of `shortness`."""
WORDS, BIGRAMS, CONVERSATIONS = 0, 1, 2
"""Kinds of document frequency: of words in texts, of bigrams in texts, of words in conversations."""

_MAX_COUNT = 255
_NO_POSITION = -1
_LAST_POSITION = (1 << 31) - 1
NOT_COUNTED = -1
"""Instead of the number of terms with statistics: the text itself is in none, as if it were not there."""


class CollectionStatistics(NamedTuple):
    """The numbers of all visible texts in one field, for BM25."""

    df: Sequence[int]
    """In how many of them each term stands."""
    entries: int
    mean_length: float


@dataclass(frozen=True, slots=True)
class Analysed:
    """An entry with the terms of its text."""

    entry: MemoryEntry
    analysis: Analysis
    labels: tuple[str, ...]
    """Terms of the key, the tags and the attributes that the text states. They match like words of the text and do not
    count for its length."""
    digest: str
    question_share: float
    """Which share of it is no answer."""


def analyse(analyzer: Analyzer, entry: MemoryEntry) -> Analysed:
    """The terms of an entry: of its searched text, of its key and tags, and of the attributes that it states."""
    entry = analyzer.searched.entry(entry)
    labels = [word for label in entry.labels for word in analyzer.analyze(label).words]
    asks = question_share(entry.content)
    if entry.role != "assistant" and entry.memory_type != REFLECTION_TYPE:
        # Its patterns take 20 ms to load: a short command that indexes nothing does without.
        from jiyi.text.stated_attributes import stated_attributes

        # What an assistant says of itself is nothing about the user, and a reflection states everything at once.
        labels += stated_attributes(entry.content, asks)
    no_answer = 1.0 if _is_empty(entry) else asks
    return Analysed(entry, analyzer.analyze(entry.content), tuple(labels), entry.index_hash(), no_answer)


def text_fingerprint(analyzer: Analyzer, entry: MemoryEntry) -> str:
    """The hash by which a text index recognises the state of an entry."""
    return analyzer.searched.entry(entry).index_hash()


@dataclass(slots=True)
class Features:
    """One text, as it is stored for the scorer."""

    scope: str
    thread: str
    """The entries it is a neighbour of: see `_thread`."""
    position: int
    """Its place in the conversation; -1 if the order follows from the time, and the highest for a reflection."""
    event_time: int
    """Microseconds."""
    entry_id: str
    hash: str
    length: int
    bigram_length: int
    question_share: float
    words: bytes
    """Term ids, those with statistics first."""
    word_counts: bytes
    bigrams: bytes
    """Empty if they are the same as the words."""
    bigram_counts: bytes
    counted: int
    """How many of the words have statistics; `NOT_COUNTED` for a reflection, by which no other text is measured."""
    counted_bigrams: int


def features_of(analysed: Analysed) -> Features:
    """The row of an entry."""
    entry, analysis = analysed.entry, analysed.analysis
    words, word_counts, counted = _packed(
        (*analysis.words[: analysis.length], *analysed.labels), analysis.words[analysis.length :]
    )
    if analysis.has_han:
        bigrams, bigram_counts, counted_bigrams = _packed(
            analysis.bigrams[: analysis.bigram_length], analysis.bigrams[analysis.bigram_length :]
        )
    else:
        # Without Han characters the bigrams are the words: stored once.
        bigrams, bigram_counts, counted_bigrams = b"", b"", 0
    # As the records tell reflections (`FilteredIds.reflections`): what was stored by key under that type is none.
    if entry.memory_type == REFLECTION_TYPE and entry.domain is not None:
        counted = counted_bigrams = NOT_COUNTED
    return Features(
        scope=entry.scope,
        thread=_thread(entry),
        position=_position(entry),
        event_time=clock.microseconds(entry.event_time),
        entry_id=entry.id,
        hash=analysed.digest,
        length=analysis.length,
        bigram_length=analysis.bigram_length,
        question_share=analysed.question_share,
        words=words,
        word_counts=word_counts,
        bigrams=bigrams,
        bigram_counts=bigram_counts,
        counted=counted,
        counted_bigrams=counted_bigrams,
    )


def _is_empty(entry: MemoryEntry) -> bool:
    """Whether an entry is a message of nothing but "OK" or "Let me check".

    The message behind a question counts as its likely answer: "OK" would be the best hit for what is asked again.
    """
    if entry.memory_type != MESSAGE_TYPE:
        return False
    # Its patterns take a while to load: a short command that indexes nothing does without.
    from jiyi.text.empty_replies import is_empty_reply

    return is_empty_reply(entry.content)


def shortness(length: int) -> int:
    """The reciprocal of a length as an integer: a sum of them can be reduced again without rounding errors."""
    return UNIT // max(length, LENGTH_FLOOR)


def mean_length(count: int, shortness_sum: int) -> float:
    """The harmonic mean, which a few very long texts hardly change."""
    return count * UNIT / shortness_sum if shortness_sum else float(LENGTH_FLOOR)


@dataclass(slots=True)
class StatisticsChange:
    """How the statistics change when some texts are removed and others added."""

    document_frequencies: Counter[tuple[str, int, int]] = field(default_factory=Counter)
    """(scope, kind of frequency, term) -> change."""
    scopes: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0, 0]))
    """Scope -> change of entries, shortness, shortness by bigrams."""
    conversation_terms: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    """(scope, conversation, term) -> change."""
    conversation_lengths: defaultdict[tuple[str, str], list[int]] = field(
        default_factory=lambda: defaultdict(lambda: [0, 0])
    )
    """(scope, conversation) -> change of length, entries."""
    conversations: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    """Scope -> change of conversations, their shortness; known only when the conversations were read."""


def statistics_change(removed: Sequence[Features], added: Sequence[Features]) -> StatisticsChange:
    """The change of the statistics of scopes and conversations."""
    found = StatisticsChange()
    counted: defaultdict[tuple[str, int, int], Counter[int]] = defaultdict(Counter)
    for rows, sign in ((removed, -1), (added, 1)):
        for row in rows:
            if row.counted == NOT_COUNTED:
                continue
            words = array("I", row.words)[: row.counted]
            bigrams = array("I", row.bigrams)[: row.counted_bigrams] if row.bigrams else words
            counted[row.scope, WORDS, sign].update(words)
            counted[row.scope, BIGRAMS, sign].update(bigrams)
            total = found.scopes[row.scope]
            total[0] += sign
            total[1] += sign * shortness(row.length)
            total[2] += sign * shortness(row.bigram_length)
            if row.thread.startswith(CONVERSATION):
                for term, count in zip(words, row.word_counts, strict=False):
                    found.conversation_terms[row.scope, row.thread, term] += sign * count
                length = found.conversation_lengths[row.scope, row.thread]
                length[0] += sign * row.length
                length[1] += sign
    for (scope, kind, sign), counts in counted.items():
        for term, count in counts.items():
            found.document_frequencies[scope, kind, term] += sign * count
    return found


def changed_only(old: Iterable[Features], new: Iterable[Features]) -> tuple[list[Features], list[Features]]:
    """(removed, added) without the rows that do not change, which are most of a batch that is applied twice."""
    before = {row.entry_id: row for row in old}
    after = {row.entry_id: row for row in new}
    same = {entry_id for entry_id, row in after.items() if before.get(entry_id) == row}
    return (
        [row for row in before.values() if row.entry_id not in same],
        [row for row in after.values() if row.entry_id not in same],
    )


def _thread(entry: MemoryEntry) -> str:
    """The thread of an entry; entries of one thread are neighbours.

    The entries of a conversation are one thread, and so are all entries of which it is known when they happened. Any
    other entry is alone, because the time of storing says nothing about its subject.
    """
    if entry.conversation_id is not None:
        return CONVERSATION + entry.conversation_id
    return TIMED if entry.occurred_at is not None else ALONE + entry.id


def _position(entry: MemoryEntry) -> int:
    if entry.memory_type == REFLECTION_TYPE:
        # Behind all others, so that it stands between no two of them.
        return _LAST_POSITION
    return _NO_POSITION if entry.position is None else entry.position


def _packed(counting: Sequence[str], others: Sequence[str]) -> tuple[bytes, bytes, int]:
    """Distinct term ids and their counts; those with statistics come first."""
    # Not by `Counter`, which takes longer for as few terms as most texts have.
    counts: dict[int, int] = {}
    for term in map(term_id, counting):
        counts[term] = counts.get(term, 0) + 1
    counted = len(counts)
    if others:
        rest: dict[int, int] = {}
        for term in map(term_id, others):
            if term not in counts:
                rest[term] = rest.get(term, 0) + 1
        counts.update(rest)
    try:
        packed = bytes(counts.values())
    except ValueError:
        packed = bytes(min(count, _MAX_COUNT) for count in counts.values())
    return array("I", counts).tobytes(), packed, counted


def term_row(scope: str, thread: str, event_time: int, entry_id: str, terms: Sequence[Any]) -> TermRow:
    """A stored text for the scorer. `terms` are the columns from `length` to `bigram_counts`."""
    length, bigram_length, question, words, word_counts, bigrams, bigram_counts = terms
    return TermRow(
        scope,
        thread,
        event_time,
        entry_id,
        length,
        bigram_length,
        question,
        words,
        word_counts,
        bigrams or words,
        bigram_counts or word_counts,
    )

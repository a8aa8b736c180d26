"""What the scorer needs to know of a text, as values: the same for every engine that keeps it.

For each entry its terms with counts, its length, its time and its place in the conversation; and, from entries that go
and entries that come, the differences of all the numbers that are kept about scopes and conversations.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from jiyi.model import clock
from jiyi.model.bm25 import LENGTH_FLOOR
from jiyi.model.entry import MemoryEntry
from jiyi.ports import ALONE, CONVERSATION, TIMED, TermRow
from jiyi.text import question_share

if TYPE_CHECKING:
    from jiyi.text import Analysis, Analyzer

UNIT = 1 << 32
"""What lengths are divided into: see `shortness`."""
WORDS, BIGRAMS, CONVERSATIONS = 0, 1, 2
"""What a document frequency is about: texts by words, texts by pairs of characters, conversations by words."""

_MAX_COUNT = 255
_NO_POSITION = -1


@lru_cache(maxsize=1 << 17)
def term_id(term: str) -> int:
    """A number for a term. 32 bits: two terms of one question meet once in a few hundred million texts."""
    return int.from_bytes(blake2b(term.encode("utf-8", "surrogatepass"), digest_size=4).digest(), "little")


@dataclass(frozen=True, slots=True)
class Analysed:
    """An entry with the terms of its text."""

    entry: MemoryEntry
    analysis: Analysis
    labels: tuple[str, ...]
    """Terms of the key and the tags: they are found like words of the text, and add nothing to its length."""
    digest: str


def analyse(analyzer: Analyzer, entry: MemoryEntry) -> Analysed:
    """The terms of an entry: those of its text, and those of what it is called."""
    labels = (word for label in entry.labels for word in analyzer.analyze(label).words)
    return Analysed(entry, analyzer.analyze(entry.content), tuple(labels), entry.index_hash())


@dataclass(slots=True)
class Features:
    """One text, as it is kept for the scorer."""

    scope: str
    thread: str
    """What it stands in line with: see `_thread`."""
    position: int
    """Order in the conversation, -1 where only the time tells."""
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
    """Empty where they are the same as the words."""
    bigram_counts: bytes
    counted: int
    """How many of the words have statistics."""
    counted_bigrams: int

    @property
    def in_conversation(self) -> bool:
        """Whether its thread is a conversation."""
        return self.thread.startswith(CONVERSATION)


def features_of(analysed: Analysed) -> Features:
    """What is kept of an entry."""
    entry, analysis = analysed.entry, analysed.analysis
    words, word_counts, counted = _packed(
        (*analysis.words[: analysis.length], *analysed.labels), analysis.words[analysis.length :]
    )
    if analysis.has_han:
        bigrams, bigram_counts, counted_bigrams = _packed(
            analysis.bigrams[: analysis.bigram_length], analysis.bigrams[analysis.bigram_length :]
        )
    else:
        # Without Han the pairs are the words: not kept twice.
        bigrams, bigram_counts, counted_bigrams = b"", b"", 0
    return Features(
        scope=entry.scope,
        thread=_thread(entry),
        position=_NO_POSITION if entry.position is None else entry.position,
        event_time=clock.microseconds(entry.event_time),
        entry_id=entry.id,
        hash=analysed.digest,
        length=analysis.length,
        bigram_length=analysis.bigram_length,
        question_share=question_share(entry.content),
        words=words,
        word_counts=word_counts,
        bigrams=bigrams,
        bigram_counts=bigram_counts,
        counted=counted,
        counted_bigrams=counted_bigrams,
    )


def shortness(length: int) -> int:
    """The reciprocal of a length, as a whole number: sums of such can be taken apart again without an error."""
    return UNIT // max(length, LENGTH_FLOOR)


def mean_length(count: int, shortness_sum: int) -> float:
    """The harmonic mean: a few very long texts say little about what a usual one is like."""
    return count * UNIT / shortness_sum if shortness_sum else float(LENGTH_FLOOR)


@dataclass(slots=True)
class Differences:
    """How the numbers change when some texts go and others come."""

    terms: Counter[tuple[str, int, int]] = field(default_factory=Counter)
    """(scope, which frequency, term) -> change."""
    totals: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0, 0]))
    """Scope -> entries, shortness, shortness by pairs."""
    spoken: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    """(scope, conversation, term) -> change."""
    lengths: defaultdict[tuple[str, str], list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    """(scope, conversation) -> length, entries."""


def differences(gone: Sequence[Features], come: Sequence[Features]) -> Differences:
    """What changes in the numbers of scopes and conversations."""
    found = Differences()
    counted: defaultdict[tuple[str, int, int], Counter[int]] = defaultdict(Counter)
    for rows, sign in ((gone, -1), (come, 1)):
        for row in rows:
            words = array("I", row.words)[: row.counted]
            bigrams = array("I", row.bigrams)[: row.counted_bigrams] if row.bigrams else words
            counted[row.scope, WORDS, sign].update(words)
            counted[row.scope, BIGRAMS, sign].update(bigrams)
            total = found.totals[row.scope]
            total[0] += sign
            total[1] += sign * shortness(row.length)
            total[2] += sign * shortness(row.bigram_length)
            if row.in_conversation:
                for term, count in zip(words, row.word_counts, strict=False):
                    found.spoken[row.scope, row.thread, term] += sign * count
                length = found.lengths[row.scope, row.thread]
                length[0] += sign * row.length
                length[1] += sign
    for (scope, which, sign), counts in counted.items():
        for term, count in counts.items():
            found.terms[scope, which, term] += sign * count
    return found


def changed_only(old: Iterable[Features], new: Iterable[Features]) -> tuple[list[Features], list[Features]]:
    """(gone, come) without what is the same before and after: that is most of a batch applied for the second time."""
    before = {row.entry_id: row for row in old}
    after = {row.entry_id: row for row in new}
    same = {entry_id for entry_id, row in after.items() if before.get(entry_id) == row}
    return (
        [row for row in before.values() if row.entry_id not in same],
        [row for row in after.values() if row.entry_id not in same],
    )


def _thread(entry: MemoryEntry) -> str:
    """Entries of one thread are each other's neighbours.

    Those of a conversation; those of which it is known when they happened; and any other entry only with itself,
    because when it was stored says nothing about what it is about.
    """
    if entry.conversation_id is not None:
        return CONVERSATION + entry.conversation_id
    return TIMED if entry.occurred_at is not None else ALONE + entry.id


def _packed(counting: Sequence[str], others: Sequence[str]) -> tuple[bytes, bytes, int]:
    """Distinct term ids and their counts; those that count for statistics come first."""
    counted = Counter(map(term_id, counting))
    rest = Counter(map(term_id, others))
    for term in rest.keys() & counted.keys():
        del rest[term]
    ids = array("I", counted)
    ids.extend(rest)
    counts = [*counted.values(), *rest.values()]
    if max(counts, default=0) > _MAX_COUNT:
        counts = [min(count, _MAX_COUNT) for count in counts]
    return ids.tobytes(), bytes(counts), len(counted)


def term_row(scope: str, thread: str, event_time: int, entry_id: str, terms: Sequence[Any]) -> TermRow:
    """What the scorer is shown of a stored text. `terms` are the columns from `length` to `bigram_counts`.

    Where the pairs of characters are the words, they are stored once.
    """
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

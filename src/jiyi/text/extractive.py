"""Summaries without a model: the sentences that say most, word for word, in their order.

A sentence is worth what its words are worth: how often the texts come back to them, and how rare they are. A word that
is in the summary already is worth half as much, so each sentence that is added says something new. Figures, dates and
what somebody asks to remember or decides count more; questions less; greetings and thanks nothing.

A summary of a conversation also has to cover all of it: its stretches take turns, later ones a little more often, and
what was corrected later is left out.
"""

from __future__ import annotations

import bisect
import heapq
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from jiyi.text.analysis import Analyzer
from jiyi.text.normalize import fold
from jiyi.text.patterns import WEEKDAY
from jiyi.text.sentences import sentences, split_chunks
from jiyi.text.statements.about.attributes import read_attribute
from jiyi.text.statements.keeping.smalltalk import is_small_talk
from jiyi.text.token_count import cut_to_tokens

if TYPE_CHECKING:
    from jiyi.ports import TokenCounter

__all__ = ["summarize", "summarize_conversation"]

_MAX_SENTENCE: Final = 300  # columns; a longer sentence is taken in pieces
_SAME: Final = 0.75  # of the words of the shorter sentence: the same said twice
_CUES: Final = re.compile(
    r"\d|%|记住|记得|别忘|决定|选择|采用|改成|改为|必须|一定要|不要|不能|过敏|喜欢|讨厌|总是|以后|截止|之前|因为|所以|结论|总之|计划|打算|负责"
    r"|\b(?:remember|don'?t forget|decid\w+|chose|choose|agreed?|will use|must|never|always|prefer\w*|allerg\w+"
    r"|deadline|because|therefore|in summary|plan\w*|responsible|moved|name is|born|instead)\b"
)
_CORRECTS: Final = re.compile(
    r"更正|纠正|改成|改为|改到|改在|换成|推迟到|提前到|其实|不再|说错|搞错|不是.{1,20}而是|取消"
    r"|\b(?:actually|correction|instead|no longer|not any ?more|i was wrong|i meant|changed? (?:it )?(?:to|from)"
    r"|moved (?:it )?to|postponed (?:to|until)|rescheduled|cancel\w*)\b"
)
_CORRECTED: Final = 0.5  # of the words of the older sentence: the correction is about the same
_FIGURE: Final = re.compile(  # figures and times: what a correction changes
    r"\d|\A(?:周|星期|礼拜)|[一二三四五六七八九十百千两几半]+(?:点|号|月|日|天|年|周|元|块|个|万|分)|上午|下午|晚上|早上|今天|明天|后天|昨天"
    rf"|\A{WEEKDAY}\Z|\A(?:januari|februari|april|juli|septemb|octob|novemb|decemb)"
)
_OWN: Final = re.compile(r"\b(?:[Ii]|[Mm]y|[Cc]all me)\b|我")
_ASKS: Final = re.compile(r"[?？][\W_]*\Z")

# How much of the summary belongs to a place in the conversation (0 its beginning, 1 its end): _BASE + _SLOPE * place,
# which makes 1 over all of it. The last third has about 1.5 times as much as the first.
_BASE: Final = 0.7
_SLOPE: Final = 0.6
_MAX_STRETCHES: Final = 6
_MIN_THIRDS: Final = 75  # with fewer tokens there is not room for a sentence from each third
_STRETCH_TOKENS: Final = 50  # room for two sentences or more: with one alone, gaps would open as the conversation grows


@dataclass(frozen=True, slots=True)
class _Source:
    """A text, and what its sentences are worth more or less than others."""

    text: str
    factor: float
    place: float = 0.0
    """Where in the conversation it was said, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class _Sentence:
    number: int
    text: str
    terms: tuple[str, ...]
    figures: frozenset[str]
    factor: float
    tokens: int
    place: float


def summarize(texts: Sequence[str], *, max_tokens: int, counter: TokenCounter) -> str:
    """The most telling sentences of the texts, one a line, in their order, in at most `max_tokens`.

    Every line stands in the sources as it is; only when not even one sentence fits, the best one is cut. Empty only if
    the sources have no words or the limit is too small for any.
    """
    # What was said last is a little nearer to what comes next.
    sources = [_Source(text, 0.9 + 0.2 * number / len(texts)) for number, text in enumerate(texts)]
    found = list(_sentences(sources, counter))
    return _joined(_choose([(1.0, found)], _SentenceScorer(found), max_tokens), found, max_tokens, counter)


def summarize_conversation(texts: Sequence[tuple[str, float]], *, max_tokens: int, counter: TokenCounter) -> str:
    """The summary of a conversation: (text, place) from its beginning (0) to its end (1), in order.

    What was said long ago may be given as the lines of the previous summary. Every stretch of the conversation is
    represented, as far as there is room; the form of the result is that of `summarize`.
    """
    found = list(_sentences([_Source(text, 1.0, place) for text, place in texts], counter))
    current = _without_corrected(found)
    count = min(_MAX_STRETCHES, max(max_tokens // _STRETCH_TOKENS, 3 if max_tokens >= _MIN_THIRDS else 1))
    stretches: list[list[_Sentence]] = [[] for _ in range(count)]
    for sentence in current:
        stretches[min(max(int(sentence.place * count), 0), count - 1)].append(sentence)
    shares = [_share((number + 1) / count) - _share(number / count) for number in range(count)]
    # As far apart as the sentences would be if all were of the same length.
    gap = sum(sentence.tokens for sentence in current) / max(len(current), 1) / max(max_tokens, 1)
    chosen = _choose(list(zip(shares, stretches, strict=True)), _SentenceScorer(current, gap=gap), max_tokens)
    return _joined(chosen, current, max_tokens, counter)


def _share(place: float) -> float:
    """How much of a summary stands for the conversation up to a place."""
    return _BASE * place + _SLOPE / 2 * place * place


def _joined(chosen: list[_Sentence], found: Sequence[_Sentence], max_tokens: int, counter: TokenCounter) -> str:
    while chosen:
        summary = "\n".join(sentence.text for sentence in sorted(chosen, key=lambda s: s.number))
        if counter.count(summary) <= max_tokens:
            return summary
        chosen.pop()  # the last one chosen is worth least
    best = max(found, key=_SentenceScorer(found).score, default=None)
    return cut_to_tokens(best.text, max_tokens, counter).rstrip() if best is not None else ""


def _without_corrected(found: Sequence[_Sentence]) -> list[_Sentence]:
    """Without sentences that a later one corrects: by its words, or by another value of the same attribute."""
    corrected: set[int] = set()
    using: dict[str, list[int]] = defaultdict(list)
    values: dict[tuple[str, str], tuple[int, str]] = {}
    for index, sentence in enumerate(found):
        if _CORRECTS.search(fold(sentence.text)):
            shared = Counter(older for term in sentence.terms for older in using[term])
            corrected.update(
                older
                for older, count in shared.items()
                if count >= 2 and count >= _CORRECTED * len(set(found[older].terms) - found[older].figures)
            )
        for term in sentence.terms:
            if term not in sentence.figures:
                using[term].append(index)
        attribute = read_attribute(sentence.text) if _OWN.search(sentence.text) else None
        if attribute is not None:
            subject, name, value = attribute
            known = values.get((subject, name))
            if known is not None and fold(known[1]) != fold(value):
                corrected.add(known[0])
            values[subject, name] = (index, value)
    return [sentence for index, sentence in enumerate(found) if index not in corrected]


# --- sentences --------------------------------------------------------------------------------------------------------


def _sentences(sources: Iterable[_Source], counter: TokenCounter) -> Iterator[_Sentence]:
    """Each sentence once; small talk only if there is nothing else."""
    seen: set[str] = set()
    idle: list[tuple[int, str, _Source]] = []
    number = 0
    for source in sources:
        for index, sentence in enumerate(_pieces(source.text)):
            number += 1
            folded = fold(sentence)
            key = re.sub(r"[\W_]+", "", folded)
            if not key or key in seen:
                continue
            seen.add(key)
            if is_small_talk(sentence):
                idle.append((number, sentence, source))
                continue
            factor = source.factor * (1.15 if index == 0 else 1.0) * _form_factor(folded)
            yield _analyzed(number, sentence, factor, source, counter)
    if len(seen) == len(idle):
        for number, sentence, source in idle:
            yield _analyzed(number, sentence, 1.0, source, counter)


def _pieces(text: str) -> Iterator[str]:
    for sentence in sentences(text):
        if 2 * len(sentence) > _MAX_SENTENCE:
            yield from split_chunks(sentence, _MAX_SENTENCE)
        else:
            yield sentence


def _analyzed(number: int, sentence: str, factor: float, source: _Source, counter: TokenCounter) -> _Sentence:
    analysis = _analyzer().analyze(sentence)
    terms = tuple(dict.fromkeys(analysis.words[: analysis.length] or analysis.words))
    figures = frozenset(filter(_FIGURE.search, terms))
    return _Sentence(number, sentence, terms, figures, factor, counter.count(sentence) + 1, source.place)


@cache
def _analyzer() -> Analyzer:
    return Analyzer()


def _form_factor(folded: str) -> float:
    if _ASKS.search(folded):
        return 0.6
    return 1.35 if _CUES.search(folded) else 1.0


# --- choosing ---------------------------------------------------------------------------------------------------------


class _SentenceScorer:
    """Scores sentences by the weights of their words; lower, the nearer a chosen one is in the conversation."""

    def __init__(self, found: Sequence[_Sentence], *, gap: float = 0.0) -> None:
        self._gap = gap
        self._places: list[float] = []
        frequency = Counter(term for sentence in found for term in sentence.terms)
        total = len(found)
        self._words = {term: (1 + math.log(n)) * math.log(1 + total / n) for term, n in frequency.items()}

    def score(self, sentence: _Sentence) -> float:
        """The mean weight over a length that favours neither the shortest nor the longest sentences."""
        weight = sum(self._words[term] for term in sentence.terms)
        return sentence.factor * weight * self._distance(sentence.place) / math.sqrt(len(sentence.terms) + 6)

    def _distance(self, place: float) -> float:
        """From 0.3 beside a chosen sentence to 1 at a gap from all of them."""
        if not self._gap:
            return 1.0
        index = bisect.bisect(self._places, place)
        nearest = min((abs(place - other) for other in self._places[max(index - 1, 0) : index + 1]), default=self._gap)
        return 0.3 + 0.7 * min(nearest / self._gap, 1.0)

    def mark_chosen(self, sentence: _Sentence) -> None:
        """Halve the weights of the words of a sentence: they are in the summary now."""
        bisect.insort(self._places, sentence.place)
        for term in sentence.terms:
            self._words[term] /= 2


class _Queue:
    """The sentences of a stretch, the most telling first, and how much of the summary they have."""

    def __init__(self, share: float, found: Sequence[_Sentence], scorer: _SentenceScorer) -> None:
        self._share = share
        self._scorer = scorer
        self._heap = [(-scorer.score(sentence), sentence.number, sentence) for sentence in found]
        heapq.heapify(self._heap)
        self.spent = 0

    @property
    def saturation(self) -> float:
        """The tokens it has, measured by its share; the stretch with the least is next."""
        return self.spent / self._share

    def pop(self) -> _Sentence | None:
        """The most telling sentence. Scores only fall, so it is enough to compute the top of the heap again."""
        heap = self._heap
        while heap:
            _, number, sentence = heap[0]
            now = -self._scorer.score(sentence)
            if now > min((entry[0] for entry in heap[1:3]), default=0.0):
                heapq.heapreplace(heap, (now, number, sentence))
                continue
            heapq.heappop(heap)
            return sentence
        return None


def _choose(
    stretches: Sequence[tuple[float, Sequence[_Sentence]]], scorer: _SentenceScorer, max_tokens: int
) -> list[_Sentence]:
    """Sentences that fit together, in the order of choice; the stretches (share, sentences) take turns."""
    queues = [_Queue(share, found, scorer) for share, found in stretches]
    # Among stretches that have nothing yet: the last, the first, the middle, then the others.
    waiting = sorted(range(len(queues)), key=lambda n: (n != len(queues) - 1, n != 0, n != len(queues) // 2, n))
    chosen: list[_Sentence] = []
    said: dict[str, list[int]] = {}
    left = max_tokens
    shortest = min((sentence.tokens for _, found in stretches for sentence in found), default=0)
    while waiting and left >= shortest:
        turn = min(waiting, key=lambda n: queues[n].saturation)
        sentence = queues[turn].pop()
        if sentence is None:
            waiting.remove(turn)
            continue
        if sentence.tokens > left or _is_said(sentence, chosen, said):
            continue
        for term in sentence.terms:
            said.setdefault(term, []).append(len(chosen))
        chosen.append(sentence)
        scorer.mark_chosen(sentence)
        queues[turn].spent += sentence.tokens
        left -= sentence.tokens
    return chosen


def _is_said(sentence: _Sentence, chosen: Sequence[_Sentence], said: dict[str, list[int]]) -> bool:
    """Whether the summary has a sentence with almost the same words and the same figures."""
    shared = Counter(number for term in sentence.terms for number in said.get(term, ()))
    return any(
        count >= _SAME * min(len(sentence.terms), len(chosen[number].terms))
        and count >= 0.5 * max(len(sentence.terms), len(chosen[number].terms))
        and sentence.figures == chosen[number].figures
        for number, count in shared.items()
    )

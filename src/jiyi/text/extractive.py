"""Summaries without a model: the sentences that say most, word for word, in their order.

A sentence is worth what its words are worth: how often the texts come back to them, and how rare they are. A word that
is in the summary already is worth half as much, so each sentence that is added says something new. Figures, dates and
what somebody asks to remember or decides count more; questions less; greetings and thanks nothing.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from jiyi.text.analysis import Analyzer
from jiyi.text.normalize import fold
from jiyi.text.sentences import sentences, split_chunks
from jiyi.text.smalltalk import is_small_talk
from jiyi.text.token_count import cut_to_tokens

if TYPE_CHECKING:
    from jiyi.ports import TokenCounter

__all__ = ["summarize"]

_LONGEST: Final = 300  # columns; a longer sentence is taken in pieces
_ALIKE: Final = 0.75  # of the words of the shorter: the same said twice
_CUES: Final = re.compile(
    r"\d|%|记住|记得|别忘|决定|选择|采用|改成|改为|必须|一定要|不要|不能|过敏|喜欢|讨厌|总是|以后|截止|之前|因为|所以|结论|总之|计划|打算|负责"
    r"|\b(?:remember|don'?t forget|decid\w+|chose|choose|agreed?|will use|must|never|always|prefer\w*|allerg\w+"
    r"|deadline|because|therefore|in summary|plan\w*|responsible|moved|name is|born|instead)\b"
)
_ASKS: Final = re.compile(r"[?？][\W_]*\Z")


@dataclass(frozen=True, slots=True)
class _Sentence:
    place: int
    text: str
    terms: tuple[str, ...]
    factor: float
    tokens: int


def summarize(texts: Sequence[str], *, max_tokens: int, counter: TokenCounter, previous: str | None = None) -> str:
    """The most telling sentences of `previous` and `texts`, one a line, in their order, in at most `max_tokens`.

    Every line stands in the sources as it is; only when not even one sentence fits, the best one is cut. Empty only if
    the sources have no words or the limit is too small for any.
    """
    found = list(_sentences(texts, previous, counter))
    chosen = _choose(found, max_tokens)
    while chosen:
        summary = "\n".join(sentence.text for sentence in sorted(chosen, key=lambda s: s.place))
        if counter.count(summary) <= max_tokens:
            return summary
        chosen.pop()  # the last one chosen is worth least
    best = _best(found)
    return cut_to_tokens(best.text, max_tokens, counter).rstrip() if best is not None else ""


def _sentences(texts: Sequence[str], previous: str | None, counter: TokenCounter) -> Iterator[_Sentence]:
    """Each sentence once; small talk only if there is nothing else."""
    seen: set[str] = set()
    idle: list[tuple[int, str]] = []
    place = 0
    sources = [(previous, 1.8)] if previous else []
    # What was said last is a little nearer to what comes next.
    sources += [(text, 0.9 + 0.2 * number / max(1, len(texts))) for number, text in enumerate(texts)]
    for text, factor in sources:
        for number, sentence in enumerate(_pieces(text)):
            place += 1
            folded = fold(sentence)
            key = re.sub(r"[\W_]+", "", folded)
            if not key or key in seen:
                continue
            seen.add(key)
            if is_small_talk(sentence):
                idle.append((place, sentence))
                continue
            weight = factor * (1.15 if number == 0 else 1.0) * _form_factor(folded)
            yield _made(place, sentence, weight, counter)
    if len(seen) == len(idle):
        for place, sentence in idle:
            yield _made(place, sentence, 1.0, counter)


def _pieces(text: str) -> Iterator[str]:
    for sentence in sentences(text):
        if 2 * len(sentence) > _LONGEST:
            yield from split_chunks(sentence, _LONGEST)
        else:
            yield sentence


def _made(place: int, sentence: str, factor: float, counter: TokenCounter) -> _Sentence:
    analysis = _analyzer().analyze(sentence)
    terms = tuple(dict.fromkeys(analysis.words[: analysis.length] or analysis.words))
    return _Sentence(place, sentence, terms, factor, counter.count(sentence) + 1)


@cache
def _analyzer() -> Analyzer:
    return Analyzer()


def _form_factor(folded: str) -> float:
    if _ASKS.search(folded):
        return 0.6
    return 1.35 if _CUES.search(folded) else 1.0


class _Worth:
    """What the words of a set of sentences are worth."""

    def __init__(self, found: Sequence[_Sentence]) -> None:
        frequency = Counter(term for sentence in found for term in sentence.terms)
        total = len(found)
        self.words = {term: (1 + math.log(n)) * math.log(1 + total / n) for term, n in frequency.items()}

    def of(self, sentence: _Sentence) -> float:
        """The mean over a length that favours neither the shortest nor the longest sentences."""
        worth = sum(self.words[term] for term in sentence.terms)
        return sentence.factor * worth / math.sqrt(len(sentence.terms) + 6)

    def say(self, sentence: _Sentence) -> None:
        """What has been said is worth half as much."""
        for term in sentence.terms:
            self.words[term] /= 2


def _choose(found: Sequence[_Sentence], max_tokens: int) -> list[_Sentence]:
    """Sentences that fit together, the most telling first. Worth only falls, so the top of the heap is recomputed."""
    worth = _Worth(found)
    heap = [(-worth.of(sentence), sentence.place, sentence) for sentence in found]
    heapq.heapify(heap)
    chosen: list[_Sentence] = []
    said: dict[str, list[int]] = {}
    left = max_tokens
    shortest = min((sentence.tokens for sentence in found), default=0)
    while heap and left >= shortest:
        _, place, sentence = heap[0]
        now = worth.of(sentence)
        if len(heap) > 1 and -now > heap[1][0] and -now > min(heap[1][0], heap[2][0] if len(heap) > 2 else 0.0):
            heapq.heapreplace(heap, (-now, place, sentence))
            continue
        heapq.heappop(heap)
        if sentence.tokens > left or _is_said(sentence, chosen, said):
            continue
        for term in sentence.terms:
            said.setdefault(term, []).append(len(chosen))
        chosen.append(sentence)
        worth.say(sentence)
        left -= sentence.tokens
    return chosen


def _is_said(sentence: _Sentence, chosen: Sequence[_Sentence], said: dict[str, list[int]]) -> bool:
    shared = Counter(number for term in sentence.terms for number in said.get(term, ()))
    return any(
        count >= _ALIKE * min(len(sentence.terms), len(chosen[number].terms))
        and count >= 0.5 * max(len(sentence.terms), len(chosen[number].terms))
        for number, count in shared.items()
    )


def _best(found: Sequence[_Sentence]) -> _Sentence | None:
    worth = _Worth(found)
    return max(found, key=worth.of, default=None)

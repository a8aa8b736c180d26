"""Analyzer: text into index terms, by the same rules for documents and queries.

There are two fields. `words` holds dictionary words of Chinese (and the words inside them), stems and whole identifiers
of other scripts. `bigrams` holds overlapping character pairs of unspaced scripts, and the same stems. Words decide the
ranking; bigrams find what the dictionary segments differently.

Some terms must be findable without influencing the ranking: stop words in `words`, single characters and pairs across
scripts (`c盘`) in `bigrams`. They follow the counted terms of a document. A query of one character or of stop words
only matches them; every other query ignores them.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from jiyi.errors import InvalidInputError
from jiyi.model.searched_text import CONTENT_ONLY, SearchedText
from jiyi.model.storable import LONE_SURROGATE
from jiyi.text.normalize import fold
from jiyi.text.stopwords import CHINESE
from jiyi.text.tokens import (
    HAN_OR_KANA,
    IDEOGRAPHS,
    KANA,
    MAX_TERM_LENGTH,
    PICTOGRAPH,
    WORD,
    TermSpan,
    locate_word_terms,
    runs,
    word_terms,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jiyi.text.tokens import Role

__all__ = ["RULES_VERSION", "Analysis", "Analyzer"]

RULES_VERSION: Final = "text6"
"""Raise this whenever a text gives other terms or another question share: indexes made by other rules are rebuilt."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """The terms of one text. No term is empty or has white space in it."""

    words: tuple[str, ...]
    """The counted terms, with repetitions in a document; in a document the stop words follow."""
    bigrams: tuple[str, ...]
    """The counted terms, with repetitions in a document; in a document the uncounted terms follow."""
    has_han: bool
    """Whether the text has Han, or another script that is searched by character pairs as well as by words."""
    length: int
    """How many of `words` are counted terms; they come first."""
    bigram_length: int
    """How many of `bigrams` are counted terms; they come first."""


_KEPT_QUERIES: Final = 256
_MAX_CACHED_QUERY: Final = 1_000
"""Longer queries are whole texts, which are not asked twice."""


class Analyzer:
    """Turns text into index terms. Safe to share between threads."""

    searched: SearchedText = CONTENT_ONLY
    """What of an entry is indexed."""

    def __init__(self, user_words: Iterable[str] = ()) -> None:
        """`user_words` are always segmented as words, regardless of the dictionary."""
        folded = sorted({_fold_user_word(word) for word in user_words})
        self._dictionary = tuple(word for word in folded if _is_plain_han(word))
        phrases = [word for word in folded if not _is_plain_han(word)]
        self._phrases = _phrase_pattern(phrases) if phrases else None
        self._stop_words = CHINESE.difference(folded)
        self._identity = f"{RULES_VERSION}-{_digest(folded)}" if folded else RULES_VERSION
        self._segmenter: _Segmenter | None = None
        self._loading = threading.Lock()
        self._short_query = lru_cache(maxsize=_KEPT_QUERIES)(self._query)

    @property
    def identity(self) -> str:
        """A short id of the rules and the user words; an index made under another id must be rebuilt."""
        return self._identity

    def analyze(self, text: str) -> Analysis:
        """The terms of a document."""
        terms = self._terms(fold(text))
        return Analysis(
            words=(*terms.words, *terms.stop_words),
            bigrams=(*terms.bigrams, *terms.mixed_pairs, *terms.characters),
            has_han=terms.has_han,
            length=len(terms.words),
            bigram_length=len(terms.bigrams),
        )

    def query(self, text: str) -> Analysis:
        """The terms of a query, each once. Stop words are dropped unless there are no other terms.

        The last ones are kept: an agent asks the same question in several rooms of one turn.
        """
        return self._short_query(text) if len(text) <= _MAX_CACHED_QUERY else self._query(text)

    def _query(self, text: str) -> Analysis:
        terms = self._terms(fold(text))
        words = tuple(dict.fromkeys(terms.words or terms.stop_words))
        bigrams = tuple(dict.fromkeys(terms.bigrams + terms.mixed_pairs))
        return Analysis(words, bigrams, terms.has_han, len(words), len(bigrams))

    def locate(self, folded: str) -> Iterator[TermSpan]:
        """Every term that `analyze` gives for the folded text, with its position. For highlighting; slower."""
        word_before: re.Match[str] | None = None
        for match in runs(folded).finditer(folded):
            run, kind, start = match[0], match.lastgroup, match.start()
            if kind == WORD:
                for term in locate_word_terms(run):
                    yield term._replace(start=start + term.start, end=start + term.end)
            elif kind == PICTOGRAPH:
                yield TermSpan(run, start, match.end())
            else:
                if kind == IDEOGRAPHS and word_before and (pair := _mixed_pair(word_before, match)):
                    yield TermSpan(pair, word_before.start(), start + 1)
                for word, begin, end in self._locate_words(run, kind):
                    role: Role = "stop word" if word in self._stop_words else "content"
                    yield TermSpan(word, start + begin, start + end, role)
                for i in range(start, match.end()):
                    yield TermSpan(folded[i], i, i + 1, "character" if len(run) > 1 else "content")
                for i in range(start, match.end() - 1):
                    yield TermSpan(folded[i : i + 2], i, i + 2)
            word_before = match if kind == WORD else None
        for match in self._phrases.finditer(folded) if self._phrases else ():
            yield TermSpan(_as_term(match[0]), match.start(), match.end())

    def _terms(self, folded: str) -> _Terms:
        words: list[str] = []
        stop_words: list[str] = []
        bigrams: list[str] = []
        mixed_pairs: list[str] = []
        characters: list[str] = []
        has_han = False
        word_before: re.Match[str] | None = None
        for match in runs(folded).finditer(folded):
            run, kind = match[0], match.lastgroup
            if kind == WORD:
                content, stop = word_terms(run)
                words += content
                bigrams += content
                stop_words += stop
                word_before = match
                continue
            if kind == PICTOGRAPH:
                words.append(run)
                bigrams.append(run)
            else:
                has_han = True
                if kind == IDEOGRAPHS and word_before and (pair := _mixed_pair(word_before, match)):
                    mixed_pairs.append(pair)
                for word in self._cut(run, kind):
                    (stop_words if word in self._stop_words else words).append(word)
                if len(run) == 1:
                    bigrams.append(run)
                else:
                    bigrams += map(str.__add__, run, run[1:])
                    characters += run
            word_before = None
        if self._phrases:
            words += [_as_term(match[0]) for match in self._phrases.finditer(folded)]
        return _Terms(words, stop_words, bigrams, mixed_pairs, characters, has_han)

    def _cut(self, run: str, kind: str | None) -> list[str]:
        if kind != IDEOGRAPHS:
            return [run[:MAX_TERM_LENGTH]]
        segmenter = self._segmenter or self._load_segmenter()
        if not KANA.search(run):
            return segmenter.cut_for_search(run)
        return [word for word, _, _ in self._locate_words(run, kind)]

    def _locate_words(self, run: str, kind: str | None) -> Iterator[tuple[str, int, int]]:
        if kind != IDEOGRAPHS:
            yield run[:MAX_TERM_LENGTH], 0, len(run)
            return
        segmenter = self._segmenter or self._load_segmenter()
        for piece in HAN_OR_KANA.finditer(run):
            if KANA.match(piece[0]):
                yield piece[0][:MAX_TERM_LENGTH], piece.start(), piece.end()
            else:
                for word, begin, end in segmenter.tokenize(piece[0], "search"):
                    yield word, piece.start() + begin, piece.start() + end

    def _load_segmenter(self) -> _Segmenter:
        """Loading the dictionary takes 0.1 s, so it is deferred to the first Han text."""
        with self._loading:
            if self._segmenter is None:
                import rjieba

                if self._dictionary:
                    own = rjieba.Jieba()
                    for word in self._dictionary:
                        own.add_word(word, None, None)
                    self._segmenter = own
                else:
                    self._segmenter = rjieba
            return self._segmenter


class _Terms(NamedTuple):
    words: list[str]
    stop_words: list[str]
    bigrams: list[str]
    mixed_pairs: list[str]
    characters: list[str]
    has_han: bool


class _Segmenter(Protocol):
    """The part of `rjieba.Jieba` used here."""

    def cut_for_search(self, text: str, /) -> list[str]: ...

    def tokenize(self, text: str, mode: str, /) -> list[tuple[str, int, int]]: ...


_MAX_MIXED_WORD: Final = 4


def _mixed_pair(word: re.Match[str], ideographs: re.Match[str]) -> str | None:
    """C盘, A股, 5月: a short word and the ideograph after it, whether or not a space is typed between them."""
    gap = ideographs.start() - word.end()
    if gap > 1 or (gap == 1 and word.string[word.end()] != " "):
        return None
    short = word[0]
    return short + ideographs[0][0] if len(short) <= _MAX_MIXED_WORD and short.isalnum() else None


def _fold_user_word(word: str) -> str:
    folded = " ".join(fold(word).split())
    if not runs(folded).search(folded) or len(folded) > MAX_TERM_LENGTH or LONE_SURROGATE.search(folded):
        raise InvalidInputError(
            f"the user word {word[:50]!r} cannot be indexed: give words that have letters or digits "
            f"and at most {MAX_TERM_LENGTH} characters"
        )
    return folded


def _digest(words: list[str]) -> str:
    from hashlib import blake2b

    return blake2b("\n".join(words).encode(), digest_size=6).hexdigest()


def _is_plain_han(word: str) -> bool:
    match = runs(word).fullmatch(word)
    return match is not None and match.lastgroup == IDEOGRAPHS and not KANA.search(word)


def _phrase_pattern(words: Iterable[str]) -> re.Pattern[str]:
    """Matches user words that are not plain Han: the longest first, not inside longer Latin words."""
    patterns = []
    for word in sorted(words, key=lambda word: (-len(word), word)):
        before = "(?<![a-z0-9])" if word[0].isascii() and word[0].isalnum() else ""
        after = "(?![a-z0-9])" if word[-1].isascii() and word[-1].isalnum() else ""
        patterns.append(before + r"\s+".join(map(re.escape, word.split())) + after)
    return re.compile("|".join(patterns))


def _as_term(phrase: str) -> str:
    return "_".join(phrase.split())

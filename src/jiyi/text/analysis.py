"""Text into index terms, by the same rules for what is stored and what is asked.

Two fields. `words`: Chinese by dictionary words (and the words inside them), other scripts by stems and whole
identifiers. `bigrams`: overlapping pairs of the characters of unspaced scripts, and again the stems. Words rank,
pairs catch what the dictionary cuts differently.

What must be findable but must not weigh on the ranking follows the counted terms in a document: stop words in
`words`, single characters in `bigrams`. So a query of one character finds it inside any word, and a query of stop
words alone finds them; every other query ignores both.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Protocol

from jiyi.errors import InvalidInputError
from jiyi.text.normalize import fold
from jiyi.text.stopwords import CHINESE
from jiyi.text.tokens import (
    IDEOGRAPHS,
    KANA,
    MAX_TERM_LENGTH,
    PICTOGRAPH,
    RUN,
    WORD,
    PlacedTerm,
    place_word_terms,
    word_terms,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Analysis", "Analyzer"]

RULES_VERSION: Final = "text1"
"""Raise this whenever the same text gives other terms than before: indexes made by other rules are rebuilt."""


_HAN_OR_KANA: Final = re.compile(f"{KANA.pattern}|{KANA.pattern.replace('[', '[^')}")


class _Segmenter(Protocol):
    """The part of `rjieba.Jieba` used here."""

    def cut_for_search(self, text: str) -> list[str]: ...

    def tokenize(self, text: str, mode: str) -> list[tuple[str, int, int]]: ...


@dataclass(frozen=True, slots=True)
class Analysis:
    """The terms of one text. No term is empty or has white space in it."""

    words: tuple[str, ...]
    """The counted terms with repetitions (a query: without), then in a document its stop words."""
    bigrams: tuple[str, ...]
    """The counted terms with repetitions (a query: without), then in a document its single characters."""
    has_han: bool
    """Whether the text has Han, or another script that is searched by character pairs as well as by words."""
    length: int
    """How many of `words` count as the length of the text; they come first."""
    bigram_length: int
    """How many of `bigrams` count as the length of the text; they come first."""


class Analyzer:
    """Turns text into index terms; the same rules for documents and queries. Safe to share between threads."""

    def __init__(self, user_words: Iterable[str] = ()) -> None:
        """`user_words` are taken as words wherever they stand, whatever the dictionary says."""
        folded = sorted({" ".join(fold(word).split()) for word in user_words} - {""})
        for word in folded:
            if not RUN.search(word) or len(word) > MAX_TERM_LENGTH or not _is_encodable(word):
                raise InvalidInputError(
                    f"the user word {word[:50]!r} cannot be indexed: give words with letters or digits, "
                    f"of at most {MAX_TERM_LENGTH} characters"
                )
        self._dictionary = [word for word in folded if _is_one_run(word)]
        mixed = [word for word in folded if not _is_one_run(word)]
        self._phrases = _phrase_pattern(mixed) if mixed else None
        self._stop_words = CHINESE.difference(folded)
        digest = blake2b("\n".join(folded).encode(), digest_size=6).hexdigest()
        self._identity = f"{RULES_VERSION}-{digest}" if folded else RULES_VERSION
        self._segmenter: _Segmenter | None = None
        self._loading = threading.Lock()

    @property
    def identity(self) -> str:
        """A short id of the rules and the user words; an index made under another id must be rebuilt."""
        return self._identity

    def analyze(self, text: str) -> Analysis:
        """The terms of a text that is stored."""
        words, stop_words, bigrams, characters, has_han = self._terms(fold(text))
        return Analysis(
            words=(*words, *stop_words),
            bigrams=(*bigrams, *characters),
            has_han=has_han,
            length=len(words),
            bigram_length=len(bigrams),
        )

    def query(self, text: str) -> Analysis:
        """The terms to look for. Stop words are dropped unless there is nothing else."""
        words, stop_words, bigrams, _, has_han = self._terms(fold(text))
        asked = tuple(dict.fromkeys(words or stop_words))
        pairs = tuple(dict.fromkeys(bigrams))
        return Analysis(asked, pairs, has_han, len(asked), len(pairs))

    def place(self, folded: str) -> Iterator[PlacedTerm]:
        """Every term of a folded text with its place, single characters included. Slower than `analyze`."""
        for match in RUN.finditer(folded):
            run, kind, start = match[0], match.lastgroup, match.start()
            if kind == WORD:
                yield from (_moved(term, start) for term in place_word_terms(run))
            elif kind == PICTOGRAPH:
                yield PlacedTerm(run, start, match.end())
            else:
                words = (
                    self._place_words(run) if kind == IDEOGRAPHS else [(run[:MAX_TERM_LENGTH], 0, len(run))]
                )
                for word, begin, end in words:
                    yield PlacedTerm(word, start + begin, start + end, word in self._stop_words)
                for i in range(len(run)):
                    yield PlacedTerm(run[i], start + i, start + i + 1)
                    yield PlacedTerm(run[i : i + 2], start + i, min(start + i + 2, match.end()))
        for match in self._phrases.finditer(folded) if self._phrases else ():
            yield PlacedTerm(_as_term(match[0]), match.start(), match.end())

    def _terms(self, folded: str) -> tuple[list[str], list[str], list[str], list[str], bool]:
        words: list[str] = []
        stop_words: list[str] = []
        bigrams: list[str] = []
        characters: list[str] = []
        has_han = False
        for match in RUN.finditer(folded):
            run, kind = match[0], match.lastgroup
            if kind == WORD:
                content, stop = word_terms(run)
                words += content
                bigrams += content
                stop_words += stop
            elif kind == PICTOGRAPH:
                words.append(run)
                bigrams.append(run)
            else:
                has_han = True
                for word in self._cut(run) if kind == IDEOGRAPHS else (run[:MAX_TERM_LENGTH],):
                    (stop_words if word in self._stop_words else words).append(word)
                if len(run) == 1:
                    bigrams.append(run)
                else:
                    bigrams += map(str.__add__, run, run[1:])
                    characters += run
        for match in self._phrases.finditer(folded) if self._phrases else ():
            words.append(_as_term(match[0]))
        return words, stop_words, bigrams, characters, has_han

    def _cut(self, run: str) -> list[str]:
        segmenter = self._segmenter or self._load_segmenter()
        if not KANA.search(run):
            return segmenter.cut_for_search(run)
        words: list[str] = []
        for piece in _HAN_OR_KANA.findall(run):
            words += [piece[:MAX_TERM_LENGTH]] if KANA.match(piece) else segmenter.cut_for_search(piece)
        return words

    def _place_words(self, run: str) -> Iterator[tuple[str, int, int]]:
        segmenter = self._segmenter or self._load_segmenter()
        for piece in _HAN_OR_KANA.finditer(run):
            if KANA.match(piece[0]):
                yield piece[0][:MAX_TERM_LENGTH], piece.start(), piece.end()
            else:
                for word, begin, end in segmenter.tokenize(piece[0], "search"):
                    yield word, piece.start() + begin, piece.start() + end

    def _load_segmenter(self) -> _Segmenter:
        """The dictionary takes a tenth of a second to load: only when the first Han text comes."""
        with self._loading:
            if self._segmenter is None:
                import rjieba

                segmenter = rjieba.Jieba() if self._dictionary else rjieba._DEFAULT_JIEBA
                for word in self._dictionary:
                    segmenter.add_word(word, None, None)
                self._segmenter = segmenter
            return self._segmenter


def _moved(term: PlacedTerm, by: int) -> PlacedTerm:
    return PlacedTerm(term.term, term.start + by, term.end + by, term.is_stop_word)


def _is_one_run(word: str) -> bool:
    match = RUN.fullmatch(word)
    return match is not None and match.lastgroup == IDEOGRAPHS and not KANA.search(word)


def _as_term(phrase: str) -> str:
    return "_".join(phrase.split())


def _phrase_pattern(words: Iterable[str]) -> re.Pattern[str]:
    """Finds user words that are no plain Han, the longest first, not inside longer Latin words."""
    patterns = []
    for word in sorted(words, key=len, reverse=True):
        body = r"\s+".join(map(re.escape, word.split()))
        before = "(?<![a-z0-9])" if word[0].isascii() and word[0].isalnum() else ""
        after = "(?![a-z0-9])" if word[-1].isascii() and word[-1].isalnum() else ""
        patterns.append(before + body + after)
    return re.compile("|".join(patterns))


def _is_encodable(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True

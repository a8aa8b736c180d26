"""Splits folded text into runs, and words of spaced scripts into terms.

A run is a substring that one rule applies to: ideographs (Han and kana), letters of other scripts written
without spaces, a word, or a pictograph. A word keeps the punctuation inside an identifier (`cn-a10293`,
`v2.3.1`, `a@b.com`, `c++`); `word_terms` gives its whole and its parts.
"""

from __future__ import annotations

import re
import threading
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol, TypeAlias
from unicodedata import category, normalize

from jiyi.text.irregular import BASE_FORMS
from jiyi.text.stopwords import CONTRACTION_TAILS, ENGLISH

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "HAN_OR_KANA",
    "IDEOGRAPHS",
    "KANA",
    "MAX_TERM_LENGTH",
    "PICTOGRAPH",
    "UNSPACED",
    "WORD",
    "Role",
    "TermSpan",
    "WordTerms",
    "locate_word_terms",
    "runs",
    "stands_in_word",
    "word_terms",
]

MAX_TERM_LENGTH: Final = 200
"""Longer terms (encoded blobs, very long identifiers) are truncated, because indexes limit the length of terms."""

_HAN: Final = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA: Final = "\u3041-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff"
# Hangul, Thai, Lao, Tibetan, Myanmar, Khmer: words are not separated, or have endings, so substrings must match.
_OTHER_UNSPACED: Final = (
    "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0eff\u0f20-\u0f33\u0f40-\u0fbc\u1000-\u109f\u1780-\u17d3\u17e0-\u17e9"
)
# Vowel signs and accents that belong to the letter before them and that `\w` does not match.
_MARKS: Final = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3\u0816-\u082d\u0859-\u085b\u08ca-\u0903\u093a-\u094f"
    "\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u09d7\u0a01-\u0a03\u0a3c-\u0a51\u0a70\u0a71\u0a81-\u0a83"
    "\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82\u0bbe-\u0bcd\u0bd7\u0c00-\u0c04\u0c3c-\u0c56\u0c81-\u0c83"
    "\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d4d\u0d57\u0d81-\u0d83\u0dca-\u0ddf\u0df2\u0df3\u1ab0-\u1aff\u1dc0-\u1dff"
    "\u20d0-\u20f0\ufe20-\ufe2f"
)
_LETTER: Final = rf"[^\W_{_HAN}{_KANA}{_OTHER_UNSPACED}]"
_LETTERS: Final = rf"{_LETTER}+(?:[{_MARKS}]+{_LETTER}*)*"
_JOINT: Final = r"(?:[-.@&']|_+|(?<=[0-9]):(?=[0-9]))"
_NUMBER: Final = r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?(?![0-9a-z])"
_ASCII_LETTERS: Final = "[a-zA-Z0-9]+"
# Skin tones are ignored. Two regional indicators are a flag.
_PICTOGRAPH: Final = (
    "[\U0001f1e6-\U0001f1ff]{2}"
    "|[\u203c\u2049\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d"
    "\U0001f000-\U0001f3fa\U0001f400-\U0001fbff]"
)

IDEOGRAPHS: Final = "ideographs"
UNSPACED: Final = "unspaced"
WORD: Final = "word"
PICTOGRAPH: Final = "pictograph"


def _word(letters: str) -> str:
    return (
        rf"(?P<{WORD}>{_NUMBER}"
        rf"|(?:(?<![a-z0-9_.])\.(?=[a-z]))?"  # .net, .env
        rf"{letters}(?:{_JOINT}{letters})*"
        rf"(?:\+\+|\+(?![0-9a-z+])|\#(?![0-9a-z#]))?)"  # c++, a+, c#
    )


def runs(text: str) -> re.Pattern[str]:
    """The pattern of a run in this text; `lastgroup` names its kind. In ASCII there are only words."""
    return _ascii_runs() if text.isascii() else _all_runs()


@cache
def _all_runs() -> re.Pattern[str]:
    # Compiled on first use, because that takes 8 milliseconds.
    return re.compile(
        rf"{_word(_LETTERS)}|(?P<{IDEOGRAPHS}>[{_HAN}{_KANA}]+)|(?P<{UNSPACED}>[{_OTHER_UNSPACED}]+)"
        rf"|(?P<{PICTOGRAPH}>{_PICTOGRAPH})"
    )


@cache
def _ascii_runs() -> re.Pattern[str]:
    return re.compile(_word(_ASCII_LETTERS))


KANA: Final = re.compile(f"[{_KANA}]+")
HAN_OR_KANA: Final = re.compile(f"[{_KANA}]+|[^{_KANA}]+")
"""Splits a run of ideographs into Han and kana."""

_PART: Final = re.compile(r"[^-._@&:,+#]+")
_DECIMAL: Final = re.compile(r"[0-9][0-9,]*\.[0-9]+")
_CODE: Final = re.compile(r"(?P<letters>[a-z]{1,4})(?P<number>[0-9]{3,})")
"""CA1857, of which the number alone is looked for too, and "CA 1857"."""
_MIN_CLOSED_DIGITS: Final = 8
"""So many digits in groups are one number: 978-3-16-148410-0 is 9783161484100."""
_CLOCK: Final = re.compile(r"0?(?P<minute>[0-9]{1,2}:[0-9]{2})(?::[0-9]{2})?")


Role: TypeAlias = Literal["content", "stop word", "character"]
"""The role of a term: a content term, a stop word, or a single character of a longer run."""


def stands_in_word(character: str) -> bool:
    """Whether it is a letter, a digit or a mark of a script that separates words by blanks."""
    if character.isascii():
        return character.isalnum()
    return _spaced().match(character) is not None


@cache
def _spaced() -> re.Pattern[str]:
    return re.compile(rf"{_LETTER}|[{_MARKS}]")


class TermSpan(NamedTuple):
    """A term and its position."""

    term: str
    start: int
    end: int
    role: Role = "content"


class WordTerms(NamedTuple):
    """The terms of one word: its content terms, and the stop words among its parts."""

    content: tuple[str, ...]
    stop: tuple[str, ...]


_CACHED_LENGTH: Final = 40


def word_terms(word: str) -> WordTerms:
    """The terms of one folded word. Short words are cached."""
    return _cached_word_terms(word) if len(word) <= _CACHED_LENGTH else _word_terms(word)


def _word_terms(word: str) -> WordTerms:
    placed = locate_word_terms(word)
    return WordTerms(
        tuple(term.term for term in placed if term.role == "content"),
        tuple(term.term for term in placed if term.role == "stop word"),
    )


_cached_word_terms = lru_cache(maxsize=1 << 16)(_word_terms)


def locate_word_terms(word: str) -> list[TermSpan]:
    """The terms of one folded word with their positions: the whole word if it has joints, then its parts."""
    parts = list(_PART.finditer(word))
    if len(parts) == 1 and len(parts[0][0]) == len(word):
        return list(_plain_terms(word, 0))
    bare = _without_tail(word)
    whole = [TermSpan(_truncate(bare.replace(",", "")), 0, len(bare))]
    if _DECIMAL.fullmatch(bare) or "," in bare:
        return whole
    if clock := _CLOCK.fullmatch(bare):  # 08:20:15 is found by 8:20, not by its single numbers
        return [TermSpan(clock["minute"], clock.start("minute"), clock.end("minute")), *whole]
    mailbox, at, host = bare.partition("@")
    if at and _PART.sub("", host):
        whole.append(TermSpan(_truncate(host), len(mailbox) + 1, len(bare)))
    if len(parts) == 2 and bare[parts[0].end()] == "-" and parts[1].end() == len(word):
        # Wi-Fi and wifi, e-mail and email: both spellings are common.
        whole.append(TermSpan(_truncate(_stem(bare.replace("-", ""))), 0, len(bare)))
    if len(parts) > 2 and len(number := bare.replace("-", "")) >= _MIN_CLOSED_DIGITS and number.isdecimal():
        whole.append(TermSpan(_truncate(number), 0, len(bare)))
    for part in parts:
        whole.extend(_plain_terms(part[0], part.start()))
    return whole


def _plain_terms(word: str, offset: int) -> Iterator[TermSpan]:
    """The terms of a word without joints other than apostrophes."""
    end = offset + len(word)
    if word in ENGLISH:
        yield TermSpan(word, offset, end, "stop word")
        return
    if "'" not in word:
        yield from _spellings(word, offset)
        return
    closed = word.replace("'", "")
    if closed in ENGLISH:  # don't, it's
        yield TermSpan(closed, offset, end, "stop word")
        return
    bare = _without_tail(word)
    pieces = bare.split("'")
    if len(pieces) > 1:  # o'neil
        yield TermSpan(_truncate(bare), offset, offset + len(bare))
    for piece in pieces:
        if piece in ENGLISH:
            yield TermSpan(piece, offset, offset + len(piece), "stop word")
        else:
            yield from _spellings(piece, offset)
        offset += len(piece) + 1


def _spellings(word: str, offset: int) -> Iterator[TermSpan]:
    """The stem of a plain word, and of a word with accents the form without them as well."""
    end = offset + len(word)
    yield TermSpan(_truncate(_stem(word)), offset, end)
    if code := _CODE.fullmatch(word):
        if code["letters"] not in ENGLISH:
            yield TermSpan(code["letters"], offset, offset + code.end("letters"))
        yield TermSpan(_truncate(code["number"]), offset + code.start("number"), end)
    if not word.isascii():
        plain = "".join(c for c in normalize("NFD", word) if category(c) != "Mn")
        if plain.isascii() and plain:
            yield TermSpan(_truncate(_stem(plain)), offset, end)


def _without_tail(word: str) -> str:
    """Melanie's, without the 's."""
    head, _, tail = word.rpartition("'")
    return head if head and tail in CONTRACTION_TAILS else word


def _truncate(term: str) -> str:
    return term[:MAX_TERM_LENGTH]


class _Stemmer(Protocol):
    """The part of `Stemmer.Stemmer` used here; the package has no types."""

    def stemWord(self, word: str, /) -> str: ...  # noqa: N802 - the name in the package


_stemmers = threading.local()  # a Snowball stemmer has state and must not be shared between threads


def _stem(word: str) -> str:
    if len(word) < 3 or len(word) > MAX_TERM_LENGTH or not (word.isascii() and word.isalpha()):
        return word
    stemmer: _Stemmer | None = getattr(_stemmers, "english", None)
    if stemmer is None:
        from Stemmer import Stemmer

        stemmer = _stemmers.english = Stemmer("english", 0)  # without its cache: word_terms has one
    return stemmer.stemWord(BASE_FORMS.get(word, word))

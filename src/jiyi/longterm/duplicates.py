"""Is a fact known already? Words decide, meaning helps, and negation, numbers and likes must agree."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from jiyi.model.identity import text_hash
from jiyi.text import fold
from jiyi.text.patterns import HAN, WEEKDAY

if TYPE_CHECKING:
    from jiyi.text import Analyzer

SURE_SIMILARITY: Final = 0.93
"""From this similarity on two facts in other words are one, if they share most words."""
_SHARED_WORDS: Final = 0.6
_LONGER: Final = 4

# Between digits a point or colon is part of the number, and C++ is not C.
_SIGNS: Final = re.compile(r"[\s，。！？、；“”\"'‘’!?…~～()（）\[\]【】]+|[.,:;：](?!\d)")
_NEGATION: Final = re.compile(
    r"\b(?:not|no|never|none|neither|nor|without|cannot|stopped|quit|longer|isnt|arent|dont|doesnt|didnt|wont|cant)\b"
    r"|n't\b|不|没|無|无|别(?!人|的|墅|名|处)|勿|未(?!来|婚)|非(?!常|洲|凡)|戒"
)
_AGAINST: Final = re.compile(
    r"\b(?:hate[sd]?|dislike[sd]?|avoid(?:s|ed)?|detest(?:s|ed)?|allerg\w+|intoleran\w+|loathe[sd]?)\b"
    r"|讨厌|反感|厌恶|受不了|过敏|忌口|害怕|恨"
)
_FOR: Final = re.compile(
    r"\b(?:like[sd]?|love[sd]?|enjoy(?:s|ed)?|prefer(?:s|red)?|adore[sd]?|favou?rite|fan of)\b"
    r"|喜欢|喜爱|爱(?!人|情|心)|偏爱|最爱|钟爱"
)
_CHINESE_DIGITS: Final = {**dict.fromkeys("零〇", 0), **{d: n for n, d in enumerate("一二三四五六七八九", 1)}, "两": 2}
_NUMBER: Final = re.compile(
    r"\d+(?:[.:]\d+)*"
    r"|[零〇一二两三四五六七八九十百千万]+(?=[点时分号日月年岁个位人次天周元块斤层楼期度米公]|$)"
    r"|[星期周礼拜]+[一二三四五六日天]"
)
_TIMES: Final = re.compile(
    rf"(?<=\d)\s*[ap]\.?m\b|\b{WEEKDAY}s?\b|\b(?:january|february|march|april|may"
    r"|june|july|august|september|october|november|december|morning|afternoon|evening|night|today|tomorrow|weekly"
    r"|daily|monthly)\b"
    r"|上午|下午|早上|晚上|中午|凌晨|今天|明天|后天|昨天|每天|每周|每月"
)
_NUMERALS: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_ENGLISH_NUMBERS: Final = {word: str(number) for number, word in enumerate(_NUMERALS, start=1)}
_ENGLISH_NUMBER: Final = re.compile(rf"\b(?:{'|'.join(_NUMERALS)})\b")
# Words that add nothing to a fact, or that only repeat what another word of it says.
_FILLERS: Final = frozenset({"现在", "目前", "如今", "一直", "非常", "真的", "其实", "now", "current", "go", "use"})
_NAMING: Final = frozenset(["叫", "名字", "名叫", "叫做", "name", "call"])
_NOT: Final = re.compile(r"不能|不可以|不会|不可|不|没有|没")
# Chinese has no blanks between words: each character stands for one.
_ROLE: Final = re.compile(rf"[{HAN}]|[^\W{HAN}][^\W{HAN}']*")
_HAN: Final = re.compile(f"[{HAN}]")
_DOUBLED: Final = re.compile(rf"([{HAN}])\1")
_BEGINNING: Final = 4
# Articles, possessives and forms of "be": their place does not tell who does what.
_NO_ROLE: Final = frozenset(
    [
        "a",
        "an",
        "the",
        "my",
        "our",
        "your",
        "his",
        "their",
        "its",
        "am",
        "is",
        "are",
        "was",
        "were",
        "be",
        "的",
        "了",
        "是",
    ]
)
_SAME_PERSON: Final = {"me": "i", "us": "we", "him": "he", "her": "she", "them": "they", "whom": "who"}
_BESIDE: Final = frozenset(["and", "or", "with", "和", "跟", "与", "同", "或"])
# What two are to each other, whichever is named first.
_MUTUAL: Final = re.compile(
    r"\b(?:married|met|dating|engaged|friends?|colleagues?|classmates|neighbou?rs?|siblings?|twins?|related|divorced)\b"
    r"|结婚|离婚|订婚|认识|朋友|同学|同事|邻居|兄弟|姐妹|夫妻|一起|一样"
)
# "I like tea" and "the user likes tea" are one fact.
_SPEAKER: Final = re.compile(r"\b(?:the )?user(?:'s)?\b|用户的?|本人")


@dataclass(frozen=True, slots=True)
class LexicalFeatures:
    """The words of a fact or message, with the numbers, times, negation and liking in it."""

    folded: str
    """Without signs and blanks."""
    terms: frozenset[str]
    numbers: tuple[str, ...]
    times: frozenset[str]
    negated: bool
    liking: int
    """1 for, -1 against, 0 neither."""
    text: str = ""
    """Folded."""


def fact_key(text: str) -> str:
    """The key under which a fact is stored: equal texts, however they are written, have one."""
    return f"ltf{text_hash(_bare(text))[:20]}"


def lexical_features(text: str, analyzer: Analyzer) -> LexicalFeatures:
    """The terms of a fact, and what must not be overlooked in it."""
    folded = _SPEAKER.sub(" ", fold(text))
    # Analysed as a query, which leaves out stop words; numbers, times and negation are compared by themselves.
    plain = _TIMES.sub(" ", _NUMBER.sub(" ", _ENGLISH_NUMBER.sub(" ", _NOT.sub(" ", folded))))
    words = set(analyzer.query(plain).words)
    terms = frozenset("name" if word in _NAMING else word for word in (words - _FILLERS or words))
    numbers = [_plain_number(match) for match in _NUMBER.findall(folded)]
    numbers += [_ENGLISH_NUMBERS[word] for word in _ENGLISH_NUMBER.findall(folded)]
    liking = (1 if _FOR.search(folded) else 0) - (1 if _AGAINST.search(folded) else 0)
    return LexicalFeatures(
        _bare(text),
        terms,
        tuple(sorted(numbers)),
        frozenset(match.strip() for match in _TIMES.findall(folded)),
        len(_NEGATION.findall(folded)) % 2 == 1,
        liking,
        folded,
    )


def is_known(new: LexicalFeatures, old: LexicalFeatures, similarity: float | None = None) -> bool:
    """Whether the old fact says what the new one says; `similarity` is that of their meanings, if it is known."""
    if new.folded == old.folded:
        return True
    if (new.numbers, new.times, new.negated, new.liking) != (old.numbers, old.times, old.negated, old.liking):
        return False
    if not new.terms or not old.terms:
        return False
    # Every term is in the old fact as well. A single term is in too many facts, and a long text has many by chance.
    comparable = len(old.terms) <= _LONGER * len(new.terms)
    if new.terms <= old.terms and comparable and (len(new.terms) > 1 or new.terms == old.terms):
        return not _turned_round(new.text, old.text)
    shared = len(new.terms & old.terms) / min(len(new.terms), len(old.terms))
    same = similarity is not None and similarity >= SURE_SIMILARITY and shared >= _SHARED_WORDS
    return same and not _other_words(new.terms, old.terms) and not _turned_round(new.text, old.text)


def _other_words(new: frozenset[str], old: frozenset[str]) -> bool:
    """Whether each has a word that the other lacks: Leeds and York are similar, and two places.

    Not told of Chinese: the same characters may be cut into other words.
    """
    return all(any(not _HAN.search(word) for word in words) for words in (new - old, old - new))


def support(fact: LexicalFeatures, said: frozenset[str]) -> float:
    """Which share of a fact's words somebody said."""
    return len(fact.terms & said) / len(fact.terms) if fact.terms else 0.0


def _turned_round(new: str, old: str) -> bool:
    """Whether what stands before a word in one text stands after it in the other: who owes whom, from where to where.

    "Tea is my favourite drink" turns round nothing but "is".
    """
    if _MUTUAL.search(new):
        return False
    mine, theirs = _roles(new), _roles(old)
    words = [word for word in mine if word in theirs]
    places = [theirs[word] for word in words]
    return any(
        max(places[:middle], default=-1) > place > min(places[middle + 1 :], default=place)
        for middle, place in enumerate(places)
        if words[middle] not in _BESIDE
    )


def _roles(text: str) -> dict[str, int]:
    """The words that a text has once, without endings and words that say nothing, each with its place."""
    words = [word for word in _ROLE.findall(_DOUBLED.sub(r"\1", text)) if word not in _NO_ROLE]
    found = [_SAME_PERSON.get(word) or word[:_BEGINNING].rstrip("sd") or word for word in words]
    counted = Counter(found)
    return {word: place for place, word in enumerate(found) if counted[word] == 1}


def _bare(text: str) -> str:
    return _SIGNS.sub("", _SPEAKER.sub(" ", fold(text)))


def _plain_number(text: str) -> str:
    """Chinese numbers up to the tens of thousands in digits; others as they are."""
    if text[0].isdecimal():
        return text.replace("：", ":")
    day = re.fullmatch(r"[星期周礼拜]+([一二三四五六日天])", text)
    if day is not None:
        return f"day{day[1]}"
    total = part = 0
    for character in text:
        if character in _CHINESE_DIGITS:
            part = part * 10 + _CHINESE_DIGITS[character] if part and "十" not in text else _CHINESE_DIGITS[character]
        else:
            unit = {"十": 10, "百": 100, "千": 1_000, "万": 10_000}[character]
            total += max(part, 1) * unit
            part = 0
    return str(total + part)

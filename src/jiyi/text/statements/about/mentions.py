"""Whether a text mentions people or animals, anywhere in it. Patterns are searched in folded text.

`subjects` tells whom a clause is about by its beginning; people are often named later: "shellfish could kill my
roommate", 跟我合租的姑娘对猫毛过敏.
"""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import has_han
from jiyi.text.statements.about.subjects import ANIMAL_WORDS, SUBJECT_WORDS

__all__ = ["MENTIONS", "mention_features", "quotes_people"]


def _words(words: frozenset[str], *more: str) -> re.Pattern[str]:
    latin = sorted((word for word in words if not has_han(word)), key=len, reverse=True)
    han = sorted((word for word in words if has_han(word)), key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, latin))})s?\b|{'|'.join(map(re.escape, han))}|{'|'.join(more)}")


_PEOPLE: Final = _words(
    SUBJECT_WORDS - ANIMAL_WORDS,
    r"姑娘|小伙|师傅|店员|先生|对门|隔壁|侄|家人|亲戚",
    r"[阿小老][\u4e00-\u9fff](?=[说是在有跟对也的，])",
    r"\b(?:guy|lad|bloke|fella|woman|lady|next door|starter|godson|lodger|pal|family|relatives?)\b",
)
_ANIMALS: Final = _words(
    ANIMAL_WORDS,
    r"犬|龟|兔|鸟|鱼|布偶",
    r"\b(?:pups?|horses?|hens?|terrier|shiba|cockatiel|collie|pon(?:y|ies)|bearded dragon)\b",
)
_HE_OR_SHE: Final = re.compile(r"\b(?:he|she|his|him|her|he's|she's|hes|shes)\b|[他她]")
_IT: Final = re.compile(r"^[它牠]|^(?:it|it's|he|she|he's|she's)\b")
_SPEAKER: Final = re.compile(
    r"我(?!们?家|的?(?:妈|爸|姐|哥|弟|妹|老|爷|奶|儿|女|侄|舅|姑|叔|婆|公|朋|同|室|师|表|堂))"
    r"|\b(?:i|i'm|i've|im|ive|me|myself)\b"
)
_NAME_INSIDE: Final = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][a-z]{2,}\b")
_NAME_FIRST: Final = re.compile(
    r"^(?:So |And |Old )?[A-Z][a-z]+(?:,| \(|'s | goes| says| said| is| has| does| in | on | next| from)"
)
_DEVICES: Final = re.compile(
    r"macbook|iphone|安卓|android|windows|键盘|输入法|浏览器|抖音|微信|卸载|卸了"
    r"|\b(?:mac|app|browser|keyboard|layout|notes|dvorak|qwerty|instagram|facebook|tiktok)\b"
)
_SAYS: Final = re.compile(
    r"(?:说|讲|讲过|宣布|告诉我|原话|来电话?|发我|念叨)[^，。]{0,6}[:：“\"「『]"
    r"|\b(?:said|says|told me|goes|rang|announced|texted|reckons)\b"
)
_AIMS: Final = re.compile(r"目标|打算|想在|截止|死线|\b(?:deadline|due|goal|mean to|aim)\b")
_FIGURES: Final = re.compile(r"\d|[一二三四五六七八九十]")

MENTIONS: Final = (
    *("people", "people without the speaker", "he or she", "he or she without animals", "animals"),
    *("animals without people", "the speaker", "a name", "a name first", "it, of an animal before"),
    *("people in the message", "people in the message without the speaker", "a name beside people in the message"),
    *("devices", "aims", "figures", "people who are quoted"),
)
"""The names of the features, in their order."""


def quotes_people(folded: str) -> bool:
    """Whether a folded text tells what somebody of the speaker's people has said."""
    return _PEOPLE.search(folded) is not None and _SAYS.search(folded) is not None


def mention_features(text: str, message: str) -> list[float]:
    """The features of a claim and of the message that it comes from, in the order of `MENTIONS`."""
    folded, whole = fold(text), fold(message)

    def has(pattern: re.Pattern[str]) -> bool:
        return pattern.search(folded) is not None

    people, he_or_she, animals, speaker = has(_PEOPLE), has(_HE_OR_SHE), has(_ANIMALS), has(_SPEAKER)
    first = _NAME_FIRST.search(text) is not None
    named = first or _NAME_INSIDE.search(text) is not None
    people_around = _PEOPLE.search(whole) is not None
    of_animal = has(_IT) and _ANIMALS.search(whole) is not None and not people_around
    found = (
        *(people, people and not speaker, he_or_she, he_or_she and not animals, animals),
        *(animals and not people, speaker, named, first, of_animal),
        *(people_around, people_around and not speaker, named and people_around),
        *(has(_DEVICES), has(_AIMS), has(_FIGURES), people and has(_SAYS)),
    )
    return [float(value) for value in found]

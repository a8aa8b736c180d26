"""Whom a pronoun may mean: he is not a sister, she is not a brother, and it is no person."""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.statements.about.subjects import PRONOUN, names_in, relations_in
from jiyi.text.statements.about.word_classes import tagged

__all__ = ["may_mean", "mentions_somebody"]

_ANIMALS: Final = frozenset({"dog", "cat", "pet"})
_MALE: Final = frozenset(
    {"husband", "boyfriend", "father", "stepfather", "elder brother", "younger brother", "brother", "son"}
    | {"grandfather", "father-in-law", "brother-in-law", "son-in-law", "uncle", "nephew"}
)
_FEMALE: Final = frozenset(
    {"wife", "girlfriend", "mother", "stepmother", "elder sister", "younger sister", "sister", "daughter"}
    | {"grandmother", "mother-in-law", "sister-in-law", "daughter-in-law", "aunt", "niece"}
)
_HE: Final = re.compile(r"[他佢]|\b(?:he|he's|hes|him|his)\b")
_SHE: Final = re.compile(r"她|\b(?:she|she's|shes|her|hers)\b")
_NAME_INSIDE: Final = re.compile(r"(?<=[a-z] )[A-Z][a-z]{2,}")
_IT: Final = re.compile(r"[它牠]|\b(?:it|it's|its)\b")
_FEMALE_ZH: Final = re.compile(r"[姐妹姨姑嫂婶娘媳]|闺蜜|女")
_MALE_ZH: Final = re.compile(r"[哥弟叔舅伯]|(?<!女)婿|男")


def may_mean(clause: str, person: str) -> bool:
    """Whether the pronoun with which a clause begins may mean a person or animal, by what was said of them."""
    found = PRONOUN.search(fold(clause))
    if found is None:
        return True
    pronoun, who = found[0], fold(person)
    relations = relations_in(who)
    if _IT.match(pronoun):
        return bool(relations & _ANIMALS) or not relations
    if relations & _ANIMALS and pronoun in {"他", "她"}:
        return False
    if _HE.match(pronoun):
        return not relations & _FEMALE and not _FEMALE_ZH.search(who) and not _only(_SHE, _HE, who)
    if _SHE.match(pronoun):
        return not relations & _MALE and not _MALE_ZH.search(who) and not _only(_HE, _SHE, who)
    return True


def mentions_somebody(text: str) -> bool:
    """Whether a text names a person or an animal, by relation or by name."""
    if relations_in(fold(text)) or names_in(text) or _NAME_INSIDE.search(text):
        return True
    return not text.isascii() and any(tag == "nr" for _, tag in tagged(text))


def _only(pattern: re.Pattern[str], other: re.Pattern[str], text: str) -> bool:
    return pattern.search(text) is not None and other.search(text) is None

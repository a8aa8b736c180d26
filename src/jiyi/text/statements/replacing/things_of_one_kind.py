"""Another thing of the same kind: the billing service and the orders service, A套餐 and B套餐, one weekday and another.

What a message tells of the one says nothing of the other. `is_another_of_its_kind` holds only where both texts name
which one they mean.
"""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import has_han
from jiyi.text.statements.about.content_words import content_words
from jiyi.text.statements.about.phrase_words import LEAD_ZH, NO_WORDS_EN
from jiyi.text.statements.about.subject_phrases import phrases_of
from jiyi.text.statements.parts.claims import clauses_of
from jiyi.text.statements.replacing.change_words import adds, ends, is_mistake, is_strong_change

__all__ = ["is_another_of_its_kind"]

_LABELLED: Final = re.compile(
    r"(?P<before>[a-z]\d*|[一二三四五六七八九十\d]+号)(?P<noun>[\u3400-\u9fff]{2})"
    r"|(?P<kind>[\u3400-\u9fff]{2})(?P<after>[a-z]\d*|[一二三四五六七八九十\d]+号)(?![a-z\d])"
)
_ARTICLE: Final = re.compile(r"^(?:[Tt]he|[Oo]ur|[Mm]y) ")
_CAPITAL: Final = re.compile(
    r"\b(?P<label>[A-Z]{2,4}) (?P<noun>[a-z]{3,})\b|\b(?P<kind>[A-Za-z]{3,}) (?P<letter>[A-Z])\b"
)
_WORD: Final = re.compile(r"[a-z][a-z0-9'-]*")
_NO_LONGER: Final = re.compile(
    r"(?:^| )(?:no longer|does not|doesn't|doesnt|do not|don't|dont) (?:really )?"
    r"(?P<verb>like|love|enjoy|drink|eat|play|watch|read|listen to|use|take)s? (?P<en>[a-z][a-z ]*?)"
    r"(?: any ?more| these days)?[.!]?$"
    r"|^[^，]{0,6}?(?:现在|已经)?不(?:再)?(?P<zh>喜欢|爱|喝|吃|玩|看|听|用|打)(?P<of>[\u3400-\u9fff]{1,6}?)了?[。！]?$"
)
_TAKES: Final = re.compile(
    r"^(?:i|he|she) (?:now )?(?:takes?|have started taking|started taking|started on) (?P<en>[a-z][\w-]*(?: [a-z]\b)?)"
)
_TAKEN: Final = re.compile(r"\b(?:takes?|taking)\b")
_WEEKDAY: Final = re.compile(r"(?:周|星期|礼拜)[一二三四五六日天]|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day")
_TO_ANOTHER_DAY: Final = re.compile(
    r"改|换|挪|调|移|推|提前|变成"
    r"|\b(?:moved?|switch\w*|swap\w*|chang\w*|instead|reschedul\w*"
    r"|to (?:mon|tues|wednes|thurs|fri|satur|sun)day)"
)


def is_another_of_its_kind(message: str, fact: str) -> bool:
    """Whether a message tells of another thing than the one of the same kind that a fact names."""
    said, known = fold(message), fold(fact)
    if is_mistake(said):
        return False
    return (
        (_other_label(said, known) if has_han(said) else _other_modifier(message, known))
        or _other_capital(message, fact)
        or _ends_another_object(said, known)
        or _other_medicine(said, known)
        or _ends_another_day(said, known)
    )


def _labels(folded: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for match in _LABELLED.finditer(folded):
        found.setdefault(match["noun"] or match["kind"], set()).add(match["before"] or match["after"])
    return found


def _other_label(said: str, known: str) -> bool:
    """A套餐 and B套餐, 一号仓库 and 二号仓库: the message begins with the one, and the fact has only the other."""
    begins = _LABELLED.match(LEAD_ZH.sub("", said))
    if begins is None:
        return False
    noun, label = begins["noun"] or begins["kind"], begins["before"] or begins["after"]
    others = _labels(known).get(noun, set())
    return bool(others) and label not in others and not any(f"{other}{noun}" in said for other in others)


def _other_capital(message: str, fact: str) -> bool:
    """The EU region and the US region, service A and service B: the same, in Latin letters."""
    begins = _CAPITAL.match(_ARTICLE.sub("", message))
    if begins is None:
        return False
    noun, label = (begins["noun"] or begins["kind"]).lower(), begins["label"] or begins["letter"]
    known = {(m["noun"] or m["kind"]).lower(): m["label"] or m["letter"] for m in _CAPITAL.finditer(fact)}
    return noun in known and label not in fact and known[noun] not in message


def _other_modifier(message: str, known: str) -> bool:
    """The billing service and the orders service: the message is about the one, and the fact has only the other."""
    words = _WORD.findall(known)
    said = set(_WORD.findall(fold(message)))
    first = clauses_of(message)[:1]
    if not first or not first[0].lower().startswith(("the ", "our ", "my ")):
        return False
    for phrase in phrases_of(first[0]):
        own = phrase.words - {phrase.head}
        if not phrase.named or phrase.person or not own or phrase.head not in words:
            continue
        places = [place for place, word in enumerate(words) if word == phrase.head and place > 0]
        others = {words[place - 1] for place in places} - NO_WORDS_EN
        told_apart = len(others) == len(places) and all(other not in said for other in others)
        if told_apart and own.isdisjoint(words):
            return True
    return False


def _ends_another_object(said: str, known: str) -> bool:
    """Whether somebody does one thing no longer, and a fact says the same of something else: tea and coffee."""
    match = _NO_LONGER.search(said)
    if match is None or (match["zh"] or match["verb"]) not in known:
        return False
    thing = match["en"] or match["of"]
    return content_words(thing).isdisjoint(content_words(known)) and thing not in known


def _other_medicine(said: str, known: str) -> bool:
    """Whether somebody takes something, and a fact names something else that they take: both may be taken."""
    match = _TAKES.match(said)
    if match is None or not _TAKEN.search(known) or is_strong_change(said) or ends(said):
        return False
    return match["en"] not in known


def _ends_another_day(said: str, known: str) -> bool:
    """Whether something is over on one weekday, and a fact tells of another one."""
    days, others = set(_WEEKDAY.findall(said)), set(_WEEKDAY.findall(known))
    ended = len(clauses_of(said)) == 1 and ends(said) and not _TO_ANOTHER_DAY.search(said) and not adds(said)
    return ended and bool(days) and bool(others) and days.isdisjoint(others)

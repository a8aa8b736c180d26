"""Contacts of another kind: a work email beside the own one, 办公室座机 beside 手机号."""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.statements.about.phrase_words import LEAD_EN, LEAD_ZH
from jiyi.text.statements.parts.claims import clauses_of
from jiyi.text.statements.replacing.change_words import changes, is_mistake, is_strong_change

__all__ = ["is_another_contact"]

_CHANNELS: Final = (
    ("email", re.compile(r"e-?mail|邮箱|电邮")),
    ("address", re.compile(r"address|地址")),
    ("phone", re.compile(r"phone|mobile|cell|number|landline|手机|电话|座机|固话|号码")),
    ("wechat", re.compile(r"wechat|微信")),
)
_KINDS: Final = (
    ("work", re.compile(r"\b(?:work|office|business|company|corporate|desk)\b|工作|公司|办公室?|单位|企业")),
    ("school", re.compile(r"\b(?:school|university|uni|college|student|campus)\b|学校|校园|大学|校内")),
    ("landline", re.compile(r"\b(?:landline|home (?:phone|number))\b|座机|固话")),
    ("emergency", re.compile(r"\bemergency\b|紧急")),
    (
        "second",
        re.compile(r"\b(?:second|secondary|backup|back-up|spare|other|alternative|burner)\b|备用|第二|另一个|副"),
    ),
    ("delivery", re.compile(r"\b(?:delivery|shipping|billing|postal)\b|收货|邮寄|快递|账单|寄件")),
)
_NOUN_EN: Final = r"e-?mail|address|phone|mobile|cell|number|landline|wechat"
_CONTACT: Final = re.compile(
    rf"^(?:(?:my|our|the) )?(?P<en>(?:[a-z-]+ ){{0,2}}?(?:{_NOUN_EN})(?: (?:{_NOUN_EN}|line))?)"
    r"(?: (?:is|was|changed|has changed)\b|'s\b|:)"
    r"|^(?:我们?)?(?:家里?)?的?(?P<zh>[\u3400-\u9fff]{0,5}?的?(?:邮箱|电邮|地址|手机|电话|座机|固话|号码|微信)(?:号码?|地址)?)"
    r"(?:是|为|[:：]|换|改|变|现在|\d)"
)


def is_another_contact(message: str, fact: str) -> bool:
    """Whether a message gives a contact of the same channel as a fact, and surely another one."""
    said = fold(message)
    if is_mistake(said):
        return False
    new, old = _contacts(message), _contacts(fact)
    if len(new) != 1 or not old:
        return False
    ((channel, kinds),) = new
    others = [each for other, each in old if other == channel]
    if not others or any(kinds == each or kinds & each for each in others):
        return False
    # "My work email has changed to …" may be the one that was told without its kind.
    unclear = not kinds or not all(others)
    return not (unclear and (changes(said) or is_strong_change(said)))


def _contacts(text: str) -> list[tuple[str, frozenset[str]]]:
    """The contacts that the clauses of a text give: the channel of each, and what tells it from the usual one."""
    found = []
    for clause in map(fold, clauses_of(text)):
        match = _CONTACT.match(LEAD_ZH.sub("", LEAD_EN.sub("", clause)).strip())
        if match is None:
            continue
        words = match["en"] or match["zh"]
        channel = next((name for name, pattern in _CHANNELS if pattern.search(words)), "")
        found.append((channel, frozenset(name for name, pattern in _KINDS if pattern.search(words))))
    return found

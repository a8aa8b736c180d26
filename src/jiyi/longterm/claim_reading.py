"""The parts of a fact (subject, attribute, value, …), read from its words."""

from __future__ import annotations

import re
from typing import Final

from jiyi.model.claim import USER, Claim
from jiyi.model.entry import MemoryEntry
from jiyi.text import sentences
from jiyi.text.patterns import has_han
from jiyi.text.statements.about.attributes import read_attribute
from jiyi.text.statements.keeping.lasting import lasting_in
from jiyi.text.statements.parts.claims import split_claims
from jiyi.text.statements.parts.own_words import own_words
from jiyi.text.statements.parts.reported_speech import quotes_another
from jiyi.text.statements.replacing.group_things import belongs_to_group

_USER_EN: Final = (
    r"(?:\b[Tt]he user|(?:^|(?<=[.;] ))User(?='s name\b| (?:is|has|was|had|lives|works|likes|loves|prefers|wants|needs"
    r"|plays|takes|moved|owns|drives|studies|speaks|hates|uses|eats|drinks|cannot|doesn't|isn't)\b))"
)
_IN_THE_FIRST_PERSON: Final = (
    (re.compile(r"用户"), "我"),
    (re.compile(rf"{_USER_EN}'s\b"), "my"),
    (re.compile(rf"{_USER_EN} is\b"), "I am"),
    (re.compile(rf"{_USER_EN} has\b"), "I have"),
    (re.compile(rf"{_USER_EN} (\w+?)(?:(?<=sh|ch|ss)es|s)\b"), r"I \1"),
    (re.compile(rf"{_USER_EN}\b"), "I"),
)
_CONTINUES: Final = re.compile(
    r"^(?:[^:：]{1,20}[:：]\s*)?(?P<rest>(?:it'?s\b|it is\b|that'?s\b|it was\b|是|其实是).{1,60})$", re.IGNORECASE
)
_HEALTH: Final = frozenset({"allergy", "medication", "health", "diet"})
# Words that stand in most statements of an attribute.
_PROBES: Final = {
    "name": "我叫 名字 my name is called",
    "age": "今年 岁 years old",
    "city": "住在 搬到 live in moved to",
    "job": "工作 职业 是 work as",
    "employer": "工作 上班 入职 work at joined",
    "phone": "手机 电话 号码 phone number",
    "email": "邮箱 email address",
    "birthday": "生日 birthday",
    "favourite": "最喜欢 最爱 favourite favorite",
}


def read_claim(text: str, *, by_user: bool, message: str = "") -> Claim:
    """The parts of a fact, as far as its words tell them; `message` is what the user said, of which it was made."""
    spoken = in_first_person(text)
    claims = split_claims(spoken)
    setting = _attribute_in(spoken)
    lasting = lasting_in(message, text) if by_user and message else ""
    if not claims:
        return Claim(said_by=USER if by_user else "assistant", lasting=lasting)
    first = claims[0]
    topic = first.topic or _continued_topic(spoken, message)
    return Claim(
        subject=setting[0] if setting is not None else first.subject,
        attribute=setting[1] if setting is not None else topic,
        value=setting[2] if setting is not None else "",
        negated=first.negated,
        when=first.when,
        said_by=(first.said_by or USER) if by_user else "assistant",
        single=first.single or setting is not None,
        lasting=lasting,
    )


def _continued_topic(text: str, message: str) -> str:
    """Of "It's cashews!" after a sentence about an allergy: the allergy. Only of what concerns health."""
    found = _CONTINUES.search(text)
    if found is None or not message:
        return ""
    rest = text[found.start("rest") :].strip()
    said = sentences(message)
    place = next((number for number, each in enumerate(said) if rest in each), 0)
    topics = [claim.topic for claim in split_claims(said[place - 1])] if place else []
    return next((topic for topic in topics if topic in _HEALTH), "")


def attribute_of(text: str) -> tuple[str, str] | None:
    """(subject, attribute) that a fact surely sets."""
    found = _attribute_in(in_first_person(text))
    return None if found is None else found[:2]


def without_value(text: str) -> str:
    """A fact without the value of the attribute that it surely sets; in English some name stands for it."""
    found = _attribute_in(in_first_person(text))
    return text if found is None else text.replace(found[2], "" if has_han(text) else "X", 1)


def _attribute_in(spoken: str) -> tuple[str, str, str] | None:
    """(subject, attribute, value) that a fact sets; not what stands in a quotation of somebody else, who is no user."""
    return read_attribute(own_words(spoken) if quotes_another(spoken) else spoken)


def in_first_person(text: str) -> str:
    """A fact in the first person: models write of the user where the user says I."""
    spoken = text
    for pattern, words in _IN_THE_FIRST_PERSON:
        spoken = pattern.sub(words, spoken)
    return spoken


def probe_of(subject: str, attribute: str) -> str:
    """Words by which facts about an attribute are found, whatever its value is."""
    return f"{_PROBES.get(attribute.split(maxsplit=1)[0], '')} {attribute} {'' if subject == USER else subject}"


def may_be_told(old: MemoryEntry, speaker: str | None, told: str | None = None) -> bool:
    """Whether somebody may tell that a fact has changed: their own, or what belongs to a group and is told as such."""
    if old.source.name == speaker:
        return True
    return speaker is not None and belongs_to_group(old.content) and (told is None or belongs_to_group(told))

"""The parts of a fact (subject, attribute, value, …), read from its words."""

from __future__ import annotations

import re
from typing import Final

from jiyi.model.claim import USER, Claim
from jiyi.text.statements.attributes import read_attribute
from jiyi.text.statements.claims import split_claims

_IN_THE_FIRST_PERSON: Final = (
    (re.compile(r"用户"), "我"),
    (re.compile(r"\b[Tt]he user's\b"), "my"),
    (re.compile(r"\b[Tt]he user is\b"), "I am"),
    (re.compile(r"\b[Tt]he user has\b"), "I have"),
    (re.compile(r"\b[Tt]he user (\w+?)s\b"), r"I \1"),
    (re.compile(r"\b[Tt]he user\b"), "I"),
)


def read_claim(text: str, *, by_user: bool) -> Claim:
    """The parts of a fact, as far as its words tell them."""
    spoken = in_first_person(text)
    claims = split_claims(spoken)
    setting = read_attribute(spoken)
    if not claims:
        return Claim(said_by=USER if by_user else "assistant")
    first = claims[0]
    return Claim(
        subject=setting[0] if setting is not None else first.subject,
        attribute=setting[1] if setting is not None else first.topic,
        value=setting[2] if setting is not None else "",
        negated=first.negated,
        when=first.when,
        said_by=(first.said_by or USER) if by_user else "assistant",
        single=first.single or setting is not None,
    )


def attribute_of(text: str) -> tuple[str, str] | None:
    """(subject, attribute) that a fact surely sets."""
    found = read_attribute(in_first_person(text))
    return None if found is None else found[:2]


def in_first_person(text: str) -> str:
    """A fact in the first person: models write of the user where the user says I."""
    spoken = text
    for pattern, words in _IN_THE_FIRST_PERSON:
        spoken = pattern.sub(words, spoken)
    return spoken

"""The facts that a model writes, split into claims as the rules split what somebody says.

Models write of "the user" where people say "I". A fact is split only where every part keeps its subject and says
something of a topic of its own; otherwise it stays whole.
"""

from __future__ import annotations

import re
from typing import Final

from jiyi.text import fold
from jiyi.text.patterns import has_han
from jiyi.text.statements.about.subjects import named_subject, starts_with_subject
from jiyi.text.statements.parts.claims import ClaimText, split_claims
from jiyi.text.statements.parts.reported_speech import quotes_another

__all__ = ["claims_in"]

_SPOKEN: Final = {
    True: ((re.compile(r"用户"), "我"),),
    False: (
        (re.compile(r"\b(?:[Tt]he user's\b|User's(?= name\b))"), "my"),
        (
            re.compile(r"\b(?:[Tt]he user\b|User(?= (?:is|has|lives|works|likes|prefers|plays|takes|moved|owns)\b))"),
            "I",
        ),
    ),
}
_WRITTEN: Final = {
    True: ((re.compile(r"我"), "用户"),),
    False: (
        (re.compile(r"^my\b"), "The user's"),
        (re.compile(r"^I\b"), "The user"),
        (re.compile(r"\bmy\b"), "the user's"),
        (re.compile(r"\bI\b"), "the user"),
    ),
}
_FIRST_PERSON: Final = re.compile(r"我|\b(?:I|my|me)\b|\bI'")
_OTHERS: Final = re.compile(r"[他她它]|\b(?:he|she|they|it|his|her|their|its)\b|\b(?:he|she|they|it)'s\b")


def claims_in(fact: str) -> list[str]:
    """The claims of a fact, or the fact alone where it is not plain that each of them reads as a sentence."""
    if quotes_another(fact):
        return [fact]
    if _FIRST_PERSON.search(fact):
        parts = split_claims(fact)
        return [part.text for part in parts] if _all_read_alone(parts) else [fact]
    han = has_han(fact)
    spoken = fact
    for pattern, words in _SPOKEN[han]:
        spoken = pattern.sub(words, spoken)
    parts = split_claims(spoken)
    return [_written(part.text, han=han) for part in parts] if _all_read_alone(parts) else [fact]


def _all_read_alone(parts: list[ClaimText]) -> bool:
    """Whether there are several parts, each with its own subject and topic, and no pronoun for what another names."""
    return len(parts) > 1 and all(
        part.topic
        and not part.pronoun
        and not _OTHERS.search(fold(part.text))
        and (starts_with_subject(fold(part.text)) or named_subject(part.text))
        for part in parts
    )


def _written(text: str, *, han: bool) -> str:
    for pattern, words in _WRITTEN[han]:
        text = pattern.sub(words, text)
    return text

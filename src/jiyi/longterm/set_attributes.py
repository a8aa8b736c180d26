"""Which part of a fact sets an attribute in a form that leaves no doubt, and what is left of a fact without it."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from jiyi.longterm.claim_reading import attribute_of, without_value
from jiyi.longterm.residue import says_something, without_pieces
from jiyi.model.claim import USER
from jiyi.model.entry import MemoryEntry
from jiyi.text import fold, sentences
from jiyi.text.day_and_time import says_more
from jiyi.text.patterns import has_han
from jiyi.text.statements.about.subjects import starts_with_subject, subject_words
from jiyi.text.statements.about.topics import WEAK_TOPICS, topics_of
from jiyi.text.statements.parts.claims import pieces_of
from jiyi.text.statements.replacing.change_words import is_bygone

__all__ = ["attributes_set_by", "part_that_sets", "residue_without_attributes", "said_by_the_same"]

Attribute = tuple[str, str]
"""Subject and name of an attribute."""
_LEAD: Final = re.compile(r"(?:[Tt]he user|User|用户)(?!'s)")
_ABOUT: Final = {
    "city": "home",
    "address": "home",
    "job": "work",
    "employer": "work",
    "phone": "contact",
    "email": "contact",
}


def attributes_set_by(text: str) -> list[Attribute]:
    """The attributes that a fact surely sets: as a whole, or else by each of its parts."""
    if is_bygone(fold(text)) and attribute_of(text) is None:
        return []
    whole = attribute_of(text)
    found = [whole] if whole is not None else [attribute_of(each) for each in _read_alone(_parts_of(text))]
    return list(dict.fromkeys(each for each in found if each is not None))


def part_that_sets(text: str, attribute: Attribute) -> str:
    """The part of a fact that sets an attribute, with its subject; empty where none or more than one does."""
    parts = _parts_of(text)
    if is_bygone(fold(text)) and attribute_of(text) is None:
        return ""
    setting = [each for each in _read_alone(parts) if attribute_of(each) == attribute]
    if len(parts) < 2 or not setting:
        return text if attribute_of(text) == attribute else ""
    return setting[0] if len(setting) == 1 else ""


def residue_without_attributes(text: str, message: str, attributes: Collection[Attribute]) -> str | None:
    """What a fact says besides the parts that set attributes which a message sets anew.

    Empty when that is all of it; `None` where it cannot be told apart, so that nothing may be replaced.
    """
    parts = _parts_of(text)
    alone = [attribute_of(each) for each in _read_alone(parts)]
    gone = {place for place, found in enumerate(alone) if found is not None and found in attributes}
    if len(parts) < 2:
        return None if _says_more(message, text) or _has_another_topic(text, attributes) else ""
    if not gone or len({alone[place] for place in gone}) < len(gone):
        return None
    if any(_says_more(message, parts[place]) for place in gone):
        return None
    left = without_pieces(parts, gone)
    others = [part for place, part in enumerate(parts) if place not in gone and says_something(fold(part))]
    return None if others and not left else left


def said_by_the_same(new: MemoryEntry, old: MemoryEntry) -> bool:
    """Whether the same person says both: not where the user only passes on what somebody says of them."""
    one, other = (USER if (claim := each.source.claim) is None else claim.said_by for each in (new, old))
    return one == other or "assistant" in {one, other}


def _parts_of(text: str) -> list[str]:
    """The parts of all sentences, which together are the text."""
    found: list[str] = []
    for sentence in sentences(text) or [text]:
        if found and not has_han(found[-1]):
            found[-1] = f"{found[-1].rstrip()} "
        found += pieces_of(sentence)
    return found


def _read_alone(parts: list[str]) -> list[str]:
    """Each part with the subject that it leaves out."""
    lead = _LEAD.match(parts[0])
    who = lead[0] if lead is not None else subject_words(parts[0])
    if not who:
        return parts
    between = "" if has_han(parts[0]) else " "
    return [
        part if not place or starts_with_subject(fold(part)) or _LEAD.match(part) else f"{who}{between}{part}"
        for place, part in enumerate(parts)
    ]


def _says_more(message: str, part: str) -> bool:
    """Whether a part says more than the attribute: its value is no other place or figure (我在中兴上班)."""
    return says_more(message, without_value(part))


def _has_another_topic(text: str, attributes: Collection[Attribute]) -> bool:
    """Whether a clause says something of another topic besides an attribute: "I live in Leeds with two cats"."""
    own = {name for _, attribute in attributes for name in (attribute, _ABOUT.get(attribute, attribute))}
    if not own & {"city", "employer"}:
        return False
    # With "with" something else begins; names of places and companies tell of topics by chance.
    after = re.split(r"\bwith\b", fold(text), maxsplit=1)[1:]
    return any(topics_of(part).keys() - WEAK_TOPICS - own for part in after)

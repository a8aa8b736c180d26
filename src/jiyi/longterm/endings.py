"""What is over when somebody has died, an animal is gone, or a couple has parted: all that was said about it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from jiyi.longterm.replacement import mentions
from jiyi.model.entry import MemoryEntry
from jiyi.text.change_words import ends_life, ends_love, lost_by_name
from jiyi.text.normalize import fold
from jiyi.text.subjects import USER, mentions_subject, named_subject, names_in, subject_of
from jiyi.text.topics import topics_of

PARTNERS: Final = frozenset({"girlfriend", "boyfriend", "partner", "wife", "husband"})
_ANIMALS: Final = frozenset({"dog", "cat", "pet"})
_FIRST_WORD: Final = re.compile(
    r"[\u3400-\u9fff]{2,3}(?=上|昨|今|前|没|走|去|已)|[a-z][\w'-]+(?= (?:died|passed|didn|is|was))"
)
_WEDDING: Final = re.compile(
    r"婚礼|领证|蜜月|婚纱|\bhoneymoon\b|\b(?:my|our|the|spring|summer|autumn|winter|church) wedding\b"
    r"|^(?:about me: )?wedding"
)
_TOGETHER: Final = re.compile(r"我(?:俩|们)|我[跟和同]|[跟和同]我|\b(?:we|us|and i|with me|me)\b")


def ended(message: str, facts: Sequence[MemoryEntry]) -> tuple[list[int], str]:
    """The places of the facts that a message ends, and why."""
    folded = fold(message)
    dead = ends_life(folded)
    gone = [place for place, fact in enumerate(facts) if _is_gone(folded, fact, dead=dead)]
    if not gone and dead:
        # "The cat died": only where there is no doubt which one is meant.
        gone = [place for place, fact in enumerate(facts) if _same_animal(folded, fact)]
        if len({name for place in gone for name in names_in(facts[place].content)}) > 1:
            gone = []
    if gone:
        return gone, "it has died"
    if ends_love(folded):
        return [
            n for n, fact in enumerate(facts) if _of_partners(fact) and _own_love(message, fact)
        ], "they have parted"
    return [], ""


def subject_of_fact(fact: MemoryEntry) -> str:
    """Whom a fact is about."""
    claim = fact.source.claim
    return claim.subject if claim is not None else subject_of(fold(fact.content))


def _is_gone(folded: str, fact: MemoryEntry, *, dead: bool) -> bool:
    """Whether a message says that whoever a fact names has died, or that the animal is gone."""
    names = [name for name in names_in(fact.content) if mentions(folded, name)]
    if dead:
        first = _FIRST_WORD.match(folded)
        return bool(names) or (first is not None and mentions(fold(fact.content), first[0]))
    return _is_animal(fact) and any(lost_by_name(folded, fold(name)) for name in names)


def _is_animal(fact: MemoryEntry) -> bool:
    return subject_of_fact(fact) in _ANIMALS or "pet" in topics_of(fold(fact.content))


def _same_animal(folded: str, fact: MemoryEntry) -> bool:
    text = fold(fact.content)
    kinds = [kind for kind in _ANIMALS if mentions_subject(folded, kind)]
    return _is_animal(fact) and any(mentions_subject(text, kind) for kind in kinds)


def _of_partners(fact: MemoryEntry) -> bool:
    text = fold(fact.content)
    return subject_of_fact(fact) in PARTNERS or "relationship" in topics_of(text) or _WEDDING.search(text) is not None


def _own_love(message: str, fact: MemoryEntry) -> bool:
    """Whether it is the user who has parted from somebody: "My sister is divorced" says nothing about the user."""
    folded = fold(message)
    if any(mentions(folded, name) for name in names_in(fact.content)):
        return True
    who = named_subject(message) or subject_of(folded)
    return who == USER or who in PARTNERS or _TOGETHER.search(folded) is not None

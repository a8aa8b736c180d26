"""Of whom a text speaks: the speaker, a relation, somebody by name. What is said of one says nothing of another.

`about_other_persons` is the law: "Max is 120 cm tall" neither replaces nor contradicts "I'm 185 cm tall", and 乐乐's
birthday not that of the speaker. It holds only where both texts tell plainly whom they are about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import has_han
from jiyi.text.statements.about.person_names import NAME_EN, SURNAMES, name_en, name_zh
from jiyi.text.statements.about.phrase import SPEAKER
from jiyi.text.statements.about.phrase_words import (
    COMMENT,
    LEAD_EN,
    LEAD_ZH,
)
from jiyi.text.statements.about.phrases_en import read_en
from jiyi.text.statements.about.phrases_zh import read_zh
from jiyi.text.statements.about.subjects import ROLES, canonical, is_person, relations_in
from jiyi.text.statements.parts.claims import clauses_of

__all__ = ["SURNAMES", "Persons", "about_other_persons", "persons_of"]


_SPEAKER_EN: Final = re.compile(
    r"\b(?:i|me|my|mine|myself|we|us|our|ours|i'm|im|i've|ive|i'd|i'll|we're|we've|we'll|we'd)\b"
)
_SPEAKER_ZH: Final = re.compile(r"[我咱俺]|本人|自己")
_PRONOUN: Final = re.compile(r"\b(?:he|she|they|him|her|his|them|their|it|its)\b|\b(?:he|she|they|it)'|[他她它佢]")
# Roles that another person may hold next: "My manager is Colm".
_ROLES: Final = ROLES | {"drummer"}
_OWN_RELATION_EN: Final = re.compile(
    r"^(?:(?:my|our) (?:(?:new|old|oldest|other|youngest|eldest|little|big|best|older|younger|late|dear|good|close"
    r"|twin) ){0,2})(?P<of>[a-z]+(?:[ -]in[ -]law)?)(?:'s)?\b"
)
_OWN_RELATION_ZH: Final = re.compile(r"^(?:我们?|咱|俺)(?:家)?的?(?P<of>[\u3400-\u9fff]{1,4})")
_MAX_CLAUSES: Final = 12


@dataclass(slots=True)
class Persons:
    """Whom the clauses of a text are about."""

    speaker: bool = False
    relations: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    unclear: bool = False
    """A clause does not tell whom it is about, or speaks of a thing."""

    @property
    def others(self) -> set[str]:
        """Everybody but the speaker."""
        return self.relations | self.names


def persons_of(text: str) -> Persons:
    """Whom a text is about, clause by clause; a clause that names nobody goes on about the one before."""
    found = Persons()
    clauses = clauses_of(text)[:_MAX_CLAUSES]
    for clause in clauses:
        if not COMMENT.search(fold(clause)):
            (_read_zh if has_han(clause) else _read_en)(clause, found)
    found.unclear = found.unclear or not (found.speaker or found.others)
    return found


def about_other_persons(message: str, fact: str, new: Persons | None = None) -> bool:
    """Whether a message and a fact are plainly about different persons, at least one of them by name.

    `new` is whom the message is about, where that is known already.
    """
    new, old = new or persons_of(message), persons_of(fact)
    if new.unclear or old.unclear or not (new.names or old.names):
        return False
    if new.speaker and old.speaker:
        return False
    told, said = fold(fact), fold(message)
    if new.names & old.names or _stands(new.names, told) or _stands(old.names, said):
        return False
    if new.names and old.names:
        return not (new.speaker and old.others) or not _PRONOUN.search(said)
    if (new.names and old.relations) or (old.names and new.relations):
        # The named person may be the relation.
        return False
    # The speaker against somebody by name.
    return not (old.names and _PRONOUN.search(said))


def _stands(names: set[str], folded: str) -> bool:
    return any(
        name in folded if has_han(name) else re.search(rf"\b{re.escape(name)}\b", folded) is not None for name in names
    )


def _read_en(clause: str, found: Persons) -> None:
    text = LEAD_EN.sub("", clause).strip()
    folded = fold(text)
    own = _OWN_RELATION_EN.match(folded)
    relation = canonical(own["of"].removesuffix("'s")) if own is not None else ""
    if own is not None and relation and is_person(relation):
        found.relations.add(relation)
        rest = text[own.end() :].lstrip(" ,")
        name = NAME_EN.match(rest)
        if name is not None:
            found.names.add(name["of"].lower())
        if relation in _ROLES or _SPEAKER_EN.search(fold(rest)):
            found.speaker = True
        return
    named = name_en(text)
    if named:
        found.names.add(named)
        if _SPEAKER_EN.search(folded):
            found.speaker = True
        return
    if read_en(clause) == SPEAKER or re.match(r"my (?:own )?\w+", folded):
        found.speaker = True
        found.relations |= {each for each in relations_in(folded) if is_person(each)}
        return
    _goes_on_about(clause, found)


def _read_zh(clause: str, found: Persons) -> None:
    text = LEAD_ZH.sub("", fold(clause).strip()).strip()
    own = _OWN_RELATION_ZH.match(text)
    relation, end = "", 0
    if own is not None:
        relation, end = _longest_relation(own["of"], own.start("of"))
    if not relation:
        relation, end = _longest_relation(text[:4], 0)
    if relation and is_person(relation):
        found.relations.add(relation)
        if relation in _ROLES or _SPEAKER_ZH.search(text[end:]):
            found.speaker = True
        return
    name = name_zh(text)
    if name:
        found.names.add(name)
        if _SPEAKER_ZH.search(text):
            found.speaker = True
        return
    if re.match(r"(?:我|咱|俺|本人)", text):
        found.speaker = True
        found.relations |= {each for each in relations_in(text) if is_person(each)}
        return
    phrase = read_zh(clause)
    if phrase == SPEAKER:
        found.speaker = True
        return
    _goes_on_about(clause, found)


def _goes_on_about(clause: str, found: Persons) -> None:
    """A clause that names nobody: it goes on about those before, unless it names a thing or brings in the speaker."""
    phrase = read_zh(clause) if has_han(clause) else read_en(clause)
    folded = fold(clause)
    if (_SPEAKER_ZH if has_han(clause) else _SPEAKER_EN).search(folded):
        found.speaker = True
    if (phrase is not None and phrase.named) or not (found.speaker or found.others):
        found.unclear = True


def _longest_relation(text: str, start: int) -> tuple[str, int]:
    for length in (4, 3, 2, 1):
        word = text[:length]
        if len(word) == length and canonical(word) and (length > 1 or start or text[1:2] in {"", "的"}):
            return canonical(word), start + length
    return "", 0

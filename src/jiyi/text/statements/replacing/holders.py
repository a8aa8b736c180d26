"""Whose home, job or appointment a text is about: what a relative's has become says nothing of one's own.

`of_another_holder` holds only where both texts begin with whose it is: "My in-laws have moved to Whitby" against
"I live in Exeter", 爷爷的退休金改到农行发了 against 我的卡在建行, "We moved his sister Wanda" against Otis's school.
"""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import has_han
from jiyi.text.statements.about.content_words import share_content
from jiyi.text.statements.about.phrase_words import LEAD_EN, LEAD_ZH
from jiyi.text.statements.about.subjects import ROLES, USER, canonical, is_person, may_be_one, names_in, relations_in
from jiyi.text.statements.parts.claims import clauses_of
from jiyi.text.statements.replacing.change_words import changes, ends, is_mistake

__all__ = ["holder_of", "of_another_holder"]

_ADJECTIVES: Final = (
    r"(?:(?:new|old|oldest|other|youngest|eldest|little|big|best|older|younger|dear|good|close|twin|poor|own) ){0,2}"
)
_RELATIVE_EN: Final = re.compile(
    rf"^(?:my |our )?{_ADJECTIVES}(?P<of>[a-z]+(?:[ -]in[ -]laws?)?|in[ -]laws)(?P<own>'s|s'|s)?(?= |,|$)"
)
_RELATIVE_ZH: Final = re.compile(r"^(?:我们?|咱们?|俺)?家?的?(?P<of>[\u3400-\u9fff]{1,4})")
_SPEAKER_EN: Final = re.compile(r"^(?:i|i'm|i've|i'd|i'll|im|ive|we|we're|we've|we'll|my own)\b|^(?:my|our) \w+")
_SPEAKER_ZH: Final = re.compile(r"^(?:我|咱|俺|本人)")
_TO_SPEAKER_EN: Final = re.compile(r"\b(?:i|me|us|we|i'm|i've|we're|we've|mine|ours|my|our)\b")
_TO_SPEAKER_ZH: Final = re.compile(r"[我咱俺]")
_TOGETHER: Final = re.compile(r"^(?:we|we're|we've|our)\b|^(?:我们|咱们?|我家)")
_HOUSEHOLD: Final = frozenset(
    {"wife", "husband", "partner", "girlfriend", "boyfriend", "child", "son", "daughter", "kids"}
)
# Plurals and short forms that the table of relations does not have.
_FAMILY: Final = {
    "in-laws": "in-laws",
    "in laws": "in-laws",
    "inlaws": "in-laws",
    "folks": "parents",
    "parents": "parents",
}
_OF_SOMEBODY: Final = re.compile(
    r"\b(?:her|his|their) (?:(?:older|younger|little|big|twin|eldest|youngest) )?"
    r"(?P<of>brother|sister|cousin|mum|mom|mother|dad|father|husband|wife|partner|friend|mate|neighbour|neighbor)\b"
)
_OWN_STATE: Final = re.compile(
    r"^(?!.*(?:pregnan|expecting))(?:i'm|im|i am|i have|i've|i take|i wear|i weigh|i can't|i cannot)\b"
    r"|^(?!.*怀)我(?:是|有|对|不能|得了)"
)
_HE_OR_SHE: Final = re.compile(r"\b(?:he|she)\b|\b(?:he|she)'|[他她]")
_REPORTS_EN: Final = re.compile(r"\b(?:says?|said|told|reckons|thinks|rang|texted|emailed)\b")
_REPORTS_ZH: Final = re.compile(r"[说讲]|通知|告诉|让我|叫我")
_NAME_INSIDE: Final = re.compile(r"(?<=[a-z] )(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|I\b)[A-Z][a-z]+\b(?!day)")
_HERSELF: Final = re.compile(r"\b(?:she|he|her|him|hers|they|them)\b")


def holder_of(clause: str) -> str:
    """Whose a clause is: the speaker, a relation; empty where it does not begin with anybody."""
    if has_han(clause):
        text = LEAD_ZH.sub("", fold(clause).strip()).strip()
        match = _RELATIVE_ZH.match(text)
        word = match["of"] if match is not None else ""
        for length in (4, 3, 2):
            if len(word) >= length and canonical(word[:length]):
                return _person(canonical(word[:length]))
        if word and canonical(word[0]) and (word[1:2] == "的" or _SPEAKER_ZH.match(text)):
            return _person(canonical(word[0]))
        if len(word) == 1 and canonical(word) and text[match.end() :].startswith("的"):  # type: ignore[union-attr]
            return _person(canonical(word))
        return USER if _SPEAKER_ZH.match(text) else ""
    text = fold(LEAD_EN.sub("", clause)).strip()
    match = _RELATIVE_EN.match(text)
    if match is not None:
        word = match["of"]
        relation = _FAMILY.get(word) or canonical(word) or canonical(word.removesuffix("s"))
        if relation and (relation in _FAMILY.values() or is_person(relation)):
            return relation
    return USER if _SPEAKER_EN.match(text) else ""


def _person(relation: str) -> str:
    return relation if is_person(relation) else ""


def of_another_holder(message: str, fact: str) -> bool:
    """Whether a message is about somebody else's than the one whose a fact is."""
    said, known = fold(message), fold(fact)
    if is_mistake(said):
        return False
    if _of_a_relative(said, fact) or _of_somebody_named(message, fact):
        return True
    clauses = clauses_of(message)
    mine = holder_of(clauses[0]) if clauses else ""
    theirs = holder_of(fact)
    if mine in {"", USER} or not theirs or mine in ROLES or theirs in ROLES or may_be_one(mine, theirs):
        return False
    if not _only_of(mine, clauses, fact) or any(may_be_one(each, mine) for each in relations_in(known)):
        return False
    if theirs != USER:
        # A person named in one text may be the relation that the other one mentions.
        return not names_in(fact) and not any(may_be_one(each, theirs) for each in relations_in(said))
    return mine not in known and not (mine in _HOUSEHOLD and _TOGETHER.search(known))


def _only_of(holder: str, clauses: list[str], fact: str) -> bool:
    """Whether the news of a message are the holder's: no clause tells news of the speaker, or speaks of the fact."""
    speaker = _TO_SPEAKER_ZH if has_han(clauses[0]) else _TO_SPEAKER_EN
    first = fold(clauses[0])
    if (_REPORTS_ZH if has_han(first) else _REPORTS_EN).search(first) or speaker.search(
        re.sub(r"^(?:my|our|我们?|咱们?|俺)\s*", "", first)
    ):
        # Who reports something need not be the one whom it is about.
        return False
    for clause in map(fold, clauses[1:]):
        other = holder_of(clause)
        told = other not in {"", holder} or speaker.search(clause) is not None
        if told and (changes(clause) or ends(clause) or share_content(clause, fact)):
            return False
    return True


def _of_a_relative(said: str, fact: str) -> bool:
    """Whether a message is about a relative of the person whom a fact names, and not about that person."""
    match = _OF_SOMEBODY.search(said)
    names = [fold(name) for name in names_in(fact)]
    if match is None or not names or canonical(match["of"]) in relations_in(fold(fact)):
        return False
    before = said[: match.start()]
    return not any(name in said for name in names) and not _HERSELF.search(before)


def _of_somebody_named(message: str, fact: str) -> bool:
    """Whether a message is about him or her, by name, and nobody else, and a fact tells how the speaker is."""
    said, known = fold(message), fold(fact)
    speaker = _TO_SPEAKER_ZH if has_han(said) else _TO_SPEAKER_EN
    if not _OWN_STATE.search(known) or speaker.search(said) or not _HE_OR_SHE.search(said):
        return False
    named = names_in(message) or _NAME_INSIDE.search(message)
    return bool(named) and not names_in(fact) and not relations_in(known) and not share_content(said, known)

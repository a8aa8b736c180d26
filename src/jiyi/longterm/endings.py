"""What is over when somebody has died, an animal is gone, a couple has parted, or a thing was sold or given up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from jiyi.longterm.replacement import mentions
from jiyi.longterm.residue import without_pieces
from jiyi.longterm.vetoes import forbids
from jiyi.model.entry import MemoryEntry
from jiyi.text.normalize import fold
from jiyi.text.patterns import has_han
from jiyi.text.statements.about.phrases_en import predicate_en
from jiyi.text.statements.about.phrases_zh import predicate_zh
from jiyi.text.statements.about.subject_phrases import about_different_things
from jiyi.text.statements.about.subjects import (
    USER,
    mentions_subject,
    named_subject,
    names_in,
    starts_with_subject,
    subject_of,
)
from jiyi.text.statements.about.topics import topics_of
from jiyi.text.statements.parts.claims import clauses_of, pieces_of
from jiyi.text.statements.replacing.change_words import ends_life, ends_love, lost_by_name
from jiyi.text.statements.replacing.ended_objects import EndedObject, ended_objects, pieces_with

PARTNERS: Final = frozenset({"girlfriend", "boyfriend", "partner", "wife", "husband"})
_ANIMALS: Final = frozenset({"dog", "cat", "pet"})
_SPEAKER_DOES: Final = re.compile(
    r"^(?:但|而|不过)?我(?:自己|本人)?(?=[在住做是上开养学修跑教])|^(?:and |but )?(?:i|i'm|i've) "
)
_FIRST_WORD: Final = re.compile(
    r"[\u3400-\u9fff]{2,3}(?=上|昨|今|前|没|走|去|已)|[a-z][\w'-]+(?= (?:died|passed|didn|is|was))"
)
_WEDDING: Final = re.compile(
    r"婚礼|领证|蜜月|婚纱|\bhoneymoon\b|\b(?:my|our|the|spring|summer|autumn|winter|church) wedding\b"
    r"|^(?:about me: )?wedding"
)
# Who a couple are, where no word for a partner stands: 和小薇谈了两年, "Callum and I have been together since May".
_COUPLE: Final = re.compile(
    r"[和跟同][^，。]{1,6}(?:谈|处|交往)(?:了|着|过)|谈(?:了个?)?恋爱|热恋|异地恋|见(?:了)?(?:双方)?(?:家长|父母)|求婚|订婚"
    r"|\b(?:i|we|we've|i've) (?:have |'ve )?(?:been |are |got )?(?:together|going out|dating|an item)\b"
    r"|\b(?:seeing|dating|going out with) (?!the\b|my (?:doctor|gp|dentist)|an? (?:doctor|specialist|film|play))"
    r"|\bproposed to\b|\bmoving in together\b"
)
_HAVING: Final = re.compile(r"(?:I|We)(?:'ve| have)(?: got)? |我们?(?:家里?)?(?:养了|养着|养|有)")
_COUNTED: Final = re.compile(r"(我们?)?(?=(?:an?|one|two|three|\d+) |[一两二三四五])")
_TOGETHER_NAMED: Final = re.compile(
    r"\b[A-Z][a-z]+(?:(?:,| and|, and| &) [A-Z][a-z]+\b)+"
    r"|(?:(?<=[，叫是：])|(?<=分别叫))[\u3400-\u9fff]{2,3}?(?:[、和跟与](?![一两二三四几])[\u3400-\u9fff]{2})+"
)
_NAME: Final = re.compile(
    r"[A-Z][a-z]+|(?<![\u3400-\u9fff])[\u3400-\u9fff]{2,3}?(?=[、和跟与])|(?<=[、和跟与])[\u3400-\u9fff]{2}"
)
_IS_GONE: Final = re.compile(
    r"走丢|跑丢|丢了|不见了|走失|送(?:人|走|给)|跑了|没了|走了|不在了"
    r"|\b(?:lost|ran away|run away|missing|gone|rehomed|gave away|given away|left home|moved out)\b"
)
_POSSESSES: Final = re.compile(r"[开有养买]|是|\b(?:drives?|have|has|own|owns|is|got)\b")
_DESCRIBES: Final = re.compile(
    r"^(?:that|which|who|it|it's|he|she|with|since|for) |^(?:它|每月|每年|每天|一共|已经|用了|开了|跑了)"
)
_COORDINATES: Final = re.compile(r"(?:、|\band|&|\+|\bplus|和|还有|以及)\s*$")
_ONE_OF_LIST: Final = re.compile(
    r"(?:an?|the|my|our|some|two|three) (?!(?:week|month|year|day|hour|lot|bit)s?\b)[a-z]"
    r"|[A-Z][\w'&]*(?: [A-Z][\w'&]*)*(?: and| or| &)?$|[a-z]+ing (?:for|at|in|on|to|with|a|the) "
    r"|[一两三][把台只条个张辆件套](?![月年半小])|(?:也|还|另外|平时|同时)[\u3400-\u9fff]{2}"
)
_TOGETHER: Final = re.compile(r"我(?:俩|们)|我[跟和同]|[跟和同]我|\b(?:we|us|and i|with me|me)\b")


def ended(message: str, facts: Sequence[MemoryEntry]) -> tuple[list[int], str]:
    """The places of the facts that a message ends, and why."""
    folded = fold(message)
    dead = ends_life(folded)
    if dead:
        # Who has died is read from that clause alone.
        folded = next((clause for clause in map(fold, clauses_of(message)) if ends_life(clause)), folded)
    gone = [
        place
        for place, fact in enumerate(facts)
        if _is_gone(folded, fact, dead=dead) and not one_of_several(message, fact.content)
    ]
    if not gone and dead:
        # 豆豆没了，昨天埋在院子里: another clause names the animal and says that it is gone.
        whole = fold(message)
        gone = [place for place, fact in enumerate(facts) if _is_gone(whole, fact, dead=False)]
    if not gone and dead:
        # "The cat died": only where there is no doubt which one is meant.
        gone = [place for place, fact in enumerate(facts) if _same_animal(folded, fact)]
        if len({name for place in gone for name in names_in(facts[place].content)}) > 1:
            gone = []
    if gone:
        return gone, "it has died"
    if ends_love(fold(message)):
        return [n for n, fact in enumerate(facts) if _of_partners(message, fact)], "they have parted"
    return [], ""


def given_up(message: str, facts: Sequence[MemoryEntry]) -> dict[int, str | None]:
    """The places of the facts about things that a message says are over ("sold the Golf"), and what is left of each.

    `None` where it is not told which of several is meant: of two cars "the car".
    """
    found: dict[int, str | None] = {}
    for thing in ended_objects(message):
        places = [
            place
            for place, fact in enumerate(facts)
            if thing.is_in(fact.content) and _may_be_meant(thing, message, fact) and not forbids(message, fact.content)
        ]
        named = [n for n in places if thing.is_named_in(facts[n].content)]
        having = [n for n in places if _POSSESSES.search(fold(facts[n].content))]
        of_kind = [piece for n in places for piece in pieces_with(thing, pieces_of(facts[n].content))]
        certain = bool(named) or (len(of_kind) <= 1 if thing.several else len(having) <= 1)
        if thing.several and not certain and len(clauses_of(message)) > 1:
            # Which of several flights or medicines it is, another clause may tell.
            continue
        for place in named or places:
            fact = facts[place].content
            told = certain and not one_of_several(message, fact)
            found.setdefault(place, _left_without(thing, fact) if told else None)
    return found


def _may_be_meant(thing: EndedObject, message: str, fact: MemoryEntry) -> bool:
    """Whether a message may speak of the thing of a fact: by its name, or by its kind where it is nobody else's."""
    if thing.kind is None:
        return not about_different_things(message, fact.content)
    folded, theirs = fold(message), subject_of_fact(fact)
    named = any(mentions(folded, name) for name in names_in(fact.content))
    return named or theirs == USER or mentions_subject(folded, theirs)


def _left_without(thing: EndedObject, fact: str) -> str:
    """What a fact says besides a thing: without the parts that have it, and those that only describe it."""
    pieces = pieces_of(fact)
    going = pieces_with(thing, pieces)
    for place, piece in enumerate(pieces):
        bare = piece.strip(" ,，；;、。.")
        read = predicate_zh(bare) if has_han(bare) else predicate_en(bare)
        describes = (read is None and not _listed(pieces, place)) or _DESCRIBES.search(fold(bare)) is not None
        if place - 1 in going and describes and not starts_with_subject(fold(bare)):
            going.add(place)
    return without_pieces(pieces, going) if len(going) < len(pieces) else ""


def _listed(pieces: Sequence[str], place: int) -> bool:
    """Whether a part of a fact is one more of a list: "(a drill and) an old saw", "(Netflix,) Spotify"."""
    bare, before = pieces[place].strip(" ,，；;、。."), pieces[place - 1]
    return _COORDINATES.search(before) is not None or _ONE_OF_LIST.match(bare) is not None


def left_of_ended(message: str, fact: str) -> str:
    """What a fact says of others than whoever a message ends: of a cat and a dog the dog; empty where it is nobody."""
    folded, pieces = fold(message), pieces_of(fact)
    names = [fold(name) for name in names_in(fact)]
    first = _FIRST_WORD.match(folded)
    over = [name for name in names if mentions(folded, name)] + ([first[0]] if first is not None else [])
    others = [name for name in names if name not in over]
    if ends_love(folded) and len(others) == len(names):
        # "We broke up" names nobody: the parts about the couple go, those about what the speaker does stay.
        of_couple = {n for n, piece in enumerate(map(fold, pieces)) if not _is_own(piece)}
        return "" if len(of_couple) == len(pieces) else without_pieces(pieces, of_couple)
    going = set()
    for place, piece in enumerate(map(fold, pieces)):
        if any(mentions(piece, name) for name in over) or not any(mentions(piece, name) for name in others):
            going.add(place)
    if len(going) == len(pieces):
        return ""
    left = without_pieces(pieces, going)
    having = _HAVING.match(fact)
    counted = _COUNTED.match(left)
    # One more of a list: (I have a cat named Tom and) a dog named Rex.
    return f"{having[0]}{left[counted.end() :]}" if having is not None and counted is not None else left


def _is_own(piece: str) -> bool:
    """Whether a part of a fact tells what the speaker does alone: 我自己在烟台修船."""
    of_couple = "relationship" in topics_of(piece) or any(found.search(piece) for found in (_WEDDING, _COUPLE))
    return _SPEAKER_DOES.match(piece) is not None and not of_couple


def one_of_several(message: str, fact: str) -> bool:
    """Whether a fact names several together, and a message says of one of them that it has died or is gone.

    "Rex died" says nothing of Luna in "I have two dogs, Rex and Luna".
    """
    folded = fold(message)
    if not ends_life(folded) and _IS_GONE.search(folded) is None:
        return False
    groups = [_NAME.findall(match[0]) for match in _TOGETHER_NAMED.finditer(fact)]
    return any(len({mentions(folded, name) for name in group}) > 1 for group in groups)


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


def _of_partners(message: str, fact: MemoryEntry) -> bool:
    """Whether a fact tells of the couple that has parted: the speaker's, unless the message names another."""
    text = fold(fact.content)
    subject = subject_of_fact(fact)
    said = next((clause for clause in clauses_of(message) if ends_love(fold(clause))), message)
    parted = USER if _TOGETHER.search(fold(said)) else named_subject(said) or subject_of(fold(said))
    named = any(mentions(fold(message), name) for name in names_in(fact.content))
    of_couple = "relationship" in topics_of(text) or any(found.search(text) for found in (_WEDDING, _COUPLE))
    if parted not in {USER, *PARTNERS}:
        return (named or subject == parted) and of_couple
    # "Callum and I have been together since May" is told of both.
    ours = subject == USER or (_COUPLE.search(text) is not None and _TOGETHER.search(text) is not None)
    return subject in PARTNERS or (ours and of_couple) or (named and of_couple)

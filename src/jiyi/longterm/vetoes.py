"""What forbids that a message replaces or contradicts an older fact, whatever the trained models say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.stated_attributes import stated_attributes
from jiyi.text.statements.about.content_words import content_words
from jiyi.text.statements.about.persons import about_other_persons, persons_of
from jiyi.text.statements.about.subjects import PRONOUN, USER, mentions_subject, relations_in, subject_of
from jiyi.text.statements.parts.claims import clauses_of
from jiyi.text.statements.parts.reported_speech import quotes_another, reported_in
from jiyi.text.statements.replacing.appointments import is_another_appointment
from jiyi.text.statements.replacing.beginnings import takes_up_something_else
from jiyi.text.statements.replacing.change_words import adds, is_bygone, is_exception, is_mistake
from jiyi.text.statements.replacing.contacts import is_another_contact
from jiyi.text.statements.replacing.ended_things import ends_something_else
from jiyi.text.statements.replacing.given_beside import is_number_of_another
from jiyi.text.statements.replacing.holders import of_another_holder
from jiyi.text.statements.replacing.no_change import changes_nothing_of, only_differs
from jiyi.text.statements.replacing.providers import is_another_provider_or_paper
from jiyi.text.statements.replacing.replaced_by_one_kind import outlasts
from jiyi.text.statements.replacing.requests import asks_something_else
from jiyi.text.statements.replacing.things_of_one_kind import is_another_of_its_kind
from jiyi.text.statements.replacing.third_parties import tells_only_of_others

__all__ = ["asks_something_else", "denies", "forbidden", "forbids", "is_no_conflict", "only_differs", "takes_back"]

_ONE_MORE: Final = re.compile(
    r"捡了|送来|领养|出生|多了一|又[添养多来]|也是|新添|添了"
    r"|\b(?:arrived|born|a (?:second|third|fourth)|signed up|as well|too|another)\b"
)
_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_SIDES: Final = (re.compile(r"左|\bleft\b"), re.compile(r"右|\bright\b"))
_DENIED: Final = re.compile(
    r"(?:不是|不再|戒掉?|别再?|不能|不要|没有|不对)(?P<zh>[^，。]{1,10})"
    r"|(?:n't|\bnot|\bnever|\bno longer|\bstop(?:ped)?|\bquit|\bavoid) (?P<en>[^,.]{1,30})"
)
_FROM: Final = re.compile(
    r"\b(?:switched|moved|changed|swapped|gone|went) (?:over )?from (?P<of>[a-z][^,.]{1,30}?) to\b"
)
_NO_LONGER: Final = re.compile(
    r"\b(?:doesn't|doesnt|don't|dont|isn't|isnt|not) (?P<any>[a-z][^,.]{2,40}?) any ?more\b"
    r"|\bno longer (?P<en>[a-z][^,.]{2,40}?)(?=$|[,.!]| (?:since|because|so|after)\b)"
    r"|不再(?P<zh>[\u3400-\u9fff]{2,6}?)了?(?=$|[，。！])"
)
_SPEAKER: Final = re.compile(
    r"我(?!的?(?:爸|妈|哥|姐|弟|妹|老|爷|奶|儿|女|同|朋|师|邻))|\b(?:i|i'm|i've|im|ive|we|we've|me|us)\b"
)


def forbids(message: str, fact: str) -> bool:
    """Whether a message surely neither replaces nor contradicts a fact, and does not ask for something else."""
    return forbidden(message, [fact])[0] or asks_something_else(message, fact)


def forbidden(message: str, facts: Sequence[str]) -> list[bool]:
    """Of each fact whether a message surely neither replaces nor contradicts it."""
    persons = persons_of(message)
    return [
        about_other_persons(message, fact, persons)
        or _is_of_another_speaker(message, fact)
        or changes_nothing_of(message, fact)
        or ends_something_else(message, fact)
        or takes_up_something_else(message, fact)
        or of_another_holder(message, fact)
        or outlasts(message, fact)
        or is_another_of_its_kind(message, fact)
        or is_number_of_another(message, fact)
        or is_another_appointment(message, fact)
        or is_another_contact(message, fact)
        or is_another_provider_or_paper(message, fact)
        or tells_only_of_others(message, fact)
        for fact in facts
    ]


def is_no_conflict(message: str, fact: str) -> bool:
    """Whether a message that might contradict a fact most likely does not: it adds, is an exception, or another's.

    It may still replace it: this only tells what is not worth a question.
    """
    said, known = fold(message), fold(fact)
    if is_mistake(said):
        return False
    told, stated = stated_attributes(message), stated_attributes(fact)
    return (
        adds(said)
        or _ONE_MORE.search(said) is not None
        or is_exception(said)
        or is_bygone(known)
        or _is_of_another(message, known)
        or any(_only_one(said, known, one, other) for one, other in (_SIDES, _SIDES[::-1]))
        # Both state attributes of people, but no common one: a move does not contradict a name.
        or (bool(told) and bool(stated) and set(told).isdisjoint(stated))
    )


def denies(message: str, fact: str) -> bool:
    """Whether a message denies or forbids what a fact has: 其实不是乳糖不耐受, 戒咖啡, "isn't allergic to kiwi"."""
    known = content_words(fact)
    denied = [match["zh"] or match["en"] for match in _DENIED.finditer(fold(message))]
    # Pairs of characters, since the segmentation may leave 咖啡 inside the word 喝咖啡.
    pairs = {words[place : place + 2] for words in denied if _HAN.match(words) for place in range(len(words) - 1)}
    return any(content_words(words) & known for words in denied) or any(
        pair in word for pair in pairs for word in known
    )


def takes_back(message: str, fact: str) -> bool:
    """Whether all that a message says is no longer done is what a fact tells: "Jo doesn't walk the dog any more"."""
    known = content_words(fact)
    left = _FROM.search(fold(message))
    before = content_words(left["of"]) if left is not None else frozenset()
    if before and before <= known:
        # The message names the old value that the fact has: "I switched from gas to an induction hob".
        return True
    for match in _NO_LONGER.finditer(fold(message)):
        if match["zh"] and match["zh"] in fold(fact):
            return True
        denied = content_words(match["en"] or match["any"] or "")
        if len(denied) > 1 and denied <= known:
            return True
    return False


def _is_of_another_speaker(message: str, fact: str) -> bool:
    """Whether the speaker tells of themselves, and a fact has the "I" of somebody who is quoted."""
    if not quotes_another(fact) or quotes_another(message):
        return False
    said, reported = fold(message), reported_in(fact)
    of_speaker = subject_of(said) == USER and PRONOUN.search(said) is None and _SPEAKER.search(said) is not None
    return of_speaker and (reported is None or not mentions_subject(said, reported.by))


def _only_one(said: str, known: str, one: re.Pattern[str], other: re.Pattern[str]) -> bool:
    """Whether a message has only one of two words, and a fact only the other."""
    return (
        one.search(said) is not None
        and other.search(said) is None
        and one.search(known) is None
        and other.search(known) is not None
    )


def _is_of_another(message: str, known: str) -> bool:
    """Whether a message begins with somebody else than the speaker, of whom a fact is."""
    clauses = clauses_of(message)
    if not clauses or subject_of(known) != USER:
        return False
    first = fold(clauses[0])
    return (
        subject_of(first) != USER
        and _SPEAKER.search(first) is None
        and relations_in(first).isdisjoint(relations_in(known))
    )

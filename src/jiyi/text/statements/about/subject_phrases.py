"""What a clause is about, in its own words: the noun before the verb, with all that tells it from others of its kind.

"The office wifi password is …" is about *office wifi password*, 我妈的手机号换成… about 妈 and 手机号, "they moved my
flight to Oslo to …" about *flight, Oslo*. What follows the verb is the value and is not looked at. Two clauses whose
phrases both name something that the other text does not have are about different things: `about_different_things`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from jiyi.model.claim import USER
from jiyi.text.normalize import fold
from jiyi.text.patterns import WEEKDAY, has_han
from jiyi.text.statements.about.phrase import SPEAKER, UNKNOWN, Phrase
from jiyi.text.statements.about.phrase_words import ATTRIBUTES, COMMENT, CONTRASTS, ONE_THING
from jiyi.text.statements.about.phrases_en import PRONOUN_EN, noun_phrase, read_en
from jiyi.text.statements.about.phrases_zh import INTRODUCES, PRONOUN_ZH, phrase_zh, read_zh
from jiyi.text.statements.about.subjects import ROLES, may_be_one, names_in, relations_in
from jiyi.text.statements.about.word_classes import tagged
from jiyi.text.statements.parts.claims import clauses_of
from jiyi.text.statements.replacing.change_words import changes, ends

__all__ = [
    "SubjectRelation",
    "about_different_things",
    "compared_subjects",
    "names_its_subject",
    "other_things",
    "phrases_of",
]

_TELLS: Final = re.compile(rf"\d|[一二三四五六七八九十]+(?:点|号|月|日|元|块|个|次|岁)|[周月]|\b{WEEKDAY}")
_REFERS_BACK: Final = re.compile(r"\b(?:it|that|this|him|them|its)\b|[他她它]")
_HE_OR_SHE: Final = re.compile(r"\b(?:he|she|they|him|her|his|them|it|he's|she's|they're)\b|[他她它佢]")
# Who holds a role may be told with the speaker as the subject: "My manager is Colm", "I report to Sunita".
_ROLES: Final = ROLES | {"doctor", "colleague"}
_ATTRIBUTED: Final = re.compile(r"(?P<who>[^:：]{1,24})[:：]\s*(?=\D)")


@dataclass(frozen=True, slots=True)
class SubjectRelation:
    """How what a message is about stands to what a fact is about, by the phrases of both."""

    apart: bool = False
    """They seem to be about different things."""
    parallel: bool = False
    """They are surely about different things, mostly of one kind: upload and download limit, left and right eye."""
    only_of_others: bool = False
    """The message is only about people that it names, the fact about the speaker."""
    person_in_question: bool = False
    """The message is about the speaker, the fact about somebody."""
    same_head: bool = False
    other_head: bool = False
    names_it: bool = False
    """The message has the noun that the fact is about."""
    named_in_it: bool = False
    """The fact has a noun that the message is about."""
    person_in_both: bool = False


def phrases_of(text: str, *, known: bool = False) -> tuple[Phrase, ...]:
    """What the clauses of a text are about, each thing once; `UNKNOWN` for those that do not tell.

    A clause without a subject goes on about the one before, and "I had it wrong" as well; not so if the one before only
    says why: "the venue double-booked us, so it'll be the 19th". In what is `known` it always does.
    """
    found: list[Phrase] = []
    telling = False
    for clause in clauses_of(text):
        folded = fold(clause)
        if COMMENT.search(folded):
            continue
        phrase = _read(clause)
        tells = _TELLS.search(folded) is not None or changes(folded) or ends(folded)
        if phrase is None or (not phrase.named and _REFERS_BACK.search(folded)):
            if found and (known or telling or not tells):
                continue
            phrase = UNKNOWN
        telling = telling or tells or INTRODUCES.search(folded) is not None
        if phrase not in found:
            found.append(phrase)
    return tuple(found)


def names_its_subject(clause: str) -> bool:
    """Whether a clause names what it is about, other than the speaker."""
    phrase = _read(clause)
    return phrase is not None and phrase.named


def about_different_things(message: str, fact: str) -> bool:
    """Whether a message is surely about something else than a fact: nothing of the fact can be ended by it then."""
    return other_things(message, [fact])[0]


def other_things(message: str, facts: Sequence[str]) -> list[bool]:
    """Of each fact whether a message is surely about something else."""
    return [found.apart for found in compared_subjects(message, facts)]


def compared_subjects(message: str, facts: Sequence[str]) -> list[SubjectRelation]:
    """How what a message is about stands to what each of the facts is about."""
    new, said = phrases_of(message), _Words(message)
    return [_relation(new, said, fact) for fact in facts]


def _relation(new: Sequence[Phrase], said: _Words, fact: str) -> SubjectRelation:
    old = phrases_of(fact, known=True)
    if not new or not old:
        return SubjectRelation(parallel=said.contrasts_with(_Words(fact)))
    mine, theirs = [phrase for phrase in new if phrase.named], [phrase for phrase in old if phrase.named]
    heads = {phrase.head for phrase in mine}, {phrase.head for phrase in theirs}
    known = _Words(fact)
    apart = _apart(new, said, old, known)
    names = {fold(name) for name in names_in(fact)}
    return SubjectRelation(
        apart=apart,
        parallel=said.contrasts_with(known)
        or (apart and (said.one_clause or _of_one_kind(mine, theirs)) and not any(map(said.has, names))),
        only_of_others=len(mine) == len(new) and all(each.person for each in mine) and not theirs,
        person_in_question=not mine and SPEAKER in new and any(each.person for each in theirs),
        same_head=bool(heads[0] & heads[1]),
        other_head=bool(mine) and bool(theirs) and not heads[0] & heads[1],
        names_it=any(said.has(each.head) for each in theirs),
        named_in_it=any(known.has(each.head) for each in mine),
        person_in_both=any(each.person for each in mine) and any(each.person for each in theirs),
    )


def _apart(new: Sequence[Phrase], said: _Words, old: Sequence[Phrase], known: _Words) -> bool:
    pairs = [(mine, theirs) for mine in new for theirs in old]
    if any(_parallel(mine, theirs, said, known) for mine, theirs in pairs) and not any(
        theirs.named and mine.named and not _differ(mine, theirs, said, known) for mine, theirs in pairs
    ):
        return True
    return all(_differ(mine, theirs, said, known) for mine, theirs in pairs)


def _of_one_kind(mine: Sequence[Phrase], theirs: Sequence[Phrase]) -> bool:
    """Whether both name things of one kind: they share a word, or all are people."""
    if not mine or not theirs:
        return False
    people = all(phrase.person for phrase in (*mine, *theirs))
    return people or any(one.words & other.words for one in mine for other in theirs)


def _differ(mine: Phrase, theirs: Phrase, said: _Words, known: _Words) -> bool:
    """Whether two phrases name different things."""
    if not mine.named or not theirs.named:
        # The speaker, against somebody else whom the message does not name.
        return (
            mine == SPEAKER
            and theirs.person
            and not theirs.words & _ROLES
            and not said.has_any(theirs.words)
            and not said.has_pronoun
        )
    if mine.person != theirs.person and USER in {mine.owner, theirs.owner} and not (mine.words & theirs.words):
        # People change things of the speaker: "the landlord wants 950 now".
        return False
    owners = {mine.owner, theirs.owner}
    if USER in owners and "" not in owners and len(owners) > 1 and not owners & (mine.words & theirs.words):
        return not said.has_any(theirs.words - mine.words)
    latin = mine.head.isascii() and theirs.head.isascii()
    if latin and mine.head != theirs.head and mine.words < theirs.words and not said.has(theirs.head):
        # Python and Python functions, Tom and Tom's birthday.
        return not _one_thing(mine, theirs)
    other = mine.head != theirs.head and mine.head not in ATTRIBUTES and not known.has(mine.head)
    if latin and other and theirs.words < mine.words:
        # A boiler and the boiler service.
        return not _one_thing(mine, theirs)
    return bool(said.missing(theirs.words)) and bool(known.missing(mine.words)) and not _one_thing(mine, theirs)


def _parallel(mine: Phrase, theirs: Phrase, said: _Words, known: _Words) -> bool:
    """Whether two phrases name different things of one kind: upload limit, download limit."""
    if not mine.named or not theirs.named or not mine.words & theirs.words:
        return False
    return _differ(mine, theirs, said, known)


def _one_thing(mine: Phrase, theirs: Phrase) -> bool:
    """Whether what is named differently may be the same: 工资 and 薪水, "my eldest" and "my daughter"."""
    ours, other = mine.words - theirs.words, theirs.words - mine.words
    kin = [(one, another) for one in ours for another in other if may_be_one(one, another)]
    if kin and any(ours == {one} or other == {another} for one, another in kin):
        return True
    return any(ours & group and other & group for group in ONE_THING)


class _Words:
    """The words of a text, to be looked up."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._folded = fold(text)
        self._latin = {_stem(word) for word in re.findall(r"[a-z0-9à-ÿ](?:[a-z0-9à-ÿ.+#-])*", self._folded)}
        self._kin = relations_in(self._folded)

    @property
    def has_pronoun(self) -> bool:
        """Whether it speaks of somebody without a name."""
        return _HE_OR_SHE.search(self._folded) is not None

    @property
    def one_clause(self) -> bool:
        """Whether it is a single clause: nothing in it gives only the reason of a change."""
        # Not the folded text: the sentence would end after "mr." and "dr.".
        return len(clauses_of(self._text)) == 1

    def contrasts_with(self, other: _Words) -> bool:
        """Whether one speaks of the left side and the other of the right one, and so on: neither of both."""
        mine, theirs = self._sides, other._sides
        return any(
            (mine[place], theirs[place]) in {((True, False), (False, True)), ((False, True), (True, False))}
            for place in range(len(CONTRASTS))
        )

    @cached_property
    def _sides(self) -> list[tuple[bool, bool]]:
        return [(one.search(self._folded) is not None, two.search(self._folded) is not None) for one, two in CONTRASTS]

    def has(self, word: str) -> bool:
        """Whether a word stands there, in some form."""
        if word in self._kin:
            return True
        if has_han(word):
            return word in self._folded or (len(word) > 2 and word[:-1] in self._folded)
        return _stem(word) in self._latin

    def has_any(self, words: frozenset[str]) -> bool:
        """Whether one of the words stands there."""
        return any(map(self.has, words))

    def missing(self, words: frozenset[str]) -> list[str]:
        """The words that do not stand there."""
        return [word for word in words if not self.has(word)]


def _stem(word: str) -> str:
    word = word.removesuffix("'s").rstrip(".")
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _read(clause: str) -> Phrase | None:
    """What a clause is about; `None` where it does not tell."""
    attributed = _ATTRIBUTED.match(clause)
    if attributed is not None:
        # "About me: …", 我妈：她…: whom it is about was put before it.
        who, clause = attributed["who"], clause[attributed.end() :]
        if PRONOUN_EN.match(fold(clause).split(" ")[0]) or PRONOUN_ZH.search(clause):
            return phrase_zh(tagged(who)) if has_han(who) else noun_phrase(who.split())
    return read_zh(clause) if has_han(clause) else read_en(clause)

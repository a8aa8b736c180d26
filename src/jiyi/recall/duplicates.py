"""One thing once: a fact and the message that says it, or two texts with the same words, are one hit."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from jiyi.model.entry import MESSAGE_TYPE, NOTE_TYPE, REFLECTION_TYPE
from jiyi.model.note import without_headings
from jiyi.recall.wording import say_the_same, tells
from jiyi.text.normalize import fold
from jiyi.text.patterns import HAN
from jiyi.text.plain_values import plain_values
from jiyi.text.questions import question_share
from jiyi.text.sentences import columns
from jiyi.text.stopwords import CHINESE, ENGLISH
from jiyi.text.term_ids import term_id

if TYPE_CHECKING:
    from jiyi.model.entry import MemoryEntry

_MADE_OF_OTHERS: Final = frozenset({REFLECTION_TYPE, "merge"})
"""Kinds of sources whose references are not the same thing as the entry."""
_NEGATING: Final = """
    no not never none nobody nothing neither nor without cannot cant dont doesnt didnt isnt arent wasnt werent wont
    wouldnt couldnt shouldnt hasnt havent hadnt aint 不 没 没有 不是 别 未 无 否
"""
_OTHER_PEOPLE: Final = "he him his she her hers they them their theirs 他 她 他们 她们"
_TELLING: Final = frozenset((_NEGATING + _OTHER_PEOPLE).split())
"""Stop words by which two texts say different things."""
_KEEPING: Final = "rememb note user 用户 请 记住 记得 记下 下来 记下来 一下 备忘"
"""Terms of what is said around a fact to have it kept, to confirm that, or of whom it is: no part of it."""
_ACKNOWLEDGING: Final = "get got understand great sure good nice know 好 好的 收到 明白 知道 了解 会"
"""Terms by which a reply says only that it was heard."""
_BEGINNING: Final = 4
"""So much of a word is compared: endings make no difference."""
_MORE_DIFFERENT: Final = 5
"""Texts are compared if at most so many more terms differ than are common, stop words aside."""
_MIN_LINE: Final = 8
"""Shorter lines below a heading say little without it; a Chinese character takes two columns."""
_ASKS: Final = 0.5
"""From this share on a text is a question, which is never the same as a statement."""
_ONLY_ASKS: Final = 0.95
"""From this share on a message says nothing beside its question."""


class DuplicateGroup(NamedTuple):
    """Hits that say the same."""

    kept: str
    """The id of the one that stays."""
    folded: tuple[str, ...]
    """Ids of the others."""


@dataclass(slots=True)
class DuplicateFilter:
    """Decides for hits, best first, which of them say what a better one says."""

    matched: Callable[[int], Sequence[str]]
    """The question's words that a candidate has, by its place."""
    terms: Sequence[bytes]
    """The term ids of each candidate's text."""
    _kept: list[tuple[MemoryEntry, int]] = field(default_factory=list)
    _sets: dict[int, frozenset[int]] = field(default_factory=dict)
    _with_key: set[str] = field(default_factory=set)
    """Ids of hits that stand for an entry with a key."""
    _without_key: int = 0
    _messages: int = 0
    """How many of those that are kept have no key, and how many are messages."""

    def add(self, entry: MemoryEntry, place: int) -> DuplicateGroup | None:
        """Which hits say the same, of this one and better ones; `None` where no better one does. What stays is kept."""
        if self._may_be_same(entry):
            echoed = self._without_echo(entry, place)
            if echoed is not None:
                return echoed
            for other, other_place in self._kept:
                same = (
                    self._tells(entry, place, other, other_place)
                    or self._same(entry, place, other, other_place)
                    or self._echoes(entry, place, other, other_place)
                )
                if same and _is_echoed(entry, other) and self._has_words_of(place, other_place):
                    self._drop([(other, other_place)])
                    self._keep(entry, place)
                    return DuplicateGroup(entry.id, (other.id,))
                if same and self._has_words_of(other_place, place):
                    if entry.key is not None:
                        self._with_key.add(other.id)
                    return DuplicateGroup(other.id, (entry.id,))
        self._keep(entry, place)
        return None

    def _drop(self, gone: Sequence[tuple[MemoryEntry, int]]) -> None:
        self._kept = [each for each in self._kept if each not in gone]
        self._without_key -= sum(entry.key is None for entry, _ in gone)
        self._messages -= sum(entry.memory_type == MESSAGE_TYPE for entry, _ in gone)

    def _keep(self, entry: MemoryEntry, place: int) -> None:
        self._kept.append((entry, place))
        self._without_key += entry.key is None
        self._messages += entry.memory_type == MESSAGE_TYPE

    def _has_words_of(self, place: int, other_place: int) -> bool:
        """Whether a hit has all words of the question that another one has: no such word is ever hidden."""
        return set(self.matched(other_place)) <= set(self.matched(place))

    def _without_echo(self, entry: MemoryEntry, place: int) -> DuplicateGroup | None:
        """For a fact: a reply that only repeats it ("Noted, Lena is …") gives way to who said it, or to the fact."""
        if entry.memory_type == MESSAGE_TYPE or not entry.source.references:
            return None
        made_of = [each for each in self._kept if _is_made_of(entry, each[0])]
        said = next((each for each in made_of if _says(each[0], entry)), (entry, place))
        echoes = [
            (other, other_place)
            for other, other_place in made_of
            if other.role != _speaker(entry)
            and self._only_repeats(other, other_place, (entry, place), said)
            and self._has_words_of(said[1], other_place)
        ]
        if not echoes:
            return None
        self._drop(echoes)
        folded = tuple(echo.id for echo, _ in echoes)
        if said[0] is entry:
            self._keep(entry, place)
            return DuplicateGroup(entry.id, folded)
        if self._has_words_of(said[1], place):
            return DuplicateGroup(said[0].id, (*folded, entry.id))
        self._keep(entry, place)
        return DuplicateGroup(said[0].id, folded)

    def _tells(self, entry: MemoryEntry, place: int, other: MemoryEntry, other_place: int) -> bool:
        """Whether one is a fact, and the other a message of which it was made and that says it."""
        if not _is_made_of(entry, other):
            return False
        message, fact = (entry, place), (other, other_place)
        if entry.memory_type != MESSAGE_TYPE:
            message, fact = fact, message
        return _says(message[0], fact[0]) or (
            message[0].role != _speaker(fact[0]) and self._only_repeats(*message, fact)
        )

    def _echoes(self, entry: MemoryEntry, place: int, other: MemoryEntry, other_place: int) -> bool:
        """Whether one is a reply that says nothing but what the user told before: "Got it, the code is 4417"."""
        if _is_echoed(entry, other):
            return self._only_repeats(other, other_place, (entry, place))
        return _is_echoed(other, entry) and self._only_repeats(entry, place, (other, other_place))

    def _only_repeats(self, reply: MemoryEntry, place: int, *told: tuple[MemoryEntry, int]) -> bool:
        """Whether a reply says nothing but what was told: first the fact, then where it was said."""
        if _asks(reply) or not self._terms_of(told[0][1]) & _negates() <= self._terms_of(place):
            return False
        known = frozenset[int]().union(*(self._terms_of(each) for _, each in told))
        if not self._terms_of(place) <= known | _says_nothing() | _acknowledges():
            return False
        return any(_in_same_order(reply.content, each.content) for each, _ in told)

    def _may_be_same(self, entry: MemoryEntry) -> bool:
        """Whether it has to be compared at all: not if all have keys, and either all are messages or none is."""
        if entry.key is None or self._without_key:
            return True
        return self._messages != (len(self._kept) if entry.memory_type == MESSAGE_TYPE else 0)

    def _same(self, entry: MemoryEntry, place: int, other: MemoryEntry, other_place: int) -> bool:
        """Whether two texts have the same words in one order, but for what says nothing. "Not" says something.

        Keys and days tell things apart: the same text under two keys is two things, and on two days two events.
        """
        two_keys = entry.key is not None and (other.key is not None or other.id in self._with_key)
        if two_keys or _of_two_days(entry, other):
            return False
        if _spelling(entry.content) == _spelling(other.content):
            return _asks(entry) == _asks(other)
        if _same_line(entry, other):
            return True
        own, others = self._terms_of(place), self._terms_of(other_place)
        common = len((own & others) - _says_nothing())
        if not common or len((own ^ others) - _says_nothing()) > common + _MORE_DIFFERENT:
            return False
        if _asks(entry) != _asks(other):
            return False
        one_speaker = entry.role == other.role
        return say_the_same(plain_values(entry.content), plain_values(other.content), one_speaker=one_speaker)

    def _terms_of(self, place: int) -> frozenset[int]:
        """Kept: each is compared with all that are better."""
        found = self._sets.get(place)
        if found is None:
            self._sets[place] = found = frozenset(array("I", self.terms[place]))
        return found


@cache
def _says_nothing() -> frozenset[int]:
    return frozenset(map(term_id, ((ENGLISH | CHINESE) - _TELLING) | set(_KEEPING.split())))


@cache
def _negates() -> frozenset[int]:
    return frozenset(map(term_id, _NEGATING.split()))


@cache
def _acknowledges() -> frozenset[int]:
    return frozenset(map(term_id, _ACKNOWLEDGING.split()))


def _in_same_order(one: str, other: str) -> bool:
    """Whether the words that both texts have once come in one order: who owes whom is told by nothing else."""
    own, others = _units(one), _units(other)
    counted, other_counted = Counter(own), Counter(others)
    once = {unit for unit, count in counted.items() if count == 1 == other_counted[unit]}
    return [unit for unit in own if unit in once] == [unit for unit in others if unit in once]


def _units(text: str) -> list[str]:
    """The beginnings of words, and Chinese characters."""
    return [unit[:_BEGINNING] for unit in _unit().findall(_filling().sub(" ", text.casefold()))]


# Compiled at first use: few answers have texts that are that similar.
@cache
def _unit() -> re.Pattern[str]:
    return re.compile(rf"[{HAN}]|[^\W{HAN}]+")


@cache
def _filling() -> re.Pattern[str]:
    english, chinese = (sorted(words - _TELLING, key=len, reverse=True) for words in (ENGLISH, CHINESE))
    return re.compile(rf"\b(?:{'|'.join(english)})\b|{'|'.join(chinese)}")


def _is_made_of(one: MemoryEntry, other: MemoryEntry) -> bool:
    """Whether one is a message and the other a fact that was made of it."""
    if (one.memory_type == MESSAGE_TYPE) == (other.memory_type == MESSAGE_TYPE):
        return False
    if one.source.kind in _MADE_OF_OTHERS or other.source.kind in _MADE_OF_OTHERS:
        return False
    return one.scope == other.scope and not set(one.source.references).isdisjoint(other.source.references)


def _is_echoed(told: MemoryEntry, reply: MemoryEntry) -> bool:
    """Whether a reply may only repeat what the user told before it in the same conversation."""
    if told.conversation_id is None or told.conversation_id != reply.conversation_id or told.scope != reply.scope:
        return False
    if told.role != "user" or reply.role != "assistant":
        return False
    return told.position is not None and reply.position is not None and told.position < reply.position


def _speaker(fact: MemoryEntry) -> str:
    """Who said what a fact was made of."""
    return "user" if fact.source.said_by_user else "assistant"


def _says(message: MemoryEntry, fact: MemoryEntry) -> bool:
    """Whether who told a fact says it in this message: most of its words, and all of its names and figures."""
    if message.role != _speaker(fact) or question_share(message.content) >= _ONLY_ASKS:
        return False
    return _spelling(message.content) == _spelling(fact.content) or tells(message.content, fact.content)


def _asks(entry: MemoryEntry) -> bool:
    return question_share(entry.content) >= _ASKS


def _of_two_days(one: MemoryEntry, other: MemoryEntry) -> bool:
    """Whether both say when it was, and it was on two days. A note has a day, a fact of the same words has none."""
    if one.occurred_at is None or other.occurred_at is None:
        return False
    return one.occurred_at.date() != other.occurred_at.date()


def _same_line(one: MemoryEntry, other: MemoryEntry) -> bool:
    """Whether one is a note that says nothing below its headings but what the other one says without any."""
    below, others_below = _below_headings(one), _below_headings(other)
    if (below is None) == (others_below is None):
        return False
    lines = (
        _spelling(one.content if below is None else below),
        _spelling(other.content if others_below is None else others_below),
    )
    return lines[0] == lines[1] and columns(lines[0]) >= _MIN_LINE


def _below_headings(entry: MemoryEntry) -> str | None:
    """What stands below the headings of a note; `None` where there are none."""
    headings = entry.source.references[1:] if entry.memory_type == NOTE_TYPE else ()
    if not headings:
        return None
    below = without_headings(entry.content, headings)
    return _bullet().sub("", _own_heading().sub("", below, count=1).strip())


@cache
def _own_heading() -> re.Pattern[str]:
    return re.compile(r"\A {0,3}#{1,6}[ \t].*\n|\A.*\n {0,3}(?:=+|-+)[ \t]*\n")


@cache
def _bullet() -> re.Pattern[str]:
    return re.compile(r"\A(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")


def _spelling(text: str) -> str:
    """A text without what may be spelled in two ways: "Wi-Fi 密码。" and "WIFI密码", 8 pm and 20:00.

    Beside a figure signs count.
    """
    return _signs().sub("", plain_values(fold(text))).rstrip(".。!！")


@cache
def _signs() -> re.Pattern[str]:
    return re.compile(r"(?<!\d)[\s.,;:!'\"。，、；：！“”‘’-]+(?!\d)")

"""How likely a message says that something has changed, and how likely it replaces a given older fact.

Linear models. The first looks at the message alone: words for change, end, addition or exception, and its vector by the
bundled embedder. The second compares the message with one older fact: subject, attribute, shared words,
kinds of values, likeness of meaning. A third tells which part of that fact is meant. `corrections` decides.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import mul
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from jiyi.longterm.attribute_model import AttributeMatch, Matrix
from jiyi.longterm.duplicates import LexicalFeatures, lexical_features
from jiyi.longterm.pair_network import PairNetwork
from jiyi.longterm.trained import TrainedJudge
from jiyi.text.day_and_time import units_in
from jiyi.text.normalize import fold
from jiyi.text.statements.about.subjects import SUBJECT_WORDS, USER, names_in, starts_with_subject, subject_of
from jiyi.text.statements.about.topics import TOPICS, WEAK_TOPICS, topics_of
from jiyi.text.statements.parts.claims import clauses_of, pieces_of
from jiyi.text.statements.replacing.change_words import (
    adds,
    changes,
    ends,
    ends_life,
    ends_love,
    hints_at_change,
    is_mistake,
    is_strong_change,
    is_temporary,
)

if TYPE_CHECKING:
    from jiyi.longterm.pair_evidence import PairEvidence
    from jiyi.ports import Embedder, TextReader
    from jiyi.text import Analyzer

_SINGLE: Final = {topic.name: topic.single for topic in TOPICS}
_REFERENCE: Final = re.compile(r"那[个位家边台]|之前|原来|前面|旧|\b(?:it|that|the old|he|she|they|him|her|there)\b")
_PAST: Final = re.compile(r"\b(?:'ve|have|has|got|gone|went|\w+ed)\b")
_PRESENT: Final = re.compile(r"\b(?:now|since|so)\b|现在|而家|如今")
_QUESTION: Final = re.compile(r"[?？]|吗$")
_NAME: Final = re.compile(r"(?<!^)(?<![.!?] )\b[A-Z][a-z]+|[A-Z][A-Za-z0-9]+\d")
# Words that tell by themselves which topic changes.
_CHANGED_TOPIC: Final = (
    (re.compile(r"搬|退租|安家|\b(?:mov(?:ed?|ing)|relocat\w*)\b"), "home"),
    (re.compile(r"跳槽|转岗|入职|升职|离职|\b(?:promot\w*|new job|start(?:ed|ing)? (?:at|as))\b"), "work"),
    (re.compile(r"改叫|改名|\b(?:call me|go by|renamed)\b"), "name"),
)
_TWO_HAN: Final = re.compile(r"[\u3400-\u9fff]{2}")
_COMMON_HAN: Final = re.compile(
    r"[的了是在我你他她它们这那有和就都也不没一个上下来去到说要会很还又最给把被从对为与以及吗呢吧啊呀年月日天点号今明昨每周时现后前里]"
)
_MAX_WORDS: Final = 3
# A part that only says how often, how long or how much, or what kind.
_MODIFIER: Final = re.compile(
    r"^(?:每|一(?:周|个?月|天|年)|[两三四五\d]+(?:次|个?小时|岁|遍)|还差|已经|来回|端|收|.{0,6}(?:那种|的)$)|(?:次|遍|小时|分钟|岁了?)$"
    r"|^(?:about|under|over|every|each|once|twice|three times|an hour|two|since|clears|mostly|up to|\d)"
    r"|\b(?:a (?:week|day|month)|per \w+|hours?|times)$"
)
_SHORT_PART: Final = {True: 20, False: 6}
_PAIR: Final = 2
_FRAGMENT: Final = {True: 8, False: 4}
_STEM: Final = 5
_WORD: Final = re.compile(r"[a-z]{4,}")


@dataclass(frozen=True, slots=True)
class ComparedText:
    """A message or a fact with the features that are compared."""

    text: str
    folded: str
    lexical: LexicalFeatures
    topics: dict[str, int]
    vector: Sequence[float]
    attributes: Matrix
    """How likely it is about each of the attributes: a row for each clause of a message and one for the whole text."""
    clauses: tuple[Sequence[float], ...] = ()
    """The vectors of its clauses, where they are compared one by one."""


class ReplacementModel(TrainedJudge):
    """All these models."""

    def __init__(self, analyzer: Analyzer, embedder: Callable[[], Embedder], pairs: Callable[[], TextReader]) -> None:
        """`pairs` reads the texts for the network of pairs."""
        super().__init__(embedder)
        self.analyzer = analyzer
        self._network = PairNetwork(pairs)

    def read(self, texts: Sequence[str]) -> list[ComparedText]:
        """Texts with the features that are compared."""
        if not texts:
            return []
        vectors = self._embedder.embed(texts)
        attributes = self._weights.attributes.probabilities(vectors)
        found = []
        for place, (text, vector) in enumerate(zip(texts, vectors.tolist(), strict=True)):
            folded, of_text = fold(text), attributes[place : place + 1]
            found.append(
                ComparedText(text, folded, lexical_features(text, self.analyzer), topics_of(folded), vector, of_text)
            )
        return found

    def read_message(self, text: str) -> ComparedText:
        """A message with the features of it and of each of its clauses."""
        clauses = clauses_of(text)
        found, *parts = self.read([text, *(clauses if len(clauses) > 1 else ())])
        attributes = np.concatenate([each.attributes for each in (*parts, found)])
        return replace(found, clauses=tuple(part.vector for part in parts), attributes=attributes)

    def change(self, message: ComparedText) -> float:
        """How likely a message says that something has changed or ended."""
        return self._weights.change.probability(change_row(message))

    def attributes(self, message: ComparedText, olds: Sequence[ComparedText]) -> list[AttributeMatch]:
        """How likely a message and each of the older facts are about the same attribute."""
        known = np.concatenate([old.attributes for old in olds])
        return self._weights.attributes.matches(message.attributes, known)

    def of_pairs(self, message: ComparedText, olds: Sequence[ComparedText]) -> list[float]:
        """What the network says of a message and each of the older facts, or parts of one."""
        return self._network.values(message.text, [old.text for old in olds])

    def replaces(
        self,
        message: ComparedText,
        olds: Sequence[ComparedText],
        evidence: Sequence[PairEvidence],
        of_message: Sequence[float],
        matches: Sequence[AttributeMatch],
    ) -> tuple[list[float], list[float]]:
        """How likely a message replaces each of the older facts rather than another one or none of them.

        With the network of pairs, and by the features alone.
        """
        of_change, change = change_row(message), self.change(message)
        others = [likeness(message, old) for old in olds]
        rows = [
            replacement_row(
                pair_features(message, old, others, place), change, of_change, evidence[place], of_message, match
            )
            for place, (old, match) in enumerate(zip(olds, matches, strict=True))
        ]
        weights = self._weights
        together = zip(self.of_pairs(message, olds), rows, strict=True)
        values = [value + weights.replaces.value(row) for value, row in together]
        return shares(values), shares([weights.alone.value(row) for row in rows])

    def pieces(self, message: ComparedText, parts: Sequence[ComparedText]) -> list[float]:
        """How much each part of an older fact is like the one that a message replaces."""
        line = self._weights.piece
        of_pairs = self.of_pairs(message, parts)
        rows = zip(piece_rows(message, parts), attribute_rows(self.attributes(message, parts)), of_pairs, strict=True)
        return [value + line.value([*row, *of_attribute]) for row, of_attribute, value in rows]

    def outdated(self, message: ComparedText, parts: Sequence[ComparedText]) -> list[float]:
        """How likely each part of an older fact, of which a message changes something, does not hold any more."""
        return self._network.outdated(message.text, [part.text for part in parts])


def change_row(message: ComparedText) -> list[float]:
    """The features by which a change is recognised."""
    folded = message.folded
    found = (
        *(changes(folded), ends(folded), ends_life(folded), ends_love(folded), adds(folded), is_temporary(folded)),
        *(is_mistake(folded), is_strong_change(folded)),
        _QUESTION.search(folded) is not None,
        "了" in folded,
        *(pattern.search(folded) is not None for pattern in (_PAST, _PRESENT, _REFERENCE)),
        hints_at_change(folded),
    )
    return [*(float(value) for value in found), *message.vector]


_FEATURES_OF_CHANGE: Final = 14
_CROSSED_WITH: Final = 8


def likeness(first: ComparedText, second: ComparedText) -> float:
    """The similarity of two meanings."""
    return float(sum(map(mul, first.vector, second.vector)))


def closest(message: ComparedText, old: ComparedText) -> float:
    """The similarity of an older fact and that clause of a message which is most like it."""
    found = (float(sum(map(mul, clause, old.vector))) for clause in message.clauses)
    return max((likeness(message, old), *found))


def shared_stems(message: ComparedText, old: ComparedText) -> int:
    """How many words of both begin alike: "translating" and "translator"."""
    return len(_stems(message.folded) & _stems(old.folded))


def _stems(folded: str) -> set[str]:
    return {word[:_STEM] for word in _WORD.findall(folded) if word not in SUBJECT_WORDS}


def _best_share(words: set[str], old: ComparedText) -> float:
    """How much of one part of an older fact consists of shared words, for the part with most of them."""
    if not words:
        return 0.0
    parts = [fold(part) for part in pieces_of(old.text)]
    return max(min(sum(len(word) for word in words if word in part) / len(part), 1.0) for part in parts)


class PairFeatures(NamedTuple):
    """What a message and an older fact have in common: 1 for yes, 0 for no, or a share."""

    single_topic: float
    """They share a topic of which people have one: home, work."""
    weak_topic: float
    many_topic: float
    no_topic: float
    words: float
    shares_words: float
    likeness: float
    most_alike: float
    """No other older fact is more like the message."""
    above_mean: float
    numbers: float
    times: float
    units: float
    changed_topic: float
    of_user: float
    same_subject: float
    named: float
    names: float
    newest: float
    one_of: float
    alone: float
    negation: float
    liking: float
    closest_clause: float
    stems: float
    share_of_part: float


def pair_features(message: ComparedText, old: ComparedText, others: Sequence[float], place: int) -> PairFeatures:
    """What a message and one of the older facts have in common; `others` is the likeness of all older facts."""
    shared = [name for name in message.topics if name in old.topics]
    words = shared_words(message, old)
    like = likeness(message, old)
    mine, theirs = subject_of(message.folded), subject_of(old.folded)
    return PairFeatures(
        single_topic=float(any(_SINGLE[name] for name in shared)),
        weak_topic=float(any(name in WEAK_TOPICS for name in shared)),
        many_topic=float(any(not _SINGLE[name] and name not in WEAK_TOPICS for name in shared)),
        no_topic=float(not shared),
        words=min(len(words), _MAX_WORDS) / _MAX_WORDS,
        shares_words=float(bool(words)),
        likeness=like,
        most_alike=float(like >= max(others) - 1e-9),
        above_mean=like - sum(others) / len(others),
        numbers=float(bool(message.lexical.numbers) and bool(old.lexical.numbers)),
        times=float(bool(message.lexical.times) and bool(old.lexical.times)),
        units=float(bool(units_in(message.folded) & units_in(old.folded))),
        changed_topic=float(
            any(topic in old.topics and change.search(message.folded) for change, topic in _CHANGED_TOPIC)
        ),
        of_user=float(theirs == USER),
        same_subject=float(mine == theirs),
        named=float(any(mentions(message.folded, name) for name in names_in(old.text))),
        names=float(_NAME.search(message.text) is not None and _NAME.search(old.text) is not None),
        newest=float(place == 0),
        one_of=1 / len(others),
        alone=float(len(others) == 1),
        negation=float(message.lexical.negated != old.lexical.negated),
        liking=float(message.lexical.liking != old.lexical.liking),
        closest_clause=closest(message, old),
        stems=min(shared_stems(message, old), _PAIR) / _PAIR,
        share_of_part=_best_share(words, old),
    )


def shares(values: Sequence[float]) -> list[float]:
    """The probability of each value among all, where none of them may be meant (a value of 0)."""
    highest = max(0.0, *values)
    powers = [math.exp(max(value - highest, -60.0)) for value in values]
    total = sum(powers) + math.exp(-highest)
    return [power / total for power in powers]


def replacement_row(
    features: PairFeatures,
    change: float,
    of_change: Sequence[float],
    evidence: PairEvidence,
    of_message: Sequence[float],
    match: AttributeMatch,
) -> list[float]:
    """The features of a pair, alone and together with those of the message."""
    told = of_change[:_FEATURES_OF_CHANGE]
    single, unshared, words, like = features.single_topic, features.no_topic, features.shares_words, features.likeness
    return [
        *features,
        change,
        *(change * value for value in features),
        *(0.5 * value for value in told),
        *(0.5 * one * other for one in (words, like, single) for other in told[:_CROSSED_WITH]),
        *(factor * value for factor in (1.0, change, words, like, unshared) for value in evidence),
        *(factor * value for factor in (1.0, change, words, like) for value in of_message),
        *(one * other for one in evidence for other in of_message),
        *(factor * value for factor in (1.0, change, evidence.same_subject, *of_message) for value in match),
    ]


def piece_rows(message: ComparedText, parts: Sequence[ComparedText]) -> list[list[float]]:
    """The features of the parts of an older fact: what each has in common with a message, and what only it has."""
    others = [likeness(message, part) for part in parts]
    near = [closest(message, part) for part in parts]
    stems = [shared_stems(message, part) for part in parts]
    shared = [message.topics.keys() & part.topics.keys() for part in parts]
    values = [
        (bool(message.lexical.numbers), [bool(part.lexical.numbers) for part in parts]),
        (bool(message.lexical.times), [bool(part.lexical.times) for part in parts]),
        (_NAME.search(message.text) is not None, [_NAME.search(part.text) is not None for part in parts]),
        (True, [bool(units_in(part.folded) & units_in(message.folded)) for part in parts]),
    ]
    longest = max(len(part.folded) for part in parts)
    rows = []
    for place, part in enumerate(parts):
        own = shared[place] - {name for n, names in enumerate(shared) if n != place for name in names}
        length = len(part.folded)
        found = (
            *(place == 0, place == len(parts) - 1),
            *(_lead(scores, place) for scores in (others, near)),
            stems[place] > 0 and _lead(stems, place) > 0,
            *(bool(own), any(_SINGLE[name] for name in own), bool(own - WEAK_TOPICS)),
            *(there and having[place] and sum(having) == 1 for there, having in values),
            *(having[place] and not there for there, having in values[:2]),
            *(there and any(having) and not having[place] for there, having in values[:2]),
            *(length / longest, length < _FRAGMENT[part.folded.isascii()]),
        )
        pair = pair_features(message, part, others, place)
        rows.append([*pair, *(float(value) for value in found)])
    return rows


def attribute_rows(matches: Sequence[AttributeMatch]) -> list[list[float]]:
    """How likely each part of an older fact is about the attribute of a message, and how much likelier than others."""
    rows = []
    for place, match in enumerate(matches):
        leads = [_lead([each[column] for each in matches], place) for column in _COMPARED_COLUMNS]
        rows.append([*match, *leads, leads[-1] * match.certain_of_fact])
    return rows


_COMPARED_COLUMNS: Final = tuple(AttributeMatch._fields.index(name) for name in ("same", "log_same", "overlap"))


def _lead(scores: Sequence[float], place: int) -> float:
    """By how much one score is above the highest of the others."""
    return scores[place] - max(score for number, score in enumerate(scores) if number != place)


def only_describes(part: ComparedText, other: ComparedText) -> bool:
    """Whether a part of a fact only says how often, how long or how much of the part before it."""
    own = part.topics.keys() - other.topics.keys()
    return not own and not starts_with_subject(part.folded) and _MODIFIER.search(part.folded) is not None


def shared_words(message: ComparedText, old: ComparedText) -> set[str]:
    """The words of both that are neither names nor relations."""
    who = {fold(name) for name in names_in(old.text)} | SUBJECT_WORDS
    words = {word for word in message.lexical.terms & old.lexical.terms if word not in who}
    return words | {
        pair
        for pair in _pairs(message.folded) & _pairs(old.folded)
        if not any(pair in word or word in pair for word in (*who, *words))
    }


def _pairs(folded: str) -> set[str]:
    """Pairs of Chinese characters that may be a word which the segmentation has cut."""
    pairs = {folded[i : i + 2] for i in range(len(folded) - 1)}
    return {pair for pair in pairs if _TWO_HAN.fullmatch(pair) and not _COMMON_HAN.search(pair)}


def mentions(folded: str, name: str) -> bool:
    """Whether a folded text has a name in it."""
    if name.isascii():
        return re.search(rf"\b{re.escape(fold(name))}\b", folded) is not None
    return fold(name) in folded

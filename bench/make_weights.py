"""Train the linear models that judge without a language model, and write the weights that the package ships.

They learn from bench/sets/judgement: statements.tsv (worth keeping or not, and the domain), changes.txt (what a second
sentence replaces of a first), attributes (facts, what replaces and what ends them), and the rounds and sequences of the
writers. Each is a logistic regression with a penalty on the weights. `bench.judgement --cross-validated` leaves out
each writer in turn.

    python -m bench.make_weights
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import jiyi.longterm
from bench.attribute_training import fit_attributes, matches_of, texts_about, texts_of_message
from bench.judgement_sets import (
    LANGUAGES,
    SPLITS,
    WRITERS,
    AttributeLine,
    attribute_lines,
    attributes,
    changes,
    domains_of,
    holds,
    load,
    statements,
)
from jiyi.longterm.attribute_model import AttributeMatch
from jiyi.longterm.classifier import domain_row, worth_row
from jiyi.longterm.corrections import anonymous
from jiyi.longterm.duplicates import gist
from jiyi.longterm.pair_evidence import PairEvidence, message_evidence, pair_evidence
from jiyi.longterm.replacement import (
    Compared,
    PairFeatures,
    along_row,
    attribute_rows,
    change_row,
    likeness,
    pair_features,
    piece_rows,
    replacement_row,
)
from jiyi.longterm.trained import ATTRIBUTES, WEIGHTS
from jiyi.model.domain import SUBSTANTIAL
from jiyi.ports import Embedder
from jiyi.providers.bundled import BundledEmbedder
from jiyi.text import Analyzer, fold
from jiyi.text.statements.about.subject_phrases import compared_subjects
from jiyi.text.statements.about.subjects import subject_of
from jiyi.text.statements.about.topics import topics_of
from jiyi.text.statements.keeping.statement_features import asks
from jiyi.text.statements.parts.claims import clauses_of, only_asks, pieces_of, split_claims
from jiyi.text.statements.replacing.change_words import ends, ends_life, ends_love, is_temporary, without_unchanged

Matrix = NDArray[np.float64]
NOT_WORTH, NO_DOMAIN = "-", "+"
_PENALTY = {"worth": 3e-4, "domains": 1e-3, "change": 1e-3, "replaces": 3e-4, "piece": 1e-3, "along": 3e-3}
_STEPS = 300
_DISTRACTORS = 10
_DISTRACTORS_OF_LINES = 6
# A step with facts of other people in between counts less: there are many of them.
_WEIGHT_OF_DISTRACTED = 0.25
# What writers made of conversations is nearer to what is said than single pairs and lines are.
_WEIGHT_OF_SEQUENCE = 3.0
# What is said beside a fact is more tempting in the lines of attributes than it is among ordinary messages.
_WEIGHT_OF_LINE = 0.5
_WEIGHT_OF_BESIDE = 0.15
_WEIGHT_OF_PARTS_OF_LINE = 0.1
# The attributes of texts depend on what is left out: they are compared when the models are trained.
_NO_ATTRIBUTES = np.zeros((0, 0), dtype=np.float32)
_FOLDS = 5
_AROUND = " ,，；;、:：。."
_LEAD = re.compile(r"^(?:About me|[^:：]{1,12})[:：]\s*")


@dataclass(frozen=True, slots=True)
class Said:
    """Messages, and what is gone by those that change something."""

    writer: str
    language: str
    messages: tuple[str, ...]
    gone: dict[int, tuple[Any, ...]]
    """By the place of each message that changes something: what is gone by it."""
    current: tuple[Any, ...] | None
    """What must still be known; `None` for everything else that was said."""
    line: AttributeLine | None = None
    """The line of an attribute that the messages are of."""

    @property
    def all_gone(self) -> tuple[Any, ...]:
        return tuple(must for musts in self.gone.values() for must in musts)

    def gone_before(self, place: int) -> list[Any]:
        return [must for changed, musts in self.gone.items() if changed < place for must in musts]


class Vectors:
    """Embeds every text once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, list[float]] = {}
        self._numbers: dict[str, int] = {}

    def prepare(self, texts: Sequence[str]) -> None:
        missing = sorted({text for text in texts if text not in self._known})
        if missing:
            self._known.update(zip(missing, self._embedder.embed(missing).astype(float).tolist(), strict=True))

    def of(self, text: str) -> list[float]:
        self.prepare([text])
        return self._known[text]

    def number(self, text: str) -> int:
        """The row of a text in the matrix."""
        self.prepare([text])
        return self._numbers.setdefault(text, len(self._numbers))

    def matrix(self) -> NDArray[np.float32]:
        return np.array([self._known[text] for text in self._numbers], dtype=np.float32)


def sequences(writers: Sequence[str]) -> list[Said]:
    """The sequences of the writers and the pairs of changes.txt."""
    found = []
    for writer in writers:
        for language in LANGUAGES:
            for split in SPLITS:
                for item in load("sequences", split, [writer], language):
                    messages = tuple(item["messages"])
                    current = tuple(fact["must"] for fact in item["current"])
                    found.append(Said(writer, language, messages, _gone_by(item), current))
    for line in changes():
        before, after = line[2:].split(" || ")
        gone = tuple([part] for part in re.findall(r"\[(.*?)\]", before))
        plain = before.replace("[", "").replace("]", "")
        found.append(Said("", "en" if plain.isascii() else "zh", (plain, after), {1: gone} if gone else {}, None))
    for each in attribute_lines():
        found += _said_of(each)
    return found


def _said_of(line: AttributeLine) -> list[Said]:
    """A fact and what is said next: what replaces it, what ends it, and what does neither."""
    plain = line.old.replace("[", "").replace("]", "")
    gone = tuple([part] for part in re.findall(r"\[(.*?)\]", line.old)) or ([plain],)
    said = [(line.change, gone), (line.end, gone), (line.beside, ())]
    return [
        Said(line.writer, line.language, (plain, after), {1: lost} if lost else {}, None, line)
        for after, lost in said
        if after
    ]


def _gone_by(item: dict[str, Any]) -> dict[int, tuple[Any, ...]]:
    """What each message changes: by the next one that says something else that is gone, or by the last with news.

    What is retracted ends by the message with words for an end.
    """
    messages, current, gone = item["messages"], item["current"], [fact["must"] for fact in item["gone"]]

    def is_first(must: Any, place: int) -> bool:
        return holds(must, messages[place]) and not any(holds(must, earlier) for earlier in messages[:place])

    news = [n for n in range(1, len(messages)) if any(is_first(fact["must"], n) for fact in current)]
    last = news[-1] if news else len(messages) - 1
    if item["kind"] == "retract":
        ending = [n for n in range(1, len(messages)) if _tells_an_end(fold(messages[n]))]
        last = ending[-1] if ending else len(messages) - 1
    found: dict[int, list[Any]] = {}
    for must in gone:
        said = next((n for n in range(len(messages)) if holds(must, messages[n])), None)
        if said is None or said >= last:
            # What was only asked about was never known.
            continue
        others = [n for n in range(said + 1, last) if any(each is not must and is_first(each, n) for each in gone)]
        told = _told_instead(item, must, said)
        found.setdefault(told or (others[0] if others else last), []).append(must)
    return {place: tuple(musts) for place, musts in found.items()}


def _told_instead(item: dict[str, Any], must: Any, said: int) -> int:
    """The place of the message with what holds instead: it is known by the parts that both have; 0 where none has."""
    messages = item["messages"]
    for fact in item["current"]:
        own = [part for part in fact["must"] if part not in must]
        if own and len(own) < len(fact["must"]):
            news = [n for n in range(said + 1, len(messages)) if holds(own, messages[n])]
            if news and not any(holds(own, messages[n]) for n in range(said + 1)):
                return news[0]
    return 0


def _tells_an_end(folded: str) -> bool:
    return ends(folded) or ends_life(folded) or ends_love(folded)


@dataclass(frozen=True, slots=True)
class Example:
    """A row of features and what is right for it."""

    writer: str
    text: str
    row: list[float]
    right: Any
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Step:
    """A message after others: whether it changes something, and of each older claim whether it is gone by it."""

    writer: str
    text: str
    row: list[float]
    changes: bool
    told: list[float]
    """What its words say about a replacement."""
    pairs: list[tuple[PairFeatures, PairEvidence, bool]]
    """Of each older claim the features, the evidence, and whether it is gone."""
    said: tuple[int, ...]
    """The rows of the clauses of the message and of the whole in the matrix of vectors."""
    known: tuple[int, ...]
    """Those of the older claims."""
    weight: float
    line: AttributeLine | None


@dataclass(frozen=True, slots=True)
class Group:
    """The parts of an older fact, and which of them is replaced."""

    writer: str
    text: str
    rows: list[list[float]]
    right: int
    said: tuple[int, ...]
    """The rows of the clauses of the message and of the whole in the matrix of vectors."""
    known: tuple[int, ...]
    """Those of the parts."""
    line: AttributeLine | None


@dataclass(frozen=True, slots=True)
class Examples:
    """All rows of features, made once: a training takes those that it may see."""

    worth: list[Example]
    domains: list[Example]
    steps: list[Step]
    pieces: list[Group]
    along: list[Example]
    attributes: NDArray[np.float32]
    """The weights of the attributes: they are learned from lines that no writer of a set has written."""
    matches: list[list[AttributeMatch]]
    """Of each step how likely the older claims are about the same attribute as its message."""
    matches_of_pieces: list[list[AttributeMatch]]
    """The same for the parts of facts."""


def examples(writers: Sequence[str], vectors: Vectors) -> Examples:
    """What is learned from, as rows of features."""
    rounds = [
        (writer, item)
        for writer in writers
        for language in LANGUAGES
        for split in SPLITS
        for item in load("rounds", split, [writer], language)
    ]
    plain = statements()
    known = sequences(writers)
    vectors.prepare([text for _, text in plain] + [item["user"] for _, item in rounds])
    vectors.prepare([claim.text for text in (t for _, t in plain) for claim in split_claims(text)])
    vectors.prepare([each.text for _, item in rounds for each in split_claims(item["user"])])
    vectors.prepare([text for s in known for m in s.messages for text in (m, *(c.text for c in split_claims(m)))])
    vectors.prepare([text for s in known for m in s.messages for text in (*clauses_of(m), *pieces_of(m))])
    pieces, along = _pieces(known, vectors)
    steps = _steps(known, vectors)
    lines = [(line, tuple(map(vectors.number, texts_about(line)))) for line in attribute_lines()]
    found = vectors.matrix()
    return Examples(
        _worth(rounds, plain, [said for said in known if said.line is None], vectors),
        _domains(rounds, plain, vectors),
        steps,
        pieces,
        along,
        fit_attributes(found, lines),
        *matches_of(found, lines, [[(e.said, e.known, e.line) for e in group] for group in (steps, pieces)]),
    )


def train(found: Examples, without: str = "", unseen: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The weights; nothing of the writer `without` and no text of `unseen` is learned from."""

    def seen(each: Example | Step | Group) -> bool:
        if each.writer:
            return each.writer != without and each.text not in unseen
        return not any(each.text in other for other in unseen)

    worth = [each for each in found.worth if seen(each)]
    sides = np.array([float(each.right) for each in worth])
    # The sets hold more facts than conversations do: both sides count the same.
    weight = np.where(sides > 0, 0.5 / sides.mean(), 0.5 / (1 - sides.mean()))
    result: dict[str, Any] = {"worth": _told(_fit(_rows(worth), sides, _PENALTY["worth"], weight))}
    domains = [each for each in found.domains if seen(each)]
    names = sorted({each.right for each in domains})
    wanted = np.array([[float(each.right == name) for name in names] for each in domains])
    of_domains = _fit_classes(_rows(domains), wanted, _PENALTY["domains"])
    result["domains"] = {name: _told(of_domains[:, place]) for place, name in enumerate(names)}
    result["single"] = list(map(float, attributes().values()))
    result["attributes"] = found.attributes
    learned = [(step, match) for step, match in zip(found.steps, found.matches, strict=True) if seen(step)]
    result["change"], result["replaces"] = _replacement([step for step, _ in learned], [match for _, match in learned])
    groups = [
        (_with_attributes(group.rows, match), group.right, _WEIGHT_OF_PARTS_OF_LINE if group.line else 1.0)
        for group, match in zip(found.pieces, found.matches_of_pieces, strict=True)
        if seen(group)
    ]
    result["piece"] = _told(np.append(_choose(groups), 0.0))
    along = [each for each in found.along if seen(each)]
    result["along"] = _told(_fit(_rows(along), np.array([float(e.right) for e in along]), _PENALTY["along"]))
    return result


def _with_attributes(rows: Sequence[Sequence[float]], matches: Sequence[AttributeMatch]) -> list[list[float]]:
    return [[*row, *of_attribute] for row, of_attribute in zip(rows, attribute_rows(matches), strict=True)]


def _rows(found: Sequence[Example]) -> Matrix:
    return np.array([each.row for each in found])


def _worth(
    rounds: Sequence[tuple[str, dict[str, Any]]],
    plain: Sequence[tuple[str, str]],
    known: Sequence[Said],
    vectors: Vectors,
) -> list[Example]:
    texts = {text: (each.writer, states) for each in known for text, states in _said_in(each)}
    texts |= {text: ("", label != NOT_WORTH) for label, text in plain}
    for label, text in plain:
        # What a question states is judged alone as well.
        stated = [claim.text for claim in split_claims(text)] if asks(fold(text)) else []
        if len(stated) == 1:
            texts.setdefault(stated[0], ("", label != NOT_WORTH))
    texts |= {item["user"]: (writer, bool(item["keep"])) for writer, item in rounds}
    for writer, item in rounds:
        texts |= {text: (writer, states) for text, states in _clauses_of(item)}
    return [Example(writer, text, worth_row(text, vectors.of(text)), keep) for text, (writer, keep) in texts.items()]


def _said_in(said: Said) -> list[tuple[str, bool]]:
    """The messages of a sequence: those with a fact are worth keeping, those beside them are not."""
    found = []
    for place, message in enumerate(said.messages):
        states = said.current is None or any(holds(must, message) for must in (*said.current, *said.all_gone))
        if states and not is_temporary(fold(message)):
            found.append((message, True))
        elif not states and place not in said.gone and _only_chat(said, message):
            found.append((message, False))
    return found


def _only_chat(said: Said, message: str) -> bool:
    parts = [part for must in (*(said.current or ()), *said.all_gone) for part in must]
    return not any(holds([part], message) for part in parts)


def _clauses_of(item: dict[str, Any]) -> list[tuple[str, bool]]:
    """The claims of a message by themselves: sentences and statements in questions are judged alone as well."""
    found: dict[str, bool] = {}
    claims = [claim.text for claim in split_claims(item["user"])]
    for text in claims if len(claims) > 1 or asks(fold(item["user"])) else ():
        states = any(holds(fact["must"], text) for fact in item["keep"])
        # A claim of a message with facts that holds none of them may still be worth keeping: nothing is learned.
        if states or not item["keep"]:
            found[text] = states
    return list(found.items())


def _domains(
    rounds: Sequence[tuple[str, dict[str, Any]]], plain: Sequence[tuple[str, str]], vectors: Vectors
) -> list[Example]:
    found = []
    for label, text in plain:
        if label in SUBSTANTIAL:
            claim = split_claims(text)[0]
            row = domain_row(claim, text, vectors.of(claim.text), vectors.of(text))
            found.append(Example("", text, row, label))
    for writer, item in rounds:
        claims = split_claims(item["user"])
        for fact in item["keep"]:
            stating = [claim for claim in claims if holds(fact["must"], claim.text)]
            if stating:
                claim = min(stating, key=lambda each: len(each.text))
                row = domain_row(claim, item["user"], vectors.of(claim.text), vectors.of(item["user"]))
                found.append(Example(writer, item["user"], row, domains_of(fact)[0]))
    return found


def _steps(known: Sequence[Said], vectors: Vectors) -> list[Step]:
    """Every message that follows others, with the claims of those, alone and among claims of other people."""
    reader = Reader(vectors)
    # What is only asked is never kept, and so never compared.
    claims = {
        m: [claim.text for claim in split_claims(m) if not only_asks(claim.text)] for s in known for m in s.messages
    }
    pool: dict[tuple[str, str], list[str]] = {}
    for each in known:
        others = pool.setdefault((each.writer if each.line else "", each.language), [])
        if each.line is not None:
            others += [claim for claim in claims[each.messages[0]] if claim not in others]
        elif not each.writer:
            others += [claim for m in each.messages for claim in claims[m]]
    found = []
    for each in known:
        for place in range(1, len(each.messages)):
            message, gone = reader.message(without_unchanged(each.messages[place])), each.gone.get(place, ())
            before = each.gone_before(place)
            olds = [c for m in each.messages[:place] for c in claims[m] if not any(holds(g, c) for g in before)][::-1]
            chance = random.Random(f"{each.messages[0]} {place}")
            for distractors in (0, _DISTRACTORS_OF_LINES if each.line else _DISTRACTORS):
                own = pool[each.writer if each.line else "", each.language]
                others = chance.sample([c for c in own if c not in olds], distractors)
                facts = [reader.fact(text) for text in (*olds, *others)]
                like = [likeness(message, fact) for fact in facts]
                relations = compared_subjects(message.text, [fact.text for fact in facts])
                pairs = [
                    (
                        pair_features(message, fact, like, number),
                        pair_evidence(message, fact, subject_of(fact.folded), relations[number], newest=number == 0),
                        number < len(olds) and any(_is_gone(must, fact.text, each) for must in gone),
                    )
                    for number, fact in enumerate(facts)
                ]
                if not pairs or bool(gone) != any(right for _, _, right in pairs):
                    continue
                weight = _WEIGHT_OF_DISTRACTED if distractors else 1.0
                if each.writer and each.line is None:
                    weight *= _WEIGHT_OF_SEQUENCE
                if each.line is not None:
                    weight *= _WEIGHT_OF_LINE if gone else _WEIGHT_OF_BESIDE
                told = message_evidence(message.folded)
                row = change_row(message)
                said = tuple(map(vectors.number, texts_of_message(message.text)))
                olds_read = tuple(vectors.number(fact.text) for fact in facts)
                text = each.messages[place]
                found.append(Step(each.writer, text, row, bool(gone), told, pairs, said, olds_read, weight, each.line))
    return found


def _is_gone(must: Any, claim: str, said: Said) -> bool:
    if said.current is not None or holds(must, claim):
        return holds(must, claim)
    bare = _LEAD.sub("", claim).strip(_AROUND)
    return len(bare) > 1 and bare in must[0]


class Reader:
    """Reads facts, and messages with their clauses, as the package does; every text once."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._analyzer = Analyzer()
        self._known: dict[str, Compared] = {}

    def fact(self, text: str) -> Compared:
        if text not in self._known:
            folded, vector = fold(text), self._vectors.of(text)
            read = gist(text, self._analyzer)
            self._known[text] = Compared(text, folded, read, topics_of(folded), vector, _NO_ATTRIBUTES)
        return self._known[text]

    def message(self, text: str) -> Compared:
        clauses = clauses_of(text)
        found = [self._vectors.of(clause) for clause in clauses] if len(clauses) > 1 else []
        return replace(self.fact(text), clauses=tuple(found))


def _replacement(steps: Sequence[Step], matches: Sequence[Sequence[AttributeMatch]]) -> tuple[Any, Any]:
    """The model of changes, then the model of pairs: it learns from what the first says of messages unseen by it."""
    rows = np.array([step.row for step in steps])
    sides = np.array([float(step.changes) for step in steps])
    weights = np.array([step.weight for step in steps])
    weights /= weights.mean()
    line = _fit(rows, sides, _PENALTY["change"], weights)
    seen_apart = _out_of_fold([step.text for step in steps], rows, sides, weights)
    of_pairs = [
        np.array(
            [
                replacement_row(features, float(seen_apart[number]), step.row, evidence, step.told, match)
                for (features, evidence, _), match in zip(step.pairs, matches[number], strict=True)
            ],
            dtype=np.float32,
        )
        for number, step in enumerate(steps)
    ]
    gone = np.array([right for step in steps for _, _, right in step.pairs])
    return _told(line), _told(_rank(np.concatenate(of_pairs), gone, [len(step.pairs) for step in steps], weights))


def _rank(rows: Matrix, right: Any, sizes: Sequence[int], weights: Matrix) -> Matrix:
    """Weights by which the right rows of each list have the largest share, or none has where none is right (Adam)."""
    padded = np.hstack([rows, np.ones((len(rows), 1))]).astype(np.float32)
    starts = np.cumsum([0, *sizes[:-1]])
    place = np.repeat(np.arange(len(sizes)), sizes)
    each = (weights / weights.sum())[place]
    found = np.zeros(padded.shape[1], dtype=np.float32)
    mean, square = np.zeros_like(found), np.zeros_like(found)
    for step in range(1, _STEPS + 1):
        values = padded @ found
        highest = np.maximum(np.maximum.reduceat(values, starts), 0)
        powers = np.exp(values - highest[place])
        share = powers / (np.add.reduceat(powers, starts) + np.exp(-highest))[place]
        rightly = np.where(right, share, 0)
        wanted = rightly / np.maximum(np.add.reduceat(rightly, starts), 1e-12)[place]
        slope = padded.T @ ((share - wanted) * each).astype(np.float32)
        slope[:-1] += _PENALTY["replaces"] * found[:-1]
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        rate = 0.03 * (1.02 - step / _STEPS)
        found -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return found


def _pieces(known: Sequence[Said], vectors: Vectors) -> tuple[list[Group], list[Example]]:
    """Which part of a fact is replaced, and which other parts go with it."""
    reader = Reader(vectors)
    groups: list[Group] = []
    beside: list[Example] = []
    for each in known:
        for changed, gone in each.gone.items():
            said = without_unchanged(each.messages[changed])
            for claim in (c.text for m in each.messages[:changed] for c in split_claims(m)):
                texts = pieces_of(claim)
                found = [_in_brackets(text, gone, each) for text in texts]
                if len(texts) < 2 or not max(found):
                    continue
                text_of_message, bare = anonymous(said, texts)
                message, parts = reader.message(text_of_message), [reader.fact(text) for text in bare]
                right = found.index(max(found))
                if found.count(max(found)) == 1:
                    numbers = tuple(map(vectors.number, texts_of_message(text_of_message)))
                    of_parts = tuple(map(vectors.number, bare))
                    rows = piece_rows(message, parts)
                    groups.append(Group(each.writer, each.messages[changed], rows, right, numbers, of_parts, each.line))
                if each.line is not None:
                    # Whether the other parts go along, the lines do not tell.
                    continue
                for place, text in enumerate(texts):
                    stays = each.current is None or any(holds([part], text) for must in each.current for part in must)
                    if place != right and bool(found[place]) != stays:
                        row = along_row(message, parts, place, right)
                        beside.append(Example(each.writer, each.messages[changed], row, bool(found[place])))
    return groups, beside


def _in_brackets(text: str, gone: Sequence[Any], said: Said) -> int:
    """How much of what is gone stands in a part of a fact."""
    bare = text.strip(_AROUND)
    if said.current is None:
        return sum(bare in must[0] or must[0] in bare for must in gone)
    return sum(holds([part], text) for must in gone for part in must)


def _choose(groups: Sequence[tuple[list[list[float]], int, float]]) -> Matrix:
    """Weights by which the right row of each group has the highest value."""
    longest = max(len(rows) for rows, _, _ in groups)
    padded = np.zeros((len(groups), longest, len(groups[0][0][0])), dtype=np.float32)
    there = np.zeros((len(groups), longest), dtype=bool)
    each = np.array([weight for _, _, weight in groups])
    each = (each / each.sum()).astype(np.float32)
    for number, (rows, _, _) in enumerate(groups):
        padded[number, : len(rows)], there[number, : len(rows)] = rows, True
    right = padded[np.arange(len(groups)), [place for _, place, _ in groups]]
    weights = np.zeros(padded.shape[2])
    for _ in range(3 * _STEPS):
        values = np.where(there, padded @ weights, -np.inf)
        shares = np.exp(values - values.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        slope = each @ (np.einsum("gp,gpf->gf", shares, padded) - right)
        weights -= 0.3 * (slope + _PENALTY["piece"] * weights)
    return weights


def _out_of_fold(texts: Sequence[str], rows: Matrix, sides: Matrix, weights: Matrix) -> Matrix:
    chance = random.Random(2)
    fold_of = {text: chance.randrange(_FOLDS) for text in sorted(set(texts))}
    folds = np.array([fold_of[text] for text in texts])
    found = np.zeros(len(texts))
    for number in range(_FOLDS):
        others = folds != number
        line = _fit(rows[others], sides[others], _PENALTY["change"], weights[others])
        found[folds == number] = _chances(rows[folds == number] @ line[:-1] + line[-1])
    return found


def _chances(values: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-np.clip(values, -30, 30)))


def _fit(rows: Matrix, sides: Matrix, penalty: float, weight: Matrix | None = None) -> Matrix:
    """A logistic regression by accelerated gradient descent; the offset is the last weight."""
    return _descend(rows, sides[:, None], penalty, weight, classes=False)[:, 0]


def _fit_classes(rows: Matrix, wanted: Matrix, penalty: float) -> Matrix:
    return _descend(rows, wanted, penalty, None, classes=True)


def _descend(rows: Matrix, wanted: Matrix, penalty: float, weight: Matrix | None, *, classes: bool) -> Matrix:
    count = len(rows)
    # Half the precision is enough, and twice as fast.
    padded = np.hstack([rows, np.ones((count, 1))]).astype(np.float32)
    each = (np.ones(count) if weight is None else weight)[:, None].astype(np.float32)
    steepest = (0.5 if classes else 0.25) * _largest(padded * np.sqrt(each)) / count + penalty
    found = np.zeros((padded.shape[1], wanted.shape[1]), dtype=np.float32)
    wanted = wanted.astype(np.float32)
    ahead, momentum = found.copy(), 1.0
    for _ in range(_STEPS):
        values = padded @ ahead
        if classes:
            values = np.exp(values - values.max(axis=1, keepdims=True))
            said = values / values.sum(axis=1, keepdims=True)
        else:
            said = _chances(values)
        shrink = penalty * ahead
        shrink[-1] = 0
        new = ahead - (padded.T @ (each * (said - wanted)) / count + shrink) / steepest
        following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / following * (new - found)
        found, momentum = new, following
    return found


def _largest(rows: Any) -> float:
    """The square of the largest singular value."""
    return float(np.linalg.eigvalsh((rows.T @ rows).astype(np.float64))[-1])


def _told(weights: Matrix) -> dict[str, Any]:
    return {"weights": [round(float(weight), 5) for weight in weights[:-1]], "offset": round(float(weights[-1]), 5)}


def texts_of(writer: str) -> frozenset[str]:
    """Everything that a writer wrote."""
    found: set[str] = set()
    for language in LANGUAGES:
        for split in SPLITS:
            found |= {item["user"] for item in load("rounds", split, [writer], language)}
            found |= {m for item in load("sequences", split, [writer], language) for m in item["messages"]}
    return frozenset(found)


def write(stored: dict[str, Any], place: Path) -> None:
    """Write the weights as the package ships them: the large matrix beside the others."""
    models = {name: model for name, model in stored["models"].items() if name != "attributes"}
    np.save(place / ATTRIBUTES, stored["models"]["attributes"].astype(np.float16))
    text = json.dumps({**stored, "models": models}, separators=(",", ":"))
    (place / WEIGHTS).write_text(text + "\n", "utf-8")


def _stored(without: str = "", unseen: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The form in which the package ships the weights, with the embedder that they are for."""
    identity = BundledEmbedder().identity
    return {
        "embedder": {"name": identity.name, "dimension": identity.dimension},
        "models": train(_all_examples(), without, unseen),
    }


@cache
def _all_examples() -> Examples:
    return examples(WRITERS, Vectors(BundledEmbedder()))


@cache
def left_out_weights(writer: str) -> dict[str, Any]:
    """The weights without one writer, to be measured with that writer's sets."""
    return _stored(writer, texts_of(writer))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--to", type=Path, default=Path(jiyi.longterm.__file__).parent, help="the folder above `data`")
    write(_stored(), options.parse_args().to)


if __name__ == "__main__":
    main()

"""What the judgement without a language model learns from, as rows of features: `bench.make_weights` trains with it.

From bench/sets/judgement: statements.tsv (worth keeping or not, and the domain), changes.txt (what a second sentence
replaces of a first), attributes (facts, what replaces and what ends them), the rounds and sequences of the writers, and
for the network of `bench.make_pair_network` also the messages of `people`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.attribute_training import fit_attributes, matches_of, texts_about
from bench.judgement_sets import (
    LANGUAGES,
    SPLITS,
    AttributeLine,
    attribute_lines,
    changes,
    domains_of,
    facts_of_domains,
    holds,
    load,
    statements,
)
from jiyi.longterm.attribute_model import AttributeMatch
from jiyi.longterm.classifier import domain_row, worth_keeping_row
from jiyi.longterm.corrections import anonymous
from jiyi.longterm.duplicates import lexical_features
from jiyi.longterm.pair_evidence import PairEvidence, message_evidence, pair_evidence
from jiyi.longterm.pair_network import texts_of_message
from jiyi.longterm.replacement import (
    ComparedText,
    PairFeatures,
    change_row,
    likeness,
    pair_features,
    piece_rows,
)
from jiyi.model.domain import SUBSTANTIAL
from jiyi.ports import Embedder
from jiyi.text import Analyzer, fold
from jiyi.text.statements.about.subject_phrases import compared_subjects
from jiyi.text.statements.about.subjects import subject_of
from jiyi.text.statements.about.topics import topics_of
from jiyi.text.statements.keeping.statement_features import asks
from jiyi.text.statements.parts.claims import clauses_of, only_asks, pieces_of, split_claims
from jiyi.text.statements.replacing.change_words import ends, ends_life, ends_love, is_temporary, without_unchanged

NOT_WORTH, NO_DOMAIN = "-", "+"
_DISTRACTORS = 10
_DISTRACTORS_OF_LINES = 6
# A step with facts of other people in between counts less: there are many of them.
_WEIGHT_OF_DISTRACTED = 0.25
# What writers made of conversations is nearer to what is said than single pairs and lines are.
_WEIGHT_OF_SEQUENCE = 3.0
# What is said beside a fact is more tempting in the lines of attributes than it is among ordinary messages.
_WEIGHT_OF_LINE = 0.5
_WEIGHT_OF_BESIDE = 0.15
# The attributes of texts depend on what is left out: they are compared when the models are trained.
_NO_ATTRIBUTES = np.zeros((0, 0), dtype=np.float32)
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

    def texts(self) -> list[str]:
        """The texts by their rows."""
        return list(self._numbers)

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
    distracted: bool = False
    """Whether claims of other people are among the older ones."""


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
    attributes: NDArray[np.float32]
    """The weights of the attributes: they are learned from lines that no writer of a set has written."""
    matches: list[list[AttributeMatch]]
    """Of each step how likely the older claims are about the same attribute as its message."""
    matches_of_pieces: list[list[AttributeMatch]]
    """The same for the parts of facts."""


def examples(
    writers: Sequence[str], vectors: Vectors, more_steps: Sequence[Step] = (), more_pieces: Sequence[Group] = ()
) -> Examples:
    """What is learned from, as rows of features; with steps and parts of facts from elsewhere."""
    rounds = [
        (writer, item)
        for writer in writers
        for language in LANGUAGES
        for split in SPLITS
        for item in load("rounds", split, [writer], language)
    ]
    plain, of_domains = statements(), facts_of_domains()
    known = sequences(writers)
    labelled = [text for _, text in (*plain, *of_domains)]
    vectors.prepare(labelled + [item["user"] for _, item in rounds])
    vectors.prepare([claim.text for text in labelled for claim in split_claims(text)])
    vectors.prepare([each.text for _, item in rounds for each in split_claims(item["user"])])
    vectors.prepare([text for s in known for m in s.messages for text in (m, *(c.text for c in split_claims(m)))])
    vectors.prepare([text for s in known for m in s.messages for text in (*clauses_of(m), *pieces_of(m))])
    pieces = _pieces(known, vectors)
    pieces += more_pieces
    steps = [*_steps(known, vectors), *more_steps]
    lines = [(line, tuple(map(vectors.number, texts_about(line)))) for line in attribute_lines()]
    found = vectors.matrix()
    return Examples(
        _worth(rounds, plain, [said for said in known if said.line is None], vectors),
        _domains(rounds, plain + of_domains, vectors),
        steps,
        pieces,
        fit_attributes(found, lines),
        *matches_of(found, lines, [[(e.said, e.known, e.line) for e in group] for group in (steps, pieces)]),
    )


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
    return [
        Example(writer, text, worth_keeping_row(text, vectors.of(text)), keep) for text, (writer, keep) in texts.items()
    ]


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
                changed, line, other = bool(gone), each.line, distractors > 0
                found.append(Step(each.writer, text, row, changed, told, pairs, said, olds_read, weight, line, other))
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
        self._known: dict[str, ComparedText] = {}

    def fact(self, text: str) -> ComparedText:
        if text not in self._known:
            folded, vector = fold(text), self._vectors.of(text)
            read = lexical_features(text, self._analyzer)
            self._known[text] = ComparedText(text, folded, read, topics_of(folded), vector, _NO_ATTRIBUTES)
        return self._known[text]

    def message(self, text: str) -> ComparedText:
        clauses = clauses_of(text)
        found = [self._vectors.of(clause) for clause in clauses] if len(clauses) > 1 else []
        return replace(self.fact(text), clauses=tuple(found))


def _pieces(known: Sequence[Said], vectors: Vectors) -> list[Group]:
    """Which part of a fact is replaced."""
    reader = Reader(vectors)
    groups: list[Group] = []
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
    return groups


def _in_brackets(text: str, gone: Sequence[Any], said: Said) -> int:
    """How much of what is gone stands in a part of a fact."""
    bare = text.strip(_AROUND)
    if said.current is None:
        return sum(bare in must[0] or must[0] in bare for must in gone)
    return sum(holds([part], text) for must in gone for part in must)

"""The messages of bench/sets/judgement/people as examples: which claims and which parts of them they make outdated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.judgement_examples import Group, Reader, Step, Vectors
from bench.judgement_sets import PEOPLE, PersonMessage, holds, messages_of_people, messages_of_values
from jiyi.longterm.corrections import anonymous
from jiyi.longterm.pair_evidence import message_evidence, pair_evidence
from jiyi.longterm.pair_network import texts_of_message
from jiyi.longterm.replacement import ComparedText, change_row, likeness, pair_features, piece_rows
from jiyi.text.statements.about.subject_phrases import compared_subjects
from jiyi.text.statements.about.subjects import subject_of
from jiyi.text.statements.parts.claims import clauses_of, only_asks, pieces_of, split_claims
from jiyi.text.statements.replacing.change_words import without_unchanged

_AROUND = " ,，。.;；"


def claims_of(message: PersonMessage) -> list[str]:
    """The claims of what was told before, the newest first."""
    told = [claim.text for fact in message.facts for claim in split_claims(fact)]
    return [claim for claim in told if not only_asks(claim)][::-1]


def is_outdated(claim: str, gone: Sequence[str]) -> bool:
    """Whether a part of a claim does not hold any more, or the claim is a part of what does not."""
    return any(holds([part], claim) or claim.strip(_AROUND) in part for part in gone)


def of_people(vectors: Vectors) -> tuple[list[Step], list[Group]]:
    """Every message with the claims of its person, and the parts of claims of which it changes only some."""
    people = messages_of_people() + messages_of_values()
    for message in people:
        vectors.prepare(claims_of(message))
    vectors.prepare([text for each in people for text in _texts_of(without_unchanged(each.text))])
    reader = Reader(vectors)
    steps: list[Step] = []
    groups: list[Group] = []
    for message in people:
        said = reader.message(without_unchanged(message.text))
        claims = claims_of(message)
        if any(is_outdated(claim, message.gone) for claim in claims) == bool(message.gone) and claims:
            steps.append(_step(message, said, [reader.fact(claim) for claim in claims], vectors))
            groups += _groups(message, said, claims, reader, vectors)
    return steps, groups


def _texts_of(text: str) -> list[str]:
    return [text, *clauses_of(text)]


def _step(message: PersonMessage, said: ComparedText, facts: Sequence[ComparedText], vectors: Vectors) -> Step:
    like = [likeness(said, fact) for fact in facts]
    relations = compared_subjects(said.text, [fact.text for fact in facts])
    pairs = [
        (
            pair_features(said, fact, like, number),
            pair_evidence(said, fact, subject_of(fact.folded), relations[number], newest=number == 0),
            is_outdated(fact.text, message.gone),
        )
        for number, fact in enumerate(facts)
    ]
    numbers = tuple(map(vectors.number, texts_of_message(said.text)))
    known = tuple(vectors.number(fact.text) for fact in facts)
    told = message_evidence(said.folded)
    writer = f"{PEOPLE}/{message.place}"
    return Step(writer, message.text, change_row(said), bool(message.gone), told, pairs, numbers, known, 1.0, None)


def _groups(
    message: PersonMessage, said: ComparedText, claims: Sequence[str], reader: Reader, vectors: Vectors
) -> Iterator[Group]:
    for claim in claims if message.gone else ():
        parts = pieces_of(claim)
        gone = [is_outdated(part, message.gone) for part in parts]
        if len(parts) > 1 and gone.count(True) == 1:
            text, bare = anonymous(said.text, parts)
            rows = piece_rows(reader.message(text), [reader.fact(part) for part in bare])
            numbers = tuple(map(vectors.number, texts_of_message(text)))
            known = tuple(map(vectors.number, bare))
            yield Group(f"{PEOPLE}/{message.place}", message.text, rows, gone.index(True), numbers, known, None)

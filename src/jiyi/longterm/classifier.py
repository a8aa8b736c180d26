"""Tells what is worth keeping from what is not, and the domain of it, without a language model.

A linear classifier over features of the text and its vector by the bundled embedder. Its weights are shipped: nothing
is learned or embedded at the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from jiyi.longterm.trained import TrainedJudge
from jiyi.text.normalize import fold
from jiyi.text.statements.about.mentions import mention_features
from jiyi.text.statements.about.subjects import is_person
from jiyi.text.statements.about.topics import topics_of
from jiyi.text.statements.keeping.cue_rules import Domain
from jiyi.text.statements.keeping.cues import find_statements
from jiyi.text.statements.keeping.domain_features import domain_features
from jiyi.text.statements.keeping.evidence import has_date
from jiyi.text.statements.keeping.statement_features import asking_features, asks, features_of, topic_features
from jiyi.text.statements.parts.claims import ClaimText

# How much each part of a row weighs before training: features are 0 or 1, vectors have length 1.
_FEATURE: Final = 1.0
_TOPIC: Final = 0.6
_VECTOR: Final = 3.0
_MESSAGE_VECTOR: Final = 1.5
_ASKED_VECTOR: Final = 2.0
_PLAIN_LIFE: Final = frozenset({"allergy", "health", "medication", "home", "pet", "household", "diet"})


class StatementClassifier(TrainedJudge):
    """Judges what is worth keeping and the domain of it."""

    def worth(self, texts: Sequence[str]) -> list[float]:
        """How much each text is like what is worth keeping, from -1 to 1; from `WORTH_KEEPING` on it is kept."""
        line = self._weights.worth
        vectors = self._vectors(texts)
        return [2 * line.probability(worth_keeping_row(*each)) - 1 for each in zip(texts, vectors, strict=True)]

    def domains(self, claims: Sequence[ClaimText], message: str = "") -> list[Domain]:
        """The domain of each claim; the message that they come from tells what they are about."""
        if not claims:
            return []
        vectors = self._vectors([*(claim.text for claim in claims), message])
        lines = self._weights.domains
        found: list[Domain] = []
        for place, claim in enumerate(claims):
            whole = vectors[-1] if message else vectors[place]
            row = domain_row(claim, message or claim.text, vectors[place], whole)
            found.append(cast("Domain", max(lines, key=lambda name, row=row: lines[name].value(row))))  # type: ignore[misc]
        return found


def worth_keeping_row(text: str, vector: Sequence[float]) -> list[float]:
    """The features by which a text is judged, weighted."""
    of_text = features_of(text)
    mentioned = [_TOPIC * value for value in mention_features(text, text)]
    # In a question the same words mean something else: it may ask for just that.
    asked = float(asks(fold(text)))
    return [
        *(_FEATURE * value for value in of_text),
        *(_TOPIC * value for value in topic_features(text)),
        *mentioned,
        *asking_features(text),
        *(asked * value for value in (*of_text, *mentioned)),
        *(_VECTOR * value for value in vector),
        *(_ASKED_VECTOR * asked * value for value in vector),
    ]


def domain_row(
    claim: ClaimText, message: str, vector: Sequence[float], vector_of_message: Sequence[float]
) -> list[float]:
    """The features by which the domain of a claim is told; `message` is where it was said."""
    folded = fold(claim.text)
    dated = has_date(folded)
    kinds = {statement.kind for statement in find_statements(claim.text)}
    features = [
        *topic_features(claim.text),
        2.0 * is_person(claim.subject),
        float(dated),
        float(dated and "appointment" in topics_of(folded)),
        float("instruction" in kinds),
        float("preference" in kinds),
        float(claim.topic in {"work", "study"}),
        1.5 * (claim.topic == "appointment"),
        float(claim.topic in _PLAIN_LIFE),
        *mention_features(claim.text, message),
        *domain_features(claim.text, of_others=is_person(claim.subject)),
    ]
    return [
        *(2.0 * value for value in features),
        *(_VECTOR * value for value in vector),
        *(_MESSAGE_VECTOR * value for value in vector_of_message),
    ]

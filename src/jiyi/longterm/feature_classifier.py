"""The classifier without an embedder: fixed weights of the features, and nothing to learn or to import.

The weights are those that `jiyi.longterm.classifier` learns from the prototypes by features alone;
`python -m bench.make_weights` writes them anew, and a test keeps them true.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, Protocol, cast

from jiyi.text.claims import ClaimText
from jiyi.text.cue_rules import Domain
from jiyi.text.cues import find_statements
from jiyi.text.evidence import has_date
from jiyi.text.normalize import fold
from jiyi.text.statement_features import features_of, topic_features
from jiyi.text.subjects import is_person
from jiyi.text.topics import topics_of

FEATURE_WEIGHT: Final = 0.5
TOPIC_WEIGHT: Final = 0.3
WEIGHTS: Final = "data/weights.json"
_PLAIN_LIFE: Final = frozenset({"allergy", "health", "medication", "home", "pet", "household", "diet"})


class Classifier(Protocol):
    """Judges what is worth keeping, and its domain."""

    def worth(self, texts: Sequence[str]) -> list[float]:
        """How much each text is like what is worth keeping."""
        ...

    def domains(self, claims: Sequence[ClaimText]) -> list[Domain]:
        """The domain of each claim."""
        ...


def worth_row(text: str) -> list[float]:
    """The features by which a text is judged, weighted."""
    return [
        *(FEATURE_WEIGHT * value for value in features_of(text)),
        *(TOPIC_WEIGHT * value for value in topic_features(text)),
    ]


def domain_row(claim: ClaimText) -> list[float]:
    """The features by which the domain of a claim is told."""
    folded = fold(claim.text)
    dated = has_date(folded)
    kinds = {statement.kind for statement in find_statements(claim.text)}
    return [
        *topic_features(claim.text),
        2.0 * is_person(claim.subject),
        float(dated),
        float(dated and "appointment" in topics_of(folded)),
        float("instruction" in kinds),
        float("preference" in kinds),
        float(claim.topic in {"work", "study"}),
        1.5 * (claim.topic == "appointment"),
        float(claim.topic in _PLAIN_LIFE),
    ]


class FeatureClassifier:
    """Judges by features alone."""

    def worth(self, texts: Sequence[str]) -> list[float]:
        """How much each text is like what is worth keeping."""
        line = _weights()["worth"]
        return [_value(line, worth_row(text)) for text in texts]

    def domains(self, claims: Sequence[ClaimText]) -> list[Domain]:
        """The domain of each claim."""
        lines = _weights()["domains"]
        rows = [domain_row(claim) for claim in claims]
        return [cast("Domain", max(lines, key=lambda name, row=row: _value(lines[name], row))) for row in rows]  # type: ignore[misc]


@cache
def _weights() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(files("jiyi.longterm").joinpath(WEIGHTS).read_text("utf-8"))
    return found


def _value(line: dict[str, Any], row: Sequence[float]) -> float:
    return float(line["offset"] + sum(weight * value for weight, value in zip(line["weights"], row, strict=True)))

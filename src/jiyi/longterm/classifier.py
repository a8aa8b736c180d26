"""Tells what is worth keeping from what is not, and the domain of it, without a language model.

A linear classifier (ridge regression, solved in one step) over features of the text and, where there is an embedder,
its vector. It learns from labelled prototypes when it is first asked. How well it separates them is known exactly from
the prototypes themselves, each judged by all the others: an embedder that does not help is not asked.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from jiyi.longterm.feature_classifier import domain_row, worth_row
from jiyi.text.claims import ClaimText, split_claims
from jiyi.text.cue_rules import Domain
from jiyi.text.statement_features import WORTH_KEEPING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from jiyi.ports import Embedder

    Matrix = NDArray[np.float64]

_log = logging.getLogger("jiyi.longterm")

# Chosen on the prototypes, those of each writer judged by those of the others.
_RIDGE: Final = 1.0
_DOMAIN_RIDGE: Final = 2.0
_VECTOR_IN_DOMAIN: Final = 0.5
_MIN_GAIN: Final = 0.002
NOT_WORTH: Final = "-"
NO_DOMAIN: Final = "+"


@dataclass(frozen=True, slots=True)
class _Line:
    """A linear function of a row: near 1 on one side, near -1 on the other."""

    weights: Matrix
    offset: float

    def of(self, rows: Matrix) -> Matrix:
        return rows @ self.weights + self.offset


@dataclass(frozen=True, slots=True)
class _Learned:
    worth: _Line
    domains: dict[Domain, _Line]
    with_vectors: bool
    accuracy: float


class StatementClassifier:
    """Judges texts with one embedder, or with none. Nothing is loaded or embedded before the first question."""

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._learning = threading.Lock()
        self._learned_lines: _Learned | None = None

    @property
    def accuracy(self) -> float:
        """Which share of the prototypes it tells right, each judged by all the others."""
        return self._learned().accuracy

    def worth(self, texts: Sequence[str]) -> list[float]:
        """How much each text is like what is worth keeping; from `WORTH_KEEPING` on it is kept."""
        if not texts:
            return []
        learned = self._learned()
        rows = _worth_rows(texts, self._vectors(texts) if learned.with_vectors else None)
        return [float(value) for value in learned.worth.of(rows)]

    def domains(self, claims: Sequence[ClaimText]) -> list[Domain]:
        """The domain of each claim."""
        if not claims:
            return []
        learned = self._learned()
        rows = _domain_rows(claims, self._vectors([c.text for c in claims]) if learned.with_vectors else None)
        likeness = np.stack([line.of(rows) for line in learned.domains.values()], axis=1)
        names = list(learned.domains)
        return [names[int(place)] for place in np.argmax(likeness, axis=1)]

    def _vectors(self, texts: Sequence[str]) -> Matrix | None:
        if self._embedder is None:
            return None
        return cast("Matrix", self._embedder.embed(texts).astype(np.float64))

    def _learned(self) -> _Learned:
        with self._learning:
            if self._learned_lines is None:
                self._learned_lines = _learn(self._vectors(_prototypes().texts))
                if self._embedder is not None and not self._learned_lines.with_vectors:
                    _log.info(
                        "%s does not help to tell the prototypes apart: features judge alone", self._embedder.identity
                    )
            return self._learned_lines


def load() -> tuple[list[str], list[str]]:
    """(domain, "+" for an unknown one, or "-" for what is not worth keeping; text) of every prototype."""
    text = files("jiyi.longterm").joinpath("data/prototypes.tsv").read_text("utf-8")
    rows = [line.split("\t", 1) for line in text.splitlines() if line and not line.startswith("#")]
    return [row[0] for row in rows], [row[1] for row in rows]


@dataclass(frozen=True, slots=True)
class _Prototypes:
    """The prototypes and what is the same for every embedder."""

    texts: list[str]
    sides: Matrix
    worth_rows: Matrix
    worth: _Line
    accuracy: float
    named: list[int]
    """The places of those whose domain is known."""
    names: list[Domain]
    domain_rows: Matrix


@cache
def _prototypes() -> _Prototypes:
    labels, texts = load()
    sides = np.array([-1.0 if label == NOT_WORTH else 1.0 for label in labels])
    rows = _worth_rows(texts, None)
    worth, accuracy = _fit(rows, sides, _RIDGE)
    named = [place for place, label in enumerate(labels) if label not in {NOT_WORTH, NO_DOMAIN}]
    claims = [split_claims(texts[place])[0] for place in named]
    names = [cast("Domain", labels[place]) for place in named]
    return _Prototypes(texts, sides, rows, worth, accuracy, named, names, _domain_rows(claims, None))


def _learn(vectors: Matrix | None) -> _Learned:
    known = _prototypes()
    worth, accuracy, with_vectors = known.worth, known.accuracy, False
    rows = known.domain_rows
    if vectors is not None:
        better, its_accuracy = _fit(np.hstack([vectors, known.worth_rows]), known.sides, _RIDGE)
        if its_accuracy > accuracy + _MIN_GAIN:
            worth, accuracy, with_vectors = better, its_accuracy, True
            rows = np.hstack([_VECTOR_IN_DOMAIN * vectors[known.named], rows])
    domains = {
        domain: _fit(rows, np.array([1.0 if name == domain else -1.0 for name in known.names]), _DOMAIN_RIDGE)[0]
        for domain in sorted(set(known.names))
    }
    return _Learned(worth, domains, with_vectors, accuracy)


def feature_weights() -> dict[str, Any]:
    """What `FeatureClassifier` works with: the lines that are learned by features alone."""
    learned = _learn(None)

    def told(line: _Line) -> dict[str, Any]:
        return {"weights": [round(float(weight), 6) for weight in line.weights], "offset": round(line.offset, 6)}

    return {"worth": told(learned.worth), "domains": {name: told(line) for name, line in learned.domains.items()}}


def _worth_rows(texts: Sequence[str], vectors: Matrix | None) -> Matrix:
    features = np.array([worth_row(text) for text in texts])
    return features if vectors is None else np.hstack([vectors, features])


def _domain_rows(claims: Sequence[ClaimText], vectors: Matrix | None) -> Matrix:
    features = np.array([domain_row(claim) for claim in claims])
    return features if vectors is None else np.hstack([_VECTOR_IN_DOMAIN * vectors, features])


def _fit(rows: Matrix, sides: Matrix, ridge: float) -> tuple[_Line, float]:
    """The line, and which share of the rows a line through all the others puts on the right side."""
    centre, mean = rows.mean(axis=0), float(sides.mean())
    moved = rows - centre
    inverse = np.linalg.inv(moved.T @ moved + ridge * np.eye(rows.shape[1]))
    weights = inverse @ (moved.T @ (sides - mean))
    line = _Line(weights, mean - float(centre @ weights))
    influence = np.einsum("ij,jk,ik->i", moved, inverse, moved) + 1 / len(rows)
    others_say = sides - (sides - line.of(rows)) / np.maximum(1 - influence, 1e-6)
    return line, float(np.mean((others_say >= WORTH_KEEPING) == (sides > 0)))

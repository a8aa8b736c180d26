"""Sentences that no rule knows, judged by what they are like: prototypes of what is worth keeping and of what is not.

The prototypes are embedded once, with whatever embedder there is, and a straight line is drawn between the two sorts
(ridge regression, solved in one step). How well that separates them is known exactly from the prototypes themselves,
each judged by all the others: an embedder that cannot tell them apart is not asked.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, cast

import numpy as np

from jiyi.text.cue_rules import DOMAIN_WORDS, Domain
from jiyi.text.normalize import fold

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from jiyi.ports import Embedder

_log = logging.getLogger("jiyi.longterm")

# Chosen on the prototypes, each part of them judged by the others: 0.98 of what is kept is worth it, and 0.90 of what
# is worth it is kept.
_RIDGE = 1.0
WORTH_KEEPING = 0.1
_MIN_ACCURACY = 0.8
# A word of a domain counts as much as half the way from "surely not" to "surely".
_WORD_WEIGHT = 0.5
_MAX_WORDS = 2
_NOT = "-"


class Prototypes:
    """Judges sentences with one embedder. Nothing is loaded or embedded before the first question."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._learning = threading.Lock()
        self._lines: _Lines | None = None
        self._useless = False

    def worth_keeping(self, sentences: Sequence[str]) -> list[tuple[str, Domain]]:
        """The sentences that are clearly nearer to what is kept, each with its domain.

        None at all when the embedder cannot tell the prototypes apart.
        """
        lines = self._learned() if sentences else None
        if lines is None:
            return []
        vectors = self._embedder.embed(sentences).astype(np.float64)
        worth = lines.worth.of(vectors)
        likeness = np.stack([line.of(vectors) for line in lines.domains.values()], axis=1)
        names = list(lines.domains)
        return [
            (sentence, names[int(np.argmax(row + _words(sentence, names)))])
            for sentence, value, row in zip(sentences, worth, likeness, strict=True)
            if value >= WORTH_KEEPING
        ]

    def _learned(self) -> _Lines | None:
        with self._learning:
            if self._lines is None and not self._useless:
                labels, texts = load()
                lines = _learn(self._embedder.embed(texts).astype(np.float64), labels)
                if lines.accuracy < _MIN_ACCURACY:
                    self._useless = True
                    _log.info(
                        "%s tells only %.0f %% of the prototypes apart: rules judge alone",
                        self._embedder.identity,
                        100 * lines.accuracy,
                    )
                else:
                    self._lines = lines
            return self._lines


def load() -> tuple[list[str], list[str]]:
    """(domain or "-", text) of every prototype."""
    text = files("jiyi.longterm").joinpath("data/prototypes.tsv").read_text("utf-8")
    rows = [line.split("\t", 1) for line in text.splitlines() if line and not line.startswith("#")]
    return [row[0] for row in rows], [row[1] for row in rows]


@dataclass(frozen=True, slots=True)
class _Line:
    """A straight line through the vectors: near 1 on one side, near -1 on the other."""

    weights: NDArray[np.float64]
    offset: float

    def of(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        return vectors @ self.weights + self.offset


@dataclass(frozen=True, slots=True)
class _Lines:
    worth: _Line
    domains: dict[Domain, _Line]
    accuracy: float


def _learn(vectors: NDArray[np.float64], labels: Sequence[str]) -> _Lines:
    kept = np.array([label != _NOT for label in labels])
    sides = np.where(kept, 1.0, -1.0)
    worth, without_itself = _fit(vectors, sides)
    among = vectors[kept]
    named = [cast("Domain", label) for label in labels if label != _NOT]
    domains = {
        domain: _fit(among, np.array([1.0 if name == domain else -1.0 for name in named]))[0]
        for domain in sorted(set(named))
    }
    return _Lines(worth, domains, float(np.mean((without_itself >= WORTH_KEEPING) == kept)))


def _fit(vectors: NDArray[np.float64], sides: NDArray[np.float64]) -> tuple[_Line, NDArray[np.float64]]:
    """The line, and for each vector what a line through all the others says of it."""
    centre, mean = vectors.mean(axis=0), float(sides.mean())
    moved = vectors - centre
    kernel = moved @ moved.T
    inverse = np.linalg.inv(kernel + _RIDGE * np.eye(len(kernel)))
    weights = moved.T @ (inverse @ (sides - mean))
    line = _Line(weights, mean - float(centre @ weights))
    influence = np.diag(kernel @ inverse) + 1 / len(kernel)
    return line, sides - (sides - line.of(vectors)) / (1 - influence)


def _words(sentence: str, names: Sequence[Domain]) -> NDArray[np.float64]:
    """How much the words of a sentence speak for each domain."""
    folded = fold(sentence)
    counts = {domain: min(len(pattern.findall(folded)), _MAX_WORDS) for domain, pattern in DOMAIN_WORDS}
    return _WORD_WEIGHT * np.array([float(counts.get(name, 0)) for name in names])

"""Which attribute of a life a text is about (home, employer, a pet's name …), and whether two texts are about the same.

A softmax over some hundred attributes, on the vector of a text by the bundled embedder. It is never certain alone:
`replacement` weighs how likely a message and an older fact are about the same attribute beside everything else.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["SCALE", "AttributeMatch", "AttributeModel", "Matrix"]

Matrix = NDArray[np.float32]

SCALE: Final = 5.0
"""Vectors have length 1: the penalty on the weights would weigh too much."""
_MIN_PROBABILITY: Final = 1e-3
_LOG_SCALE: Final = 3.0
_TIE: Final = 1e-6


class AttributeMatch(NamedTuple):
    """How likely a message and an older fact are about the same attribute, by the clause that fits best."""

    same: float
    same_single: float
    """The same attribute, of which people have one."""
    same_many: float
    same_as_whole: float
    """The same, by the whole message."""
    certain_of_message: float
    certain_of_fact: float
    overlap: float
    log_same: float
    best: float
    """`same` where no other older fact has more of it, else 0."""


class AttributeModel:
    """The weights of the attributes; the last row is the offset."""

    def __init__(self, weights: Matrix, single: Matrix) -> None:
        self._weights = weights
        self._single = single

    def probabilities(self, vectors: Matrix) -> Matrix:
        """Of each vector how likely the text is about each of the attributes."""
        values = SCALE * vectors @ self._weights[:-1] + self._weights[-1]
        powers = np.exp(values - values.max(axis=1, keepdims=True))
        found: Matrix = (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)
        return found

    def matches(self, message: Matrix, facts: Matrix) -> list[AttributeMatch]:
        """A message against older facts, by their probabilities: a row for each clause and then one for the whole."""
        same = message @ facts.T
        place = same.argmax(axis=0)
        clause = message[place]
        together = clause * facts
        single = together @ self._single
        best = same.max(axis=0)
        columns = (
            best,
            single,
            best - single,
            same[-1],
            clause.max(axis=1),
            facts.max(axis=1),
            (np.sqrt(message) @ np.sqrt(facts).T).max(axis=0),
            np.log(best + _MIN_PROBABILITY) / _LOG_SCALE,
            np.where(best >= best.max() - _TIE, best, 0.0),
        )
        return [AttributeMatch(*row) for row in np.stack(columns, axis=1).tolist()]

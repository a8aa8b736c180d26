"""Training of the model that tells which attribute a text is about; `bench.make_weights` calls it.

It learns from the lines in bench/sets/judgement/attributes: what was known of an attribute, what replaces it and what
ends it. The models behind it learn from what it says of lines that it has not seen.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bench.judgement_sets import AttributeLine, attributes
from jiyi.longterm.attribute_model import SCALE, AttributeMatch, AttributeModel

Matrix = NDArray[np.float32]
Lines = Sequence[tuple[AttributeLine, tuple[int, ...]]]
Pair = tuple[tuple[int, ...], tuple[int, ...], AttributeLine | None]
"""The rows of a message and of older texts in the matrix of vectors, and the line that they are of."""
_PENALTY = 1e-3
_STEPS = 150
_FOLDS = 5


def texts_about(line: AttributeLine) -> list[str]:
    """The texts of a line that are about its attribute."""
    return [text for text in (line.old.replace("[", "").replace("]", ""), line.change, line.end) if text]


def fit_attributes(vectors: Matrix, lines: Lines) -> Matrix:
    """The weights of a softmax over the attributes; the last row is the offset."""
    names = {name: place for place, name in enumerate(attributes())}
    rows = [(row, names[line.attribute]) for line, numbers in lines for row in numbers]
    seen = np.hstack([SCALE * vectors[[row for row, _ in rows]], np.ones((len(rows), 1))]).astype(np.float32)
    wanted = np.zeros((len(rows), len(names)), dtype=np.float32)
    wanted[np.arange(len(rows)), [place for _, place in rows]] = 1.0
    steepest = 0.5 * float(np.linalg.eigvalsh((seen.T @ seen).astype(np.float64))[-1]) / len(rows) + _PENALTY
    found = np.zeros((seen.shape[1], len(names)), dtype=np.float32)
    ahead, momentum = found.copy(), 1.0
    for _ in range(_STEPS):
        values = seen @ ahead
        said = np.exp(values - values.max(axis=1, keepdims=True))
        said /= said.sum(axis=1, keepdims=True)
        shrink = _PENALTY * ahead
        shrink[-1] = 0
        new = ahead - (seen.T @ (said - wanted) / len(rows) + shrink) / steepest
        following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / following * (new - found)
        found, momentum = new, following
    # As it is shipped.
    return found.astype(np.float16).astype(np.float32)


def matches_of(vectors: Matrix, lines: Lines, groups: Sequence[Sequence[Pair]]) -> list[list[list[AttributeMatch]]]:
    """The attributes of each message against those of older texts, by models that have not seen its line."""
    single = np.array(list(attributes().values()), dtype=np.float32)
    chance = random.Random(3)
    fold_of = {line: chance.randrange(_FOLDS) for line, _ in lines}
    found: list[list[list[AttributeMatch]]] = [[[] for _ in group] for group in groups]
    for number in (None, *range(_FOLDS)):
        model = AttributeModel(fit_attributes(vectors, [each for each in lines if fold_of[each[0]] != number]), single)
        about = model.probabilities(vectors)
        for group, of_group in zip(groups, found, strict=True):
            for place, (said, known, line) in enumerate(group):
                if (None if line is None else fold_of[line]) == number:
                    of_group[place] = model.matches(about[list(said)], about[list(known)])
    return found

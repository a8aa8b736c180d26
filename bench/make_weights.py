"""Train the linear models that judge without a language model, and write the weights that the package ships.

They learn from bench/sets/judgement (`bench.judgement_examples`). Each is a logistic regression with a penalty on the
weights. `bench.make_pair_network` then trains two of them again, together with a network.

    python -m bench.make_weights
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import jiyi.longterm
from bench.judgement_examples import Example, Examples, Step, Vectors, examples
from bench.judgement_sets import WRITERS, attributes
from jiyi.longterm.attribute_model import AttributeMatch
from jiyi.longterm.replacement import attribute_rows, replacement_row
from jiyi.longterm.trained import ATTRIBUTES, WEIGHTS
from jiyi.providers.bundled import PlainEmbedder

Matrix = NDArray[np.float64]
_PENALTY = {"worth": 3e-4, "domains": 1e-3, "change": 1e-3, "replaces": 3e-4, "piece": 1e-3}
_STEPS = 300
_WEIGHT_OF_PARTS_OF_LINE = 0.1
_FOLDS = 5


def train(found: Examples) -> dict[str, Any]:
    """The weights of all models."""
    sides = np.array([float(each.right) for each in found.worth])
    # The sets hold more facts than conversations do: both sides count the same.
    weight = np.where(sides > 0, 0.5 / sides.mean(), 0.5 / (1 - sides.mean()))
    result: dict[str, Any] = {"worth": told(_fit(_rows(found.worth), sides, _PENALTY["worth"], weight))}
    names = sorted({each.right for each in found.domains})
    wanted = np.array([[float(each.right == name) for name in names] for each in found.domains])
    of_domains = _fit_classes(_rows(found.domains), wanted, _PENALTY["domains"])
    result["domains"] = {name: told(of_domains[:, place]) for place, name in enumerate(names)}
    result["single"] = list(map(float, attributes().values()))
    result["attributes"] = found.attributes
    result["change"], result["alone"] = _replacement(found.steps, found.matches)
    result["replaces"] = result["alone"]
    result["piece"] = told(np.append(choose(parts_of_facts(found)), 0.0))
    return result


def parts_of_facts(found: Examples) -> list[tuple[list[list[float]], int, float]]:
    """Of each fact the features of its parts, which of them is replaced, and how much it counts."""
    return [
        (_with_attributes(group.rows, match), group.right, _WEIGHT_OF_PARTS_OF_LINE if group.line else 1.0)
        for group, match in zip(found.pieces, found.matches_of_pieces, strict=True)
    ]


def _with_attributes(rows: Sequence[Sequence[float]], matches: Sequence[AttributeMatch]) -> list[list[float]]:
    return [[*row, *of_attribute] for row, of_attribute in zip(rows, attribute_rows(matches), strict=True)]


def _rows(found: Sequence[Example]) -> Matrix:
    return np.array([each.row for each in found])


def _replacement(steps: Sequence[Step], matches: Sequence[Sequence[AttributeMatch]]) -> tuple[Any, Any]:
    """The model of changes, then the model of pairs: it learns from what the first says of messages unseen by it."""
    weights = _weights_of(steps)
    line = _fit(*_changes(steps), _PENALTY["change"], weights)
    gone = np.array([right for step in steps for _, _, right in step.pairs])
    rows = np.concatenate(rows_of_steps(steps, matches))
    return told(line), told(rank(rows, gone, [len(step.pairs) for step in steps], weights))


def rows_of_steps(steps: Sequence[Step], matches: Sequence[Sequence[AttributeMatch]]) -> list[NDArray[np.float32]]:
    """Of each step the features of its pairs; whether it tells of a change is said by a model that has not seen it."""
    seen_apart = _out_of_fold([step.text for step in steps], *_changes(steps), _weights_of(steps))
    return [
        np.array(
            [
                replacement_row(features, float(seen_apart[number]), step.row, evidence, step.told, match)
                for (features, evidence, _), match in zip(step.pairs, matches[number], strict=True)
            ],
            dtype=np.float32,
        )
        for number, step in enumerate(steps)
    ]


def _changes(steps: Sequence[Step]) -> tuple[Matrix, Matrix]:
    return np.array([step.row for step in steps]), np.array([float(step.changes) for step in steps])


def _weights_of(steps: Sequence[Step]) -> Matrix:
    weights: Matrix = np.array([step.weight for step in steps])
    weights /= weights.mean()
    return weights


def rank(rows: Any, right: Any, sizes: Sequence[int], weights: Matrix) -> Any:
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


def choose(groups: Sequence[tuple[list[list[float]], int, float]]) -> Matrix:
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


def told(weights: Matrix) -> dict[str, Any]:
    """A line as it is stored; the last of the weights is the offset."""
    return {"weights": [round(float(weight), 5) for weight in weights[:-1]], "offset": round(float(weights[-1]), 5)}


def write(stored: dict[str, Any], place: Path) -> None:
    """Write the weights as the package ships them: the large matrix beside the others."""
    models = {name: model for name, model in stored["models"].items() if name != "attributes"}
    np.save(place / ATTRIBUTES, stored["models"]["attributes"].astype(np.float16))
    text = json.dumps({**stored, "models": models}, separators=(",", ":"))
    (place / WEIGHTS).write_text(text + "\n", "utf-8")


def _stored() -> dict[str, Any]:
    """The form in which the package ships the weights, with the embedder that they are for."""
    identity = PlainEmbedder().identity
    return {
        "embedder": {"name": identity.name, "dimension": identity.dimension},
        "models": train(examples(WRITERS, Vectors(PlainEmbedder()))),
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--to", type=Path, default=Path(jiyi.longterm.__file__).parent, help="the folder above `data`")
    write(_stored(), options.parse_args().to)


if __name__ == "__main__":
    main()

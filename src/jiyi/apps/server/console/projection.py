"""A map of memories: places in two dimensions by meaning, groups, and the words that tell a group from the others.

The coordinates of a memory are its similarities to a few dozen memories of the same scope, the landmarks. That is a
linear picture of its vector, which every vector index can compute without handing out vectors. The first two principal
components of it are drawn; the groups are found in the first eight.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jiyi.text import Analyzer, fold
from jiyi.text.stopwords import CHINESE, ENGLISH

Floats = NDArray[np.float64]
LANDMARKS: Final = 32
MAX_GROUPS: Final = 12
_COMPONENTS: Final = 8
_ROUNDS: Final = 25
_STARTS: Final = 6
_WORDS: Final = 3
_TEXTS_OF_GROUP: Final = 200
_LABEL_CHARACTERS: Final = 300
_SEED: Final = 7


@dataclass(frozen=True, slots=True)
class Group:
    """Memories that lie together."""

    words: tuple[str, ...]
    """What several of them say, and more often than the others; empty where they have no word in common."""
    members: tuple[int, ...]
    """Places in the list of memories, nearest to the middle first."""


@dataclass(frozen=True, slots=True)
class Projection:
    """Where each memory lies, from -1 to 1, and its group."""

    points: NDArray[np.float32]
    group_of: NDArray[np.int64]
    groups: tuple[Group, ...]


def landmarks(count: int, limit: int = LANDMARKS) -> list[int]:
    """Places of the memories that all are compared with, spread over the list."""
    return sorted({count * place // min(count, limit) for place in range(min(count, limit))})


def project(similarities: Sequence[Sequence[float]], texts: Sequence[str]) -> Projection:
    """The map of these memories by their similarities to the landmarks."""
    if not texts:
        return Projection(np.zeros((0, 2), dtype=np.float32), np.zeros(0, dtype=np.int64), ())
    table = np.asarray(similarities, dtype=np.float64).reshape(len(texts), -1)
    known = np.isfinite(table)
    means = np.where(known, table, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    # What has no vector yet lies in the middle.
    table = np.where(known, table, means)
    components = _principal(table)
    group_of = _groups(components, min(MAX_GROUPS, max(1, round(math.sqrt(len(texts) / 2)))))
    return Projection(_spread(components[:, :2]), group_of, _described(components, group_of, texts))


def _principal(table: Floats) -> Floats:
    """The first principal components; their signs are fixed, so that the same memories give the same map."""
    centred = table - table.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    chosen = vectors[:, np.argsort(-values)[:_COMPONENTS]]
    if chosen.shape[1] < 2:
        chosen = np.pad(chosen, ((0, 0), (0, 2 - chosen.shape[1])))
    chosen *= np.where(chosen[np.argmax(np.abs(chosen), axis=0), np.arange(chosen.shape[1])] < 0, -1.0, 1.0)
    found: Floats = centred @ chosen
    return found


def _spread(points: Floats) -> NDArray[np.float32]:
    """Into the square from -1 to 1. A few far ones do not press the others together: they lie at the edge."""
    size = np.percentile(np.abs(points), 98, axis=0)
    scaled = points / np.where(size > 0, size, 1.0) * 0.9
    return np.clip(scaled, -1.0, 1.0).astype(np.float32)


def _groups(points: Floats, count: int) -> NDArray[np.int64]:
    """K-means from several beginnings, of which the tightest groups are kept."""
    random = np.random.default_rng(_SEED)
    found = [_clustered(points, count, random) for _ in range(_STARTS)]
    nearest = min(found, key=lambda each: each[1])[0]
    # The largest group is the first, and no number is left out.
    order = np.argsort(-np.bincount(nearest), kind="stable")
    renumbered: NDArray[np.int64] = np.argsort(order)[nearest]
    return renumbered


def _clustered(points: Floats, count: int, random: np.random.Generator) -> tuple[NDArray[np.int64], float]:
    """The groups, and the sum of the distances in them. It begins with points that are far from each other."""
    centres = points[random.integers(len(points))][None, :]
    while len(centres) < count:
        far = _distances(points, centres).min(axis=1)
        if far.sum() <= 0:
            break
        centres = np.vstack([centres, points[random.choice(len(points), p=far / far.sum())]])
    nearest = np.full(len(points), -1, dtype=np.int64)
    for _ in range(_ROUNDS):
        distances = _distances(points, centres)
        found = distances.argmin(axis=1)
        if (found == nearest).all():
            break
        nearest = found
        for place in range(len(centres)):
            inside = points[nearest == place]
            if len(inside):
                centres[place] = inside.mean(axis=0)
    return nearest, float(_distances(points, centres).min(axis=1).sum())


def _distances(points: Floats, centres: Floats) -> Floats:
    """Squared, of each point to each centre."""
    found: Floats = np.maximum(
        (points**2).sum(axis=1)[:, None] - 2 * points @ centres.T + (centres**2).sum(axis=1)[None, :], 0.0
    )
    return found


def _described(points: Floats, group_of: NDArray[np.int64], texts: Sequence[str]) -> tuple[Group, ...]:
    analyzer = Analyzer()
    members: list[list[int]] = []
    for group in range(int(group_of.max(initial=-1)) + 1):
        inside = np.flatnonzero(group_of == group)
        if len(inside):
            far = ((points[inside] - points[inside].mean(axis=0)) ** 2).sum(axis=1)
            members.append(inside[np.argsort(far, kind="stable")].tolist())
    counts = [
        Counter(word for place in each[:_TEXTS_OF_GROUP] for word in set(_words(analyzer, texts[place])))
        for each in members
    ]
    whole: Counter[str] = sum(counts, Counter())
    total = sum(min(len(each), _TEXTS_OF_GROUP) for each in members)
    return tuple(
        Group(_own_words(count, whole, min(len(each), _TEXTS_OF_GROUP), total), tuple(each))
        for count, each in zip(counts, members, strict=True)
    )


def _own_words(count: Counter[str], whole: Counter[str], size: int, total: int) -> tuple[str, ...]:
    """The words that are frequent here and rare elsewhere."""

    def weight(word: str) -> float:
        here = count[word] / size
        elsewhere = (whole[word] - count[word] + 0.5) / (total - size + 1)
        return here * math.log1p(here / elsewhere)

    frequent = [word for word in count if count[word] > 1]
    return tuple(sorted(frequent, key=lambda word: (-weight(word), word))[:_WORDS])


def _words(analyzer: Analyzer, text: str) -> Iterator[str]:
    """The words of a text as they are written, without those that say nothing."""
    folded = fold(text[:_LABEL_CHARACTERS])
    for span in analyzer.locate(folded):
        word = folded[span.start : span.end]
        if len(word) > 1 and word not in ENGLISH and word not in CHINESE and not word.isdecimal():
            yield word

"""The formula of BM25 gives the numbers of its definition, for one text and for many at once."""

import math

import numpy as np
import pytest

from jiyi.backends.shared.bm25 import bm25_order, by_length
from jiyi.model.bm25 import K1, LENGTH_FLOOR, B
from jiyi.text.bm25 import idf, length_norm, saturated

TF = [[0.0, 1.0, 3.0], [2.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]
LENGTHS = [4.0, 25.0, 90.0, 40.0]
MEAN = 45.0
DF = [2.0, 2.0, 40.0]
ENTRIES = 30


def defined(tf: list[float], length: float) -> float:
    """The BM25 of one text, number by number."""
    norm = K1 * (1 - B + B * max(length, LENGTH_FLOOR) / MEAN)
    rarity = [math.log(1 + (max(ENTRIES - df, 0) + 0.5) / (df + 0.5)) for df in DF]
    return sum(each * (K1 + 1) * count / (count + norm) for each, count in zip(rarity, tf, strict=True))


def test_many_texts_at_once_have_the_numbers_of_the_definition() -> None:
    norms = length_norm(np.asarray(LENGTHS), MEAN)
    found = saturated(np.asarray(TF), norms[:, None]) @ idf(ENTRIES, np.asarray(DF))
    assert found.tolist() == pytest.approx([defined(*each) for each in zip(TF, LENGTHS, strict=True)], rel=1e-12)


def test_a_term_that_all_texts_have_tells_little_and_never_less_than_nothing() -> None:
    found = idf(ENTRIES, np.asarray([0.0, 1.0, 30.0, 99.0]))
    assert found.tolist() == sorted(found.tolist(), reverse=True)
    assert found.min() > 0


def test_texts_with_each_term_once_are_ordered_as_by_the_whole_formula() -> None:
    counts = np.asarray([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    lengths = np.asarray([30, 200, 25])
    rarity = idf(3, (counts > 0).sum(axis=0).astype(np.float64))
    mean = float(np.maximum(lengths, LENGTH_FLOOR).mean())
    scores = by_length((counts @ rarity).tolist(), lengths, mean)
    order = bm25_order(counts, lengths, [0, 0, 0], ["a", "b", "c"], 3)
    assert order == sorted(range(3), key=lambda place: -scores[place])

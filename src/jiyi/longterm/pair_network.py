"""How much a message reads as if it made a fact outdated: a small network over both texts.

It compares the vectors of the texts, and aligns their word pieces: each piece with what stands opposite to it in the
other text. Its embedder was trained with it, end to end, on messages after facts (`bench/make_pair_network.py`).
`replacement` adds its value to that of the features, and `corrections` decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from jiyi.text.statements.parts.claims import clauses_of, pieces_of

if TYPE_CHECKING:
    from jiyi.ports import TextReader, TextReading, Vectors

__all__ = ["COMPARED_SCALE", "MAX_LOGIT", "NETWORK", "OWN_SCALE", "PairNetwork", "ends_of", "texts_of_message"]

NETWORK: Final = "data/pair_network.npz"
COMPARED_SCALE: Final = 22.0
MAX_LOGIT: Final = 4.0
"""Its value for or against a pair is no larger than this: the features have a say too."""
OWN_SCALE: Final = 10.0
"""Vectors have length 1 and 512 dimensions: single numbers are small."""


def texts_of_message(text: str) -> list[str]:
    """What is compared of a message: each of its clauses, and the whole."""
    clauses = clauses_of(text)
    return [*(clauses if len(clauses) > 1 else ()), text]


def ends_of(fact: str) -> list[int]:
    """Where each part of a fact ends."""
    found, place = [], 0
    for part in pieces_of(fact):
        place = fact.index(part, place) + len(part)
        found.append(place)
    return found


class PairNetwork:
    """The network with its weights; read when the first pair is judged."""

    def __init__(self, reader: Callable[[], TextReader]) -> None:
        """`reader` gives the embedder that was trained with the network."""
        self._make_reader = reader

    def values(self, message: str, facts: Sequence[str]) -> list[float]:
        """Of each fact, by the clause of the message that fits best; above 0 speaks for a replacement."""
        if not facts:
            return []
        said = texts_of_message(message)
        read = self._reader.read([*said, *facts])
        whole, known = read[len(said) - 1], read[len(said) :]
        weights = self._weights
        mine = np.stack([each.vector for each in read[: len(said)]])[:, None]
        theirs = np.stack([each.vector for each in known])[None]
        product, difference, of_message, of_fact = np.split(weights["hidden"], 4)
        hidden = (COMPARED_SCALE * mine * theirs) @ product
        hidden += (COMPARED_SCALE * np.abs(mine - theirs)) @ difference
        hidden += (OWN_SCALE * mine) @ of_message + (OWN_SCALE * theirs) @ of_fact + weights["hidden_bias"]
        # The pieces of the whole message are aligned; that is the same for each of its clauses.
        hidden += np.stack([_pooled(*self._aligned(whole, fact)) for fact in known])[None] @ weights["aligned"]
        best = (np.maximum(hidden, 0) @ weights["out"] + weights["out_bias"])[..., 0].max(axis=0)
        return [float(value) for value in MAX_LOGIT * np.tanh(best / MAX_LOGIT)]

    def outdated(self, message: str, fact: str) -> list[float]:
        """How likely each part of a fact does not hold any more, if the message changes something of the fact.

        A part is read in the whole fact: "built like a tank" is about the laptop before it.
        """
        said, known = self._reader.read([message, fact])
        of_message, of_fact = self._aligned(said, known)
        both = _pooled(of_message, of_fact)
        # A text is read up to some length; a part behind that is judged by its last word pieces.
        last = len(of_fact) - 1
        ends = [min(count, len(of_fact)) for count in self._reader.piece_counts([fact[:end] for end in ends_of(fact)])]
        spans = [slice(min(begin, last), max(end, min(begin, last) + 1)) for begin, end in pairwise([0, *ends])]
        rows = np.stack([np.concatenate((_columns_pooled(of_fact[span]), both)) for span in spans])
        weights = self._weights
        hidden = np.maximum(rows @ weights["part"] + weights["part_bias"], 0)
        values = (hidden @ weights["part_out"] + weights["part_out_bias"])[:, 0]
        return [float(share) for share in 1 / (1 + np.exp(-values))]

    def _aligned(self, message: TextReading, fact: TextReading) -> tuple[Vectors, Vectors]:
        """What is compared of each word piece of a message and of a fact."""
        weights = self._weights
        same = (message.pieces[:, None] == fact.pieces[None]).astype(np.float32)
        near = (message.rows @ weights["query"]) @ fact.rows.T / _width(message.rows) + weights["same"] * same
        sides = (
            (message.rows, _shares(near, 1) @ fact.rows, same.max(axis=1)),
            (fact.rows, _shares(near, 0).T @ message.rows, same.max(axis=0)),
        )
        mine, theirs = (self._compared(*side) for side in sides)
        near = (mine @ weights["second_query"]) @ theirs.T / _width(mine)
        return self._compared_again(mine, _shares(near, 1) @ theirs), self._compared_again(
            theirs, _shares(near, 0).T @ mine
        )

    def _compared(self, own: Vectors, opposite: Vectors, shared: Vectors) -> Vectors:
        """Each word piece with what stands opposite to it, and with its neighbours."""
        weights = self._weights
        pieces = np.concatenate((own, opposite, own * opposite, np.abs(own - opposite), shared[:, None]), axis=1)
        compared = np.maximum(pieces @ weights["compare"] + weights["compare_bias"], 0)
        edge = np.zeros_like(compared[:1])
        window = np.concatenate(
            (np.concatenate((edge, compared[:-1])), compared, np.concatenate((compared[1:], edge))), axis=1
        )
        found: Vectors = compared + np.maximum(window @ weights["around"] + weights["around_bias"], 0)
        return found

    def _compared_again(self, own: Vectors, opposite: Vectors) -> Vectors:
        """Each word piece with what stands opposite to it, once all have been compared."""
        weights = self._weights
        pieces = np.concatenate((own, opposite), axis=1)
        found: Vectors = own + np.maximum(pieces @ weights["second"] + weights["second_bias"], 0)
        return found

    @cached_property
    def _reader(self) -> TextReader:
        return self._make_reader()

    @cached_property
    def _weights(self) -> dict[str, Any]:
        with (files("jiyi.longterm") / NETWORK).open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return {name: values.astype(np.float32) for name, values in stored.items()}


def _width(rows: Vectors) -> float:
    return float(rows.shape[1] ** 0.5)


def _columns_pooled(rows: Vectors) -> Vectors:
    """The largest and the mean value of each column."""
    found: Vectors = np.concatenate((rows.max(axis=0), rows.mean(axis=0)))
    return found


def _pooled(of_message: Vectors, of_fact: Vectors) -> Vectors:
    found: Vectors = np.concatenate((_columns_pooled(of_message), _columns_pooled(of_fact)))
    return found


def _shares(values: Vectors, axis: int) -> Vectors:
    """Values as shares of 1 along an axis (softmax)."""
    powers = np.exp(values - values.max(axis=axis, keepdims=True))
    shares: Vectors = powers / powers.sum(axis=axis, keepdims=True)
    return shares

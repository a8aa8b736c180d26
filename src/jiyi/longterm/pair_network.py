"""How much a message reads as if it made a fact outdated: a small network over both texts.

It compares the vectors of the texts, and aligns their word pieces: each piece with what stands opposite to it in the
other text. Its embedder was trained with it, end to end, on messages after facts (`bench/make_pair_network.py`).
`replacement` adds its value to that of the features, and `corrections` decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from jiyi.text.statements.parts.claims import clauses_of

if TYPE_CHECKING:
    from jiyi.ports import TextReader, TextReading, Vectors

__all__ = ["COMPARED_SCALE", "MAX_LOGIT", "NETWORK", "OWN_SCALE", "PairNetwork", "texts_of_message"]

NETWORK: Final = "data/pair_network.npz"
COMPARED_SCALE: Final = 22.0
MAX_LOGIT: Final = 3.0
"""Its value for or against a pair is no larger than this: the features have a say too."""
OWN_SCALE: Final = 10.0
"""Vectors have length 1 and 512 dimensions: single numbers are small."""


def texts_of_message(text: str) -> list[str]:
    """What is compared of a message: each of its clauses, and the whole."""
    clauses = clauses_of(text)
    return [*(clauses if len(clauses) > 1 else ()), text]


class PairNetwork:
    """The network with its weights; read when the first pair is judged."""

    def __init__(self, reader: Callable[[], TextReader]) -> None:
        """`reader` gives the embedder that was trained with the network."""
        self._make_reader = reader

    def values(self, message: str, facts: Sequence[str]) -> list[float]:
        """Of each fact, by the clause of the message that fits best; above 0 speaks for a replacement."""
        return [float(value) for value in MAX_LOGIT * np.tanh(self._best(message, facts)[:, 0] / MAX_LOGIT)]

    def outdated(self, message: str, parts: Sequence[str]) -> list[float]:
        """How likely each part of a fact does not hold any more, if the message changes something of the fact."""
        return [float(share) for share in 1 / (1 + np.exp(-self._best(message, parts)[:, 1]))]

    def _best(self, message: str, facts: Sequence[str]) -> Vectors:
        """The two values of each fact, by the clause of the message that fits best."""
        if not facts:
            return np.empty((0, 2), dtype=np.float32)
        said = texts_of_message(message)
        read = self._reader.read([*said, *facts])
        whole, known = read[len(said) - 1], read[len(said) :]
        mine = np.stack([each.vector for each in read[: len(said)]])[:, None]
        theirs = np.stack([each.vector for each in known])[None]
        product, difference, of_message, of_fact = np.split(self._weights["hidden"], 4)
        hidden = (COMPARED_SCALE * mine * theirs) @ product
        hidden += (COMPARED_SCALE * np.abs(mine - theirs)) @ difference
        hidden += (OWN_SCALE * mine) @ of_message + (OWN_SCALE * theirs) @ of_fact + self._weights["hidden_bias"]
        # The pieces of the whole message are aligned; that is the same for each of its clauses.
        hidden += np.stack([self._aligned(whole, fact) for fact in known])[None]
        found: Vectors = (np.maximum(hidden, 0) @ self._weights["out"] + self._weights["out_bias"]).max(axis=0)
        return found

    def _aligned(self, message: TextReading, fact: TextReading) -> Vectors:
        """What the alignment of the word pieces of both adds to the hidden layer."""
        weights = self._weights
        same = (message.pieces[:, None] == fact.pieces[None]).astype(np.float32)
        width = message.rows.shape[1]
        near = (message.rows @ weights["query"]) @ fact.rows.T / width**0.5 + weights["same"] * same
        sides = (
            (message.rows, _shares(near, 1) @ fact.rows, same.max(axis=1)),
            (fact.rows, _shares(near, 0).T @ message.rows, same.max(axis=0)),
        )
        found = []
        for own, opposite, shared in sides:
            pieces = np.concatenate((own, opposite, own * opposite, np.abs(own - opposite), shared[:, None]), axis=1)
            compared = np.maximum(pieces @ weights["compare"] + weights["compare_bias"], 0)
            found += [compared.max(axis=0), compared.mean(axis=0)]
        made: Vectors = np.concatenate(found) @ weights["aligned"]
        return made

    @cached_property
    def _reader(self) -> TextReader:
        return self._make_reader()

    @cached_property
    def _weights(self) -> dict[str, Any]:
        with (files("jiyi.longterm") / NETWORK).open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return {name: values.astype(np.float32) for name, values in stored.items()}


def _shares(values: Vectors, axis: int) -> Vectors:
    """Values as shares of 1 along an axis (softmax)."""
    powers = np.exp(values - values.max(axis=axis, keepdims=True))
    shares: Vectors = powers / powers.sum(axis=axis, keepdims=True)
    return shares

"""How much a message reads as if it made a fact outdated: a small network over the vectors of both.

Its embedder was trained with it, end to end, on messages after facts (`bench/make_pair_network.py`). `replacement` adds
its value to that of the features, and `corrections` decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from jiyi.text.statements.parts.claims import clauses_of

if TYPE_CHECKING:
    from jiyi.ports import Embedder, Vectors

__all__ = ["COMPARED_SCALE", "MOST", "NETWORK", "OWN_SCALE", "PairNetwork", "texts_of_message"]

NETWORK: Final = "data/pair_network.npz"
COMPARED_SCALE: Final = 22.0
MOST: Final = 3.0
"""It says no more than this for or against a pair: the features have a say too."""
OWN_SCALE: Final = 10.0
"""Vectors have length 1 and 512 dimensions: single numbers are small."""


def texts_of_message(text: str) -> list[str]:
    """What is compared of a message: each of its clauses, and the whole."""
    clauses = clauses_of(text)
    return [*(clauses if len(clauses) > 1 else ()), text]


class PairNetwork:
    """The network with its weights; read when the first pair is judged."""

    def __init__(self, embedder: Callable[[], Embedder]) -> None:
        """`embedder` gives the one that was trained with the network."""
        self._make_embedder = embedder

    def values(self, message: str, facts: Sequence[str]) -> list[float]:
        """Of each fact, by the clause of the message that fits best; above 0 speaks for a replacement."""
        if not facts:
            return []
        said = texts_of_message(message)
        vectors = self._embedder.embed([*said, *facts])
        mine, theirs = vectors[: len(said), None], vectors[None, len(said) :]
        product, difference, of_message, of_fact = np.split(self._weights["hidden"], 4)
        hidden = (COMPARED_SCALE * mine * theirs) @ product
        hidden += (COMPARED_SCALE * np.abs(mine - theirs)) @ difference
        hidden += (OWN_SCALE * mine) @ of_message + (OWN_SCALE * theirs) @ of_fact + self._weights["hidden_bias"]
        found: Vectors = np.maximum(hidden, 0) @ self._weights["out"] + self._weights["out_bias"]
        return [float(value) for value in MOST * np.tanh(found.max(axis=0) / MOST)]

    @cached_property
    def _embedder(self) -> Embedder:
        return self._make_embedder()

    @cached_property
    def _weights(self) -> dict[str, Any]:
        with (files("jiyi.longterm") / NETWORK).open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return {name: values.astype(np.float32) for name, values in stored.items()}

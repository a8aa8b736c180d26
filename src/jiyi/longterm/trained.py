"""The weights of the linear models that judge without a language model. `python -m bench.make_weights` trains them.

There are two sets: one for the features of the text alone, and one for the features and the vectors of the bundled
embedder. Other embedders have other vectors: with them, and with none, the features decide.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Self, cast

from jiyi.errors import ModelError

if TYPE_CHECKING:
    from jiyi.ports import Embedder

_log = logging.getLogger("jiyi.longterm")

WEIGHTS: Final = "data/weights.json"


@dataclass(frozen=True, slots=True)
class Line:
    """A linear function of a row of features."""

    weights: tuple[float, ...]
    offset: float

    def value(self, row: Sequence[float]) -> float:
        """Above 0 for yes."""
        return self.offset + sum(weight * value for weight, value in zip(self.weights, row, strict=True))

    def probability(self, row: Sequence[float]) -> float:
        """How likely yes is."""
        return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, self.value(row)))))

    @classmethod
    def of(cls, data: dict[str, Any]) -> Self:
        """A line from its stored form."""
        return cls(tuple(data["weights"]), data["offset"])


@dataclass(frozen=True, slots=True)
class Weights:
    """The models of one set."""

    with_vectors: bool
    worth: Line
    """Whether a text is worth keeping."""
    domains: dict[str, Line]
    change: Line
    """Whether a message says that something has changed or ended."""
    replaces: Line
    """Whether a message replaces an older fact."""
    piece: Line
    """Which part of an older fact a message replaces: the one with the highest value."""
    along: Line
    """Whether another part of that fact goes with it."""

    @classmethod
    def of(cls, data: dict[str, Any], *, with_vectors: bool) -> Self:
        """A set from its stored form."""
        return cls(
            with_vectors,
            Line.of(data["worth"]),
            {name: Line.of(line) for name, line in data["domains"].items()},
            Line.of(data["change"]),
            Line.of(data["replaces"]),
            Line.of(data["piece"]),
            Line.of(data["along"]),
        )


def weights_for(embedder: Embedder | None) -> Weights:
    """The set that goes with an embedder."""
    data = stored_weights()
    known = data["embedder"]
    if embedder is not None:
        identity = embedder.identity
        if (identity.name, identity.dimension) == (known["name"], known["dimension"]):
            return _set(data, "vectors")
    return _set(data, "features")


class TrainedJudge:
    """Base of what judges texts by the shipped weights, with one embedder or none."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder

    @cached_property
    def _features(self) -> Weights:
        # Read when a text is judged, on a thread: making the room must not read the disk.
        return weights_for(None)

    @cached_property
    def _weights(self) -> Weights:
        return weights_for(self._embedder)

    def _vectors(self, texts: Sequence[str]) -> list[list[float]] | None:
        """The vectors, if there are weights for them and the embedder can be reached."""
        if self._embedder is None or not self._weights.with_vectors or not texts:
            return None
        try:
            return cast("list[list[float]]", self._embedder.embed(texts).tolist())
        except ModelError as error:
            # Features of the text decide then: a fact must not be lost because it cannot be embedded just now.
            _log.warning("texts are judged without the embedder: %s", type(error).__name__)
            return None


def _set(data: dict[str, Any], name: str) -> Weights:
    return Weights.of(data[name], with_vectors=name == "vectors")


@cache
def stored_weights() -> dict[str, Any]:
    """What the package ships."""
    found: dict[str, Any] = json.loads(files("jiyi.longterm").joinpath(WEIGHTS).read_text("utf-8"))
    return found

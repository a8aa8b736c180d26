"""How src/jiyi/providers/data/question_kind.npy was made: what tells questions about somebody from general knowledge.

    python -m bench.make_question_kind --out question_kind.npy

A logistic regression with a penalty on the full vectors of the questions in bench/sets/questions: en and zh are
about the asker and people around, general.en and general.zh ask what anybody can look up. They belong to no set that
recall is measured on. The last number is the constant.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from jiyi.providers.bundled import BundledEmbedder

QUESTIONS = Path(__file__).parent / "sets" / "questions"
PENALTY = 1.0


def _vectors(embedder: BundledEmbedder, *names: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    texts = [line for name in names for line in (QUESTIONS / name).read_text("utf-8").splitlines()]
    return np.asarray(embedder.full_vectors(texts), dtype=np.float64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    embedder = BundledEmbedder()
    personal, general = _vectors(embedder, "en.txt", "zh.txt"), _vectors(embedder, "general.en.txt", "general.zh.txt")
    middle = (personal.mean(axis=0) + general.mean(axis=0)) / 2
    x = np.concatenate((personal, general)) - middle
    y = np.concatenate((np.ones(len(personal)), np.zeros(len(general))))
    weights = np.zeros(x.shape[1])
    for _ in range(30):
        p = 1.0 / (1.0 + np.exp(-x @ weights))
        curvature = (x * (p * (1 - p))[:, None]).T @ x + PENALTY * np.eye(len(weights))
        weights += np.linalg.solve(curvature, x.T @ (y - p) - PENALTY * weights)
    np.save(out, np.append(weights, -middle @ weights).astype(np.float16))


if __name__ == "__main__":
    main()

"""How src/jiyi/providers/data/question_kind.npy was made: what tells questions about somebody from general knowledge.

    python -m bench.make_question_kind --out question_kind.npy

A logistic regression with a penalty on the full vectors of questions: en and zh in bench/sets/questions and a sample of
those in bench/sets/pairs are about the asker and people around, general.* and unrelated.* in bench/sets/questions ask
what anybody can look up. They belong to no set that recall is measured on. The last number is the constant.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import numpy as np

from jiyi.providers.bundled import BundledEmbedder

QUESTIONS = Path(__file__).parent / "sets" / "questions"
PENALTY = 1.0


def _lines(*names: str) -> list[str]:
    return [line for name in names for line in (QUESTIONS / name).read_text("utf-8").splitlines() if line]


def _asked_of_people() -> list[str]:
    """So many of the questions of the pairs as there are requests about nobody, in both languages."""
    chance = random.Random(0)
    found = []
    for language in ("en", "zh"):
        lines = [
            line
            for path in sorted((QUESTIONS.parent / "pairs" / "stores").glob(f"{language}*.txt"))
            for line in path.read_text("utf-8").splitlines()
            if "|" in line
        ]
        asked = [question.strip() for line in lines for question in line.split("|")[1:]]
        found += chance.sample(asked, len(_lines(f"unrelated.{language}.txt")))
    return found


def _vectors(embedder: BundledEmbedder, texts: list[str]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.asarray(embedder.full_vectors(texts), dtype=np.float64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    embedder = BundledEmbedder()
    personal = _vectors(embedder, _lines("en.txt", "zh.txt") + _asked_of_people())
    unrelated = _lines("general.en.txt", "general.zh.txt", "unrelated.en.txt", "unrelated.zh.txt")
    general = _vectors(embedder, unrelated)
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

"""How src/jiyi/providers/data/question_map.npy was made: a map from the vector of a question to its answers.

    python -m bench.make_question_map --out question_map.npy
    python -m bench.make_question_map --out question_map.npy --without fourth

The map takes half of the mean of general questions (bench/sets/questions) from the full vector of the model and
multiplies the rest by a matrix. The matrix is the one under which questions are nearest to the projected vectors of
their answers among the other texts of their store: a softmax over the texts, with a penalty on the distance to the
projection. The problem is convex, so gradient descent
always ends at the same matrix. It learns from bench/sets/pairs and from the sets of bench/sets/recall; both languages
count the same, and a question of the pairs counts less than one of the sets, of which there are few.

The file has the columns of the matrix, the part of the mean, and the mean direction of the questions it has learned
from: the less a question is like those, the less of the map is applied to it.

A set must not be measured with a map that has learned from it: `bench.knowing` leaves the measured set out. How strong
the penalty is was chosen in the same way, one set left out at a time.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jiyi.providers.bundled import BundledEmbedder

SETS = Path(__file__).parent / "sets"
FOLDERS = {"first": "recall", "second": "recall/unseen", "third": "recall/third", "fourth": "recall/fourth"}
LANGUAGES = ("en", "zh")
MEAN_SHARE = 0.5
TEMPERATURE = 0.09
PENALTY = 0.005
PAIRS_WEIGHT = 0.7
STEPS = 120
RATE = 2.0
MOMENTUM = 0.9
PROJECTION = Path(__file__).parent.parent / "src" / "jiyi" / "providers" / "data" / "projection.npy"
_KNOWN: dict[str, Any] = {}


class Pool(NamedTuple):
    """Questions, and the texts among which each finds its answers."""

    questions: list[str]
    texts: list[str]
    answers: list[list[int]]
    """Question -> places of its texts."""
    weight: float = 1.0
    """Of each question."""


def pools(language: str, without: Collection[str] = ()) -> Iterator[Pool]:
    """What the map learns from; `without` names sets that are left out."""
    for name, folder in FOLDERS.items():
        if name not in without:
            yield _facts(SETS / folder, language)
    if "chats" not in without:
        yield _chats(language)
    yield _pairs(language)


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def _facts(folder: Path, language: str) -> Pool:
    facts = _read(folder / f"facts.{language}.jsonl")
    place = {fact["id"]: number for number, fact in enumerate(facts)}
    files = [folder / f"questions.{language}.{part}.jsonl" for part in ("dev", "held_out")]
    asked = [line for path in files if path.exists() for line in _read(path)]
    answers = [[place[each] for each in line["gold"]] for line in asked]
    return Pool([line["question"] for line in asked], [fact["content"] for fact in facts], answers)


def _chats(language: str) -> Pool:
    turns = [turn for chat in _read(SETS / "recall" / f"chat.{language}.jsonl") for turn in chat["turns"]]
    place = {turn["id"]: number for number, turn in enumerate(turns)}
    asked = _read(SETS / "recall" / f"chat_questions.{language}.jsonl")
    answers = [[place[each] for each in line["gold"]] for line in asked]
    return Pool([line["question"] for line in asked], [turn["text"] for turn in turns], answers)


def _pairs(language: str) -> Pool:
    lines = [line.split(" | ") for line in (SETS / "pairs" / f"{language}.txt").read_text("utf-8").splitlines()]
    asked = [(question, number) for number, (_, *questions) in enumerate(lines) for question in questions]
    answers = [[number] for _, number in asked]
    return Pool([question for question, _ in asked], [line[0] for line in lines], answers, PAIRS_WEIGHT)


def mean_of_questions(embedder: BundledEmbedder) -> Any:
    """What general questions have in common."""
    files = [SETS / "questions" / f"{language}.txt" for language in LANGUAGES]
    texts = [line for path in files for line in path.read_text("utf-8").splitlines()]
    return _full(texts, embedder).mean(axis=0)


def fitted(without: Collection[str] = ()) -> Any:
    """The map: the matrix, what is subtracted before, and the direction of the questions that it has learned from."""
    projection = np.load(PROJECTION).astype(np.float32)
    # Its own map is not asked for: there may be none yet.
    embedder = BundledEmbedder(np.zeros((len(projection), projection.shape[1] + 2), dtype=np.float32))
    common = MEAN_SHARE * mean_of_questions(embedder)
    learned, directions = [], []
    for language in LANGUAGES:
        prepared = [_prepared(pool, embedder, common) for pool in pools(language, without)]
        total = sum(len(pool.questions) * pool.weight for pool in prepared)
        learned += [pool._replace(weight=pool.weight / (TEMPERATURE * len(LANGUAGES) * total)) for pool in prepared]
        directions.append(np.vstack([pool.questions for pool in prepared]).mean(axis=0))
    matrix, speed = projection.copy(), np.zeros_like(projection)
    for step in range(STEPS):
        gradient = 2 * PENALTY * (matrix - projection)
        for questions, texts, right, weight in learned:
            scores = questions @ matrix @ texts.T / TEMPERATURE
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)
            answered = shares * right
            answered /= answered.sum(axis=1, keepdims=True) + 1e-12
            gradient += weight * (questions.T @ ((shares - answered) @ texts))
        speed = MOMENTUM * speed + gradient
        matrix = matrix - RATE * (1 - step / STEPS) * speed
    return np.column_stack((matrix, common, _unit(np.mean(directions, axis=0)[None])[0])).astype(np.float16)


class _Prepared(NamedTuple):
    """A pool as vectors."""

    questions: Any
    texts: Any
    right: Any
    """Questions × texts: 1 where the text answers."""
    weight: float


def _prepared(pool: Pool, embedder: BundledEmbedder, common: Any) -> _Prepared:
    questions = _unit(_full(pool.questions, embedder) - common)
    texts = _unit(_full(pool.texts, embedder) @ np.load(PROJECTION).astype(np.float32))
    right = np.zeros((len(questions), len(texts)), dtype=np.float32)
    for line, places in enumerate(pool.answers):
        right[line, places] = 1.0
    return _Prepared(questions, texts, right, pool.weight)


def _full(texts: Sequence[str], embedder: BundledEmbedder) -> Any:
    """The full vectors; each text is embedded once, however many maps are fitted."""
    if missing := [text for text in dict.fromkeys(texts) if text not in _KNOWN]:
        _KNOWN.update(zip(missing, embedder.full_vectors(missing), strict=True))
    return np.stack([_KNOWN[text] for text in texts])


def _unit(vectors: Any) -> Any:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--without", action="append", default=[], choices=[*FOLDERS, "chats"])
    options = parser.parse_args()
    np.save(options.out, fitted(options.without))


if __name__ == "__main__":
    main()

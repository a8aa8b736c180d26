"""How src/jiyi/providers/data/recall.npz was made: the bundled network, trained so that questions find their answers.

    pip install torch
    python -m bench.make_encoder --out recall.npz

It learns from bench/sets/pairs alone: statements, and questions that each of them answers, in other words. A question
is to be nearest to its statement among those of other questions and others of the same file, most of which are about
the same people. Statements are compared by the 256 principal directions (projection.npy), questions by a matrix that is
trained with the network. Nothing of bench/sets/recall, LoCoMo or LifeBench is learned from, so all of them measure it.

Only a share of what was learned is added to the weights: between the model as it was and as it was trained lies one
that is as good on statements, and better on texts of other kinds.

Half an hour on two cores. The result depends on the order of additions, so the file is kept.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from bench.support import console
from bench.support.torch_encoder import DATA, TorchEncoder

PAIRS = Path(__file__).parent / "sets" / "pairs"
TEMPERATURE = 0.07
RATE = 3e-4
RATE_OF_PIECES = 1e-3
WARMING = 100
DROPPED = 0.1
QUESTIONS = 64
"""In a batch."""
STATEMENTS = 128
NEIGHBOURS = (-2, -1, 1, 2)
"""Statements beside an answer: most often about the same person."""
RUN = 16
"""Questions that stay together when a file is shuffled."""
SHARE = 0.8
"""Of what was learned, that is added."""


class Pool(NamedTuple):
    """The statements of a file, and its questions with the place of the statement that answers."""

    statements: list[str]
    questions: list[tuple[str, int]]
    together: bool
    """Whether what stands together is about the same person."""


def pools() -> list[Pool]:
    """Everything that is learned from."""
    found = []
    for path in sorted(PAIRS.rglob("*.txt")):
        statements: list[str] = []
        questions: list[tuple[str, int]] = []
        for line in path.read_text("utf-8").splitlines():
            statement, *asked = (part.strip() for part in line.split("|"))
            if asked and not line.startswith("#"):
                questions += [(question, len(statements)) for question in asked if question]
                statements.append(statement)
        found.append(Pool(statements, questions, path.parent != PAIRS))
    return found


def batches(found: Sequence[Pool], chance: random.Random) -> list[tuple[Pool, list[tuple[str, int]]]]:
    """The questions of one epoch; half of the files keep what stands together in one batch."""
    made = []
    for pool in found:
        run = RUN if pool.together and chance.random() < 0.5 else 1
        runs = [pool.questions[start : start + run] for start in range(0, len(pool.questions), run)]
        chance.shuffle(runs)
        asked = [question for each in runs for question in each]
        made += [(pool, asked[start : start + QUESTIONS]) for start in range(0, len(asked), QUESTIONS)]
    chance.shuffle(made)
    return made


def compared(answers: Sequence[int], count: int, chance: random.Random) -> list[int]:
    """The answers, and other texts of the same file: some from beside them, some from anywhere."""
    first = sorted(set(answers))
    beside = [place + step for place in first for step in NEIGHBOURS if 0 <= place + step < count]
    others = chance.sample(beside, min(len(beside), STATEMENTS // 2))
    others += chance.sample(range(count), min(count, STATEMENTS))
    return list(dict.fromkeys((*first, *others)))[: max(STATEMENTS, len(first))]


def train(network: TorchEncoder, of_questions: Any, epochs: int, chance: random.Random) -> None:
    """Train the network and the matrix of questions."""
    found, projection = pools(), _projection()
    dense = [*network.dense_parameters(), of_questions]
    usual, sparse = torch.optim.Adam(dense, lr=RATE), torch.optim.SparseAdam([network.rows.weight], lr=RATE_OF_PIECES)
    total = epochs * sum(-(-len(pool.questions) // QUESTIONS) for pool in found)
    step = 0
    for epoch in range(epochs):
        network.train()
        sum_of_losses, made = 0.0, batches(found, chance)
        for pool, asked in made:
            share = min(1.0, (step + 1) / WARMING) * (1 - step / total)
            usual.param_groups[0]["lr"], sparse.param_groups[0]["lr"] = share * RATE, share * RATE_OF_PIECES
            step += 1
            places = compared([place for _, place in asked], len(pool.statements), chance)
            column = {place: number for number, place in enumerate(places)}
            questions = _unit(network([question for question, _ in asked], DROPPED) @ of_questions)
            statements = _unit(network([pool.statements[place] for place in places], DROPPED) @ projection)
            right = torch.tensor([column[place] for _, place in asked])
            loss = nn.functional.cross_entropy(questions @ statements.T / TEMPERATURE, right)
            for optimizer in (usual, sparse):
                optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(dense, 1.0)
            for optimizer in (usual, sparse):
                optimizer.step()
            sum_of_losses += loss.item()
        console.print(f"epoch {epoch + 1} of {epochs}: loss {sum_of_losses / len(made):.3f}")


def _unit(vectors: Any) -> Any:
    return nn.functional.normalize(vectors, dim=-1)


def _projection() -> Any:
    return torch.tensor(np.load(DATA / "projection.npy").astype(np.float32))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--share", type=float, default=SHARE, help="of what was learned, that is added")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    projection = _projection()
    network, of_questions = TorchEncoder(), nn.Parameter(projection.clone())
    train(network, of_questions, options.epochs, random.Random(options.seed))
    questions = projection + options.share * (of_questions.detach() - projection)
    network.write(options.out, options.share, questions=questions.numpy())


if __name__ == "__main__":
    main()

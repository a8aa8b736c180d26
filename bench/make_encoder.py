"""How src/jiyi/providers/data/recall.npz was made: the bundled network, trained so that questions find their answers.

    pip install torch
    python -m bench.make_encoder --out recall.npz

It learns from bench/sets/pairs alone: statements, and questions that each of them answers, in other words. A batch has
all that some people told (a block of a file) and all questions about it, and statements of other people: a question is
to be nearest to its own. Among those of its block it is also to be nearer to its own than a limit, and less near to all
others than this limit, so that a similarity tells whether there is an answer. Some blocks are joined to longer texts.
Statements are compared by the 256 principal directions (projection.npy), questions by a matrix that is
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
BLOCKS = 3
"""In a batch: what the people of so many blocks told, and all questions about it."""
LINES = 25
"""In a block, where a file has none: lines that are about nobody in particular."""
OTHERS = 80
"""Statements of other blocks, in a batch."""
MIXED = 0.15
"""The share of batches with blocks of both languages."""
JOINED = 0.15
"""The share of blocks of which two or three statements at a time are joined to a longer text."""
NOTHING = 0.5
"""How much it counts that a question is nearer to its answer than `nothing`, and to the rest of its block less near."""
SHARE = 0.9
"""Of what was learned, that is added."""


class Block(NamedTuple):
    """What one person or conversation told, and the questions with the place of the statement that answers."""

    language: str
    statements: list[str]
    questions: list[tuple[str, int]]
    together: bool
    """Whether all of it is about the same people, so that no other statement of the block answers."""


def blocks() -> list[Block]:
    """Everything that is learned from."""
    found = []
    for path in sorted(PAIRS.rglob("*.txt")):
        together = path.parent != PAIRS
        for lines in _blocks_of(path.read_text("utf-8").splitlines(), together=together):
            statements = [statement for statement, *_ in lines]
            questions = [(question, place) for place, (_, *asked) in enumerate(lines) for question in asked if question]
            found.append(Block(path.name[:2], statements, questions, together))
    return found


def _blocks_of(lines: Sequence[str], *, together: bool) -> list[list[list[str]]]:
    made: list[list[list[str]]] = [[]]
    for line in lines:
        parts = [part.strip() for part in line.split("|")]
        if line.startswith("#") or (not together and len(made[-1]) == LINES):
            made.append([])
        if len(parts) > 1 and not line.startswith("#"):
            made[-1].append(parts)
    return [block for block in made if block]


def joined(block: Block, chance: random.Random) -> Block:
    """The block with longer texts: statements that follow one another, joined."""
    texts: list[str] = []
    place_of = []
    left = 0
    for statement in block.statements:
        if left:
            texts[-1] += ("" if block.language == "zh" else " ") + statement
            left -= 1
        else:
            texts.append(statement)
            left = chance.randint(1, 2)
        place_of.append(len(texts) - 1)
    return block._replace(statements=texts, questions=[(asked, place_of[place]) for asked, place in block.questions])


def batches(found: Sequence[Block], chance: random.Random) -> list[list[Block]]:
    """The blocks of one epoch, most often of one language in a batch."""
    mixed = [block for block in found if chance.random() < MIXED]
    taken = {id(block) for block in mixed}
    groups = [mixed]
    groups += [[b for b in found if b.language == language and id(b) not in taken] for language in ("en", "zh")]
    made = []
    for group in groups:
        chance.shuffle(group)
        longer = [joined(block, chance) if chance.random() < JOINED else block for block in group]
        made += [longer[start : start + BLOCKS] for start in range(0, len(longer), BLOCKS)]
    chance.shuffle(made)
    return made


class Trained(nn.Module):
    """The network, the matrix of questions, and how similar `nothing` is to every question."""

    def __init__(self) -> None:
        super().__init__()
        self.network, self.projection = TorchEncoder(), _projection()
        self.of_questions = nn.Parameter(self.projection.clone())
        self.nothing = nn.Parameter(torch.tensor(0.4))

    def loss(self, batch: Sequence[Block], others: Sequence[str]) -> Any:
        """How unlikely the right statements are: among all of the batch, and among those of the block or nothing."""
        texts = [text for block in batch for text in block.statements]
        asked = [question for block in batch for question, _ in block.questions]
        starts = np.cumsum([0, *(len(block.statements) for block in batch)])
        right = torch.tensor([int(s) + p for s, b in zip(starts, batch, strict=False) for _, p in b.questions])
        questions = _unit(self.network(asked, DROPPED) @ self.of_questions)
        statements = _unit(self.network([*texts, *others], DROPPED) @ self.projection)
        near = questions @ statements.T / TEMPERATURE
        loss = nn.functional.cross_entropy(near, right)
        of_block = torch.cat(
            [torch.full((len(b.questions),), n) for n, b in enumerate(batch) if b.together] or [right[:0]]
        )
        if not len(of_block):
            return loss
        kept = torch.cat([torch.full((len(b.questions),), b.together) for b in batch])
        block_of = torch.cat([torch.full((len(b.statements),), n) for n, b in enumerate(batch)])
        own = near[kept][:, : len(texts)].masked_fill(block_of[None] != of_block[:, None], -1e4)
        none = (self.nothing / TEMPERATURE).expand(len(own), 1)
        first = nn.functional.cross_entropy(torch.cat((own, none), 1), right[kept])
        removed = own.scatter(1, right[kept][:, None], -1e4)
        nobody = torch.full((len(own),), own.shape[1])
        second = nn.functional.cross_entropy(torch.cat((removed, none), 1), nobody)
        return loss + NOTHING * (first + second) / 2


def train(model: Trained, epochs: int, chance: random.Random) -> None:
    """Train the network and the matrix of questions."""
    found = blocks()
    dense = [*model.network.dense_parameters(), model.of_questions, model.nothing]
    usual = torch.optim.Adam(dense, lr=RATE)
    sparse = torch.optim.SparseAdam([model.network.rows.weight], lr=RATE_OF_PIECES)
    total = epochs * (len(found) // BLOCKS + 3)
    step = 0
    for epoch in range(epochs):
        model.train()
        sum_of_losses, made = 0.0, batches(found, chance)
        for batch in made:
            share = min(1.0, (step + 1) / WARMING) * max(0.0, 1 - step / total)
            usual.param_groups[0]["lr"], sparse.param_groups[0]["lr"] = share * RATE, share * RATE_OF_PIECES
            step += 1
            languages = {block.language for block in batch}
            others = [b for b in chance.sample(found, 60) if b.language in languages and b not in batch]
            loss = model.loss(batch, [chance.choice(b.statements) for b in (others * OTHERS)[:OTHERS]])
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
    parser.add_argument("--epochs", type=int, default=7)
    parser.add_argument("--share", type=float, default=SHARE, help="of what was learned, that is added")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    model = Trained()
    train(model, options.epochs, random.Random(options.seed))
    questions = model.projection + options.share * (model.of_questions.detach() - model.projection)
    model.network.write(options.out, options.share, questions=questions.numpy())


if __name__ == "__main__":
    main()

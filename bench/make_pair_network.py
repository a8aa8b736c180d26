"""How the network was made that tells which fact a message makes outdated: its embedder and its last layers.

    pip install torch
    python -m bench.make_pair_network [--epochs 3] [--providers FOLDER] [--longterm FOLDER]

It is trained end to end: the bundled model (src/jiyi/providers/data/replacement.npz), a hidden layer over the vectors
of a message and a fact and over an alignment of their word pieces (src/jiyi/longterm/data/pair_network.npz), and beside
it the weights of the features of `jiyi.longterm.replacement` (`replaces` and `piece` in weights.json), whose values are
added. It learns which of the older claims a message replaces, or none, which part of a claim, and of each part whether
it still holds. The model begins with what recall has learned.

It learns from everything that `bench.make_weights` learns from, from `people` and from `values`. The writers of
`MEASURED` tell after each epoch how many replacements are found at a given share of wrong ones; `bench.judgement`
measures the whole decision with their sets. Run `bench.make_weights` first: the other weights stay as they are.

Half an hour on two cores.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

import jiyi.longterm
from bench.judgement_examples import Examples, Vectors, examples
from bench.judgement_sets import MEASURED, PEOPLE, WRITERS, messages_of_people
from bench.make_weights import choose, parts_of_facts, rank, rows_of_steps, told
from bench.people_examples import claims_of, is_outdated, of_people
from bench.support import console
from bench.support.torch_encoder import DATA, Reading, TorchEncoder
from jiyi.longterm.corrections import anonymous
from jiyi.longterm.pair_network import COMPARED_SCALE, MAX_LOGIT, NETWORK, OWN_SCALE, texts_of_message
from jiyi.longterm.trained import WEIGHTS
from jiyi.providers.bundled import PlainEmbedder
from jiyi.providers.encoder import FULL_DIMENSION, STATE_DIMENSION
from jiyi.text.statements.parts.claims import pieces_of
from jiyi.text.statements.replacing.change_words import without_unchanged

HIDDEN = 128
ALIGNED = 128
"""The width of a word piece in the alignment."""
RATES = {"encoder": 2e-4, "pieces": 1e-3, "layers": 1e-3, "line": 2e-3}
WARMING = 100
DROPPED = 0.1
DROPPED_HIDDEN = 0.2
PENALTY = 1e-4
MESSAGES = 48
"""In a batch; a text is encoded once for all of them."""
SHARE_OF_DISTRACTED = 3
"""Of the steps among claims of other people, one in so many is taken in an epoch, and counts so much more."""
EVERY_OF_PARTS = 6
"""Of so many batches one has parts of facts beside it."""
WRONG = (0.02, 0.04, 0.06)


class Case(NamedTuple):
    """A message, and facts or parts of one of which some are replaced by it."""

    writer: str
    said: list[str]
    facts: list[str]
    rows: Any
    gone: list[bool]
    weight: float
    none: bool
    """Whether it may be that nothing is replaced."""
    distracted: bool = False

    @property
    def of_people(self) -> bool:
        return self.writer.startswith(PEOPLE)


class PartsCase(NamedTuple):
    """A message, and the parts of a fact of which it makes some outdated, or all."""

    said: list[str]
    facts: list[str]
    gone: list[bool]


def parts_cases(learned: Sequence[Case]) -> list[PartsCase]:
    """The facts of people of which a message changes something, and the parts that are learned from besides."""
    found = [PartsCase(case.said, case.facts, case.gone) for case in learned if not case.none and not case.of_people]
    for message in messages_of_people():
        for claim in claims_of(message) if message.gone else ():
            parts = pieces_of(claim)
            gone = [is_outdated(part, message.gone) for part in parts]
            if len(parts) > 1 and any(gone):
                text, bare = anonymous(without_unchanged(message.text), parts)
                found.append(PartsCase(texts_of_message(text), bare, gone))
    return found


def cases() -> list[Case]:
    """Everything that is learned from, and the steps of the writers that are measured with."""
    vectors = Vectors(PlainEmbedder())
    learned = _cases_of(examples(WRITERS, vectors, *of_people(vectors)), vectors)
    measured = _cases_of(examples(MEASURED, vectors), vectors)
    return learned + [case for case in measured if case.writer in MEASURED]


def _cases_of(found: Examples, vectors: Vectors) -> list[Case]:
    texts = vectors.texts()

    def read(numbers: Sequence[int]) -> list[str]:
        return [texts[number] for number in numbers]

    rows_of = rows_of_steps(found.steps, found.matches)
    steps = []
    for step, rows in zip(found.steps, rows_of, strict=True):
        gone = [right for *_, right in step.pairs]
        said, known = read(step.said), read(step.known)
        steps.append(Case(step.writer, said, known, rows, gone, step.weight, none=True, distracted=step.distracted))
    parts = []
    for group, (features, right, weight) in zip(found.pieces, parts_of_facts(found), strict=True):
        gone = [place == right for place in range(len(features))]
        said, known = read(group.said), read(group.known)
        parts.append(Case(group.writer, said, known, np.array(features, dtype=np.float32), gone, weight, none=False))
    return steps + parts


def lines_of(learned: Sequence[Case]) -> tuple[Any, Any]:
    """The lines of the features alone, from which the training begins: for steps, and for parts."""
    steps, parts = ([case for case in learned if case.none is none] for none in (True, False))
    gone = np.concatenate([case.gone for case in steps])
    weights = np.array([case.weight for case in steps])
    of_steps = rank(np.concatenate([c.rows for c in steps]), gone, [len(c.gone) for c in steps], weights)
    of_parts = choose([(case.rows.tolist(), case.gone.index(True), case.weight) for case in parts])
    return of_steps, np.append(of_parts, 0.0).astype(np.float32)


class Alignment(nn.Module):
    """What each word piece of a message and of a fact has opposite to it in the other text, and what comes of it."""

    def __init__(self) -> None:
        super().__init__()
        self.entry = nn.Linear(STATE_DIMENSION, ALIGNED)
        self.query = nn.Linear(ALIGNED, ALIGNED, bias=False)
        self.same = nn.Parameter(torch.tensor(2.0))
        self.compare = nn.Linear(4 * ALIGNED + 1, ALIGNED)
        self.out = nn.Linear(4 * ALIGNED, HIDDEN)
        self.dropout = nn.Dropout(DROPPED)

    def forward(self, reading: Reading, messages: Any, facts: Any) -> Any:
        """For each pair of texts, by their places, what is added to the hidden layer."""
        rows = torch.relu(self.entry(self.dropout(reading.states)))
        (mine, mine_there, mine_pieces), (theirs, theirs_there, their_pieces) = (
            _padded(rows, reading, places) for places in (messages, facts)
        )
        both = mine_there[:, :, None] & theirs_there[:, None, :]
        same = ((mine_pieces[:, :, None] == their_pieces[:, None, :]) & both).float()
        near = self.query(mine) @ theirs.transpose(1, 2) / ALIGNED**0.5 + self.same * same
        near = near.masked_fill(~both, -1e4)
        sides = (
            (mine, torch.softmax(near, 2) @ theirs, mine_there, same.amax(2)),
            (theirs, torch.softmax(near, 1).transpose(1, 2) @ mine, theirs_there, same.amax(1)),
        )
        found = []
        for own, opposite, there, shared in sides:
            pieces = torch.cat((own, opposite, own * opposite, (own - opposite).abs(), shared[..., None]), -1)
            compared = torch.relu(self.compare(pieces)) * there[..., None]
            found += [compared.amax(1), compared.sum(1) / there.sum(1, keepdim=True)]
        return self.out(self.dropout(torch.cat(found, -1)))


def _padded(rows: Any, reading: Reading, texts: Any) -> tuple[Any, Any, Any]:
    """The rows of the pieces of some texts, which of them are there, and which pieces they are."""
    lengths = reading.lengths[texts]
    places = torch.arange(int(lengths.max()))[None]
    there = places < lengths[:, None]
    places = torch.where(there, reading.starts[texts][:, None] + places, 0)
    return rows[places], there, reading.pieces[places]


class Network(nn.Module):
    """The embedder, the layers over pairs, and the lines of the features."""

    def __init__(self, of_steps: Any, of_parts: Any) -> None:
        super().__init__()
        self.encoder = TorchEncoder()
        with np.load(DATA / "recall.npz") as trained:
            self.encoder.read(trained)
        self.hidden = nn.Linear(4 * FULL_DIMENSION, HIDDEN)
        self.out = nn.Linear(HIDDEN, 2)
        """A value of the fact among others, and one of the part of a fact by itself."""
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)
        self.dropout = nn.Dropout(DROPPED_HIDDEN)
        self.alignment = Alignment()
        self.lines = nn.ParameterList([nn.Parameter(torch.tensor(each)) for each in (of_parts, of_steps)])

    def forward(self, batch: Sequence[Case]) -> Any:
        """The values of all facts of the batch, one after the other."""
        best = MAX_LOGIT * torch.tanh(self._best(batch)[:, 0] / MAX_LOGIT)
        told = [torch.tensor(case.rows) @ self.lines[case.none][:-1] + self.lines[case.none][-1] for case in batch]
        return best + torch.cat(told)

    def loss_of_parts(self, batch: Sequence[PartsCase]) -> Any:
        """How unlikely what is right is of each part by itself."""
        gone = torch.tensor([float(gone) for case in batch for gone in case.gone])
        return nn.functional.binary_cross_entropy_with_logits(self._best(batch)[:, 1], gone)

    def _best(self, batch: Sequence[Case] | Sequence[PartsCase]) -> Any:
        """The values of each fact by the clause of the message that fits best."""
        place = {text: n for n, text in enumerate(dict.fromkeys(t for c in batch for t in (*c.said, *c.facts)))}
        reading = self.encoder.read_texts(list(place), DROPPED)
        vectors = reading.vectors
        # The pieces of the whole message are aligned, and each of its clauses is compared by its vector.
        wholes = [(c.said[-1], fact) for c in batch for fact in c.facts]
        aligned = self.alignment(
            reading,
            torch.tensor([place[said] for said, _ in wholes]),
            torch.tensor([place[fact] for _, fact in wholes]),
        )
        pairs = [(m, f, n) for n, (c, f) in enumerate((c, f) for c in batch for f in c.facts) for m in c.said]
        mine = vectors[torch.tensor([place[said] for said, _, _ in pairs])]
        theirs = vectors[torch.tensor([place[fact] for _, fact, _ in pairs])]
        compared = (COMPARED_SCALE * mine * theirs, COMPARED_SCALE * (mine - theirs).abs())
        own = (OWN_SCALE * mine, OWN_SCALE * theirs)
        number = torch.tensor([number for *_, number in pairs])
        hidden = self.hidden(torch.cat((*compared, *own), -1)) + aligned[number]
        values = self.out(self.dropout(torch.relu(hidden)))
        none = torch.full((int(number[-1]) + 1, values.shape[1]), -1e9)
        return none.scatter_reduce(0, number[:, None].expand_as(values), values, "amax")


def loss_of(values: Any, batch: Sequence[Case]) -> Any:
    """How unlikely what is right is, among the facts of each message and, where it may be so, none of them."""
    total = 0.0
    start = 0
    for case in batch:
        own = values[start : start + len(case.facts)]
        start += len(case.facts)
        candidates = torch.cat((own, torch.zeros(1))) if case.none else own
        gone = torch.tensor([*case.gone, *([not any(case.gone)] if case.none else [])])
        weight = case.weight * (SHARE_OF_DISTRACTED if case.distracted else 1)
        total = total - weight * (torch.logsumexp(candidates[gone], 0) - torch.logsumexp(candidates, 0))
    return total / MESSAGES


def batches(found: Sequence[Case], chance: random.Random) -> list[list[Case]]:
    """The cases of one epoch; those of a person follow one another, and stay together."""
    people = [case for case in found if case.of_people and case.none]
    others = [
        case
        for case in found
        if not (case.of_people and case.none) and (not case.distracted or chance.randrange(SHARE_OF_DISTRACTED) == 0)
    ]
    chance.shuffle(others)
    made = [each[start : start + MESSAGES] for each in (people, others) for start in range(0, len(each), MESSAGES)]
    chance.shuffle(made)
    return made


def train(found: Sequence[Case], network: Network, epochs: int, chance: random.Random) -> Iterator[float]:
    """Train; yields the mean loss of each epoch."""
    parts = parts_cases(found)
    layers = [p for each in (network.hidden, network.out, network.alignment) for p in each.parameters()]
    groups = {"encoder": network.encoder.dense_parameters(), "layers": layers, "line": list(network.lines)}
    usual = torch.optim.Adam([{"params": each, "name": name} for name, each in groups.items()])
    sparse = torch.optim.SparseAdam([{"params": [network.encoder.rows.weight], "name": "pieces"}])
    total, step = 0, 0
    for _ in range(epochs):
        made = batches(found, chance)
        total = total or epochs * len(made)
        network.train()
        losses = 0.0
        chance.shuffle(parts)
        turns = cycle(range(0, len(parts), MESSAGES))
        for number, batch in enumerate(made):
            share = min(1.0, (step + 1) / WARMING) * max(0.02, 1 - step / total)
            step += 1
            for group in (*usual.param_groups, *sparse.param_groups):
                group["lr"] = RATES[group["name"]] * share
            loss = loss_of(network(batch), batch) + PENALTY * sum((line[:-1] ** 2).sum() for line in network.lines)
            if number % EVERY_OF_PARTS == 0:
                start = next(turns)
                loss = loss + network.loss_of_parts(parts[start : start + MESSAGES])
            for optimizer in (usual, sparse):
                optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([*groups["encoder"], *layers], 2.0)
            for optimizer in (usual, sparse):
                optimizer.step()
            losses += float(loss.detach())
        yield losses / len(made)


@torch.no_grad()
def found_at(network: Network, measured: Sequence[Case]) -> str:
    """How many replacements are found where so many of the messages replace something wrongly."""
    network.eval()
    best = []
    for case in measured:
        shares = torch.softmax(torch.cat((network([case]), torch.zeros(1))), 0)[:-1]
        place = int(shares.argmax())
        best.append((float(shares[place]), case.gone[place]))
    best.sort(reverse=True)
    right = np.cumsum([right for _, right in best])
    wrong = np.cumsum([not right for _, right in best]) / len(best)
    total = sum(any(case.gone) for case in measured)
    last = [max(int(np.searchsorted(wrong, at, side="right")) - 1, 0) for at in WRONG]
    shown = [f"{right[place] / total:.3f}" for place in last]
    return f"{' / '.join(shown)} of {total} replacements at {' / '.join(f'{at:.0%}' for at in WRONG)} wrong"


def write(network: Network, providers: Path, longterm: Path) -> None:
    """All files that belong together."""
    alignment = network.alignment
    entry = {"entry": alignment.entry.weight.T.detach().numpy(), "entry_bias": alignment.entry.bias.detach().numpy()}
    network.encoder.write(providers / "replacement.npz", **entry)
    layers = {
        "hidden": network.hidden.weight.T,
        "hidden_bias": network.hidden.bias + alignment.out.bias,
        "query": alignment.query.weight.T,
        "same": alignment.same,
        "compare": alignment.compare.weight.T,
        "compare_bias": alignment.compare.bias,
        "aligned": alignment.out.weight.T,
        "out": network.out.weight.T,
        "out_bias": network.out.bias,
    }
    stored = {name: each.detach().numpy().astype(np.float16) for name, each in layers.items()}
    np.savez_compressed(longterm / Path(NETWORK).name, **stored)
    path = longterm / Path(WEIGHTS).name
    weights = json.loads(path.read_text("utf-8"))
    for name, line in zip(("piece", "replaces"), network.lines, strict=True):
        weights["models"][name] = told(line.detach().numpy())
    path.write_text(json.dumps(weights, separators=(",", ":")) + "\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--providers", type=Path, default=DATA)
    parser.add_argument("--longterm", type=Path, default=Path(jiyi.longterm.__file__).parent / "data")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    found = cases()
    learned = [case for case in found if case.writer not in MEASURED]
    measured = [case for case in found if case.writer in MEASURED and case.none and not case.distracted]
    network = Network(*lines_of(learned))
    for epoch, loss in enumerate(train(learned, network, options.epochs, random.Random(options.seed)), start=1):
        console.print(f"epoch {epoch} of {options.epochs}: loss {loss:.3f}; left out: {found_at(network, measured)}")
        write(network, options.providers, options.longterm)


if __name__ == "__main__":
    main()

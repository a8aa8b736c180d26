"""How the network was made that tells which fact a message makes outdated: its embedder and its last layers.

    pip install torch
    python -m bench.make_pair_network [--layers] [--epochs 3] [--providers FOLDER] [--longterm FOLDER]

It is trained end to end: the bundled model (src/jiyi/providers/data/replacement.npz), a hidden layer over the vectors
of a message and a fact and over an alignment of their word pieces (src/jiyi/longterm/data/pair_network.npz), and beside
it the weights of the features of `jiyi.longterm.replacement` (`replaces` in weights.json), whose values are added. It
learns which of the older claims a message replaces, or none, and of each part of a claim, read in the whole of it,
whether it still holds. The model begins with what recall has learned. With `--layers` it stays as it is shipped, every
text is read once, and only the layers are trained, from the shipped ones on: a few minutes.

It learns from everything that `bench.make_weights` learns from, from `people` and from `values`. The writers of
`MEASURED` tell after each epoch how many replacements are found at a given share of wrong ones; `bench.judgement`
measures the whole decision with their sets. Run `bench.make_weights` first: the other weights stay as they are.

An hour on two cores.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

import jiyi.longterm
from bench.judgement_examples import Examples, Said, Vectors, examples, in_brackets, sequences
from bench.judgement_sets import MEASURED, PEOPLE, WRITERS, holds, messages_of_people
from bench.make_weights import rank, rows_of_steps, told
from bench.people_examples import claims_of, is_outdated, of_people
from bench.support import console
from bench.support.torch_encoder import DATA, Reading, TorchEncoder, piece_count
from jiyi.longterm.pair_network import COMPARED_SCALE, MAX_LOGIT, NETWORK, OWN_SCALE, ends_of
from jiyi.longterm.trained import WEIGHTS
from jiyi.providers.bundled import PlainEmbedder
from jiyi.providers.encoder import FULL_DIMENSION, STATE_DIMENSION, Encoder
from jiyi.text.statements.parts.claims import pieces_of, split_claims
from jiyi.text.statements.replacing.change_words import without_unchanged

HIDDEN = 128
ALIGNED = 128
"""The width of a word piece in the alignment."""
RATES = {"encoder": 2e-4, "pieces": 1e-3, "entry": 1e-3, "layers": 1e-3, "line": 2e-3}
WARMING = 100
DROPPED = 0.1
DROPPED_HIDDEN = 0.2
PENALTY = 1e-4
MESSAGES = 48
"""In a batch; a text is encoded once for all of them."""
SHARE_OF_DISTRACTED = 3
"""Of the steps among claims of other people, one in so many is taken in an epoch, and counts so much more."""
EVERY_OF_PARTS = 3
"""Of so many batches one has parts of facts beside it."""
WRONG = (0.02, 0.04, 0.06)
LAYERS = Path(jiyi.longterm.__file__).parent


class Case(NamedTuple):
    """A message, and facts of which some are replaced by it."""

    writer: str
    said: list[str]
    facts: list[str]
    rows: Any
    gone: list[bool]
    weight: float
    distracted: bool = False

    @property
    def of_people(self) -> bool:
        return self.writer.startswith(PEOPLE)


class PartsCase(NamedTuple):
    """A message, and a fact of several parts of which it makes some outdated, or all."""

    said: str
    fact: str
    ends: list[int]
    """Where each part ends in the fact."""
    gone: list[float]
    """1 for what does not hold any more, 0 for what holds, and below 0 where nobody has said."""


UNKNOWN = -1.0


def parts_cases() -> list[PartsCase]:
    """The facts of people and of sets of which a message changes something."""
    found = []
    for message in messages_of_people():
        for claim in claims_of(message) if message.gone else ():
            gone = [float(is_outdated(part, message.gone)) for part in pieces_of(claim)]
            found.append(PartsCase(without_unchanged(message.text), claim, ends_of(claim), gone))
    for said in sequences(WRITERS):
        for place, gone in said.gone.items():
            text = without_unchanged(said.messages[place])
            claims = (claim.text for before in said.messages[:place] for claim in split_claims(before))
            found += [PartsCase(text, claim, ends_of(claim), _gone_of_set(said, claim, gone)) for claim in claims]
    return [case for case in found if len(case.ends) > 1 and any(gone > 0 for gone in case.gone)]


def _gone_of_set(said: Said, claim: str, musts: Sequence[Any]) -> list[float]:
    """Which parts of a claim do not hold any more, as far as the words that a set names tell it."""
    parts = pieces_of(claim)
    named = [in_brackets(part, musts, said) > 0 for part in parts]
    if said.current is None:
        return [float(each) for each in named]
    if any(named) and not any(holds(must, claim) for must in said.current):
        # Nothing of it has to be known.
        return [1.0] * len(parts)
    stays = [any(holds([word], part) for must in said.current for word in must) for part in parts]
    return [float(gone) if gone != stay else UNKNOWN for gone, stay in zip(named, stays, strict=True)]


def cases() -> list[Case]:
    """Everything that is learned from, and the steps of the writers that are measured with."""
    vectors = Vectors(PlainEmbedder())
    learned = _cases_of(examples(WRITERS, vectors, of_people(vectors)), vectors)
    measured = _cases_of(examples(MEASURED, vectors), vectors)
    return learned + [case for case in measured if case.writer in MEASURED]


def _cases_of(found: Examples, vectors: Vectors) -> list[Case]:
    texts = vectors.texts()

    def read(numbers: Sequence[int]) -> list[str]:
        return [texts[number] for number in numbers]

    return [
        Case(
            step.writer,
            read(step.said),
            read(step.known),
            rows,
            [right for *_, right in step.pairs],
            step.weight,
            distracted=step.distracted,
        )
        for step, rows in zip(found.steps, rows_of_steps(found.steps, found.matches), strict=True)
    ]


def texts_of(found: Sequence[Case], parts: Sequence[PartsCase]) -> list[str]:
    """Every text that is read."""
    texts = [text for case in found for text in (*case.said, *case.facts)]
    return list(dict.fromkeys([*texts, *(text for case in parts for text in (case.said, case.fact))]))


def line_of(learned: Sequence[Case]) -> Any:
    """The line of the features alone, from which the training begins."""
    gone = np.concatenate([case.gone for case in learned])
    weights = np.array([case.weight for case in learned])
    return rank(np.concatenate([case.rows for case in learned]), gone, [len(case.gone) for case in learned], weights)


class Alignment(nn.Module):
    """What each word piece of a message and of a fact has opposite to it in the other text, and what comes of it."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(ALIGNED, ALIGNED, bias=False)
        self.same = nn.Parameter(torch.tensor(2.0))
        self.compare = nn.Linear(4 * ALIGNED + 1, ALIGNED)
        self.around = nn.Linear(3 * ALIGNED, ALIGNED)
        """What the comparison of a piece and of its two neighbours says together."""
        self.second_query = nn.Linear(ALIGNED, ALIGNED, bias=False)
        self.second = nn.Linear(2 * ALIGNED, ALIGNED)
        """What it says together with what stands opposite to it, once all pieces have been compared."""
        self.out = nn.Linear(4 * ALIGNED, HIDDEN, bias=False)
        self.part = nn.Linear(6 * ALIGNED, HIDDEN)
        """Of the word pieces of one part of the fact, and of both texts."""
        self.part_out = nn.Linear(HIDDEN, 1)
        self.dropout = nn.Dropout(DROPPED)

    def forward(self, reading: Reading, messages: Any, facts: Any) -> Any:
        """For each pair of texts, by their places: what is compared of both, and of each word piece of the fact."""
        rows = reading.states
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
        first = []
        for own, opposite, there, shared in sides:
            pieces = torch.cat((own, opposite, own * opposite, (own - opposite).abs(), shared[..., None]), -1)
            compared = torch.relu(self.compare(pieces)) * there[..., None]
            window = nn.functional.pad(compared, (0, 0, 1, 1)).unfold(1, 3, 1).transpose(2, 3).flatten(2)
            first.append((compared + torch.relu(self.around(self.dropout(window)))) * there[..., None])
        of_message, of_fact = first
        near = (self.second_query(of_message) @ of_fact.transpose(1, 2) / ALIGNED**0.5).masked_fill(~both, -1e4)
        found = []
        for own, opposite, there in (
            (of_message, torch.softmax(near, 2) @ of_fact, mine_there),
            (of_fact, torch.softmax(near, 1).transpose(1, 2) @ of_message, theirs_there),
        ):
            last = own + torch.relu(self.second(self.dropout(torch.cat((own, opposite), -1))))
            last = last * there[..., None]
            found += [last.amax(1), last.sum(1) / there.sum(1, keepdim=True)]
        return torch.cat(found, -1), last, there


def _padded(rows: Any, reading: Reading, texts: Any) -> tuple[Any, Any, Any]:
    """The rows of the pieces of some texts, which of them are there, and which pieces they are."""
    lengths = reading.lengths[texts]
    places = torch.arange(int(lengths.max()))[None]
    there = places < lengths[:, None]
    places = torch.where(there, reading.starts[texts][:, None] + places, 0)
    return rows[places], there, reading.pieces[places]


class TrainedReader(nn.Module):
    """Reads texts with a model that is trained too."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = TorchEncoder()
        with np.load(DATA / "recall.npz") as trained:
            self.encoder.read(trained)
        self.entry = nn.Linear(STATE_DIMENSION, ALIGNED)
        self.dropout = nn.Dropout(DROPPED)

    def forward(self, texts: Sequence[str]) -> Reading:
        """The vectors of the texts, and what the alignment sees of their word pieces."""
        reading = self.encoder.read_texts(texts, DROPPED)
        return reading._replace(states=torch.relu(self.entry(self.dropout(reading.states))))


class StoredReader(nn.Module):
    """What the shipped model reads in texts, each of them read once."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__()
        read = Encoder("replacement").read(texts)
        self._number = {text: number for number, text in enumerate(texts)}
        self._vectors = torch.tensor(np.stack([each.vector for each in read]))
        self._rows = [torch.tensor(each.rows.astype(np.float16)) for each in read]
        self._pieces = [torch.tensor(each.pieces) for each in read]
        self.dropout = nn.Dropout(DROPPED)

    def forward(self, texts: Sequence[str]) -> Reading:
        """The same, without a computation."""
        numbers = [self._number[text] for text in texts]
        rows = torch.cat([self._rows[number] for number in numbers]).float()
        lengths = torch.tensor([len(self._pieces[number]) for number in numbers])
        pieces = torch.cat([self._pieces[number] for number in numbers])
        starts = torch.cumsum(lengths, 0) - lengths
        return Reading(self._vectors[torch.tensor(numbers)], self.dropout(rows), pieces, starts, lengths)


class Network(nn.Module):
    """What reads the texts, the layers over pairs, and the line of the features."""

    def __init__(self, line: Any, reader: TrainedReader | StoredReader) -> None:
        super().__init__()
        self.reader = reader
        self.hidden = nn.Linear(4 * FULL_DIMENSION, HIDDEN)
        self.out = nn.Linear(HIDDEN, 1)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)
        self.dropout = nn.Dropout(DROPPED_HIDDEN)
        self.alignment = Alignment()
        self.line = nn.Parameter(torch.tensor(line))

    def forward(self, batch: Sequence[Case]) -> Any:
        """The values of all facts of the batch, one after the other."""
        best = MAX_LOGIT * torch.tanh(self._best(batch) / MAX_LOGIT)
        return best + torch.cat([torch.tensor(case.rows) @ self.line[:-1] + self.line[-1] for case in batch])

    def _best(self, batch: Sequence[Case]) -> Any:
        """The value of each fact by the clause of the message that fits best."""
        place = {text: n for n, text in enumerate(dict.fromkeys(t for c in batch for t in (*c.said, *c.facts)))}
        reading = self.reader(list(place))
        vectors = reading.vectors
        # The pieces of the whole message are aligned, and each of its clauses is compared by its vector.
        wholes = [(c.said[-1], fact) for c in batch for fact in c.facts]
        both, _, _ = self.alignment(reading, *_places(wholes, place))
        aligned = self.alignment.out(self.dropout(both))
        pairs = [(m, f, n) for n, (c, f) in enumerate((c, f) for c in batch for f in c.facts) for m in c.said]
        mine = vectors[torch.tensor([place[said] for said, _, _ in pairs])]
        theirs = vectors[torch.tensor([place[fact] for _, fact, _ in pairs])]
        compared = (COMPARED_SCALE * mine * theirs, COMPARED_SCALE * (mine - theirs).abs())
        own = (OWN_SCALE * mine, OWN_SCALE * theirs)
        number = torch.tensor([number for *_, number in pairs])
        hidden = self.hidden(torch.cat((*compared, *own), -1)) + aligned[number]
        values = self.out(self.dropout(torch.relu(hidden)))[:, 0]
        return torch.full((int(number[-1]) + 1,), -1e9).scatter_reduce(0, number, values, "amax")

    def of_parts(self, batch: Sequence[PartsCase]) -> Any:
        """A value of each part of each fact: above 0 where it does not hold any more."""
        place = {text: n for n, text in enumerate(dict.fromkeys(t for c in batch for t in (c.said, c.fact)))}
        reading = self.reader(list(place))
        both, rows, there = self.alignment(reading, *_places([(c.said, c.fact) for c in batch], place))
        owner = torch.tensor([number for number, case in enumerate(batch) for _ in case.ends])
        spans = [span for case in batch for span in spans_of(case)]
        begins, ends = torch.tensor([a for a, _ in spans])[:, None], torch.tensor([b for _, b in spans])[:, None]
        places = torch.arange(rows.shape[1])[None]
        inside = ((places >= begins) & (places < ends) & there[owner])[..., None]
        own = rows[owner] * inside
        of_part = (own.amax(1), own.sum(1) / inside.sum(1).clamp(min=1))
        hidden = torch.relu(self.alignment.part(self.dropout(torch.cat((*of_part, both[owner]), -1))))
        return self.alignment.part_out(self.dropout(hidden))[:, 0]

    def loss_of_parts(self, batch: Sequence[PartsCase]) -> Any:
        """How unlikely what is right is of each part by itself."""
        gone = torch.tensor([gone for case in batch for gone in case.gone])
        known = gone != UNKNOWN
        return nn.functional.binary_cross_entropy_with_logits(self.of_parts(batch)[known], gone[known])


def _places(pairs: Sequence[tuple[str, str]], place: Mapping[str, int]) -> tuple[Any, Any]:
    return tuple(torch.tensor([place[pair[side]] for pair in pairs]) for side in (0, 1))


def spans_of(case: PartsCase) -> list[tuple[int, int]]:
    """The first word piece of each part, and the one after its last."""
    ends = [piece_count(case.fact[:end]) for end in case.ends]
    return list(pairwise([0, *ends]))


def loss_of(values: Any, batch: Sequence[Case]) -> Any:
    """How unlikely what is right is, among the facts of each message and, where it may be so, none of them."""
    total = 0.0
    start = 0
    for case in batch:
        own = values[start : start + len(case.facts)]
        start += len(case.facts)
        candidates = torch.cat((own, torch.zeros(1)))
        gone = torch.tensor([*case.gone, not any(case.gone)])
        weight = case.weight * (SHARE_OF_DISTRACTED if case.distracted else 1)
        total = total - weight * (torch.logsumexp(candidates[gone], 0) - torch.logsumexp(candidates, 0))
    return total / MESSAGES


def batches(found: Sequence[Case], chance: random.Random) -> list[list[Case]]:
    """The cases of one epoch; those of a person follow one another, and stay together."""
    people = [case for case in found if case.of_people]
    others = [
        case
        for case in found
        if not case.of_people and (not case.distracted or chance.randrange(SHARE_OF_DISTRACTED) == 0)
    ]
    chance.shuffle(others)
    made = [each[start : start + MESSAGES] for each in (people, others) for start in range(0, len(each), MESSAGES)]
    chance.shuffle(made)
    return made


def train(
    found: Sequence[Case], parts: list[PartsCase], network: Network, epochs: int, chance: random.Random
) -> Iterator[float]:
    """Train; yields the mean loss of each epoch."""
    layers = [p for each in (network.hidden, network.out, network.alignment) for p in each.parameters()]
    groups: dict[str, list[Any]] = {"layers": layers, "line": [network.line]}
    optimizers: list[Any] = []
    if isinstance(network.reader, TrainedReader):
        encoder = network.reader.encoder
        groups |= {"encoder": encoder.dense_parameters(), "entry": list(network.reader.entry.parameters())}
        optimizers.append(torch.optim.SparseAdam([{"params": [encoder.rows.weight], "name": "pieces"}]))
    optimizers.append(torch.optim.Adam([{"params": each, "name": name} for name, each in groups.items()]))
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
            for group in (group for optimizer in optimizers for group in optimizer.param_groups):
                group["lr"] = RATES[group["name"]] * share
            loss = loss_of(network(batch), batch) + PENALTY * (network.line[:-1] ** 2).sum()
            if number % EVERY_OF_PARTS == 0:
                start = next(turns)
                loss = loss + network.loss_of_parts(parts[start : start + MESSAGES])
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([each for name, group in groups.items() if name != "line" for each in group], 2.0)
            for optimizer in optimizers:
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


def layers_of(network: Network) -> dict[str, Any]:
    """The trained layers, by the names in their file."""
    alignment = network.alignment
    return {
        "hidden": network.hidden.weight,
        "hidden_bias": network.hidden.bias,
        "query": alignment.query.weight,
        "same": alignment.same,
        "compare": alignment.compare.weight,
        "compare_bias": alignment.compare.bias,
        "around": alignment.around.weight,
        "around_bias": alignment.around.bias,
        "second_query": alignment.second_query.weight,
        "second": alignment.second.weight,
        "second_bias": alignment.second.bias,
        "aligned": alignment.out.weight,
        "out": network.out.weight,
        "out_bias": network.out.bias,
        "part": alignment.part.weight,
        "part_bias": alignment.part.bias,
        "part_out": alignment.part_out.weight,
        "part_out_bias": alignment.part_out.bias,
    }


def write(network: Network, providers: Path, longterm: Path) -> None:
    """All files that belong together."""
    if isinstance(network.reader, TrainedReader):
        entry = network.reader.entry
        read = {"entry": entry.weight.T.detach().numpy(), "entry_bias": entry.bias.detach().numpy()}
        network.reader.encoder.write(providers / "replacement.npz", **read)
    # Matrices are stored the other way round than PyTorch has them.
    stored = {name: each.detach().numpy().T.astype(np.float16) for name, each in layers_of(network).items()}
    np.savez_compressed(longterm / Path(NETWORK).name, **stored)
    path = longterm / Path(WEIGHTS).name
    weights = json.loads(path.read_text("utf-8"))
    weights["models"]["replaces"] = told(network.line.detach().numpy())
    path.write_text(json.dumps(weights, separators=(",", ":")) + "\n", "utf-8")


@torch.no_grad()
def begin_with(network: Network, stored: Mapping[str, Any]) -> None:
    """Take over the shipped layers, as far as there are any of the same name and size."""
    for name, parameter in layers_of(network).items():
        if name in stored and stored[name].T.shape == parameter.shape:
            parameter.copy_(torch.tensor(stored[name].T.astype(np.float32)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--layers", action="store_true", help="leave the model as it is shipped")
    parser.add_argument("--providers", type=Path, default=DATA)
    parser.add_argument("--longterm", type=Path, default=LAYERS / "data")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    found = cases()
    learned = [case for case in found if case.writer not in MEASURED]
    measured = [case for case in found if case.writer in MEASURED and not case.distracted]
    parts = parts_cases()
    network = Network(line_of(learned), StoredReader(texts_of(found, parts)) if options.layers else TrainedReader())
    if options.layers:
        with np.load(LAYERS / NETWORK) as stored:
            begin_with(network, stored)
    training = train(learned, parts, network, options.epochs, random.Random(options.seed))
    for epoch, loss in enumerate(training, start=1):
        console.print(f"epoch {epoch} of {options.epochs}: loss {loss:.3f}; left out: {found_at(network, measured)}")
        write(network, options.providers, options.longterm)


if __name__ == "__main__":
    main()

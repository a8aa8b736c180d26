"""Train the linear models that judge without a language model, and write the weights that the package ships.

They learn from bench/sets/judgement: statements.tsv (worth keeping or not, and the domain), changes.txt (what a second
sentence replaces of a first), and the rounds and sequences of the writers. Each is a logistic regression with a penalty
on the weights. `--without a` leaves one writer out, to be measured with that writer's sets; `bench.judgement
--cross-validated` does that for each.

    python -m bench.make_weights
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import jiyi.longterm
from bench.judgement_sets import LANGUAGES, SPLITS, WRITERS, changes, holds, load, statements
from jiyi.longterm.classifier import domain_row, worth_row
from jiyi.longterm.corrections import pieces_of, same_subject
from jiyi.longterm.duplicates import gist
from jiyi.longterm.replacement import (
    Compared,
    along_row,
    change_row,
    likeness,
    pair_features,
    piece_row,
    replacement_row,
)
from jiyi.longterm.trained import WEIGHTS
from jiyi.model.domain import SUBSTANTIAL
from jiyi.ports import Embedder
from jiyi.providers.bundled import BundledEmbedder
from jiyi.text import Analyzer, fold
from jiyi.text.claims import split_claims
from jiyi.text.statement_features import asks
from jiyi.text.subjects import subject_of
from jiyi.text.topics import topics_of

Matrix = NDArray[np.float64]
NOT_WORTH, NO_DOMAIN = "-", "+"
_PENALTY = {"worth": 1e-3, "domains": 3e-3, "change": 3e-3, "replaces": 1e-3, "piece": 1e-2, "along": 3e-3}
_STEPS = 300
_DISTRACTORS = 10
# A step with facts of other people in between counts less: there are many of them.
_WEIGHT_OF_DISTRACTED = 0.25
_FOLDS = 5


@dataclass(frozen=True, slots=True)
class Said:
    """Messages and, for the last of them that changes something, what is gone by it."""

    writer: str
    language: str
    messages: tuple[str, ...]
    gone: tuple[Any, ...]
    current: tuple[Any, ...] | None
    """What must still be known; `None` for everything else that was said."""
    changed_by: int
    """The place of the message that changes something; -1 if none does."""


class Vectors:
    """Embeds every text once; without an embedder there are no vectors."""

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._known: dict[str, list[float]] = {}

    def prepare(self, texts: Sequence[str]) -> None:
        missing = sorted({text for text in texts if text not in self._known})
        if missing and self._embedder is not None:
            self._known.update(zip(missing, self._embedder.embed(missing).astype(float).tolist(), strict=True))

    def of(self, text: str) -> list[float] | None:
        self.prepare([text])
        return self._known.get(text)


def sequences(writers: Sequence[str]) -> list[Said]:
    """The sequences of the writers and the pairs of changes.txt."""
    found = []
    for writer in writers:
        for language in LANGUAGES:
            for split in SPLITS:
                for item in load("sequences", split, [writer], language):
                    messages = tuple(item["messages"])
                    gone = tuple(fact["must"] for fact in item["gone"])
                    current = tuple(fact["must"] for fact in item["current"])
                    found.append(Said(writer, language, messages, gone, current, _changed_by(item) if gone else -1))
    for line in changes():
        before, after = line[2:].split(" || ")
        gone = tuple([part] for part in re.findall(r"\[(.*?)\]", before))
        plain = before.replace("[", "").replace("]", "")
        found.append(Said("", "en" if plain.isascii() else "zh", (plain, after), gone, None, 1 if gone else -1))
    return found


def _changed_by(item: dict[str, Any]) -> int:
    """The last message that says something current which was not said before."""
    messages = item["messages"]
    for place in range(len(messages) - 1, 0, -1):
        if any(
            holds(fact["must"], messages[place]) and not any(holds(fact["must"], each) for each in messages[:place])
            for fact in item["current"]
        ):
            return place
    return len(messages) - 1


def train(writers: Sequence[str], vectors: Vectors, unseen: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The weights of both sets; nothing that contains or is a text of `unseen` is learned from."""
    rounds = [
        item
        for w in writers
        for language in LANGUAGES
        for split in SPLITS
        for item in load("rounds", split, [w], language)
    ]
    plain = [(label, text) for label, text in statements() if not any(text in each for each in unseen)]
    known = sequences(writers)
    vectors.prepare([text for _, text in plain] + [item["user"] for item in rounds])
    vectors.prepare([each.text for item in rounds for each in split_claims(item["user"])])
    vectors.prepare([text for s in known for m in s.messages for text in (m, *(c.text for c in split_claims(m)))])
    identity = BundledEmbedder().identity
    return {
        "embedder": {"name": identity.name, "dimension": identity.dimension},
        "features": _train_set(rounds, plain, known, Vectors(None)),
        "vectors": _train_set(rounds, plain, known, vectors),
    }


def _train_set(
    rounds: Sequence[dict[str, Any]],
    plain: Sequence[tuple[str, str]],
    known: Sequence[Said],
    vectors: Vectors,
) -> dict[str, Any]:
    worth = [(text, label != NOT_WORTH) for label, text in plain] + [(i["user"], bool(i["keep"])) for i in rounds]
    worth += _clauses_of(rounds)
    texts = dict(worth)
    rows = np.array([worth_row(text, vectors.of(text)) for text in texts])
    sides = np.array([float(keep) for keep in texts.values()])
    # The sets hold more facts than conversations do: both sides count the same.
    each = np.where(sides > 0, 0.5 / sides.mean(), 0.5 / (1 - sides.mean()))
    result: dict[str, Any] = {"worth": _told(_fit(rows, sides, _PENALTY["worth"], each))}
    result["domains"] = _domains(rounds, plain, vectors)
    result["change"], result["replaces"] = _replacement(known, vectors)
    result["piece"], result["along"] = _pieces(known, vectors)
    return result


def _clauses_of(rounds: Sequence[dict[str, Any]]) -> list[tuple[str, bool]]:
    """The claims of each message by themselves: sentences and statements in questions are judged alone as well."""
    found: dict[str, bool] = {}
    for item in rounds:
        claims = [claim.text for claim in split_claims(item["user"])]
        for text in claims if len(claims) > 1 or asks(fold(item["user"])) else ():
            states = any(holds(fact["must"], text) for fact in item["keep"])
            # A claim of a message with facts that holds none of them may still be worth keeping: nothing is learned.
            if states or not item["keep"]:
                found[text] = states
    return list(found.items())


def _domains(rounds: Sequence[dict[str, Any]], plain: Sequence[tuple[str, str]], vectors: Vectors) -> Any:
    rows, labels = [], []
    for label, text in plain:
        if label in SUBSTANTIAL:
            claim = split_claims(text)[0]
            rows.append(domain_row(claim, text, vectors.of(claim.text), vectors.of(text)))
            labels.append(label)
    for item in rounds:
        claims = split_claims(item["user"])
        for fact in item["keep"]:
            stating = [claim for claim in claims if holds(fact["must"], claim.text)]
            if stating:
                claim = min(stating, key=lambda each: len(each.text))
                rows.append(domain_row(claim, item["user"], vectors.of(claim.text), vectors.of(item["user"])))
                labels.append(fact["domain"])
    names = sorted(set(labels))
    wanted = np.array([[float(label == name) for name in names] for label in labels])
    weights = _fit_classes(np.array(rows), wanted, _PENALTY["domains"])
    return {name: _told(weights[:, place]) for place, name in enumerate(names)}


def _replacement(known: Sequence[Said], vectors: Vectors) -> tuple[Any, Any]:
    """The model of changes, then the model of pairs: it learns from what the first says of messages unseen by it."""
    analyzer = Analyzer()
    chance = random.Random(1)
    read: dict[str, Compared] = {}

    def compared(text: str) -> Compared:
        if text not in read:
            folded = fold(text)
            read[text] = Compared(text, folded, gist(text, analyzer), topics_of(folded), vectors.of(text))
        return read[text]

    claims = {m: [claim.text for claim in split_claims(m)] for s in known for m in s.messages}
    pool: dict[str, list[str]] = {language: [] for language in LANGUAGES}
    for each in known:
        pool[each.language] += [claim for m in each.messages for claim in claims[m]]
    messages: list[tuple[Compared, bool]] = []
    pairs: list[tuple[int, list[float], bool, float]] = []
    for each in known:
        for place in range(1, len(each.messages)):
            message, changed = compared(each.messages[place]), place == each.changed_by
            olds = [c for m in each.messages[:place] for c in claims[m]][::-1]
            for distractors in (0, _DISTRACTORS):
                others = chance.sample([c for c in pool[each.language] if c not in olds], distractors)
                messages.append((message, changed))
                facts = [compared(text) for text in (*olds, *others)]
                like = [likeness(message, fact) for fact in facts]
                for number, fact in enumerate(facts):
                    gone = changed and number < len(olds) and any(holds(must, fact.text) for must in each.gone)
                    if same_subject(message, fact, subject_of(fact.folded), newest=number == 0):
                        features = pair_features(message, fact, like, number)
                        weight = _WEIGHT_OF_DISTRACTED if distractors else 1.0
                        pairs.append((len(messages) - 1, features, gone, weight))
    rows = np.array([change_row(message) for message, _ in messages])
    sides = np.array([float(changed) for _, changed in messages])
    line = _fit(rows, sides, _PENALTY["change"])
    seen_apart = _out_of_fold([message.text for message, _ in messages], rows, sides)
    of_pairs = np.array([replacement_row(f, float(seen_apart[m]), rows[m].tolist()) for m, f, _, _ in pairs])
    gone_in = np.array([float(gone) for _, _, gone, _ in pairs])
    weight_of = np.array([weight for _, _, _, weight in pairs])
    return _told(line), _told(_fit(of_pairs, gone_in, _PENALTY["replaces"], weight_of))


def _pieces(known: Sequence[Said], vectors: Vectors) -> tuple[Any, Any]:
    """Which part of a fact is replaced, and which other parts go with it."""
    analyzer = Analyzer()

    def compared(text: str) -> Compared:
        folded = fold(text)
        return Compared(text, folded, gist(text, analyzer), topics_of(folded), vectors.of(text))

    groups: list[tuple[list[list[float]], int]] = []
    beside: list[list[float]] = []
    goes: list[float] = []
    for each in known:
        if each.changed_by < 0:
            continue
        message = compared(each.messages[each.changed_by])
        for claim in (c.text for m in each.messages[: each.changed_by] for c in split_claims(m)):
            texts = pieces_of(claim)
            found = [_in_brackets(text, each) for text in texts]
            if len(texts) < 2 or not max(found):
                continue
            parts = [compared(text) for text in texts]
            right = found.index(max(found))
            if found.count(max(found)) == 1:
                like = [likeness(message, part) for part in parts]
                rows = [piece_row(pair_features(message, p, like, n), n, len(parts)) for n, p in enumerate(parts)]
                groups.append((rows, right))
            for place, text in enumerate(texts):
                stays = each.current is None or any(holds([part], text) for must in each.current for part in must)
                if place != right and bool(found[place]) != stays:
                    beside.append(along_row(message, parts, place, right))
                    goes.append(float(bool(found[place])))
    weights = _choose(groups)
    return _told(np.append(weights, 0.0)), _told(_fit(np.array(beside), np.array(goes), _PENALTY["along"]))


def _in_brackets(text: str, said: Said) -> int:
    """How much of what is gone stands in a part of a fact."""
    bare = text.strip(" ,，；;、:：")
    if said.current is None:
        return sum(bare in must[0] or must[0] in bare for must in said.gone)
    return sum(holds([part], text) for must in said.gone for part in must)


def _choose(groups: Sequence[tuple[list[list[float]], int]]) -> Matrix:
    """Weights by which the right row of each group has the highest value."""
    longest = max(len(rows) for rows, _ in groups)
    padded = np.zeros((len(groups), longest, len(groups[0][0][0])))
    there = np.zeros((len(groups), longest), dtype=bool)
    for number, (rows, _) in enumerate(groups):
        padded[number, : len(rows)], there[number, : len(rows)] = rows, True
    right = padded[np.arange(len(groups)), [place for _, place in groups]]
    weights = np.zeros(padded.shape[2])
    for _ in range(_STEPS):
        values = np.where(there, padded @ weights, -np.inf)
        shares = np.exp(values - values.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        slope = (np.einsum("gp,gpf->gf", shares, padded) - right).mean(axis=0)
        weights -= 0.3 * (slope + _PENALTY["piece"] * weights)
    return weights


def _out_of_fold(texts: Sequence[str], rows: Matrix, sides: Matrix) -> Matrix:
    chance = random.Random(2)
    fold_of = {text: chance.randrange(_FOLDS) for text in sorted(set(texts))}
    folds = np.array([fold_of[text] for text in texts])
    found = np.zeros(len(texts))
    for number in range(_FOLDS):
        line = _fit(rows[folds != number], sides[folds != number], _PENALTY["change"])
        found[folds == number] = _chances(rows[folds == number] @ line[:-1] + line[-1])
    return found


def _chances(values: Matrix) -> Matrix:
    found: Matrix = 1.0 / (1.0 + np.exp(-np.clip(values, -30, 30)))
    return found


def _fit(rows: Matrix, sides: Matrix, penalty: float, weight: Matrix | None = None) -> Matrix:
    """A logistic regression by accelerated gradient descent; the offset is the last weight."""
    return _descend(rows, sides[:, None], penalty, weight, classes=False)[:, 0]


def _fit_classes(rows: Matrix, wanted: Matrix, penalty: float) -> Matrix:
    return _descend(rows, wanted, penalty, None, classes=True)


def _descend(rows: Matrix, wanted: Matrix, penalty: float, weight: Matrix | None, *, classes: bool) -> Matrix:
    count = len(rows)
    padded = np.hstack([rows, np.ones((count, 1))])
    each = (np.ones(count) if weight is None else weight)[:, None]
    steepest = (0.5 if classes else 0.25) * np.linalg.norm(padded * np.sqrt(each), 2) ** 2 / count + penalty
    found = np.zeros((padded.shape[1], wanted.shape[1]))
    ahead, momentum = found.copy(), 1.0
    for _ in range(_STEPS):
        values = padded @ ahead
        if classes:
            values = np.exp(values - values.max(axis=1, keepdims=True))
            said = values / values.sum(axis=1, keepdims=True)
        else:
            said = _chances(values)
        shrink = penalty * ahead
        shrink[-1] = 0
        new = ahead - (padded.T @ (each * (said - wanted)) / count + shrink) / steepest
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / following * (new - found)
        found, momentum = new, following
    return found


def _told(weights: Matrix) -> dict[str, Any]:
    return {"weights": [round(float(weight), 5) for weight in weights[:-1]], "offset": round(float(weights[-1]), 5)}


def texts_of(writer: str) -> frozenset[str]:
    """Everything that a writer wrote."""
    found: set[str] = set()
    for language in LANGUAGES:
        for split in SPLITS:
            found |= {item["user"] for item in load("rounds", split, [writer], language)}
            found |= {m for item in load("sequences", split, [writer], language) for m in item["messages"]}
    return frozenset(found)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--without", default="", help="leave out this writer")
    options.add_argument("--to", type=Path, default=Path(jiyi.longterm.__file__).parent / WEIGHTS)
    given = options.parse_args()
    unseen = texts_of(given.without) if given.without else frozenset()
    writers = [writer for writer in WRITERS if writer != given.without]
    weights = train(writers, Vectors(BundledEmbedder()), unseen)
    given.to.write_text(json.dumps(weights, separators=(",", ":")) + "\n", "utf-8")


if __name__ == "__main__":
    main()

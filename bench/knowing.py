"""Whether recall knows what it knows: facts asked for in other words, by keyword, off topic and in no words, and chats.

    python -m bench.knowing                          (the questions for development)
    python -m bench.knowing --held-out               (the questions that no rule was tuned on)
    python -m bench.knowing --held-out --sets FOLDER --out FOLDER
                                                     (other facts.{en,zh}.jsonl and questions.{en,zh}.held_out.jsonl)
    python -m bench.knowing --mixed                  (sets of facts in one store with chats, with dates, as messages)
    python -m bench.knowing --fit                    (also fits the calibration: constants, and AUC of left-out stores)

The sets in bench/sets/recall were written before any rule was tuned, by people who did not see the rules: 200 facts a
language, questions that share no content word with their answer, keyword questions, questions about things that are not
stored (near the topics, and far from them), letters that are no words, and conversations in which a question gets its
answer late. Each answerable question is asked a second time with its answers taken out of the store.

The bundled embedder (`bench.make_encoder`) has not learned from these sets; some of the words that stand for others and
the weights of recall were chosen on the first ones.

AUC is the chance that the best hit of an answerable question has a higher relevance than that of an unanswerable one.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from bench.recall import RememberingEmbedder
from jiyi.providers.bundled import BundledEmbedder
from jiyi.recall.settings import WITH_MEANING, WORDS_ALONE, Calibration
from jiyi.sync import AgentMemory

SETS = Path(__file__).resolve().parent / "sets" / "recall"
OTHERS = {"second set": SETS / "unseen", "third set": SETS / "third", "fourth set": SETS / "fourth"}
"""Sets that were measured before anything was tuned to them, and belong to the fit since."""
MIXED = [SETS / name for name in ("third", "fifth", "seventh", "ninth")]
"""The sets of facts that are put into one store with other kinds of memories."""
MODES = ("hybrid", "keyword", "semantic")
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
LIMIT = 10
_IN_CHATS = ("chat", "off topic (chat)")


@dataclass(frozen=True)
class Asked:
    text: str
    gold: frozenset[str]
    kind: str
    distractors: frozenset[str] = frozenset()


@dataclass
class Store:
    name: str
    memories: dict[str, dict[str, Any]]
    questions: list[Asked]


@dataclass
class Hit:
    key: str
    right: bool
    relevance: float
    parts: dict[str, float]
    similarity: float | None


@dataclass
class Found:
    """What one kind of questions got."""

    hits: dict[str, list[tuple[Asked, list[Hit]]]] = field(default_factory=lambda: defaultdict(list))
    """By mode, with the answers in the store."""
    removed: dict[str, list[tuple[Asked, list[Hit]]]] = field(default_factory=lambda: defaultdict(list))
    """By mode, without them."""


def read(name: str, folder: Path = SETS) -> list[dict[str, Any]]:
    """One of the sets."""
    return [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines() if line.strip()]


def stores(*, held_out: bool = False, folder: Path = SETS) -> Iterator[Store]:
    """Facts and chats in both languages, with their questions."""
    for language in ("en", "zh"):
        facts = read(f"facts.{language}.jsonl", folder)
        key = {fact["id"]: fact["key"] for fact in facts}
        memories = {fact["key"]: {"key": fact["key"], "content": fact["content"]} for fact in facts}
        part = "held_out" if held_out else "dev"
        kinds = {"paraphrase": f"questions.{language}.{part}.jsonl"}
        if (folder / f"offtopic.{language}.jsonl").exists():
            kinds |= {"off": f"offtopic.{language}.jsonl"}
        if not held_out:
            kinds |= {"keyword": f"keyword.{language}.jsonl", "nonsense": "nonsense.jsonl"}
        asked = [
            Asked(
                line["question"],
                frozenset(key[each] for each in line.get("gold", ())),
                f"off topic ({line['kind']})" if kind == "off" else kind,
            )
            for kind, name in kinds.items()
            for line in read(name, folder)
        ]
        yield Store(f"facts {language}", memories, asked)
        if not held_out:
            yield read_chat(language, folder)


def read_chat(language: str, folder: Path) -> Store:
    turns = {
        turn["id"]: {
            "key": turn["id"],
            "content": turn["text"],
            "category": "conversation",
            "conversation_id": conversation["conversation"],
            "position": position,
        }
        for conversation in read(f"chat.{language}.jsonl", folder)
        for position, turn in enumerate(conversation["turns"])
    }
    asked = [
        Asked(line["question"], frozenset(line["gold"]), "chat", frozenset(line["distractors"]))
        for line in read(f"chat_questions.{language}.jsonl", folder)
    ]
    off_topic = read(f"offtopic.{language}.jsonl", folder)
    asked += [Asked(line["question"], frozenset(), "off topic (chat)") for line in off_topic]
    return Store(f"chat {language}", turns, asked)


def ask(
    store: Store, folder: Path, embedder: Any, modes: Sequence[str] = MODES, *, removing: bool = True
) -> dict[str, Found]:
    """Every question, with its answers and, where they are to be removed too, without them."""
    found: dict[str, Found] = defaultdict(Found)
    with AgentMemory.open(folder, embedder=embedder, time_zone="UTC", background_indexing=False) as memory:
        memory.store_many(list(store.memories.values()))
        for asked in store.questions:
            for mode in modes:
                found[asked.kind].hits[mode].append((asked, hits(memory, asked, mode)))
            if asked.gold and removing:
                for key in asked.gold:
                    memory.forget(key)
                for mode in modes:
                    found[asked.kind].removed[mode].append((asked, hits(memory, asked, mode)))
                memory.store_many([store.memories[key] for key in asked.gold])
    return found


def hits(memory: AgentMemory, asked: Asked, mode: str) -> list[Hit]:
    """The first hits of a question."""
    return [
        Hit(
            str(hit.key),
            hit.key in asked.gold,
            float(hit.relevance_score or 0.0),
            dict(hit.score_parts),
            getattr(hit, "similarity", None),
        )
        for hit in memory.recall(asked.text, LIMIT, mode=mode, now=NOW)
    ]


def recall_at(found: Sequence[tuple[Asked, list[Hit]]], cut: int) -> float:
    """The mean share of the answers among the first `cut` hits, in percent."""
    shares = [sum(hit.right for hit in hits[:cut]) / len(asked.gold) for asked, hits in found]
    return 100 * sum(shares) / max(1, len(shares))


def auc(right: Sequence[float], wrong: Sequence[float]) -> float:
    """The chance that one of the first is above one of the second."""
    above, below = np.asarray(right)[:, None], np.asarray(wrong)[None]
    return float((above > below).mean() + 0.5 * (above == below).mean())


def best(found: Sequence[tuple[Asked, list[Hit]]]) -> list[float]:
    """The relevance of the first hit of each question; 0 where there is none."""
    return [hits[0].relevance if hits else 0.0 for _, hits in found]


def reliability(found: Sequence[list[Hit]], bins: int = 10) -> list[tuple[float, float, int]]:
    """(mean relevance, share of right hits, count) of the hits by tenths of relevance."""
    hits = [hit for each in found for hit in each]
    rows = []
    for number in range(bins):
        inside = [hit for hit in hits if min(bins - 1, int(hit.relevance * bins)) == number]
        if inside:
            mean = sum(hit.relevance for hit in inside) / len(inside)
            rows.append((mean, sum(hit.right for hit in inside) / len(inside), len(inside)))
    return rows


def report(results: dict[str, dict[str, Found]]) -> list[str]:
    """Tables in Markdown."""
    return [*_right(results), *_unanswerable(results), *_questions_first(results), *_reliable(results)]


def _right(results: dict[str, dict[str, Found]]) -> Iterator[str]:
    yield from ("## Right answers by mode (R@1 / R@5 / R@10, percent)", "", "| set | " + " | ".join(MODES) + " |")
    yield "|---|" + "---|" * len(MODES)
    for store, kinds in results.items():
        for kind, found in kinds.items():
            if found.removed:
                cells = [" / ".join(f"{recall_at(found.hits[mode], cut):.1f}" for cut in (1, 5, 10)) for mode in MODES]
                yield f"| {store}, {kind} ({len(found.hits['hybrid'])}) | " + " | ".join(cells) + " |"


def _unanswerable(results: dict[str, dict[str, Found]]) -> Iterator[str]:
    yield from ("", "## Knowing when there is no answer (AUC)", "")
    yield "| answerable | against | " + " | ".join(MODES) + " |"
    yield "|---|---|" + "---|" * len(MODES)
    for store, kinds in results.items():
        off = {f"{name} questions": found.hits for name, found in kinds.items() if not found.removed}
        for kind, found in kinds.items():
            for other, wrong in ({"the same, answer removed": found.removed} | off).items() if found.removed else ():
                cells = [f"{auc(best(found.hits[mode]), best(wrong[mode])):.3f}" for mode in MODES]
                yield f"| {store}, {kind} | {other} | " + " | ".join(cells) + " |"


def _questions_first(results: dict[str, dict[str, Found]]) -> Iterator[str]:
    yield from ("", "## Earlier questions, and letters that are no words", "")
    for store, kinds in results.items():
        for kind, found in kinds.items():
            asked = [(each, hits) for each, hits in found.hits["hybrid"] if each.distractors]
            if asked:
                before = sum(_distracted(each, hits) for each, hits in asked)
                yield f"- {store}: an earlier question stands before its answer in {before} of {len(asked)}"
            if kind == "nonsense":
                asked = found.hits["hybrid"]
                answered = sum(bool(hits) for _, hits in asked)
                yield f"- {store}: {answered} of {len(asked)} questions in letters that are no words got a hit"


def _reliable(results: dict[str, dict[str, Found]]) -> Iterator[str]:
    yield from ("", "## Reliability of `relevance_score` (hybrid, first ten hits)", "")
    yield from ("| relevance | right | hits | |", "|---:|---:|---:|---|")
    answers = [
        hits
        for kinds in results.values()
        for found in kinds.values()
        for part in (found.hits, found.removed)
        for _, hits in part["hybrid"]
    ]
    for mean, share, count in reliability(answers):
        yield f"| {mean:.2f} | {share:.2f} | {count} | {'█' * round(20 * share)} |"


def _distracted(asked: Asked, hits: Sequence[Hit]) -> bool:
    order = [hit.key for hit in hits]
    places = [order.index(key) for key in asked.gold if key in order]
    return any(key in order and order.index(key) < min(places, default=len(order)) for key in asked.distractors)


Results = dict[str, dict[str, Found]]


def _features(hits: Sequence[Hit], power: float, *, by_meaning: bool) -> list[list[float]]:
    """What the logistic curve is made of, for each hit, in the order of `_calibration`."""
    top = max((hit.parts["score"] for hit in hits), default=0.0)
    rows = []
    for hit in hits:
        parts = hit.parts
        behind = min(0.0, max(-1.0, parts["score"] / top - 1.0)) if top > 1e-9 else 0.0
        row = [parts["information"] ** power, behind, 1.0]
        if by_meaning:
            row += [parts["above_mean"], parts["best_above_mean"], parts["related_share"]]
            row += [parts["personal"] * (1.0 - parts["information"])]
        rows.append(row)
    return rows


def _calibration(constants: Sequence[float], power: float) -> Calibration:
    information, behind, constant, *meant = (round(float(each), 1) for each in constants)
    similarity, best_similarity, related, personal = meant or (0.0, 0.0, 0.0, 0.0)
    return Calibration(information, similarity, best_similarity, behind, constant, related, personal, power=power)


def _fitted(results: Results, mode: str, power: float) -> Any:
    """The constants of the logistic curve, by maximum likelihood over the first ten hits; each kind counts the same.

    Kinds of questions without answers are part of it: off topic, and with the answers taken out of the store. Words
    alone are fitted to the chats: paraphrases share no word with their answers, and keyword questions all.
    """
    rows, right, weights = [], [], []
    by_meaning = mode != "keyword"
    for kinds in results.values():
        for kind, found in kinds.items():
            if kind == "nonsense" or not (by_meaning or kind in _IN_CHATS):
                continue
            answers = [hits for part in (found.hits, found.removed) for _, hits in part.get(mode, ()) if hits]
            count = sum(map(len, answers))
            for hits in answers:
                rows += _features(hits, power, by_meaning=by_meaning)
                right += [float(hit.right) for hit in hits]
                weights += [1.0 / count] * len(hits)
    x, y, w = np.asarray(rows), np.asarray(right), np.asarray(weights)
    w *= len(w) / w.sum()
    constants = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(-x @ constants))
        gradient = x.T @ (w * (y - p)) - 1e-3 * constants
        curvature = (x * (w * p * (1 - p))[:, None]).T @ x + 1e-3 * np.eye(x.shape[1])
        constants += np.linalg.solve(curvature, gradient)
    return constants


def fit(results: Results, mode: str, power: float) -> Calibration:
    """The constants to ship."""
    return _calibration(_fitted(results, mode, power), power)


def left_out(results: Results, power: float) -> Iterator[str]:
    """AUC of each store in hybrid mode by constants that were fitted to the other stores, as a table."""
    yield from ("| answerable | against | as shipped | store left out of the fit |", "|---|---|---|---|")
    sums = []
    for store, kinds in results.items():
        constants = _fitted({name: other for name, other in results.items() if name != store}, "hybrid", power)

        def first(found: Sequence[tuple[Asked, list[Hit]]], constants: Any = constants) -> list[float]:
            rows = [_features(hits, power, by_meaning=True)[0] if hits else None for _, hits in found]
            return [-np.inf if row is None else float(np.dot(row, constants)) for row in rows]

        off = {f"{name} questions": found.hits for name, found in kinds.items() if not found.removed.get("hybrid")}
        for kind, found in kinds.items():
            against = {"the same, answer removed": found.removed} | off if found.removed.get("hybrid") else {}
            for other, wrong in against.items():
                values = [auc(measured(found.hits["hybrid"]), measured(wrong["hybrid"])) for measured in (best, first)]
                sums.append(values)
                yield f"| {store}, {kind} | {other} | {values[0]:.3f} | {values[1]:.3f} |"
    yield "| mean | | " + " | ".join(f"{sum(column) / len(sums):.3f}" for column in zip(*sums, strict=True)) + " |"


def measure(*, held_out: bool = False, folder: Path = SETS) -> dict[str, dict[str, Found]]:
    """Every store and every question."""
    embedder = RememberingEmbedder(BundledEmbedder())
    results = {}
    for store in stores(held_out=held_out, folder=folder):
        with tempfile.TemporaryDirectory() as place:
            results[store.name] = ask(store, Path(place), embedder)
    return results


def main(arguments: list[str] | None = None) -> int:
    """Measure and keep the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--mixed", action="store_true")
    parser.add_argument("--sets", type=Path, default=SETS, help="another folder with files of the same names")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args(arguments)
    console = Console(width=150)
    if options.mixed:
        # It builds its stores from those of this module.
        from bench.mixed_stores import report_mixed

        lines = report_mixed([options.sets] if options.sets != SETS else MIXED)
        console.print("\n".join(lines), markup=False)
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "knowing-mixed.md").write_text("\n".join(lines) + "\n", "utf-8")
        return 0
    results = measure(held_out=options.held_out, folder=options.sets)
    suffix = " --held-out" if options.held_out else ""
    lines = [
        f"# Recall that knows what it knows{', held-out questions' if options.held_out else ''}",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}, `python -m bench.knowing{suffix}`; bundled embedder, sets of bench/sets/recall",
        "",
        *report(results),
    ]
    if options.fit:
        for title, folder in OTHERS.items():
            results |= {f"{name}, {title}": kinds for name, kinds in measure(held_out=True, folder=folder).items()}
        lines += [
            "",
            "## The calibration, with one store left out of the fit at a time",
            "",
            *left_out(results, WITH_MEANING.power),
        ]
        for mode, shipped in (("hybrid", WITH_MEANING), ("keyword", WORDS_ALONE)):
            found = fit(results, mode, shipped.power)
            console.print(f"{mode}: {found}; {'as shipped' if found == shipped else f'shipped is {shipped}'}")
    console.print("\n".join(lines), markup=False)
    options.out.mkdir(parents=True, exist_ok=True)
    name = "knowing-held-out.md" if options.held_out else "knowing.md"
    (options.out / name).write_text("\n".join(lines) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Everyday questions of a person about themselves: where do I live, what is my wife called, what can't I eat?

    python -m bench.everyday [--sets FOLDER] [--half first|second|all] [--show] [--out FOLDER]

The sets in bench/sets/everyday were written by people who had not seen the rules: what each person told an assistant
over months, and questions with the numbers of the messages that answer now; some have no answer. `plain` is how people
tell and ask; in `indirect` the answer has to be guessed ("property taxes in Bellevue went up" for "where do I live").
Each person has a store of their own, once with messages of one conversation, once with records on their own.

AUC is the chance that the best hit of an answerable question has a higher relevance than that of an unanswerable one.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.recall import RememberingEmbedder
from bench.support import Report, console
from jiyi.model.relevance import CONFIDENT
from jiyi.providers.bundled import BundledEmbedder
from jiyi.sync import AgentMemory

SETS = Path(__file__).parent / "sets" / "everyday"
RESULTS = Path(__file__).parent / "results"
LIMIT = 5
CUTS = (1, 3, 5)
KINDS = ("messages", "records")


@dataclass(frozen=True)
class Answer:
    question: str
    gold: frozenset[str]
    found: tuple[tuple[str, float, bool, str], ...]
    """Key, relevance, whether it is confident, text."""

    @property
    def place(self) -> int:
        """Of the first right hit; far behind where there is none."""
        return next((place for place, hit in enumerate(self.found) if hit[0] in self.gold), LIMIT * 2)

    @property
    def best(self) -> float:
        return self.found[0][1] if self.found else 0.0


def people(folder: Path, language: str, half: str) -> list[dict[str, Any]]:
    """Those of one half, or all."""
    lines = (folder / f"people.{language}.jsonl").read_text("utf-8").splitlines()
    found = [json.loads(line) for line in lines if line.strip()]
    middle = len(found) // 2
    return {"first": found[:middle], "second": found[middle:], "all": found}[half]


def ask(person: dict[str, Any], kind: str, embedder: Any) -> list[Answer]:
    """Every question, of a store with the messages of this person alone."""
    spoken = {"conversation_id": "c", "category": "conversation"} if kind == "messages" else {}
    entries = [
        {"key": str(number), "content": text, **spoken, **({"position": number} if spoken else {})}
        for number, text in enumerate(person["messages"])
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        AgentMemory.open(folder, embedder=embedder, time_zone="UTC", background_indexing=False) as memory,
    ):
        memory.store_many(entries)
        return [
            Answer(
                line["question"],
                frozenset(map(str, line["gold"])),
                tuple(
                    (hit.key or "", hit.relevance_score or 0.0, bool(hit.confident), hit.content)
                    for hit in memory.recall(line["question"], limit=LIMIT)
                ),
            )
            for line in person["questions"]
        ]


def auc(right: Sequence[float], wrong: Sequence[float]) -> float:
    """The chance that one of the first is above one of the second."""
    pairs = [(a > b) + 0.5 * (a == b) for a in right for b in wrong]
    return sum(pairs) / len(pairs) if pairs else float("nan")


def tell(report: Report, name: str, answers: Sequence[Answer]) -> None:
    """One row: which answers were found, which with confidence, and whether it is known where there is none."""
    answerable, others = [a for a in answers if a.gold], [a for a in answers if not a.gold]
    count = max(1, len(answerable))
    at = " / ".join(f"{100 * sum(a.place < k for a in answerable) / count:.1f}" for k in CUTS)
    sure = sum(a.place == 0 and a.found[0][2] for a in answerable)
    wrong = sum(bool(a.found) and a.found[0][2] for a in others)
    chance = auc([a.best for a in answerable], [a.best for a in others])
    report.fact(
        name,
        f"R@1/3/5 {at} of {len(answerable)}",
        f"confident and right {100 * sure / count:.0f} %, without an answer {wrong} of {len(others)}",
        f"AUC {chance:.3f}",
    )


def show(answers: Sequence[Answer]) -> None:
    """The questions whose first hit is wrong."""
    for answer in answers:
        if answer.place or (not answer.gold and answer.best >= CONFIDENT):
            console.print(answer.question, sorted(answer.gold), markup=False)
            for key, relevance, sure, text in answer.found[:3]:
                console.print(f"    {relevance:.2f}{'*' if sure else ' '} {key} {text[:90]}", markup=False)


def main() -> None:
    """Measure the sets."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sets", type=Path, default=SETS)
    arguments.add_argument("--half", choices=("first", "second", "all"), default="all")
    arguments.add_argument("--show", action="store_true", help="print each question whose first hit is wrong")
    arguments.add_argument("--out", type=Path, default=RESULTS)
    options = arguments.parse_args()
    report = Report("everyday", f"Everyday questions of a person about themselves ({options.half})")
    embedder = RememberingEmbedder(BundledEmbedder())
    for folder in sorted(each for each in options.sets.iterdir() if each.is_dir()):
        for kind in KINDS:
            for language in ("en", "zh"):
                asked = people(folder, language, options.half)
                answers = [answer for person in asked for answer in ask(person, kind, embedder)]
                tell(report, f"{folder.name}, {kind}, {language}", answers)
                if options.show:
                    show(answers)
    report.note("AUC: the best hit of an answerable question against that of one without an answer.")
    report.finish(options.out)


if __name__ == "__main__":
    main()

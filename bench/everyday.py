"""Everyday questions of a person about themselves: where do I live, what is my wife called, what can't I eat?

    python -m bench.everyday FOLDER [--half first|second|all] [--show] [--out FOLDER]

FOLDER has people.{en,zh}.jsonl: what each person told an assistant over months, and questions with the numbers of the
messages that answer now. Most questions share no word with their answer, and a fifth of them have none. Each person has
a store of their own. The messages are kept once as messages of one conversation, once as records on their own.

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

from rich.console import Console
from rich.table import Table

from bench.recall import RememberingEmbedder
from jiyi.providers.bundled import BundledEmbedder
from jiyi.sync import AgentMemory

LIMIT = 5
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
                    (hit.key or "", hit.relevance_score, hit.confident, hit.content)
                    for hit in memory.recall(line["question"], limit=LIMIT)
                ),
            )
            for line in person["questions"]
        ]


def auc(right: Sequence[float], wrong: Sequence[float]) -> float:
    """The chance that one of the first is above one of the second."""
    pairs = [(a > b) + 0.5 * (a == b) for a in right for b in wrong]
    return sum(pairs) / len(pairs) if pairs else float("nan")


def row(answers: Sequence[Answer]) -> list[str]:
    """Questions, R@1, R@3, R@5, confident and right, confident without an answer, AUC."""
    answerable, others = [a for a in answers if a.gold], [a for a in answers if not a.gold]
    count = max(1, len(answerable))
    at = [f"{100 * sum(a.place < k for a in answerable) / count:.1f}" for k in (1, 3, 5)]
    sure = sum(a.place == 0 and a.found[0][2] for a in answerable)
    wrong = sum(bool(a.found) and a.found[0][2] for a in others)
    chance = auc([a.best for a in answerable], [a.best for a in others])
    return [str(count), *at, f"{100 * sure / count:.1f}", f"{wrong} of {len(others)}", f"{chance:.3f}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", choices=("first", "second", "all"), default="all")
    parser.add_argument("--show", action="store_true", help="print each question whose first hit is wrong")
    arguments = parser.parse_args()
    console = Console(width=140)
    columns = ("", "questions", "R@1", "R@3", "R@5", "confident and right", "confident, no answer", "AUC")
    table = Table(*columns, title=f"Everyday questions, {arguments.half}")
    embedder = RememberingEmbedder(BundledEmbedder())
    for kind in KINDS:
        for language in ("en", "zh"):
            answers = [
                answer
                for person in people(arguments.folder, language, arguments.half)
                for answer in ask(person, kind, embedder)
            ]
            table.add_row(f"{kind} {language}", *row(answers))
            for answer in answers if arguments.show else ():
                if answer.place or (not answer.gold and answer.best >= 0.2):
                    console.print(answer.question, sorted(answer.gold), markup=False)
                    for key, relevance, sure, text in answer.found[:3]:
                        console.print(f"    {relevance:.2f}{'*' if sure else ' '} {key} {text[:90]}", markup=False)
    console.print(table)


if __name__ == "__main__":
    main()

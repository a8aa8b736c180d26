"""What each rule of recall is worth: the whole pipeline, then the pipeline without one rule at a time.

    python -m bench.ablation --data path/to/locomo10.json path/to/questions.jsonl

The same sets, loaders and measure as bench.recall. Each set is stored and indexed once; the questions are asked again
for every row of the table. Also how many candidates are enough.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bench import knowing
from bench.recall import CUTS, SEED, Asked, Document, RememberingEmbedder, Scope, Tally, as_memory, load
from jiyi.components import Components
from jiyi.config import load_settings
from jiyi.memory import AgentMemory
from jiyi.model.filters import Filters
from jiyi.model.scope import visible_scopes
from jiyi.ports import Embedder
from jiyi.providers.bundled import BundledEmbedder
from jiyi.recall import RecallEngine, RecallSettings, Request, ScoringWeights
from jiyi.wiring import assemble

DEFAULT = RecallSettings(freshness_seconds=600)
WEIGHTS = ScoringWeights()


def _weighing(**changes: Any) -> RecallSettings:
    return replace(DEFAULT, weights=replace(WEIGHTS, **changes))


def _candidates(count: int) -> RecallSettings:
    return replace(
        DEFAULT,
        word_candidates=count,
        bigram_candidates=count,
        dense_candidates=count,
        dated_candidates=count,
    )


_NONE = (0.0, 0.0, 0.0, 0.0)
VARIANTS: dict[str, tuple[str, RecallSettings]] = {
    "everything": ("hybrid", DEFAULT),
    "without neighbours": ("hybrid", _weighing(spoken_neighbours=_NONE, timed_neighbours=_NONE, answer=0.0)),
    "without leaving out common words": ("hybrid", replace(DEFAULT, common_share=2.0)),
    "questions as other texts": ("hybrid", replace(DEFAULT, adapts_questions=False)),
    "without sharing meaning with neighbours": ("hybrid", _weighing(near_dense=0.0)),
    "without related words": ("hybrid", _weighing(related=0.0, standalone_related=0.0)),
    "without the kind of answer": ("hybrid", _weighing(answer_kind=0.0)),
    "without attributes": ("hybrid", _weighing(attribute=0.0)),
    "without what follows a question": ("hybrid", _weighing(answer=0.0)),
    "without confidence of the words": ("hybrid", _weighing(information=1e-9, standalone_information=1e-9)),
    "without the floor under the spread": ("hybrid", _weighing(spread=1e-9)),
    "without judging who stands alone": (
        "hybrid",
        _weighing(standalone_dense=WEIGHTS.dense, standalone_information=WEIGHTS.information, standalone_power=1.0),
    ),
    "without the conversation": ("hybrid", _weighing(conversation=0.0)),
    "without bigrams": ("hybrid", _weighing(bigrams=0.0)),
    "without dates": ("hybrid", _weighing(date=0.0)),
    "without meaning (keyword)": ("keyword", DEFAULT),
    "without the question rule": ("hybrid", _weighing(question=0.0)),
    "without other texts of the same period": ("hybrid", _weighing(same_period=0.0)),
    "without the length floor": ("hybrid", _weighing(length_floor=1)),
    "20 candidates of each kind": ("hybrid", _candidates(20)),
    "100 candidates of each kind": ("hybrid", _candidates(100)),
    "300 candidates of each kind": ("hybrid", _candidates(300)),
}


async def measure(
    scopes: list[Scope], folder: Path, progress: Progress, names: list[str], embedder: Embedder
) -> dict[str, Tally]:
    settings = load_settings(folder, time_zone="UTC", background_indexing=False, max_content_bytes=1 << 24)
    components: Components = assemble(settings, embedder=embedder)
    async with AgentMemory(components) as memory:
        storing = progress.add_task("storing and indexing", total=len(scopes))
        for scope in scopes:
            await memory.store_many([as_memory(document, scope.name) for document in scope.documents])
            await memory.drain()
            progress.advance(storing)
        asking = progress.add_task("asking", total=len(names) * sum(len(scope.questions) for scope in scopes))
        found = {}
        for name in names:
            mode, recall = VARIANTS[name]
            if not isinstance(components.engine, RecallEngine):
                raise TypeError("only the whole recall has settings to vary")
            engine = replace(components.engine, settings=recall)
            found[name] = _ask(engine, scopes, mode, lambda: progress.advance(asking))
    return found


def _ask(engine: RecallEngine, scopes: list[Scope], mode: str, advance: Callable[[], None]) -> Tally:
    tally = Tally()
    for scope in scopes:
        times = [document.time for document in scope.documents if document.time is not None]
        now = max(times) + timedelta(days=1) if times else datetime.now(UTC)
        for question in scope.questions:
            filters = Filters(visible_scopes(scope.name))
            hits = engine.answer(Request(question.text, filters, limit=CUTS[-1], mode=mode, now=now))
            tally.add([str(hit.key) for hit in hits], question.gold)
            advance()
    return tally


def own_scopes() -> Iterator[tuple[str, Scope]]:
    """Each kind of questions of each own store."""
    for store in knowing.stores():
        documents = [
            Document(key, each["content"], None, each.get("conversation_id"), each.get("position"))
            for key, each in store.memories.items()
        ]
        for kind in dict.fromkeys(asked.kind for asked in store.questions if asked.gold):
            asked = [Asked(each.text, each.gold, kind) for each in store.questions if each.kind == kind]
            yield f"{store.name} {kind}", Scope(store.name, documents, asked)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=[], nargs="+")
    parser.add_argument("--own", action="store_true", help="the sets of bench/sets/recall")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--sample", type=int, help="at most this many questions of each scope, chosen by a fixed seed")
    parser.add_argument("--only", help="only sets whose name contains this")
    parser.add_argument("--variants", default="", help="only these rows, separated by commas")
    options = parser.parse_args(arguments)
    names = [name for name in VARIANTS if not options.variants or name in options.variants.split(",")]
    console = Console(width=120)
    sets = [(path, title, scopes) for path in options.data for title, scopes in load(path).items()]
    if options.own:
        sets += [(None, title, [scope]) for title, scope in own_scopes()]
    for path, title, scopes in sets:
        if options.only and options.only not in title:
            continue
        chooser = random.Random(SEED)
        for scope in scopes:
            if options.sample is not None and len(scope.questions) > options.sample:
                scope.questions = chooser.sample(scope.questions, options.sample)
        with tempfile.TemporaryDirectory() as folder, Progress(console=Console(stderr=True)) as progress:
            embedder = RememberingEmbedder(BundledEmbedder())
            found = asyncio.run(measure(scopes, Path(folder), progress, names, embedder))
        _show(console, options, title, path, found)
    return 0


def _show(
    console: Console, options: argparse.Namespace, title: str, path: Path | None, found: dict[str, Tally]
) -> None:
    columns = ("R@1", "R@5", "R@10", "NDCG@10")
    whole = found.get("everything")
    sampled = f" --sample {options.sample}" if options.sample else ""
    command = f"python -m bench.ablation {'--own' if path is None else f'--data {path.name}'}{sampled}"
    asked = next(iter(found.values())).count
    table = Table("", *columns, "R@5 lost", "R@10 lost", title=title)
    lines = [
        f"# What each rule is worth on {title}",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}, `{command}`; {asked} questions, percent",
        "",
        "| | " + " | ".join((*columns, "R@5 lost", "R@10 lost")) + " |",
        "|---|" + "---|" * (len(columns) + 2),
    ]
    for name, tally in found.items():
        values = [f"{100 * tally.sums[column] / tally.count:.1f}" for column in columns]
        for column in ("R@5", "R@10"):
            lost = 0.0 if whole is None else (whole.sums[column] - tally.sums[column]) / tally.count
            values.append(f"{100 * lost:+.1f}")
        table.add_row(name, *values)
        lines.append(f"| {name} | " + " | ".join(values) + " |")
    console.print(table)
    options.out.mkdir(parents=True, exist_ok=True)
    target = options.out / f"ablation-{re.sub(r'[^a-z0-9]+', '-', title.lower())}.md"
    target.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())

"""How long a hybrid `recall` takes, compared with the bare engines that it uses.

    python -m bench.bench_recall_speed                       (loads 1.2 million memories: half an hour or more)
    python -m bench.bench_recall_speed --large 0             (without the million)
    python -m bench.bench_recall_speed --data DIRECTORY      (keeps what it has loaded for the next time)
    python -m bench.bench_recall_speed --quick

The baseline, each part by itself and for the same question: one tantivy query for the question's words in the same
index with the same scope filter, its 50 best ids read; one numpy product of the question's vector with all vectors of
the scope, in memory, as float32; one embedding of the question by the bundled model. Recall and baseline take turns.

Embedding a million texts takes an hour, and a product costs the same whatever is in the vectors. So the vectors of the
stored texts are made from a hash of the text (same dimension, same length), while every question is embedded by the
real model, inside recall as well.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from bench.support import (
    Action,
    Report,
    Row,
    interleaved,
    mean,
    milliseconds,
    parser,
    resident_bytes,
    verdict,
    work_directory,
)
from bench.support.embedded_baseline import EmbeddedBaseline, Measured, measured
from bench.support.recall_corpus import LANGUAGES, WARM_UP, HashedDocuments, Layout, Questions, load
from bench.texts import Texts
from jiyi import AgentMemory, create_memory

_ALLOWANCE_MS = 2.0
# The allowed difference of two medians of the same action.
_MAX_GROWTH = 1.2


async def opened(folder: Path, layout: Layout, embedder: HashedDocuments, report: Report) -> AgentMemory:
    """A memory that holds the layout, loaded now or before."""
    path = folder / f"{layout.scopes}x{layout.each}"
    memory = await create_memory(path, embedder=embedder, background_indexing=False)
    if _count(path) >= layout.total:
        await memory.drain()
        return memory
    await load(memory, layout, report)
    return memory


def _count(path: Path) -> int:
    with closing(sqlite3.connect(path / "memory.db")) as connection:
        return int(connection.execute("SELECT count(*) FROM memory_records").fetchone()[0])


async def one_scope(
    memory: AgentMemory, bare: EmbeddedBaseline, layout: Layout, questions: Questions, report: Report
) -> None:
    """All memories in one scope, English and Chinese questions."""
    scope = layout.scope(0)
    for language, name in LANGUAGES.items():
        asked = [(scope, question) for question in questions.of(language)]
        await memory.recall(asked[0][1], scope=scope)
        resident = resident_bytes()
        found = await measured(memory, bare, asked, warm_up=min(WARM_UP, len(asked) // 2))
        what = f"recall, {layout}, {name}"
        ratio = found.recall.p50 / found.bare.p50
        shown = milliseconds(found.recall.p50)
        report.at_most(f"{what}: p50 (foundation)", shown, found.bare_shown(), value=ratio, target=2)
        report.at_most(f"{what}: p50 (the whole pipeline)", shown, found.bare_shown(), value=ratio, target=3)
        report.fact(f"{what}: p95", milliseconds(found.recall.p95), f"bare {milliseconds(found.bare.p95)}")
        if language == "en":
            report.fact(f"resident memory, {layout}", _megabytes(resident), _all_vectors(layout, bare.embedder))


async def many_scopes(
    memory: AgentMemory, bare: EmbeddedBaseline, layout: Layout, questions: Questions, report: Report, *, judged: bool
) -> dict[str, Measured]:
    """Small scopes: each of those asked in is asked twice, so half of the questions find nothing cached.

    The large store is not judged by itself but by how much slower it is.
    """
    chosen = random.Random(5).sample(range(layout.scopes), min(layout.scopes, len(questions.mixed()) // 2))
    pairs = list(zip([layout.scope(number) for number in chosen] * 2, questions.mixed(), strict=False))
    warm = layout.scope(next(n for n in range(layout.scopes) if n not in chosen or n == chosen[-1]))
    for question in questions.spare():
        await memory.recall(question, scope=warm)
    found = await measured(memory, bare, pairs, warm_up=0)
    parts = {"first": found.part(slice(0, len(chosen))), "again": found.part(slice(len(chosen), None))}
    for name, part in parts.items():
        asked = "first question in a scope" if name == "first" else "next question in the scope"
        max_ms = 2e3 * part.bare.p50 + _ALLOWANCE_MS
        report.add(
            Row(
                f"recall, {layout}, {asked}: p50 (2 × the bare parts + 2 ms)",
                milliseconds(part.recall.p50),
                part.bare_shown(),
                f"p95 {milliseconds(part.recall.p95)}",
                f"≤ {max_ms:.2f} ms" if judged else "",
                verdict(met=1e3 * part.recall.p50 <= max_ms) if judged else "",
            )
        )
    report.fact(f"resident memory, {layout}", _megabytes(resident_bytes()), _all_vectors(layout, bare.embedder))
    return parts


async def adding(small: AgentMemory, large: AgentMemory, sizes: tuple[int, int], turns: int, report: Report) -> None:
    """One more message in a conversation, stored and made searchable, in a small scope and in a large one."""
    texts = list(Texts(seed=29).memories(turns + WARM_UP))
    # A store that was kept knows the messages of the last time: those would be changed, not added.
    conversation = f"the one of {time.time_ns()}"
    memories = {"small": small, "large": large}

    def add(name: str) -> tuple[Action, Action]:
        async def store(number: int) -> None:
            await memories[name].store(
                f"message {number} of {conversation}",
                texts[number],
                "conversation",
                scope="user-0",
                memory_type="message",
                conversation_id=conversation,
                position=number,
            )

        async def drain(_number: int) -> None:
            await memories[name].drain()

        return store, drain

    actions: dict[str, Action] = {}
    for name in memories:
        actions[f"{name} store"], actions[f"{name} drain"] = add(name)
    times = await interleaved(turns, actions, warm_up=WARM_UP, alternate=False, label="adding one message at a time")
    for step in ("store", "drain"):
        little, much = times[f"small {step}"], times[f"large {step}"]
        report.at_most(
            f"one more message, {step}, at {sizes[1]:,}: p50",
            f"{milliseconds(much.p50)} (mean {milliseconds(mean(much.seconds))})",
            f"at {sizes[0]:,}: {milliseconds(little.p50)} (mean {milliseconds(mean(little.seconds))})",
            value=much.p50 / little.p50,
            target=_MAX_GROWTH,
        )


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


def _all_vectors(layout: Layout, embedder: HashedDocuments) -> str:
    return f"all vectors as float32: {_megabytes(layout.total * embedder.dimension * 4)}"


async def run(options: argparse.Namespace) -> Path:
    """All measurements."""
    size = options.size or (2_000 if options.quick else 100_000)
    large = options.large if options.large is not None else (size if options.quick else 10 * size)
    scopes = 20 if options.quick else 1_000
    turns = 5 if options.quick else 100
    questions = Questions(turns)
    embedder = HashedDocuments(questions.all())
    embedder.model.embed(questions.spare())
    cold = options.from_disk
    title = f"Recall, {size:,} memories and more, hybrid, limit 10{': files read from the disk' if cold else ''}"
    report = Report("recall_speed_from_disk" if cold else "recall_speed", title)
    with work_directory(options.work) as temporary:
        folder = options.data or temporary
        whole = Layout(1, size)
        memory = await opened(folder, whole, embedder, report)
        bare = EmbeddedBaseline(folder / f"1x{size}", embedder)
        await one_scope(memory, bare, whole, questions, report)
        del bare
        little = Layout(1, max(10, size // 100))
        async with AgentMemory.open(temporary / "little", embedder=embedder, background_indexing=False) as small:
            await small.store_many(little.entries())
            await small.drain()
            await adding(small, memory, (little.total, whole.total), turns, report)
        await memory.close()
        spread: dict[int, dict[str, Measured]] = {}
        for layout in (Layout(scopes, size // scopes), Layout(scopes, large // scopes)):
            if not layout.each or layout.total in spread:
                continue
            memory = await opened(folder, layout, embedder, report)
            bare = EmbeddedBaseline(folder / f"{layout.scopes}x{layout.each}", embedder)
            spread[layout.total] = await many_scopes(memory, bare, layout, questions, report, judged=not spread)
            await memory.close()
        if len(spread) > 1:
            _growth(spread, report)
    report.note("Vectors of stored texts are made from their hash; every question is embedded by the bundled model.")
    report.note(
        "The first question in a scope reads from files: its time depends on whether the system has them in memory. "
        "A run right after another one finds them there, the first one after a while reads them from the disk."
    )
    report.note("`2 ×` is the target of the foundation, `3 ×` that of the whole recall pipeline; there is one recall.")
    return report.finish(options.results)


def _growth(spread: dict[int, dict[str, Measured]], report: Report) -> None:
    (little, before), (much, after) = sorted(spread.items())
    for name in ("first", "again"):
        report.at_most(
            f"recall from {little:,} to {much:,} in as many scopes, {name} question: p50 grows",
            milliseconds(after[name].recall.p50),
            milliseconds(before[name].recall.p50),
            value=after[name].recall.p50 / before[name].recall.p50,
            target=2,
        )


def main() -> None:
    """Run from the command line."""
    arguments = parser(__doc__)
    arguments.add_argument("--size", type=int, help="memories in the one scope, and in all scopes (100,000)")
    arguments.add_argument("--large", type=int, help="memories in all scopes of the large store (ten times the size)")
    arguments.add_argument("--data", type=Path, help="where loaded stores are kept and looked for")
    arguments.add_argument(
        "--from-disk", action="store_true", help="kept stores are not in memory: say so in the result"
    )
    path = asyncio.run(run(arguments.parse_args()))
    print(f"written to {path.name}")


if __name__ == "__main__":
    main()

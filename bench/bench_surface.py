"""What metadata and lists cost: `recall` with `where`, pages of `list`, `store` with metadata.

    python -m bench.bench_surface                            (100,000 memories in one scope: some minutes to load)
    python -m bench.bench_surface --data DIRECTORY           (keeps what it has loaded for the next time)
    python -m bench.bench_surface --postgres                 (in PostgreSQL, on a server that it starts)
    python -m bench.bench_surface --postgres URL             (in this empty database)
    python -m bench.bench_surface --quick

Every recall with `where` takes turns with the same recall without it. The conditions admit a half, a tenth, a hundredth
and a thousandth of the memories, and a range. Vectors of stored texts are made from their hash, as in the benchmark of
recall; every question is embedded by the bundled model.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from bench.support import Action, Report, interleaved, milliseconds, parser, progress, work_directory
from bench.support.postgres_server import database
from bench.support.recall_corpus import WARM_UP, HashedDocuments, Layout, Questions
from bench.texts import Texts
from jiyi import AgentMemory, create_memory

_WHERE_TARGET, _DEPTH_TARGET, _STORE_TARGET = 1.5, 1.2, 1.15
_PAGE = 100
_CONDITIONS: dict[str, dict[str, Any]] = {
    "a half": {"even": True},
    "a tenth": {"project": "p3"},
    "a hundredth": {"place.room": 42},
    "a thousandth": {"rare": "r7"},
    "a range, a fifth": {"score": {"$gte": 0.4, "$lt": 0.6}},
}


def metadata_of(number: int) -> dict[str, Any]:
    """Metadata of the usual size. Texts are English and Chinese in turn, and no value depends on that."""
    pair = number // 2
    return {
        "even": pair % 2 == 0,
        "project": f"p{pair % 10}",
        "place": {"room": pair % 100, "floor": pair % 7},
        "rare": f"r{pair % 1_000}",
        "score": (pair * 7919 % 1_000) / 1_000,
        "title": f"note {number}",
    }


def entries_of(layout: Layout) -> Iterator[dict[str, Any]]:
    """The memories of the layout, each with metadata."""
    for number, entry in enumerate(layout.entries()):
        yield {**entry, "metadata": metadata_of(number)}


async def opened(place: Path | str, layout: Layout, embedder: HashedDocuments) -> AgentMemory:
    """A memory that holds the layout, loaded now or before."""
    memory = await create_memory(place, embedder=embedder, background_indexing=False)
    if await memory.count(scope=layout.scope(0)) < layout.total:
        entries = entries_of(layout)
        with progress(f"storing {layout}", layout.total) as advance:
            while chunk := list(islice(entries, 20_000)):
                await memory.store_many(chunk)
                advance(len(chunk))
    with progress("indexing", None):
        await memory.drain()
    return memory


async def recall_with_where(memory: AgentMemory, layout: Layout, questions: Questions, report: Report) -> None:
    """The same questions with and without a condition."""
    scope = layout.scope(0)
    asked = [*questions.mixed(), *questions.spare()]

    def recall(where: dict[str, Any] | None) -> Action:
        async def action(number: int) -> None:
            await memory.recall(asked[number % len(asked)], scope=scope, where=where)

        return action

    actions = {"without": recall(None)} | {name: recall(where) for name, where in _CONDITIONS.items()}
    times = await interleaved(len(asked), actions, warm_up=WARM_UP, label="recall with and without where")
    plain = times["without"]
    for name in _CONDITIONS:
        report.at_most(
            f"recall, {layout}, where admits {name}: p50",
            milliseconds(times[name].p50),
            f"without: {milliseconds(plain.p50)}",
            value=times[name].p50 / plain.p50,
            target=_WHERE_TARGET,
        )


async def pages(memory: AgentMemory, layout: Layout, rounds: int, report: Report) -> None:
    """The first page of a list, and one near the end, by their cursors."""
    scope = layout.scope(0)
    for name, chosen in (
        ("all", {}),
        ("a tenth by where", {"where": _CONDITIONS["a tenth"]}),
        ("by key", {"sort": "key"}),
    ):
        conditions: dict[str, Any] = {"scope": scope, "limit": _PAGE, **chosen}
        cursor = deep = None
        while True:
            page = await memory.list(cursor=cursor, **conditions)
            if page.next_cursor is None:
                break
            deep, cursor = cursor, page.next_cursor

        def first(_number: int, conditions: dict[str, Any] = conditions) -> Any:
            return memory.list(**conditions)

        def last(_number: int, conditions: dict[str, Any] = conditions, deep: str | None = deep) -> Any:
            return memory.list(cursor=deep, **conditions)

        times = await interleaved(rounds, {"first": first, "last": last}, warm_up=WARM_UP, label=f"pages, {name}")
        report.at_most(
            f"list, {layout}, {name}: a full page at the end, p50",
            milliseconds(times["last"].p50),
            f"the first page: {milliseconds(times['first'].p50)}",
            value=times["last"].p50 / times["first"].p50,
            target=_DEPTH_TARGET,
        )


async def storing(memory: AgentMemory, rounds: int, report: Report) -> None:
    """A new memory with metadata and one without."""
    texts = list(Texts(seed=37).memories(2 * (rounds + WARM_UP)))
    start = await memory.count(scope="stored")

    def store(name: str, *, with_metadata: bool) -> Action:
        async def action(number: int) -> None:
            place = start + number
            metadata = metadata_of(place) if with_metadata else None
            await memory.store(f"{name} {place}", texts[number % len(texts)], scope="stored", metadata=metadata)

        return action

    actions = {"with": store("with", with_metadata=True), "without": store("without", with_metadata=False)}
    times = await interleaved(rounds, actions, warm_up=WARM_UP, label="storing with and without metadata")
    report.at_most(
        "store with metadata: p50",
        milliseconds(times["with"].p50),
        f"without: {milliseconds(times['without'].p50)}",
        value=times["with"].p50 / times["without"].p50,
        target=_STORE_TARGET,
    )


async def measure(
    place: Path | str, layout: Layout, embedder: HashedDocuments, questions: Questions, rounds: int, report: Report
) -> None:
    """Recall, lists and writes of one memory."""
    memory = await opened(place, layout, embedder)
    await recall_with_where(memory, layout, questions, report)
    await pages(memory, layout, rounds, report)
    await storing(memory, rounds, report)
    await memory.close()


async def run(options: argparse.Namespace) -> Path:
    """All measurements."""
    size = options.size or (2_000 if options.quick else 100_000)
    rounds = 10 if options.quick else 200
    questions = Questions(5 if options.quick else 50)
    embedder = HashedDocuments(questions.all())
    embedder.model.embed(questions.spare())
    layout = Layout(1, size)
    if options.postgres is None:
        report = Report("surface", f"Metadata and lists, {size:,} memories in one scope")
        with work_directory(options.work) as temporary:
            folder = (options.data or temporary) / f"metadata-{layout.total}"
            await measure(folder, layout, embedder, questions, rounds, report)
    else:
        report = Report("surface-postgres", f"Metadata and lists in PostgreSQL, {size:,} memories in one scope")
        with database(options.postgres or None) as url:
            await measure(url, layout, embedder, questions, rounds, report)
    report.note("Vectors of stored texts are made from their hash; every question is embedded by the bundled model.")
    return report.finish(options.results)


def main() -> None:
    """Run from the command line."""
    arguments = parser(__doc__)
    arguments.add_argument("--size", type=int, help="memories in the scope (100,000)")
    arguments.add_argument("--data", type=Path, help="where the loaded store is kept and looked for")
    arguments.add_argument("--postgres", nargs="?", const="", metavar="URL", help="in PostgreSQL, in this database")
    path = asyncio.run(run(arguments.parse_args()))
    print(f"written to {path.name}")


if __name__ == "__main__":
    main()

"""How long a `store` takes until it is on disk, and how fast what was stored becomes searchable.

    python -m bench.bench_store              (10,000 memories, about two minutes)
    python -m bench.bench_store --quick

The bare insert is one row with the same values, in a table with nothing but a primary key, by the sqlite3 module in WAL
mode with synchronous=FULL, on the same disk. It takes turns with `store`, so that both run under the same load.
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from bench.support import (
    Report,
    Times,
    interleaved,
    milliseconds,
    parser,
    progress,
    rate,
    timed,
    work_directory,
)
from bench.support.bare_table import BareTable
from bench.texts import Texts
from jiyi import AgentMemory, create_memory
from jiyi.providers.bundled import BundledEmbedder

_SENTINEL = "the lighthouse keeper counts the waves"
_EMBEDDERS = {"none": "without embeddings", "bundled": "with embeddings"}


async def acknowledged(folder: Path, embedder: str, count: int, report: Report) -> None:
    """`store` and the bare insert in turn, while the indexer works in the background."""
    texts = list(Texts().memories(count + 50))
    memory = await create_memory(folder / "memory", embedder=embedder)
    with closing(sqlite3.connect(folder / "memory" / "memory.db")) as reader:
        columns = [column[1] for column in reader.execute("PRAGMA table_info(memory_records)")]
        bare = BareTable(folder / "bare.db", columns)
        rows: list[Sequence[Any]] = []

        async def store(number: int) -> None:
            await memory.store(f"note {number}", texts[number])

        def look_up(number: int) -> None:
            found = reader.execute("SELECT * FROM memory_records WHERE key = ?", (f"note {number}",)).fetchone()
            rows[:] = [found]

        def insert(_number: int) -> None:
            bare.insert(rows[0])

        # Looking the row up belongs to neither; it gives the bare insert the same row.
        actions = {"store": store, "look up": look_up, "bare": insert}
        label = f"store and bare insert in turn, {_EMBEDDERS[embedder]}"
        times = await interleaved(count, actions, warm_up=50, alternate=False, label=label)
        bare.close()
    await memory.close()
    mine, theirs = times["store"], times["bare"]
    what = f"acknowledged store, {_EMBEDDERS[embedder]}, indexer at work"
    report.at_most(
        f"{what}: p50",
        milliseconds(mine.p50),
        f"bare insert {milliseconds(theirs.p50)}",
        value=mine.p50 / theirs.p50,
        target=3,
    )
    report.fact(f"{what}: p95", milliseconds(mine.p95), f"bare insert {milliseconds(theirs.p95)}", _ratio(mine, theirs))


def _ratio(mine: Times, theirs: Times) -> str:
    return f"{mine.p95 / theirs.p95:.2f}×"


async def background(folder: Path, embedder: str, count: int, report: Report) -> None:
    """One caller stores, one after another, while the indexer follows."""
    texts = list(Texts(seed=11).memories(count))
    memory = await create_memory(folder, embedder=embedder, freshness_seconds=0)
    await memory.store("sentinel", _SENTINEL)
    await memory.drain()
    begin = time.perf_counter()
    with progress(f"{count:,} stores by one caller, {_EMBEDDERS[embedder]}", count) as advance:
        for number, text in enumerate(texts):
            await memory.store(f"note {number}", text)
            advance(1)
    stored = time.perf_counter() - begin
    await _searchable(memory, embedder)
    whole = time.perf_counter() - begin
    await memory.close()
    what = f"{count:,} stores by one caller, {_EMBEDDERS[embedder]}"
    report.fact(what, f"{stored:.1f} s", "", rate(count / stored))
    report.fact("    the last one searchable after", f"{whole - stored:.2f} s", "from its acknowledgement")


async def _searchable(memory: AgentMemory, embedder: str) -> None:
    """Wait until no index is behind. With `freshness_seconds=0` a recall reports the lag and does not index."""
    mode = "keyword" if embedder == "none" else "hybrid"
    while True:
        hits = await memory.recall(_SENTINEL, 1, mode=mode)
        coverage = hits[0].explanation.coverage if hits and hits[0].explanation is not None else ()
        if coverage and not any(part.behind for part in coverage):
            return
        # Not more often: a recall takes time from the indexer.
        await asyncio.sleep(0.1)


async def waiting(folder: Path, count: int, report: Report) -> None:
    """The time until the outbox of an opened memory is indexed: the indexer alone."""
    texts = list(Texts(seed=13).memories(count))
    async with AgentMemory.open(folder, embedder="none", background_indexing=False) as memory:
        await memory.store("sentinel", _SENTINEL)
        await memory.drain()
        await memory.store_many({"key": f"note {number}", "content": text} for number, text in enumerate(texts))
    memory = await create_memory(folder, embedder="none", freshness_seconds=0)
    with progress(f"{count:,} waiting, until searchable in the background", None):
        seconds = await timed(_searchable(memory, "none"))
    await memory.close()
    report.at_least(
        f"{count:,} waiting changes to searchable in the background, without embeddings",
        f"{seconds:.2f} s",
        "",
        value=count / seconds,
        target=2_000,
        unit="/s",
    )


async def with_embeddings(folder: Path, count: int, report: Report) -> None:
    """Draining and the embedder alone in turn, on different texts of the same kind."""
    rounds = 4
    share = max(1, count // rounds)
    supply = Texts(seed=17)
    model = BundledEmbedder()
    model.embed([_SENTINEL])
    alone = drained = 0.0
    memory = await create_memory(folder, background_indexing=False)
    await memory.store("sentinel", _SENTINEL)
    await memory.drain()
    with progress("draining and the bare embedder in turn", rounds) as advance:
        for turn in range(rounds):
            texts = list(supply.memories(share))
            await memory.store_many({"key": f"{turn} {n}", "content": text} for n, text in enumerate(texts))
            drained += await timed(memory.drain())
            others = list(supply.memories(share))
            alone += await timed(asyncio.to_thread(model.embed, others))
            advance(1)
    await memory.close()
    total = rounds * share
    report.at_least(
        f"{total:,} changes to searchable, with embeddings",
        rate(total / drained),
        f"bare embedder in batches {rate(total / alone)}",
        value=alone / drained,
        target=0.8,
    )


async def bulk(folder: Path, count: int, report: Report) -> None:
    """`store_many` and a bare transaction of the same size in turn."""
    size, supply = min(2_000, count), Texts(seed=19)
    memory = await create_memory(folder / "memory", embedder="none", background_indexing=False)
    with closing(sqlite3.connect(folder / "memory" / "memory.db")) as reader:
        columns = [column[1] for column in reader.execute("PRAGMA table_info(memory_records)")]
        bare = BareTable(folder / "bare.db", columns)
        mine, theirs = 0.0, 0.0
        turns = max(1, count // size)
        with progress(f"store_many by {size:,}", turns) as advance:
            for turn in range(turns):
                entries = [{"key": f"{turn} {n}", "content": text} for n, text in enumerate(supply.memories(size))]
                mine += await timed(memory.store_many(entries))
                order = "SELECT * FROM memory_records ORDER BY id DESC LIMIT ?"
                rows = reader.execute(order, (size,)).fetchall()
                begin = time.perf_counter()
                bare.insert_many(rows)
                theirs += time.perf_counter() - begin
                advance(1)
        bare.close()
    await memory.close()
    total = turns * size
    report.fact(
        f"store_many, {size:,} in a transaction",
        rate(total / mine),
        f"bare transaction {rate(total / theirs)}",
        f"{mine / theirs:.1f}×",
    )


async def run(options: argparse.Namespace) -> Path:
    """All measurements."""
    count = options.size or (300 if options.quick else 10_000)
    turns = min(count, 3_000)
    report = Report("store", f"Storing, {count:,} memories in English and Chinese")
    with work_directory(options.work) as folder:
        for embedder in _EMBEDDERS:
            await acknowledged(folder / f"ack-{embedder}", embedder, turns, report)
        await bulk(folder / "bulk", count, report)
        await waiting(folder / "waiting", count, report)
        await with_embeddings(folder / "embeddings", count, report)
        for embedder in _EMBEDDERS:
            await background(folder / f"background-{embedder}", embedder, count, report)
    report.note(f"Acknowledged store: {turns:,} calls, each followed by a bare insert of the row it wrote.")
    report.note("Searchable: no index that a recall asks is behind the records.")
    return report.finish(options.results)


def main() -> None:
    """Run from the command line."""
    arguments = parser(__doc__)
    arguments.add_argument("--size", type=int, help="how many memories (10,000)")
    path = asyncio.run(run(arguments.parse_args()))
    print(f"written to {path.name}")


if __name__ == "__main__":
    main()

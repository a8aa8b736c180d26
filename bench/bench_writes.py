"""The write path: many callers at once, the event loop meanwhile, a recall right after a write, many readers.

    python -m bench.bench_writes             (about three minutes)
    python -m bench.bench_writes --quick

The bare insert is one row with the same values, committed by itself, by the sqlite3 module in WAL mode with
synchronous=FULL, on the same disk. It takes turns with the callers. The lag of the event loop is how much longer than
asked a pause of one millisecond takes in a task beside the callers.
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from bench.support import Report, Times, milliseconds, parser, progress, rate, work_directory
from bench.support.bare_table import BareTable
from bench.texts import Texts
from jiyi import AgentMemory, create_memory, sync
from jiyi.providers.bundled import BundledEmbedder

_TURNS = 4


async def _lag(stop: asyncio.Event, found: list[float]) -> None:
    while not stop.is_set():
        begin = time.perf_counter()
        await asyncio.sleep(0.001)
        found.append(time.perf_counter() - begin - 0.001)


async def _crowd(callers: int, count: int, call: Callable[[int], Awaitable[object]]) -> tuple[float, list[float]]:
    """So many calls by so many callers: all seconds, and the seconds of each."""
    numbers, times = iter(range(count)), []

    async def caller() -> None:
        for number in numbers:
            begin = time.perf_counter()
            await call(number)
            times.append(time.perf_counter() - begin)

    begin = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(callers)))
    return time.perf_counter() - begin, times


class Bare:
    """The baseline: the rows that a memory has written, inserted one by one."""

    def __init__(self, folder: Path) -> None:
        self._reader = sqlite3.connect(folder / "memory" / "memory.db")
        columns = [column[1] for column in self._reader.execute("PRAGMA table_info(memory_records)")]
        self._table = BareTable(folder / "bare.db", columns)
        self.times: list[float] = []

    def insert(self, count: int) -> None:
        """Insert the last rows of the memory."""
        order = "SELECT * FROM memory_records ORDER BY rowid DESC LIMIT ?"
        for row in self._reader.execute(order, (count,)).fetchall():
            begin = time.perf_counter()
            self._table.insert(row)
            self.times.append(time.perf_counter() - begin)

    def close(self) -> None:
        self._table.close()
        self._reader.close()


async def callers(folder: Path, number: int, count: int, report: Report) -> None:
    """`store` by many callers, and bare inserts, in turn."""
    texts = list(Texts(seed=number).memories(count + 50))
    async with AgentMemory.open(folder / "memory", embedder="none", background_indexing=False) as memory:
        for place in range(50):
            await memory.store(f"warm {place}", texts[count + place])
        bare, stop, lag = Bare(folder), asyncio.Event(), list[float]()
        seconds, times = 0.0, list[float]()
        share = count // _TURNS

        async def store(turn: int, place: int) -> None:
            await memory.store(f"{turn} {place}", texts[turn * share + place])

        with progress(f"{count:,} stores by {number} callers", _TURNS) as advance:
            for turn in range(_TURNS):
                watching = asyncio.create_task(_lag(stop, lag))
                spent, each = await _crowd(number, share, partial(store, turn))
                stop.set()
                await watching
                stop.clear()
                seconds, times = seconds + spent, times + each
                bare.insert(min(share, 300))
                advance(1)
        bare.close()
    mine, theirs = Times(times), Times(bare.times)
    bare_rate = len(bare.times) / sum(bare.times)
    what = f"store, {number} callers"
    baseline = f"bare inserts {rate(bare_rate)}"
    ratio = share * _TURNS / seconds / bare_rate
    if number == 1:
        report.at_most(
            f"{what}: p50",
            milliseconds(mine.p50),
            f"bare insert {milliseconds(theirs.p50)}",
            value=mine.p50 / theirs.p50,
            target=3.5,
        )
    elif number < 200:
        report.fact(f"{what}: a second", rate(share * _TURNS / seconds), baseline, f"{ratio:.1f}×")
    else:
        report.at_least(f"{what}: a second", rate(share * _TURNS / seconds), baseline, value=ratio, target=4)
        report.at_most(
            f"{what}: p99",
            milliseconds(mine.percentile(99)),
            f"bare insert {milliseconds(theirs.p50)}",
            value=mine.percentile(99) / theirs.p50,
            target=60,
        )
        worst = Times(lag)
        report.at_most(
            f"{what}: lag of the event loop, p99",
            milliseconds(worst.percentile(99)),
            "",
            value=1_000 * worst.percentile(99),
            target=5,
            unit=" ms",
        )


def without_async(folder: Path, count: int, report: Report) -> None:
    """`store` of `jiyi.sync` and the bare insert in turn."""
    texts = list(Texts(seed=5).memories(count + 50))
    times: list[float] = []
    with sync.AgentMemory.open(folder / "memory", embedder="none", background_indexing=False) as memory:
        for place in range(50):
            memory.store(f"warm {place}", texts[count + place])
        with closing(Bare(folder)) as bare:
            for number in range(count):
                begin = time.perf_counter()
                memory.store(f"note {number}", texts[number])
                times.append(time.perf_counter() - begin)
                bare.insert(1)
    mine, theirs = Times(times), Times(bare.times)
    report.at_most(
        "store of jiyi.sync: p50",
        milliseconds(mine.p50),
        f"bare insert {milliseconds(theirs.p50)}",
        value=mine.p50 / theirs.p50,
        target=3.5,
    )


async def right_after_a_write(folder: Path, count: int, turns: int, report: Report) -> None:
    """A recall after a store, the same recall again, and one embedding, in turn."""
    texts = list(Texts(seed=7).memories(count + turns))
    model = BundledEmbedder()
    memory = await create_memory(folder)
    await memory.store_many({"key": f"note {n}", "content": text} for n, text in enumerate(texts[:count]))
    await memory.drain()
    await memory.recall(texts[0])
    after, steady, embedding = list[float](), list[float](), list[float]()
    with progress("recall right after a write", turns) as advance:
        for turn in range(turns):
            question = texts[(7 * turn) % count]
            await memory.store(f"new {turn}", texts[count + turn])
            begin = time.perf_counter()
            await memory.recall(f"{question} {turn}")
            after.append(time.perf_counter() - begin)
            await memory.drain()
            begin = time.perf_counter()
            # Another question of the same kind: the vector of the first one is kept.
            await memory.recall(f"{question} {turn} again")
            steady.append(time.perf_counter() - begin)
            begin = time.perf_counter()
            model.embed([texts[count + turn]])
            embedding.append(time.perf_counter() - begin)
            advance(1)
    await memory.close()
    usual = statistics.median(steady) + statistics.median(embedding)
    report.at_most(
        f"recall right after a write, {count:,} memories: p50 above a steady recall and an embedding",
        milliseconds(statistics.median(after)),
        f"steady {milliseconds(statistics.median(steady))}, embedding {milliseconds(statistics.median(embedding))}",
        value=1_000 * (statistics.median(after) - usual),
        target=3,
        unit=" ms",
    )
    report.fact("recall right after a write: p95", milliseconds(Times(after).p95), "", "")


async def readers(folder: Path, count: int, questions: int, report: Report) -> None:
    """Recall by one caller and by sixteen, in turn."""
    texts = list(Texts(seed=9).memories(count))
    memory = await create_memory(folder)
    await memory.store_many({"key": f"note {n}", "content": text} for n, text in enumerate(texts))
    await memory.drain()
    await memory.recall(texts[0])
    seconds: dict[int, float] = {1: 0.0, 16: 0.0}

    async def ask(asked: Sequence[Any], n: int) -> None:
        await memory.recall(f"{texts[(31 * n) % count]} {asked}")

    for turn in range(_TURNS):
        for number in seconds:
            spent, _ = await _crowd(number, questions, partial(ask, (turn, number)))
            seconds[number] += spent
    await memory.close()
    one, many = (_TURNS * questions / seconds[number] for number in (1, 16))
    report.at_least(
        f"recall by 16 callers in one process, {count:,} memories",
        rate(many),
        f"one caller {rate(one)}",
        value=many / one,
        target=1.5,
    )


async def run(options: argparse.Namespace) -> Path:
    """All measurements."""
    quick = options.quick
    report = Report("writes", "The write path: group commit, and a recall right after a write")
    with work_directory(options.work) as folder:
        for number in (1, 16, 200):
            count = {1: 80, 16: 160, 200: 400}[number] if quick else {1: 1_200, 16: 3_200, 200: 8_000}[number]
            await callers(folder / f"callers-{number}", number, count, report)
        await asyncio.to_thread(without_async, folder / "sync", 40 if quick else 1_000, report)
        await right_after_a_write(folder / "after", 300 if quick else 10_000, 4 if quick else 100, report)
        await readers(folder / "readers", 300 if quick else 10_000, 16 if quick else 200, report)
    report.note("Lag: how much longer than asked a pause of 1 ms takes beside the callers.")
    return report.finish(options.results)


def main() -> None:
    """Run from the command line."""
    path = asyncio.run(run(parser(__doc__).parse_args()))
    print(f"written to {path.name}")


if __name__ == "__main__":
    main()

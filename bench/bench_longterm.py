"""The long-term room: scheduling rounds, recall of facts, and cleaning up.

    python -m bench.bench_longterm
    python -m bench.bench_longterm --quick

`schedule_round` takes turns with a bare insert of one row of the same size (WAL, synchronous=FULL, same disk), while
the thread does the rounds in the background. `retrieve_relevant_memories` takes turns with plain hybrid `recall` over
the facts of one user. Cleaning up is watched: how long the write lock was held, and how much memory it took.
"""

from __future__ import annotations

import argparse
import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.support import Report, Times, interleaved, milliseconds, parser, progress, resident_bytes, work_directory
from bench.support.bare_table import BareTable
from bench.texts import Texts
from jiyi import AgentMemory, create_memory
from jiyi.backends.embedded.database import SqliteDatabase
from jiyi.model.domain import SUBSTANTIAL

_USER = "alice"


async def scheduling(folder: Path, count: int, report: Report) -> None:
    """`schedule_round` and the bare insert in turn."""
    texts = list(Texts().memories(count + 20))
    async with AgentMemory.open(folder / "memory") as memory:
        bare = BareTable(folder / "bare.db", ["id", "scope", "session", "role", "content", "created_at"])

        async def schedule(number: int) -> None:
            await memory.longterm.schedule_round(_USER, "conversation", texts[number], "ok")

        def insert(number: int) -> None:
            bare.insert((number, _USER, "conversation", "user", texts[number], "2026-01-01T00:00:00.000000Z"))

        times = await interleaved(count, {"schedule": schedule, "bare": insert}, warm_up=20, label="schedule_round")
        bare.close()
    mine, theirs = times["schedule"], times["bare"]
    report.at_most(
        "schedule_round, worker and indexer at work: p50",
        milliseconds(mine.p50),
        f"bare insert {milliseconds(theirs.p50)}",
        value=mine.p50 / theirs.p50,
        target=3,
    )
    report.fact("schedule_round: p95", milliseconds(mine.p95), f"bare insert {milliseconds(theirs.p95)}")


async def recalling(folder: Path, count: int, turns: int, report: Report) -> None:
    """`retrieve_relevant_memories` and plain hybrid `recall` in turn, in a store of facts."""
    texts = Texts()
    async with AgentMemory.open(folder, background_indexing=False, background_jobs=False) as memory:
        with progress(f"storing and indexing {count:,} facts", None):
            await memory.store_many(_facts(texts, count))
            await memory.drain()
        questions = texts.questions(turns + 5, "zh")[: turns + 5]

        async def recall(number: int) -> None:
            await memory.recall(questions[number % len(questions)], 10, scope=_USER)

        async def retrieve(number: int) -> None:
            await memory.longterm.retrieve_relevant_memories(_USER, questions[number % len(questions)])

        async def in_domain(number: int) -> None:
            await memory.longterm.retrieve_relevant_memories(
                _USER, questions[number % len(questions)], domains=[SUBSTANTIAL[number % len(SUBSTANTIAL)]]
            )

        async def settle(_number: int) -> None:
            # Recalled memories are touched after the answer. This waits for that, so the next action is not slower.
            await memory.count(scope="nobody")

        actions = {
            "recall": recall,
            "settle 1": settle,
            "retrieve": retrieve,
            "settle 2": settle,
            "in one domain": in_domain,
            "settle 3": settle,
        }
        label = "recall and retrieve_relevant_memories in turn"
        times = await interleaved(turns, actions, warm_up=5, alternate=False, label=label)
    plain = times["recall"]
    report.fact("touching what was recalled, after the answer: p50", milliseconds(times["settle 2"].p50))
    for name, what in (("retrieve", "retrieve_relevant_memories"), ("in one domain", "the same in one domain")):
        report.at_most(
            f"{what}, {count:,} facts of one user: p50",
            milliseconds(times[name].p50),
            f"recall {milliseconds(plain.p50)}",
            value=times[name].p50 / plain.p50,
            target=1.5,
        )


def _facts(texts: Texts, count: int) -> Iterator[dict[str, Any]]:
    for number, text in enumerate(texts.memories(count)):
        yield {
            "key": f"fact {number}",
            "content": text,
            "scope": _USER,
            "domain": SUBSTANTIAL[number % len(SUBSTANTIAL)],
            "importance": (number % 11) / 10,
        }


@contextmanager
def watched_lock(held: Times) -> Iterator[None]:
    """Record the duration of each write transaction."""
    original = SqliteDatabase.write

    @contextmanager
    def write(self: SqliteDatabase, *given: Any, **options: Any) -> Iterator[Any]:
        with original(self, *given, **options) as connection:
            begun = time.perf_counter()
            yield connection
        held.seconds.append(time.perf_counter() - begun)

    SqliteDatabase.write = write  # type: ignore[method-assign]
    try:
        yield
    finally:
        SqliteDatabase.write = original  # type: ignore[method-assign]


async def cleaning(folder: Path, count: int, report: Report) -> None:
    """Forget everything: the lock, the memory, the time."""
    texts = Texts()
    settings: dict[str, Any] = {"embedder": "none", "background_indexing": False, "background_jobs": False}
    memory = await create_memory(folder, **settings)
    with progress(f"storing {count:,} facts", None):
        batch: list[dict[str, Any]] = []
        for fact in _facts(texts, count):
            batch.append(fact)
            if len(batch) == 20_000:
                await memory.store_many(batch)
                batch = []
        await memory.store_many(batch)
    await memory.close()
    later = datetime.now(UTC) + timedelta(days=400)
    memory = await create_memory(folder, clock=lambda: later, **settings)
    held, before, peak = Times(), resident_bytes(), [0]
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(0.05):
            peak[0] = max(peak[0], resident_bytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    begun = time.perf_counter()
    with watched_lock(held), progress("forgetting", None):
        forgotten = await memory.longterm.cleanup_forgotten_memories(_USER)
    spent = time.perf_counter() - begun
    stop.set()
    watcher.join()
    await memory.close()
    if forgotten != count:
        raise SystemExit(f"forgot {forgotten} of {count}")
    longest = max(held.seconds)
    report.at_most(
        f"cleaning up {count:,} memories: the longest write transaction",
        milliseconds(longest),
        f"p50 {milliseconds(held.p50)}, {len(held.seconds):,} transactions",
        value=longest,
        target=0.1,
        unit=" s",
    )
    grown = max(0, peak[0] - before) / (1 << 20)
    report.at_most("the same: memory that it took", f"{grown:.0f} MB", "bounded", value=grown, target=200, unit=" MB")
    report.fact("the same: time", f"{spent:.1f} s", f"{count / spent:,.0f} memories a second")


async def run(options: argparse.Namespace) -> Path:
    """All measurements."""
    quick = options.quick
    report = Report("longterm", "Long-term memory")
    with work_directory(options.work) as folder:
        await scheduling(folder / "rounds", options.size or (60 if quick else 500), report)
        await recalling(folder / "facts", options.facts or (2_500 if quick else 100_000), 15 if quick else 100, report)
        await cleaning(folder / "faded", options.faded or (5_000 if quick else 1_000_000), report)
    return report.finish(options.results)


def main() -> None:
    """Run from the command line."""
    arguments = parser(__doc__)
    arguments.add_argument("--size", type=int, help="rounds to schedule (500)")
    arguments.add_argument("--facts", type=int, help="facts in the store that is asked (100,000)")
    arguments.add_argument("--faded", type=int, help="memories to clean up (1,000,000)")
    path = asyncio.run(run(arguments.parse_args()))
    print(f"written to {path.name}")


if __name__ == "__main__":
    main()

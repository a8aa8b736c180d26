"""How long a recall by tags takes with very many tags and memories, and how long it takes to start.

    python -m bench.bench_runtime              (100,000 tags, 10,000 and 1,000,000 memories, about ten minutes)
    python -m bench.bench_runtime --quick

The same question is put to both stores in turn, and has equally many matches in both. The loop is the one of the
design, `tag in query` over every tag; the automaton finds the same tags.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.support import Report, interleaved, milliseconds, parser, progress, work_directory
from bench.texts import Texts
from jiyi import AgentMemory, create_memory
from jiyi.backends.embedded.database import SqliteDatabase
from jiyi.backends.records.runtime import SqlRuntimeStore
from jiyi.backends.records.store import SqlRecordStore
from jiyi.model.entry import MemoryEntry, Source
from jiyi.model.identity import new_id
from jiyi.recall.tags import TagMirror
from jiyi.text import fold

_SCOPES = 10
_ASKED_TAGS = 100
"""The number of tags that occur in the questions."""
_QUERY = 2_000
_BATCH = 2_000
_START = datetime(2020, 1, 1, tzinfo=UTC)


def made_up_tags(count: int) -> list[str]:
    """Half Chinese, half Latin; none of them occurs in the texts of the questions by accident."""
    chance = random.Random(7)
    rare = [chr(code) for code in range(0x7000, 0x9000)]
    found: dict[str, None] = {}
    while len(found) < count:
        if len(found) % 2:
            found["zq" + "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=6))] = None
        else:
            found["".join(chance.choices(rare, k=chance.randint(2, 4)))] = None
    return list(found)


def memories(count: int, matching: int, tags: Sequence[str]) -> Iterator[MemoryEntry]:
    """`count` memories, of which `matching` have tags that are asked for; those are spread evenly and in one scope."""
    chance = random.Random(11)
    texts = list(Texts(seed=23).memories(2_000))
    asked, others = tags[:_ASKED_TAGS], tags[_ASKED_TAGS:]
    every = count // matching
    for number in range(count):
        wanted = number % every == 0 and number // every < matching
        moment = _START + timedelta(minutes=number % 2_000_000)
        yield MemoryEntry(
            id=new_id(),
            scope="scope 0" if wanted else f"scope {number % _SCOPES}",
            key=None,
            content=texts[number % len(texts)],
            reasoning="made up for measuring",
            memory_type=("fact", "event", "preference")[number % 3],
            # By its number: the same questions have the same matches in a store of any size.
            tags=tuple(random.Random(number // every).sample(asked, 3) if wanted else chance.sample(others, 3)),
            strength=number % 7,
            source=Source("runtime", "agent"),
            created_at=moment,
            updated_at=moment,
            last_accessed_at=moment,
        )


def fill(folder: Path, count: int, matching: int, tags: Sequence[str]) -> None:
    """A store with these memories and with every tag, used or not."""
    database = SqliteDatabase(folder / "memory.db", busy_timeout=60)
    store = SqlRuntimeStore(database)
    waiting: list[MemoryEntry] = []
    with progress(f"making a store of {count:,} memories", count) as advance:
        for entry in memories(count, matching, tags):
            waiting.append(entry)
            if len(waiting) == _BATCH:
                store.add(waiting, actor="bench")
                advance(len(waiting))
                waiting = []
        store.add(waiting, actor="bench")
        # Both stores have all tags, also those that no memory uses.
        first = _START - timedelta(days=1)
        for start in range(0, len(tags), 250):
            entry = MemoryEntry(
                id=new_id(),
                scope="tags alone",
                key=None,
                content="every tag",
                tags=tuple(tags[start : start + 250]),
                created_at=first,
                updated_at=first,
                last_accessed_at=first,
            )
            store.add([entry], actor="bench")
    database.close()


def questions(count: int, tags: Sequence[str]) -> list[str]:
    """Chat records of 2,000 characters, each with twenty of the tags in it."""
    chance = random.Random(13)
    supply = Texts(seed=29).memories(40 * count)
    found = []
    for _ in range(count):
        parts = [*(next(supply) for _ in range(40)), *chance.sample(list(tags[:_ASKED_TAGS]), 20)]
        chance.shuffle(parts)
        named = [part for part in parts if part in tags[:_ASKED_TAGS]]
        filler = " ".join(part for part in parts if part not in named)
        found.append((" ".join(named) + " " + filler)[:_QUERY])
    return found


async def recall(
    small: AgentMemory, large: AgentMemory, sizes: tuple[int, int], asked: Sequence[str], rounds: int, report: Report
) -> None:
    """The same questions to both stores in turn."""
    counts = [len(await memory.runtime.recall(asked[0], 1_000, memory_scope="scope 0")) for memory in (small, large)]

    async def ask(memory: AgentMemory, number: int) -> None:
        await memory.runtime.recall(asked[number % len(asked)], memory_scope="scope 0")

    actions = {"small": lambda number: ask(small, number), "large": lambda number: ask(large, number)}
    times = await interleaved(rounds, actions, warm_up=10, label="recall in both stores in turn")
    what = f"recall, {_QUERY:,} characters, {sizes[1]:,} memories"
    report.at_most(
        f"{what}: p50", milliseconds(times["large"].p50), "", value=1_000 * times["large"].p50, target=20, unit=" ms"
    )
    report.at_most(
        f"{what}: p50",
        milliseconds(times["large"].p50),
        f"{sizes[0]:,} memories: {milliseconds(times['small'].p50)}",
        value=times["large"].p50 / times["small"].p50,
        target=2,
    )
    report.fact(f"{what}: p95", milliseconds(times["large"].p95), f"{milliseconds(times['small'].p95)}")
    report.note(f"Candidates of a question: {counts[0]:,} and {counts[1]:,}.")


async def matching(
    store: SqlRecordStore, tags: Sequence[str], asked: Sequence[str], rounds: int, report: Report
) -> None:
    """The automaton and the loop of the design in turn, on the same questions."""
    mirror = TagMirror(store)
    mirror.refresh()
    forms = [fold(tag) for tag in tags]
    found: dict[str, int] = {}

    def automaton(number: int) -> None:
        found["automaton"] = len(mirror.matches(asked[number % len(asked)]))

    def loop(number: int) -> None:
        text = fold(asked[number % len(asked)])
        found["loop"] = len([form for form in forms if form in text])

    times = await interleaved(
        rounds, {"automaton": automaton, "loop": loop}, warm_up=1, label="automaton and loop in turn"
    )
    if found["automaton"] != found["loop"]:
        raise AssertionError(f"the automaton and the loop disagree: {found}")
    report.at_least(
        f"tags that stand in the question, of {len(tags):,}: automaton, p50",
        milliseconds(times["automaton"].p50),
        f"the loop `tag in query` {milliseconds(times['loop'].p50)}",
        value=times["loop"].p50 / times["automaton"].p50,
        target=1,
    )


async def starting(folder: Path, count: int, rounds: int, report: Report) -> None:
    """Opening a memory in simple mode: everything until the first question can be put."""
    seconds = []
    for _ in range(rounds):
        begin = time.perf_counter()
        memory = await create_memory(folder, enable_simple_memory=True)
        seconds.append(time.perf_counter() - begin)
        await memory.close()
    best = sorted(seconds)[len(seconds) // 2]
    report.at_most(f"start with {count:,} tags, p50", f"{best:.2f} s", "", value=best, target=1, unit=" s")


async def adding(memory: AgentMemory, rounds: int, asked: str, report: Report) -> None:
    """A new tag, and the next recall: nothing is built anew for it."""

    async def remember(number: int) -> None:
        await memory.runtime.remember("fact", "new", "", [f"brand new tag {number}"], memory_scope="scope 1")

    async def recalled(_number: int) -> None:
        await memory.runtime.recall(asked, memory_scope="scope 0")

    times = await interleaved(rounds, {"remember": remember, "recall": recalled}, alternate=False, label="new tags")
    report.fact(
        "recall right after a new tag: p50",
        milliseconds(times["recall"].p50),
        f"p95 {milliseconds(times['recall'].p95)}",
    )


async def run(options: argparse.Namespace) -> Path:
    """All measurements."""
    quick = options.quick
    tag_count = options.tags or (5_000 if quick else 100_000)
    sizes = (options.small or (1_000 if quick else 10_000), options.large or (10_000 if quick else 1_000_000))
    matches = min(1_000, sizes[0])
    rounds = 40 if quick else 200
    tags = made_up_tags(tag_count)
    asked = questions(20, tags)
    report = Report("runtime", f"Recall by tags: {tag_count:,} tags, {sizes[0]:,} and {sizes[1]:,} memories")
    with work_directory(options.work) as folder:
        for size in sizes:
            fill(folder / str(size), size, matches, tags)
        small = await create_memory(folder / str(sizes[0]), enable_simple_memory=True)
        large = await create_memory(folder / str(sizes[1]), enable_simple_memory=True)
        await recall(small, large, sizes, asked, rounds, report)
        await adding(large, rounds, asked[0], report)
        for memory in (small, large):
            await memory.close()
        database = SqliteDatabase(folder / str(sizes[0]) / "memory.db", busy_timeout=60)
        await matching(SqlRecordStore(database), tags, asked, max(5, rounds // 10), report)
        database.close()
        await starting(folder / str(sizes[1]), tag_count, 5, report)
    report.note(
        f"{matches:,} memories of one scope have three of the {_ASKED_TAGS} asked tags each; {_SCOPES} scopes in all."
    )
    return report.finish(options.results)


def main() -> None:
    """Run from the command line."""
    arguments = parser(__doc__)
    arguments.add_argument("--tags", type=int, help="how many tags (100,000)")
    arguments.add_argument("--small", type=int, help="memories in the small store (10,000)")
    arguments.add_argument("--large", type=int, help="memories in the large store (1,000,000)")
    path = asyncio.run(run(arguments.parse_args()))
    print(f"written to {path.name}")


if __name__ == "__main__":
    main()

"""How long a `put` of the chat room takes until it is on disk, and what a `get` costs in a short and in a long session.

    python -m bench.bench_chat               (sessions of 1,000 and 100,000 messages, some minutes)
    python -m bench.bench_chat --quick

The bare insert is the row of the message, in a table with nothing but a primary key, by the sqlite3 module in WAL mode
with synchronous=FULL, on the same disk; it takes turns with `put`. `put` writes that row, the same message as a memory
that recall finds, and a line of the change log. Both sessions have a full window, so that a `get` of each returns about
as many messages; what differs is how much lies behind the pointer.

If `llama_index` is installed, its ChatSummaryMemoryBuffer holds the same conversation, with a model that answers at
once.
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.support import Report, interleaved, milliseconds, parser, progress, work_directory
from bench.support.bare_table import BareTable
from bench.texts import Texts
from jiyi import AgentMemory

LIMIT = 4_000
_SETTINGS: dict[str, Any] = {"embedder": "none", "background_indexing": False}


def turns(count: int) -> list[dict[str, str]]:
    """A conversation in English and Chinese."""
    texts = Texts(seed=23).memories(count)
    return [{"role": ("user", "assistant")[number % 2], "content": text} for number, text in enumerate(texts)]


async def acknowledged(folder: Path, count: int, report: Report) -> None:
    """`put` and the bare insert in turn."""
    said = turns(count + 50)
    async with AgentMemory.open(folder / "memory", embedder="none") as memory:
        chat = memory.chat("bench", token_limit=LIMIT)
        with closing(sqlite3.connect(folder / "memory" / "memory.db")) as reader:
            columns = [column[1] for column in reader.execute("PRAGMA table_info(conversation_history)")]
            bare = BareTable(folder / "bare.db", columns)
            rows: list[Sequence[Any]] = []

            async def put(number: int) -> None:
                await chat.put(said[number])

            def look_up(_number: int) -> None:
                rows[:] = [reader.execute("SELECT * FROM conversation_history ORDER BY id DESC LIMIT 1").fetchone()]

            def insert(_number: int) -> None:
                bare.insert(rows[0])

            actions = {"put": put, "look up": look_up, "bare": insert}
            times = await interleaved(count, actions, warm_up=50, alternate=False, label="put and bare insert in turn")
            bare.close()
    mine, theirs = times["put"], times["bare"]
    report.at_most(
        "acknowledged put, indexer at work: p50",
        milliseconds(mine.p50),
        f"bare insert {milliseconds(theirs.p50)}",
        value=mine.p50 / theirs.p50,
        target=3,
    )
    report.fact("acknowledged put: p95", milliseconds(mine.p95), f"bare insert {milliseconds(theirs.p95)}")


async def windows(folder: Path, small: int, large: int, rounds: int, report: Report) -> None:
    """`get` in a short and in a long session, in turn."""
    async with AgentMemory.open(folder, **_SETTINGS) as memory:
        chats = {}
        for name, count in (("short", small), ("long", large)):
            chat = chats[name] = memory.chat(name, token_limit=LIMIT)
            said = turns(count)
            with progress(f"a session of {count:,} messages", count) as advance:
                for start in range(0, count, 500):
                    await chat.put_many(said[start : start + 500])
                    while (await chat.get()).left_out:
                        pass
                    advance(500)
            # The same end in both: as many messages are shown, and only what lies behind them differs.
            while (await chat.compact()).compacted:
                pass
            await chat.put_many(turns(40))
        shown = {name: await chat.get() for name, chat in chats.items()}

        async def short(_number: int) -> None:
            await chats["short"].get()

        async def long(_number: int) -> None:
            await chats["long"].get()

        times = await interleaved(rounds, {"short": short, "long": long}, warm_up=10, label="get of both in turn")
    report.at_most(
        f"get() in a session of {large:,} messages: p50",
        f"{milliseconds(times['long'].p50)} ({len(shown['long'])} messages)",
        f"of {small:,}: {milliseconds(times['short'].p50)} ({len(shown['short'])} messages)",
        value=times["long"].p50 / times["short"].p50,
        target=2,
    )


async def beside_llama_index(folder: Path, count: int, report: Report) -> None:
    """One put and one get in each turn of the same conversation: ours on disk, theirs in memory."""
    if find_spec("llama_index") is None:
        report.note("llama_index is not installed: its ChatSummaryMemoryBuffer was not measured.")
        return
    from llama_index.core.llms import ChatMessage, MockLLM
    from llama_index.core.memory import ChatSummaryMemoryBuffer

    theirs = ChatSummaryMemoryBuffer.from_defaults(
        llm=MockLLM(max_tokens=64), token_limit=LIMIT, tokenizer_fn=lambda text: list(text.encode()[::3])
    )
    said = turns(count)
    async with AgentMemory.open(folder, **_SETTINGS) as memory:
        chat = memory.chat("bench", token_limit=LIMIT)

        async def ours_turn(number: int) -> None:
            await chat.put(said[number])
            await chat.get()

        def their_turn(number: int) -> None:
            theirs.put(ChatMessage(**said[number]))
            theirs.get()

        times = await interleaved(count, {"ours": ours_turn, "theirs": their_turn}, label="beside LlamaIndex")
        kept = len(await chat.get_all())
    ours, other = times["ours"], times["theirs"]
    for name, mine, yours in (("p50", ours.p50, other.p50), ("p95", ours.p95, other.p95)):
        report.fact(
            f"put and get, a conversation of {count:,} messages: {name}",
            milliseconds(mine),
            f"ChatSummaryMemoryBuffer {milliseconds(yours)}",
            f"{mine / yours:.2f}×",
        )
    report.fact("    messages kept in full", f"{kept:,}", f"ChatSummaryMemoryBuffer {len(theirs.get_all()):,}")
    report.note("Ours is on disk after each put and summarises by rules; theirs is in memory, with a model of no cost.")


async def run(options: argparse.Namespace) -> Path:
    """All measurements."""
    large = options.size or (3_000 if options.quick else 100_000)
    small = min(1_000, large)
    rounds = 60 if options.quick else 500
    report = Report("chat", f"The chat room, sessions of {small:,} and {large:,} messages")
    with work_directory(options.work) as folder:
        await acknowledged(folder / "ack", min(large, 300 if options.quick else 3_000), report)
        await windows(folder / "windows", small, large, rounds, report)
        await beside_llama_index(folder / "beside", min(large, 300 if options.quick else 2_000), report)
    report.note(f"token_limit is {LIMIT:,}; summaries and candidates are made by rules.")
    return report.finish(options.results)


def main() -> None:
    """Run from the command line."""
    arguments = parser(__doc__)
    arguments.add_argument("--size", type=int, help="how many messages the long session has (100,000)")
    path = asyncio.run(run(arguments.parse_args()))
    print(f"written to {path.name}")


if __name__ == "__main__":
    main()

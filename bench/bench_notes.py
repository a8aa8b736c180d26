"""Notes: how long the first index takes against only embedding, how soon an edit is found, and what an append costs."""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from pathlib import Path
from typing import Any

from bench.support import Report, interleaved, milliseconds, parser, work_directory
from bench.texts import Texts
from jiyi import AgentMemory
from jiyi.backends.shared.embedding import CHUNK_COLUMNS
from jiyi.ports import Embedder
from jiyi.text import split_chunks

_NOTE_BYTES = 4_096


class SharedEmbedder:
    """An embedder that is loaded once, for all memories of the run."""

    def __init__(self) -> None:
        from jiyi.providers.bundled import BundledEmbedder

        self.embedder: Embedder = BundledEmbedder()
        self.embedder.embed(["warm"])


def write_notes(folder: Path, count: int) -> None:
    """Notes of about 4 KB in both languages, with headings, paragraphs and lists."""
    (folder / "memory").mkdir(parents=True)
    texts = iter(Texts(seed=11).memories(count * 80))
    for number in range(count):
        parts: list[str] = [f"# Note {number}"]
        size = 0
        while size < _NOTE_BYTES:
            sentences = [next(texts) for _ in range(3)]
            block = f"## {sentences[0][:20]}\n\n{' '.join(sentences[:2])}\n\n- {sentences[2]}"
            parts.append(block)
            size += len(block.encode())
        (folder / f"memory/note-{number:04}.md").write_text("\n\n".join(parts) + "\n", "utf-8")


async def first_index(folder: Path, count: int, shared: SharedEmbedder, report: Report) -> None:
    """Everything from nothing to searchable, against a loop that only embeds the same chunks."""
    write_notes(folder / "ws", count)
    options: dict[str, Any] = {"embedder": shared.embedder, "background_indexing": False, "freshness_seconds": 3_600}
    async with AgentMemory.open(folder / "data", workspace=folder / "ws", **options) as memory:
        begin = time.perf_counter()
        scanned = await memory.notes.reindex()
        await memory.drain()
        hits = await memory.notes.memory_search("note", 1)
        indexed = time.perf_counter() - begin
        assert hits
        pieces = [hit.content for hit in await contents(memory)]
        chunks = [part for piece in pieces for part in split_chunks(piece, CHUNK_COLUMNS) or [piece]]
        begin = time.perf_counter()
        for start in range(0, len(chunks), 256):
            shared.embedder.embed(chunks[start : start + 256])
        embedded = time.perf_counter() - begin
        report.at_most(
            f"first index of {count:,} notes of 4 KB ({scanned.counts.added:,} pieces)",
            f"{indexed:.2f} s",
            f"only embedding their {len(chunks):,} chunks: {embedded:.2f} s",
            value=indexed / embedded,
            target=1.3,
        )
        await edits(folder / "ws", memory, report)


async def contents(memory: AgentMemory) -> list[Any]:
    """Every piece of the notes, through the record store: what the vector index embeds."""
    store = memory._store  # noqa: SLF001 - the same texts that are indexed, which no public call lists
    return [entry for entry in store.scan(limit=1_000_000) if entry.memory_type == "note"]


async def edits(workspace: Path, memory: AgentMemory, report: Report) -> None:
    """From the end of a save to the answer that has the new line."""
    files = sorted((workspace / "memory").glob("*.md"))[:20]
    seconds = []
    for number, file in enumerate(files):
        word = f"quokka{number}"
        file.write_text(file.read_text("utf-8").replace("\n- ", f"\n- {word} ", 1), "utf-8")
        begin = time.perf_counter()
        [hit] = await memory.notes.memory_search(word, 1)
        seconds.append(time.perf_counter() - begin)
        assert word in hit.content
    worst = max(seconds)
    report.at_most(
        "a one-line edit is searchable (worst of 20)",
        milliseconds(worst),
        f"median {milliseconds(sorted(seconds)[len(seconds) // 2])}",
        value=worst,
        target=0.5,
        unit=" s",
    )


async def appends(folder: Path, rounds: int, report: Report) -> None:
    """An acknowledged append against a bare append and fsync of the same bytes, in turn."""
    (folder / "ws").mkdir(parents=True)
    text = "杭州的会议改到周三下午三点，记得带上合同和样品。" * 4
    bare = os.open(folder / "bare.md", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    data = ("\n" + "x" * 160 + "\n" + text + "\n").encode()
    options: dict[str, Any] = {"embedder": "none", "background_indexing": False, "max_note_day_bytes": 1 << 28}
    async with AgentMemory.open(folder / "data", workspace=folder / "ws", **options) as memory:
        notes = memory.notes

        def plain(_number: int) -> None:
            os.write(bare, data)
            os.fsync(bare)

        times = await interleaved(
            rounds,
            {"jiyi": lambda _number: notes.memory_append(text), "bare": plain},
            warm_up=20,
            label="appending",
        )
    os.close(bare)
    report.at_most(
        "memory_append, acknowledged, p50",
        milliseconds(times["jiyi"].p50),
        f"bare append and fsync: {milliseconds(times['bare'].p50)}",
        value=times["jiyi"].p50 / times["bare"].p50,
        target=2,
    )
    report.fact("memory_append, p95", milliseconds(times["jiyi"].p95), f"bare: {milliseconds(times['bare'].p95)}")


async def search_unchanged(folder: Path, count: int, report: Report) -> None:
    """What looking at the files costs when nothing has changed."""
    write_notes(folder / "ws", count)
    options: dict[str, Any] = {"embedder": "none", "background_indexing": False, "freshness_seconds": 3_600}
    async with AgentMemory.open(folder / "data", workspace=folder / "ws", **options) as memory:
        await memory.notes.reindex()
        await memory.drain()
        await asyncio.sleep(0.1)
        await memory.notes.scan()
        times = await interleaved(
            30,
            {"scan": lambda _number: memory.notes.scan(), "search": lambda n: memory.notes.memory_search(f"note {n}")},
        )
    report.fact(f"a scan of {count:,} unchanged notes, p50", milliseconds(times["scan"].p50))
    report.fact("memory_search without meaning, that scan included, p50", milliseconds(times["search"].p50))


async def run(options: argparse.Namespace) -> Path:
    """Measure and write the table."""
    count = options.size or (30 if options.quick else 1_000)
    report = Report("notes", f"Notes, {count:,} files of 4 KB in English and Chinese")
    with work_directory(options.work) as folder:
        await appends(folder / "appends", 60 if options.quick else 500, report)
        await search_unchanged(folder / "quiet", count, report)
        await first_index(folder / "index", count, SharedEmbedder(), report)
    report.note("First index: reading, cutting, storing, text index, embedding and one search, from nothing.")
    report.note("Append: each call is followed by a bare write and fsync of as many bytes to another file.")
    return report.finish(options.results)


def main() -> None:
    """Run from the command line."""
    arguments = parser(__doc__)
    arguments.add_argument("--size", type=int, help="how many notes (1,000)")
    path = asyncio.run(run(arguments.parse_args()))
    print(f"written to {path.name}")


if __name__ == "__main__":
    main()

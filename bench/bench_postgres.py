"""How fast memories on PostgreSQL are, compared with bare SQL.

    python -m bench.bench_postgres                          (about five minutes)
    python -m bench.bench_postgres --quick
    python -m bench.bench_postgres --parts recall,callers   (some of: recall, callers, loading, meaning)
    python -m bench.bench_postgres --url URL                (a database of your own, with `vector` and `pg_search`)

Without a URL it starts the PostgreSQL of the tests. A database that holds the 100,000 memories already, from a run
before, is not loaded again.

recall: hybrid recall in 1,000 scopes of 100 memories each. The baseline, each part by itself, by psycopg on an open
connection: one BM25 query (pg_search) for the question's words in the same index with the same scopes, and one
vector query (pgvector) over the same vectors with the same scopes; 50 best ids each. Recall and the bare queries take
turns. Embedding 100,000 texts takes many minutes, and a comparison costs the same whatever is in the vectors: those of
the stored texts are made from a hash of the text. The vectors of the questions are computed before, so no embedder is
measured; a row shows what the real one adds.

callers: one caller, 16 callers in one process, and 16 callers in two processes; a Python process computes on one core
at a time. The seconds of processor of clients and server are shown beside the throughput.

loading: bulk load with the real embedder, against a COPY of the same texts and vectors into bare tables and the same
embedder called in batches.

meaning: for scopes with 0.1 %, 1 % and 20 % of all vectors, what is found is compared with the exact answer. Texts of
these scopes are embedded by the real model, those of others by their hash.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import psycopg

from bench.support import Report, Times, interleaved, milliseconds, parser, rate, work_directory
from bench.support.postgres_baseline import KnownQuestions, PostgresBaseline
from bench.support.postgres_callers import CALLERS, callers, report_callers
from bench.support.postgres_nearest import found_by_meaning
from bench.support.postgres_server import another_database, database
from bench.support.recall_corpus import Layout, load
from bench.texts import Texts
from jiyi import AgentMemory, create_memory
from jiyi.backends.postgres.vectors.halfvec import halfvec_bytes
from jiyi.providers.bundled import BundledEmbedder

_PARTS = ("recall", "callers", "loading", "meaning")
_WARM_UP = 20


async def recall_speed(
    memory: AgentMemory, bare: PostgresBaseline, layout: Layout, asked: Sequence[tuple[str, str]], report: Report
) -> None:
    async def recall(number: int) -> None:
        scope, question = asked[number]
        await memory.recall(question, scope=scope)

    actions = {
        "recall": recall,
        "text": lambda number: bare.text(*asked[number]),
        "vector": lambda number: bare.vector(*asked[number]),
    }
    times = await interleaved(len(asked) - _WARM_UP, actions, warm_up=_WARM_UP, label="asking")
    together = Times([sum(pair) for pair in zip(times["text"].seconds, times["vector"].seconds, strict=True)])
    shown = f"BM25 {milliseconds(times['text'].p50)} + vectors {milliseconds(times['vector'].p50)}"
    found = times["recall"]
    report.at_most(
        f"hybrid recall, {layout}: p50",
        milliseconds(found.p50),
        f"{shown} = {milliseconds(together.p50)}",
        value=found.p50 / together.p50,
        target=1.5,
    )
    report.fact(f"hybrid recall, {layout}: p95", milliseconds(found.p95), f"bare {milliseconds(together.p95)}")
    model = BundledEmbedder()
    model.embed(["warm"])
    embedding = await interleaved(
        min(50, len(asked)), {"embed": lambda n: model.embed([asked[n][1]])}, label="embedding"
    )
    report.fact("the bundled embedder adds, for one question", milliseconds(embedding["embed"].p50))


async def loading(url: str, folder: Path, count: int, report: Report) -> None:
    """Bulk load with the real embedder, in a database of its own, against COPY and the embedder by themselves."""
    model = BundledEmbedder()
    model.embed(["warm"])
    texts = list(Texts(seed=41).memories(count))
    begin = time.perf_counter()
    vectors = np.concatenate([model.embed(texts[start : start + 256]) for start in range(0, count, 256)])
    embedded = time.perf_counter()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute("CREATE TABLE bare (id text, scope text, key text, content text, created timestamptz)")
        connection.execute(f"CREATE TABLE bare_vectors (id text, scope text, embedding halfvec({vectors.shape[1]}))")
        started = time.perf_counter()
        with connection.cursor().copy("COPY bare FROM STDIN") as copy:
            for number, text in enumerate(texts):
                copy.write_row((f"id {number}", f"user-{number % 1_000}", f"note {number}", text, "2026-01-01"))
        with connection.cursor().copy("COPY bare_vectors FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["text", "text", "bytea"])
            for number, vector in enumerate(vectors):
                copy.write_row((f"id {number}", f"user-{number % 1_000}", halfvec_bytes(vector)))
        copied = time.perf_counter()
        connection.execute("DROP TABLE bare, bare_vectors")
    bare = (embedded - begin) + (copied - started)
    entries = [
        {"key": f"load {number}", "content": text, "scope": f"loaded-{number % 1_000}"}
        for number, text in enumerate(texts)
    ]
    async with await create_memory(
        folder / "loading", storage=url, embedder=model, background_indexing=False
    ) as memory:
        await memory.drain()
        opened = time.perf_counter()
        await memory.store_many(entries)
        stored = time.perf_counter()
        await memory.drain()
        whole = time.perf_counter() - opened
    report.at_least(
        f"bulk load of {count:,}, searchable by words and meaning",
        f"{rate(count / whole)} (store_many {rate(count / (stored - opened))})",
        f"COPY {copied - started:.2f} s + embedder {embedded - begin:.1f} s: {rate(count / bare)}",
        value=bare / whole,
        target=0.5,
    )


async def main(arguments: argparse.Namespace) -> None:
    quick = arguments.quick
    layout = Layout(50, 40) if quick else Layout(1_000, 100)
    count = 60 if quick else 400
    supply = Texts(seed=31)
    questions = [
        question
        for pair in zip(supply.questions(count, "en"), supply.questions(count, "zh"), strict=True)
        for question in pair
    ]
    asked = [(layout.scope(number * 7 % layout.scopes), question) for number, question in enumerate(questions)]
    embedder = KnownQuestions(questions)
    report = Report("postgres", "Memories on PostgreSQL")
    parts = arguments.parts
    with database(arguments.url) as url, work_directory(arguments.work) as folder:
        if {"recall", "callers"} & set(parts):
            memory = await create_memory(
                folder / "data", storage=url, embedder=embedder, background_indexing=False, pool_size=CALLERS
            )
            try:
                await loaded(memory, url, layout, report)
                if "recall" in parts:
                    bare = PostgresBaseline(url, embedder)
                    bare.prepare(questions)
                    await recall_speed(memory, bare, layout, asked, report)
                    bare.close()
                if "callers" in parts:
                    some = asked[:: 4 if quick else 2]
                    report_callers(await callers(memory, url, folder / "data", questions, some), len(some), report)
            finally:
                await memory.close()
        if {"loading", "meaning"} & set(parts):
            with another_database(url) as another:
                if "loading" in parts:
                    await loading(another, folder, 300 if quick else 5_000, report)
                if "meaning" in parts:
                    found_by_meaning(another, 1_000 if quick else 50_000, report)
        with psycopg.connect(url, autocommit=True) as connection:
            version = connection.execute("SHOW server_version").fetchone()
            extensions = connection.execute("SELECT extname, extversion FROM pg_extension ORDER BY 1").fetchall()
        report.note(
            f"PostgreSQL {version[0] if version else '?'} with "
            + ", ".join(f"{name} {number}" for name, number in extensions if name != "plpgsql")
            + "; server and client share the processor"
        )
        report.finish(arguments.results)


async def loaded(memory: AgentMemory, url: str, layout: Layout, report: Report) -> None:
    """Load everything, unless it is there already."""
    with psycopg.connect(url, autocommit=True) as connection:
        ((held,),) = connection.execute("SELECT count(*) FROM memory_records").fetchall()
        if held < layout.total:
            await load(memory, layout, report)
            connection.execute("VACUUM ANALYZE")
        else:
            await memory.drain()


def _parts(given: str) -> tuple[str, ...]:
    parts = tuple(given.split(","))
    if unknown := set(parts) - set(_PARTS):
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(_PARTS)}")
    return parts


if __name__ == "__main__":
    made = parser(__doc__)
    made.add_argument("--url", help="a database for this alone (default: a server is started)")
    made.add_argument(
        "--parts", type=_parts, default=_PARTS, help=f"what to measure, by commas: {', '.join(_PARTS)} (default: all)"
    )
    asyncio.run(main(made.parse_args()))

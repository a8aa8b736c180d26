"""How fast memories on PostgreSQL are, against the bare SQL they stand on.

    python -m bench.bench_postgres                          (about five minutes)
    python -m bench.bench_postgres --quick
    python -m bench.bench_postgres --parts recall,callers   (some of: recall, callers, loading, meaning)
    python -m bench.bench_postgres --url URL                (a database of your own, with `vector` and `pg_search`)

Without a URL it starts the PostgreSQL of the tests. A database that holds the 100,000 memories already, from a run
before, is not loaded again.

recall: hybrid recall in 1,000 scopes of 100 memories each. Bare are, each by itself, issued by psycopg on a connection
that stays open: one BM25 query (pg_search) for the question's words in the same index with the same scopes, and one
vector query (pgvector) over the same vectors with the same scopes; 50 best ids each. Recall and the bare queries take
turns. Embedding 100,000 texts takes many minutes, and a comparison costs the same whatever is in the vectors: those of
the stored texts are made from a hash of the text. The vectors of the questions are at hand for both, so no embedder is
measured; a row says what the real one adds.

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
import multiprocessing
import os
import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psycopg

from bench.bench_recall_speed import HashedDocuments, Layout, load
from bench.support import Report, Times, interleaved, milliseconds, parser, progress, rate, work_directory
from bench.texts import Texts
from jiyi import AgentMemory, create_memory
from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.postgres.vectors.halfvec import Floats, halfvec_bytes
from jiyi.backends.postgres.vectors.index import PostgresVectors
from jiyi.backends.records.store import SqlRecordStore
from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.model.identity import new_id
from jiyi.ports import IndexBatch, LogPosition, ModelIdentity
from jiyi.providers.bundled import BundledEmbedder
from jiyi.text import Analyzer
from tests.servers.postgres import PostgresServer

_BARE_LIMIT = 50
_CALLERS = 16
_PROCESSES = 2
_ROUNDS = 5
_PARTS = ("recall", "callers", "loading", "meaning")
_WARM_UP = 20
_TICKS = os.sysconf("SC_CLK_TCK")
# As a machine of this size would be set up; the defaults are for a very small one.
_SERVER = {"shared_buffers": "512MB", "max_wal_size": "4GB", "checkpoint_timeout": "30min"}


class KnownQuestions(HashedDocuments):
    """The vectors of questions are worked out beforehand."""

    def __init__(self, questions: Sequence[str]) -> None:
        super().__init__(questions)
        vectors = self.model.embed(questions)
        self._known = dict(zip(questions, vectors, strict=True))

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity("bench-known-questions", self.dimension, "1")

    def embed(self, texts: Sequence[str]) -> Floats:
        if len(texts) == 1 and texts[0] in self._known:
            found: Floats = self._known[texts[0]][None, :]
            return found
        return self.hashed(texts)


# --- the server -----------------------------------------------------------------------------------------------------


@contextmanager
def database(url: str | None) -> Iterator[str]:
    """A database that nothing is in."""
    if url is not None:
        yield url
        return
    with PostgresServer(settings=_SERVER) as server:
        yield server.url()


@dataclass(frozen=True)
class Processor:
    """Seconds of processor that were spent."""

    client: float
    server: float

    @classmethod
    def now(cls, url: str) -> Processor:
        used = resource.getrusage(resource.RUSAGE_SELF)
        with psycopg.connect(url) as connection:
            pids = [
                row[0] for row in connection.execute("SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
            ]
        return cls(used.ru_utime + used.ru_stime, sum(_spent(pid) for pid in pids))

    def since(self, before: Processor) -> Processor:
        return Processor(self.client - before.client, self.server - before.server)


def _spent(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


# --- the bare queries -----------------------------------------------------------------------------------------------


class Bare:
    """The two queries, on connections of their own, prepared as psycopg does by itself."""

    def __init__(self, url: str, embedder: KnownQuestions) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._connection.execute("SET max_parallel_workers_per_gather = 0")
        self._embedder = embedder
        self._analyzer = Analyzer()
        self._words: Mapping[str, str] = {}
        self._vectors: dict[str, str] = {}

    def prepare(self, questions: Sequence[str]) -> None:
        """What is not measured: the words of the questions, and their vectors in the form that SQL takes."""
        self._words = {question: " ".join(self._analyzer.query(question).words) for question in questions}
        for question in questions:
            self._vectors[question] = str(self._embedder.embed([question])[0].tolist())

    def text(self, scope: str, question: str) -> list[str]:
        # Of several ways to write it the one that was measured to be the quickest.
        return self._ids(
            "SELECT entry_id FROM jiyi_search.texts WHERE word_text ||| %s AND scope === %s::text[] "
            f"ORDER BY paradedb.score(entry_id) DESC LIMIT {_BARE_LIMIT}",
            [self._words[question], [scope, "public"]],
        )

    def vector(self, scope: str, question: str) -> list[str]:
        return self._ids(
            "SELECT entry_id FROM jiyi_search.vectors WHERE scope = ANY (%s) "
            f"ORDER BY embedding <#> %s::halfvec LIMIT {_BARE_LIMIT}",
            [[scope, "public"], self._vectors[question]],
        )

    def _ids(self, query: str, parameters: Sequence[Any]) -> list[str]:
        return [row[0] for row in self._connection.execute(query.encode(), parameters).fetchall()]

    def close(self) -> None:
        self._connection.close()


# --- what is measured -----------------------------------------------------------------------------------------------


async def recall_speed(
    memory: AgentMemory, bare: Bare, layout: Layout, asked: Sequence[tuple[str, str]], report: Report
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


@dataclass(frozen=True)
class Run:
    """Some callers asking all questions together."""

    seconds: float
    client: float
    server: float


async def _ask_all(memory: AgentMemory, asked: Sequence[tuple[str, str]], number: int) -> None:
    async def ask(questions: Sequence[tuple[str, str]]) -> None:
        for scope, question in questions:
            await memory.recall(question, scope=scope)

    await asyncio.gather(*(ask(asked[part::number]) for part in range(number)))


class CallingProcess:
    """Another process with callers of its own; it asks when it is told to."""

    def __init__(self, url: str, folder: Path, questions: Sequence[str], asked: Sequence[tuple[str, str]]) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        given = (theirs, url, str(folder), list(questions), list(asked), _CALLERS // _PROCESSES)
        self._process = context.Process(target=_serve_callers, args=given)
        self._process.start()
        self._pipe.recv()  # it is ready

    def begin(self) -> None:
        self._pipe.send(True)

    def end(self) -> tuple[float, float, float]:
        """When it began and ended, and the seconds of processor that it took."""
        found: tuple[float, float, float] = self._pipe.recv()
        return found

    def close(self) -> None:
        self._pipe.send(False)
        self._process.join()


def _serve_callers(
    pipe: Any, url: str, folder: str, questions: Sequence[str], asked: Sequence[tuple[str, str]], number: int
) -> None:
    async def serve() -> None:
        memory = await create_memory(
            folder, storage=url, embedder=KnownQuestions(questions), background_indexing=False, pool_size=number
        )
        try:
            await _ask_all(memory, asked, number)
            pipe.send("ready")
            while pipe.recv():
                spent, begin = time.process_time(), time.monotonic()
                await _ask_all(memory, asked, number)
                pipe.send((begin, time.monotonic(), time.process_time() - spent))
        finally:
            await memory.close()

    asyncio.run(serve())


async def callers(
    memory: AgentMemory, url: str, folder: Path, questions: Sequence[str], asked: Sequence[tuple[str, str]]
) -> dict[str, list[Run]]:
    """Some rounds, each way in turn."""
    one, many, apart = "1 caller", f"{_CALLERS} callers, 1 process", f"{_CALLERS} callers, {_PROCESSES} processes"
    others = [CallingProcess(url, folder, questions, asked[part::_PROCESSES]) for part in range(_PROCESSES)]
    runs: dict[str, list[Run]] = {one: [], many: [], apart: []}
    try:
        await _ask_all(memory, asked, _CALLERS)
        for _ in range(_ROUNDS):
            for name, number in ((one, 1), (many, _CALLERS)):
                before, begin = Processor.now(url), time.perf_counter()
                await _ask_all(memory, asked, number)
                seconds = time.perf_counter() - begin
                spent = Processor.now(url).since(before)
                runs[name].append(Run(seconds, spent.client, spent.server))
            before = Processor.now(url)
            for other in others:
                other.begin()
            begins, ends, clients = zip(*(other.end() for other in others), strict=True)
            spent = Processor.now(url).since(before)
            runs[apart].append(Run(max(ends) - min(begins), sum(clients), spent.server))
    finally:
        for other in others:
            other.close()
    return runs


def report_callers(runs: Mapping[str, Sequence[Run]], asked: int, report: Report) -> None:
    """Ratios of what ran one after the other, the middle one of all rounds; and the middle run of each way."""
    middle = {
        name: sorted(measured, key=lambda run: run.seconds)[len(measured) // 2] for name, measured in runs.items()
    }
    (one, alone), *others = runs.items()
    for name, measured in others:
        ratios = [before.seconds / run.seconds for before, run in zip(alone, measured, strict=True)]
        report.at_least(
            name,
            f"{rate(asked / middle[name].seconds)} recalls",
            f"one caller {rate(asked / middle[one].seconds)}",
            value=median(ratios),
            target=1.6,
        )
    report.note(
        "a Python process computes on one core at a time: for callers in one process the client is the limit, and its "
        "seconds of processor are shown; a ratio is the middle one of the rounds"
    )
    for name, run in middle.items():
        in_use = (run.server + run.client) / run.seconds
        report.fact(
            f"processor, {name}",
            f"server {1e3 * run.server / asked:.2f} ms a recall",
            f"client {1e3 * run.client / asked:.2f} ms a recall",
            f"{in_use:.2f} of {os.cpu_count()} cores in use, {run.server / run.seconds:.2f} by the server",
        )


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


class RealForSome(HashedDocuments):
    """The real model for some texts, each embedded once; a hash for the others."""

    def __init__(self, real: Sequence[str]) -> None:
        super().__init__(())
        self._vectors: dict[str, Floats] = {}
        with progress("embedding", len(real)) as advance:
            for start in range(0, len(real), 256):
                some = real[start : start + 256]
                self._vectors.update(zip(some, self.model.embed(some), strict=True))
                advance(len(some))

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity("bench-real-for-some", self.dimension, "1")

    def embed(self, texts: Sequence[str]) -> Floats:
        found = self.hashed(texts)
        for place, text in enumerate(texts):
            if text in self._vectors:
                found[place] = self._vectors[text]
        return found


def found_by_meaning(url: str, total: int, report: Report) -> None:
    """How many of the 50 nearest are found, for scopes of different sizes among all vectors, and how long it takes."""
    shares = {"0.1 %": total // 1_000, "1 %": total // 100, "20 %": total // 5}
    texts = iter(Texts(seed=43).memories(total))
    entries: dict[str, list[MemoryEntry]] = {}
    now = clock.utc_now()
    for name, size in (*shares.items(), ("the others", total - sum(shares.values()))):
        entries[name] = [
            MemoryEntry(
                id=new_id(),
                scope=name if name in shares else f"other {number % 100}",
                key=None,
                content=text,
                created_at=now,
                updated_at=now,
                last_accessed_at=now,
            )
            for number, text in enumerate(islice(texts, size))
        ]
    model = RealForSome([entry.content for name in shares for entry in entries[name]])
    database = PostgresDatabase(url)
    store = SqlRecordStore(database)
    # A fifth of all is a large scope here, whatever the size of this run.
    large = total // 10
    vectors = PostgresVectors(database, model, store.store_id, exact_rows=large)
    vectors.rebuild(store)
    everything = [entry for some in entries.values() for entry in some]
    with progress("indexing", total) as advance:
        for start in range(0, total, 1_000):
            vectors.apply(IndexBatch(everything[start : start + 1_000], (), LogPosition(start + 1, "bench")))
            advance(min(1_000, total - start))
    vectors.wait_for_hnsw()
    questions = model.model.embed(Texts(seed=47).questions(50, "en") + Texts(seed=47).questions(50, "zh"))
    for name, size in shares.items():
        matrix = model.embed([entry.content for entry in entries[name]])
        ids = [entry.id for entry in entries[name]]
        times, found, wanted = Times(), 0, 0
        for question in questions:
            right = {ids[place] for place in np.argsort(-(matrix @ question))[:_BARE_LIMIT]}
            begin = time.perf_counter()
            best = vectors.scan(question, [name, "public"]).best(_BARE_LIMIT)
            times.seconds.append(time.perf_counter() - begin)
            found, wanted = found + len(right & set(best)), wanted + len(right)
        report.at_least(
            f"the 50 nearest in a scope with {name} of {total:,} vectors",
            f"p50 {milliseconds(times.p50)}",
            "graph of the scope" if size > large else "compared one by one",
            value=found / wanted,
            target=0.95 if size > large else 0.99,
            unit="",
        )
    vectors.close()
    store.close()


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
                folder / "data", storage=url, embedder=embedder, background_indexing=False, pool_size=_CALLERS
            )
            try:
                await loaded(memory, url, layout, report)
                if "recall" in parts:
                    bare = Bare(url, embedder)
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


@contextmanager
def another_database(url: str) -> Iterator[str]:
    """A database of the same server that is gone afterwards."""
    name = f"jiyi_bench_loading_{os.getpid()}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        yield _with_database(url, name)
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _with_database(url: str, name: str) -> str:
    """The URL of another database of the same server."""
    head, _, query = url.partition("?")
    return f"{head.rpartition('/')[0]}/{name}" + (f"?{query}" if query else "")


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

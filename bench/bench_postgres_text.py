"""How fast text search in PostgreSQL is, compared with bare psycopg on the same server.

    python -m bench.bench_postgres_text            (100,000 memories in 1,000 scopes: about ten minutes)
    python -m bench.bench_postgres_text --quick

The baseline, each part by itself and for the same question: one BM25 query with the same scope filter that reads the
50 best ids; the COPY of the same rows into a table with a primary key. Everything takes turns on one server, which this
program starts on the same machine, so callers and server share its processors.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any

import psycopg

from bench.support import (
    Action,
    Report,
    Row,
    interleaved,
    milliseconds,
    parser,
    progress,
    rate,
    verdict,
    work_directory,
)
from bench.support.postgres_text_profile import CALLERS, LIMIT, BareTextQuery, Opened, opened
from bench.support.recall_corpus import Layout
from bench.texts import Texts
from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters
from jiyi.model.identity import new_id
from jiyi.ports import Draft
from jiyi.providers.bundled import BundledEmbedder
from jiyi.recall import Request
from jiyi.text import Analyzer
from tests.servers.postgres import PostgresServer

_BATCH = 2_000
_EMBEDDED_SAMPLE = 400
_SETTINGS = {"shared_buffers": "512MB", "fsync": "on", "max_wal_size": "4GB"}


def entries(layout: Layout) -> Iterator[MemoryEntry]:
    now = clock.utc_now()
    times: dict[str, Any] = {"created_at": now, "updated_at": now, "last_accessed_at": now}
    for fields in layout.entries():
        named: dict[str, Any] = {**fields, **times}
        yield MemoryEntry(id=new_id(), **named)


# --- loading ----------------------------------------------------------------------------------------------------------


def load(profile: Opened, layout: Layout, report: Report) -> None:
    """Store everything, with the text index in the same transactions, and the same rows by COPY into a bare table."""
    with psycopg.connect(profile.url, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE bare (id text PRIMARY KEY, scope text, key text, content text, created_at timestamptz)"
        )
        stored = copied = 0.0
        stream = entries(layout)
        with progress(f"loading {layout}", layout.total) as advance:
            while chunk := list(islice(stream, _BATCH)):
                begin = time.perf_counter()
                with connection.cursor() as cursor, cursor.copy("COPY bare FROM STDIN") as copy:
                    for one in chunk:
                        copy.write_row((one.id, one.scope, one.key, one.content, one.created_at))
                between = time.perf_counter()
                profile.store.put([Draft(one) for one in chunk], actor="bench")
                stored += time.perf_counter() - between
                copied += between - begin
                advance(len(chunk))
        connection.execute("DROP TABLE bare")
    sample = list(Texts(seed=5).memories(_EMBEDDED_SAMPLE))
    embedder = BundledEmbedder()
    embedder.embed(sample[:8])
    begin = time.perf_counter()
    embedder.embed(sample)
    embedding = (time.perf_counter() - begin) / len(sample) * layout.total
    report.at_least(
        f"bulk load of {layout.total:,}, records and text index, with the embedder",
        rate(layout.total / (stored + embedding)),
        f"COPY into a bare table and the embedder {rate(layout.total / (copied + embedding))}",
        value=(copied + embedding) / (stored + embedding),
        target=0.5,
    )
    report.fact(
        "the same without the embedder", rate(layout.total / stored), f"COPY alone {rate(layout.total / copied)}"
    )


# --- asking -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """A question in a scope, prepared for recall and for the baseline."""

    text: str
    filters: Filters
    words: Sequence[str]
    bare: str


def prepared(bare: BareTextQuery, layout: Layout, count: int, language: str) -> list[Asked]:
    chance, analyzer = random.Random(11), Analyzer()
    found = []
    for question in Texts(seed=29).questions(count, language):
        scope = layout.scope(chance.randrange(layout.scopes))
        words = analyzer.query(question).words
        found.append(Asked(question, Filters(scopes=(scope, "public")), words, bare.query(question, scope)))
    return found


async def ask(profile: Opened, layout: Layout, report: Report, rounds: int) -> None:
    bare = BareTextQuery(profile.url)
    for language, name in (("en", "English"), ("zh", "Chinese")):
        asked = prepared(bare, layout, rounds + 5, language)

        def propose(number: int, asked: list[Asked] = asked) -> object:
            one = asked[number]
            return profile.text.propose("words", one.words, one.filters, limit=LIMIT, labels=True)

        def recall(number: int, asked: list[Asked] = asked) -> object:
            return profile.engine.answer(Request(asked[number].text, asked[number].filters, mode="keyword"))

        def alone(number: int, asked: list[Asked] = asked) -> object:
            return bare.run(asked[number].bare)

        actions: dict[str, Action] = {"bare": alone, "proposal": propose, "keyword recall": recall}
        times = await interleaved(rounds, actions, warm_up=5, label=f"asking in {name}")
        shown = f"bare BM25 query p50 {milliseconds(times['bare'].p50)} p95 {milliseconds(times['bare'].p95)}"
        for what, target in (("proposal", 1.5), ("keyword recall", None)):
            mine = times[what]
            value = mine.p50 / times["bare"].p50
            measured = f"p50 {milliseconds(mine.p50)} p95 {milliseconds(mine.p95)}"
            if target is None:
                report.fact(f"{what}, {name}", measured, shown, f"{value:.2f}×")
            else:
                report.at_most(f"{what}, {name}", measured, shown, value=value, target=target)
    bare.close()


def throughput(profile: Opened, layout: Layout, report: Report, seconds: float) -> None:
    """How many answers a second, by one caller and by many; the same for the bare query."""
    maker = BareTextQuery(profile.url)
    asked = prepared(maker, layout, 200, "en") + prepared(maker, layout, 200, "zh")
    maker.close()

    def recall(one: Asked) -> object:
        return profile.engine.answer(Request(one.text, one.filters, mode="keyword"))

    results: dict[str, float] = {}
    for callers in (1, CALLERS):
        results[f"recall {callers}"] = _rate(asked, callers, seconds, lambda: recall)
        results[f"bare {callers}"] = _rate(asked, callers, seconds, lambda: _bare_run(profile.url))
    ours = results[f"recall {CALLERS}"] / results["recall 1"]
    theirs = results[f"bare {CALLERS}"] / results["bare 1"]
    report.add(
        Row(
            f"keyword recall, {CALLERS} callers against one",
            f"{rate(results[f'recall {CALLERS}'])} against {rate(results['recall 1'])}",
            f"bare BM25 queries: {rate(results[f'bare {CALLERS}'])} against {rate(results['bare 1'])}, {theirs:.2f}×",
            f"{ours:.2f}×",
            "≥ 1.6× or as the server",
            verdict(met=ours >= min(1.6, 0.9 * theirs)),
        )
    )


def _bare_run(url: str) -> Callable[[Asked], object]:
    bare = BareTextQuery(url)
    return lambda one: bare.run(one.bare)


def _rate(asked: Sequence[Asked], callers: int, seconds: float, make: Callable[[], Callable[[Asked], object]]) -> float:
    """Answers a second while `callers` threads ask one question after the other."""
    runs = [make() for _ in range(callers)]

    def work(caller: int) -> int:
        done = 0
        while time.perf_counter() < deadline:
            runs[caller](asked[(caller * 37 + done) % len(asked)])
            done += 1
        return done

    with ThreadPoolExecutor(callers) as threads:
        deadline = time.perf_counter() + seconds
        begin = time.perf_counter()
        total = sum(threads.map(work, range(callers)))
        return total / (time.perf_counter() - begin)


# --- running ----------------------------------------------------------------------------------------------------------


async def run(options: argparse.Namespace) -> Report:
    layout = Layout(options.scopes or (20 if options.quick else 1_000), 100)
    rounds = 10 if options.quick else 200
    report = Report("postgres_text", f"Text search in PostgreSQL, {layout}")
    with PostgresServer(settings=_SETTINGS) as server, opened(server.url()) as profile:
        load(profile, layout, report)
        await ask(profile, layout, report, rounds)
        throughput(profile, layout, report, 0.3 if options.quick else 8.0)
        report.note(f"text index: {profile.text.mode}, {profile.text.describe()['bytes'] / 1e6:,.0f} MB")
    return report


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--scopes", type=int, help="how many scopes of 100 memories (default: 1,000)")
    options = arguments.parse_args()
    # The files of the server lie in the system's temporary directory, where another user can read them.
    with work_directory(options.work):
        report = asyncio.run(run(options))
    report.finish(options.results)
    return 0


if __name__ == "__main__":
    sys.exit(main())

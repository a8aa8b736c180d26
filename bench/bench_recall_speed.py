"""How long a hybrid `recall` takes, against the bare engines it stands on.

    python -m bench.bench_recall_speed                       (loads 1.2 million memories: half an hour or more)
    python -m bench.bench_recall_speed --large 0             (without the million)
    python -m bench.bench_recall_speed --data DIRECTORY      (keeps what it has loaded for the next time)
    python -m bench.bench_recall_speed --quick

Bare are, each by itself and for the same question: one tantivy query for the question's words in the same index with
the same scope filter, its 50 best ids read; one numpy product of the question's vector with all vectors of the scope,
in memory, as float32; one embedding of the question by the bundled model. Recall and the bare parts take turns.

Embedding a million texts takes an hour, and a product costs the same whatever is in the vectors. So the vectors of the
stored texts are made from a hash of the text (same dimension, same length), while every question is embedded by the
real model, inside recall as well.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path

import numpy as np
import tantivy
from numpy.typing import NDArray
from tantivy import Occur, Query

from bench.support import (
    Action,
    Report,
    Row,
    Times,
    interleaved,
    mean,
    milliseconds,
    parser,
    progress,
    rate,
    resident_bytes,
    verdict,
    work_directory,
)
from bench.texts import Texts
from jiyi import AgentMemory, create_memory
from jiyi.ports import ModelIdentity
from jiyi.providers.bundled import BundledEmbedder
from jiyi.text import Analyzer

Floats = NDArray[np.float32]

_BARE_LIMIT = 50
_WARM_UP = 5
_LANGUAGES = {"en": "English", "zh": "Chinese"}
_ALLOWANCE_MS = 2.0
# "No more" within what two medians of the same thing differ by.
_SAME = 1.2


class HashedDocuments:
    """An embedder that knows the questions: those go to the real model, any other text gets a vector from its hash."""

    def __init__(self, questions: Sequence[str]) -> None:
        self.model = BundledEmbedder()
        self.dimension = self.model.identity.dimension
        self._questions = frozenset(questions)
        self._pool = np.random.default_rng(7).standard_normal((4096, self.dimension)).astype(np.float32)

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity("bench-hashed-documents", self.dimension, "1")

    def embed(self, texts: Sequence[str]) -> Floats:
        if any(text in self._questions for text in texts):
            return self.model.embed(texts)
        return self.hashed(texts)

    def hashed(self, texts: Sequence[str]) -> Floats:
        digests = b"".join(blake2b(text.encode(), digest_size=6).digest() for text in texts)
        places = np.frombuffer(digests, dtype=np.uint16).reshape(-1, 3) % len(self._pool)
        sums = self._pool[places[:, 0]] + self._pool[places[:, 1]] + self._pool[places[:, 2]]
        found: Floats = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        return found


@dataclass(frozen=True)
class Layout:
    """How many scopes with how many memories each."""

    scopes: int
    each: int

    def __str__(self) -> str:
        return f"{self.each:,} in one scope" if self.scopes == 1 else f"{self.scopes:,} scopes × {self.each:,}"

    @property
    def total(self) -> int:
        return self.scopes * self.each

    def scope(self, number: int) -> str:
        return f"user-{number}"

    def entries(self) -> Iterator[dict[str, str]]:
        texts = Texts(seed=23).memories(self.total)
        for number, text in enumerate(texts):
            yield {"key": f"note {number}", "content": text, "scope": self.scope(number % self.scopes)}


async def opened(folder: Path, layout: Layout, embedder: HashedDocuments, report: Report) -> AgentMemory:
    """A memory that holds the layout, loaded now or before."""
    path = folder / f"{layout.scopes}x{layout.each}"
    memory = await create_memory(path, embedder=embedder, background_indexing=False)
    if _count(path) >= layout.total:
        await memory.drain()
        return memory
    await load(memory, layout, report)
    return memory


async def load(memory: AgentMemory, layout: Layout, report: Report) -> None:
    """Store and index everything, with how long it took."""
    begin = time.perf_counter()
    entries = layout.entries()
    with progress(f"storing {layout}", layout.total) as advance:
        while chunk := list(islice(entries, 20_000)):
            await memory.store_many(chunk)
            advance(len(chunk))
    stored = time.perf_counter()
    with progress(f"indexing {layout}", None):
        await memory.drain()
    done = time.perf_counter()
    report.fact(
        f"loading {layout}",
        f"{done - begin:.0f} s",
        f"store_many {rate(layout.total / (stored - begin))}",
        f"indexing {rate(layout.total / (done - stored))}",
    )


def _count(path: Path) -> int:
    with closing(sqlite3.connect(path / "memory.db")) as connection:
        return int(connection.execute("SELECT count(*) FROM memory_records").fetchone()[0])


class Bare:
    """The engines by themselves, on the files that recall uses."""

    def __init__(self, path: Path, embedder: HashedDocuments) -> None:
        self._path = path
        self.embedder = embedder
        self._analyzer = Analyzer()
        self._index = tantivy.Index.open(str(next(path.glob("search_index/**/meta.json")).parent))
        self._index.reload()
        self._scope = ""
        self._matrix: Floats = np.empty((0, embedder.dimension), dtype=np.float32)
        self._vector: Floats = np.empty(embedder.dimension, dtype=np.float32)
        self._words: Sequence[str] = ()

    def prepare(self, scope: str, question: str) -> None:
        """What is not measured: the vectors of the scope in memory, and the words of the question."""
        if scope != self._scope:
            with closing(sqlite3.connect(self._path / "memory.db")) as connection:
                sql = "SELECT content FROM memory_records WHERE scope = ?"
                texts = [row[0] for row in connection.execute(sql, (scope,))]
            blocks = [self.embedder.hashed(texts[start : start + 5_000]) for start in range(0, len(texts), 5_000)]
            self._matrix, self._scope = np.concatenate(blocks), scope
        self._words = self._analyzer.query(question).words

    def embed(self, question: str) -> None:
        self._vector = self.embedder.model.embed([question])[0]

    def query(self) -> list[str]:
        schema, searcher = self._index.schema, self._index.searcher()
        words = [(Occur.Should, Query.term_query(schema, "words", word, "freq")) for word in self._words]
        scopes = [(Occur.Should, Query.term_query(schema, "scope", name, "basic")) for name in (self._scope, "public")]
        visible = Query.const_score_query(Query.boolean_query(scopes), 0.0)
        query = Query.boolean_query([(Occur.Must, Query.boolean_query(words)), (Occur.Must, visible)])
        hits = searcher.search(query, _BARE_LIMIT, count=False).hits
        return [str(searcher.doc(address).get_first("id")) for _, address in hits]

    def product(self) -> Floats:
        found: Floats = self._matrix @ self._vector
        return found


@dataclass(frozen=True)
class Measured:
    """Recall and the bare parts over the same questions."""

    recall: Times
    text: Times
    product: Times
    embedding: Times

    @property
    def bare(self) -> Times:
        """The three parts together, question by question."""
        parts = zip(self.text.seconds, self.product.seconds, self.embedding.seconds, strict=True)
        return Times([sum(part) for part in parts])

    def part(self, chosen: slice) -> Measured:
        """Some of the questions."""
        return Measured(*(Times(t.seconds[chosen]) for t in (self.recall, self.text, self.product, self.embedding)))

    def bare_shown(self) -> str:
        parts = f"{self.text.p50 * 1e3:.2f} + {self.product.p50 * 1e3:.2f} + {self.embedding.p50 * 1e3:.2f}"
        return f"tantivy + product + embedding: {parts} = {milliseconds(self.bare.p50)}"


async def measured(memory: AgentMemory, bare: Bare, asked: Sequence[tuple[str, str]], *, warm_up: int) -> Measured:
    """Ask (scope, question) in this order; the bare parts in turn with recall."""

    async def recall(number: int) -> None:
        scope, question = asked[number]
        await memory.recall(question, scope=scope)

    actions = {
        "recall": recall,
        "prepare": lambda number: bare.prepare(*asked[number]),
        "embedding": lambda number: bare.embed(asked[number][1]),
        "text": lambda _number: bare.query(),
        "product": lambda _number: bare.product(),
    }
    times = await interleaved(len(asked) - warm_up, actions, warm_up=warm_up, alternate=False, label="asking")
    return Measured(times["recall"], times["text"], times["product"], times["embedding"])


async def one_scope(memory: AgentMemory, bare: Bare, layout: Layout, questions: Questions, report: Report) -> None:
    """All memories in one scope, English and Chinese questions."""
    scope = layout.scope(0)
    for language, name in _LANGUAGES.items():
        asked = [(scope, question) for question in questions.of(language)]
        await memory.recall(asked[0][1], scope=scope)
        resident = resident_bytes()
        found = await measured(memory, bare, asked, warm_up=min(_WARM_UP, len(asked) // 2))
        what = f"recall, {layout}, {name}"
        ratio = found.recall.p50 / found.bare.p50
        shown = milliseconds(found.recall.p50)
        report.at_most(f"{what}: p50 (foundation)", shown, found.bare_shown(), value=ratio, target=2)
        report.at_most(f"{what}: p50 (the whole pipeline)", shown, found.bare_shown(), value=ratio, target=3)
        report.fact(f"{what}: p95", milliseconds(found.recall.p95), f"bare {milliseconds(found.bare.p95)}")
        if language == "en":
            report.fact(f"resident memory, {layout}", _megabytes(resident), _all_vectors(layout, bare.embedder))


async def many_scopes(
    memory: AgentMemory, bare: Bare, layout: Layout, questions: Questions, report: Report, *, judged: bool
) -> dict[str, Measured]:
    """Small scopes: each of those asked in is asked twice, so half of the questions find nothing cached.

    The large store is not judged by itself but by how much slower it is.
    """
    chosen = random.Random(5).sample(range(layout.scopes), min(layout.scopes, len(questions.mixed()) // 2))
    pairs = list(zip([layout.scope(number) for number in chosen] * 2, questions.mixed(), strict=False))
    warm = layout.scope(next(n for n in range(layout.scopes) if n not in chosen or n == chosen[-1]))
    for question in questions.spare():
        await memory.recall(question, scope=warm)
    found = await measured(memory, bare, pairs, warm_up=0)
    parts = {"first": found.part(slice(0, len(chosen))), "again": found.part(slice(len(chosen), None))}
    for name, part in parts.items():
        asked = "first question in a scope" if name == "first" else "next question in the scope"
        most = 2e3 * part.bare.p50 + _ALLOWANCE_MS
        report.add(
            Row(
                f"recall, {layout}, {asked}: p50 (2 × the bare parts + 2 ms)",
                milliseconds(part.recall.p50),
                part.bare_shown(),
                f"p95 {milliseconds(part.recall.p95)}",
                f"≤ {most:.2f} ms" if judged else "",
                verdict(met=1e3 * part.recall.p50 <= most) if judged else "",
            )
        )
    report.fact(f"resident memory, {layout}", _megabytes(resident_bytes()), _all_vectors(layout, bare.embedder))
    return parts


async def adding(small: AgentMemory, large: AgentMemory, sizes: tuple[int, int], turns: int, report: Report) -> None:
    """One more message in a conversation, stored and made searchable, in a small scope and in a large one."""
    texts = list(Texts(seed=29).memories(turns + _WARM_UP))
    # A store that was kept knows the messages of the last time: those would be changed, not added.
    conversation = f"the one of {time.time_ns()}"
    memories = {"small": small, "large": large}

    def add(name: str) -> tuple[Action, Action]:
        async def store(number: int) -> None:
            await memories[name].store(
                f"message {number} of {conversation}",
                texts[number],
                "conversation",
                scope="user-0",
                memory_type="message",
                conversation_id=conversation,
                position=number,
            )

        async def drain(_number: int) -> None:
            await memories[name].drain()

        return store, drain

    actions: dict[str, Action] = {}
    for name in memories:
        actions[f"{name} store"], actions[f"{name} drain"] = add(name)
    times = await interleaved(turns, actions, warm_up=_WARM_UP, alternate=False, label="adding one message at a time")
    for step in ("store", "drain"):
        little, much = times[f"small {step}"], times[f"large {step}"]
        report.at_most(
            f"one more message, {step}, at {sizes[1]:,}: p50",
            f"{milliseconds(much.p50)} (mean {milliseconds(mean(much.seconds))})",
            f"at {sizes[0]:,}: {milliseconds(little.p50)} (mean {milliseconds(mean(little.seconds))})",
            value=much.p50 / little.p50,
            target=_SAME,
        )


class Questions:
    """Questions in both languages, each asked once: nothing is answered from a cache of questions."""

    def __init__(self, count: int) -> None:
        supply = Texts(seed=31)
        self._of = {language: supply.questions(2 * count + _WARM_UP, language) for language in _LANGUAGES}
        self._count = count

    def all(self) -> list[str]:
        return [question for questions in self._of.values() for question in questions]

    def of(self, language: str) -> list[str]:
        return self._of[language][: self._count + _WARM_UP]

    def mixed(self) -> list[str]:
        """English and Chinese in turn."""
        pairs = zip(*(questions[self._count : 2 * self._count] for questions in self._of.values()), strict=True)
        return [question for pair in pairs for question in pair]

    def spare(self) -> list[str]:
        return [questions[-1] for questions in self._of.values()]


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


def _all_vectors(layout: Layout, embedder: HashedDocuments) -> str:
    return f"all vectors as float32: {_megabytes(layout.total * embedder.dimension * 4)}"


async def run(options: argparse.Namespace) -> Path:
    """All measurements."""
    size = options.size or (2_000 if options.quick else 100_000)
    large = options.large if options.large is not None else (size if options.quick else 10 * size)
    scopes = 20 if options.quick else 1_000
    turns = 5 if options.quick else 100
    questions = Questions(turns)
    embedder = HashedDocuments(questions.all())
    embedder.model.embed(questions.spare())
    cold = options.from_disk
    title = f"Recall, {size:,} memories and more, hybrid, limit 10{': files read from the disk' if cold else ''}"
    report = Report("recall_speed_from_disk" if cold else "recall_speed", title)
    with work_directory(options.work) as temporary:
        folder = options.data or temporary
        whole = Layout(1, size)
        memory = await opened(folder, whole, embedder, report)
        bare = Bare(folder / f"1x{size}", embedder)
        await one_scope(memory, bare, whole, questions, report)
        del bare
        little = Layout(1, max(10, size // 100))
        async with AgentMemory.open(temporary / "little", embedder=embedder, background_indexing=False) as small:
            await small.store_many(little.entries())
            await small.drain()
            await adding(small, memory, (little.total, whole.total), turns, report)
        await memory.close()
        spread: dict[int, dict[str, Measured]] = {}
        for layout in (Layout(scopes, size // scopes), Layout(scopes, large // scopes)):
            if not layout.each or layout.total in spread:
                continue
            memory = await opened(folder, layout, embedder, report)
            bare = Bare(folder / f"{layout.scopes}x{layout.each}", embedder)
            spread[layout.total] = await many_scopes(memory, bare, layout, questions, report, judged=not spread)
            await memory.close()
        if len(spread) > 1:
            _growth(spread, report)
    report.note("Vectors of stored texts are made from their hash; every question is embedded by the bundled model.")
    report.note(
        "The first question in a scope reads from files: its time depends on whether the system has them in memory. "
        "A run right after another one finds them there, the first one after a while reads them from the disk."
    )
    report.note("`2 ×` is the target of the foundation, `3 ×` that of the whole recall pipeline; there is one recall.")
    return report.finish(options.results)


def _growth(spread: dict[int, dict[str, Measured]], report: Report) -> None:
    (little, before), (much, after) = sorted(spread.items())
    for name in ("first", "again"):
        report.at_most(
            f"recall from {little:,} to {much:,} in as many scopes, {name} question: p50 grows",
            milliseconds(after[name].recall.p50),
            milliseconds(before[name].recall.p50),
            value=after[name].recall.p50 / before[name].recall.p50,
            target=2,
        )


def main() -> None:
    """Run from the command line."""
    arguments = parser(__doc__)
    arguments.add_argument("--size", type=int, help="memories in the one scope, and in all scopes (100,000)")
    arguments.add_argument("--large", type=int, help="memories in all scopes of the large store (ten times the size)")
    arguments.add_argument("--data", type=Path, help="where loaded stores are kept and looked for")
    arguments.add_argument(
        "--from-disk", action="store_true", help="kept stores are not in memory: say so in the result"
    )
    path = asyncio.run(run(arguments.parse_args()))
    print(f"written to {path.name}")


if __name__ == "__main__":
    main()

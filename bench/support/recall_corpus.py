"""The memories and questions of the recall benchmarks."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from bench.support import Report, progress, rate
from bench.texts import Texts
from jiyi import AgentMemory
from jiyi.ports import ModelIdentity
from jiyi.providers.bundled import BundledEmbedder

Floats = NDArray[np.float32]

LANGUAGES = {"en": "English", "zh": "Chinese"}
WARM_UP = 5


class HashedDocuments:
    """An embedder that uses the real model for questions, and a hash of the text for everything else."""

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


async def load(memory: AgentMemory, layout: Layout, report: Report) -> None:
    """Store and index everything, and report the time."""
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


class Questions:
    """Questions in both languages, each asked once: nothing is answered from a cache of questions."""

    def __init__(self, count: int) -> None:
        supply = Texts(seed=31)
        self._of = {language: supply.questions(2 * count + WARM_UP, language) for language in LANGUAGES}
        self._count = count

    def all(self) -> list[str]:
        return [question for questions in self._of.values() for question in questions]

    def of(self, language: str) -> list[str]:
        return self._of[language][: self._count + WARM_UP]

    def mixed(self) -> list[str]:
        """English and Chinese in turn."""
        pairs = zip(*(questions[self._count : 2 * self._count] for questions in self._of.values()), strict=True)
        return [question for pair in pairs for question in pair]

    def spare(self) -> list[str]:
        return [questions[-1] for questions in self._of.values()]

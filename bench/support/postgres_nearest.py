"""How many of the nearest vectors PostgreSQL finds, in scopes of different sizes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import islice

import numpy as np

from bench.support import Report, Times, milliseconds, progress
from bench.support.postgres_baseline import LIMIT
from bench.support.recall_corpus import HashedDocuments
from bench.texts import Texts
from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.postgres.vectors.halfvec import Floats
from jiyi.backends.postgres.vectors.index import PostgresVectors
from jiyi.backends.records.store import SqlRecordStore
from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.model.identity import new_id
from jiyi.ports import IndexBatch, LogPosition, ModelIdentity


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
            right = {ids[place] for place in np.argsort(-(matrix @ question))[:LIMIT]}
            begin = time.perf_counter()
            best = vectors.scan(question, [name, "public"]).best(LIMIT)
            times.seconds.append(time.perf_counter() - begin)
            found, wanted = found + len(right & set(best)), wanted + len(right)
        report.at_least(
            f"the 50 nearest in a scope with {name} of {total:,} vectors",
            f"p50 {milliseconds(times.p50)}",
            "HNSW index of the scope" if size > large else "compared one by one",
            value=found / wanted,
            target=0.95 if size > large else 0.99,
            unit="",
        )
    vectors.close()
    store.close()

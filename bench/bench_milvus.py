"""Vectors in Milvus: how much of the exact answer is found in small and large scopes, and how long it takes.

A standalone server is started for it, and Milvus Lite in a file. The exact answer is worked out from all vectors;
beside jiyi's own search stands the one that Milvus offers: its index with a filter on the scope.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.support import Report, interleaved, mean, milliseconds, parser, progress, rate, work_directory
from jiyi.backends.milvus.connection import SESSION, MilvusConnection
from jiyi.backends.milvus.expressions import in_scope
from jiyi.backends.milvus.index import DEFAULT_COLLECTION, MilvusVectors
from jiyi.file_lock import FileLock
from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.model.identity import new_id
from jiyi.ports import IndexBatch, LogPosition, ModelIdentity, RecordStore
from jiyi.wiring import build
from tests.servers.milvus import MilvusServer

Vectors = NDArray[np.float32]

_DIMENSION = 512
_BEST = 50
_SHARES = {"a scope with 0.1% of the vectors": 0.001, "a scope with 1%": 0.01, "a scope with 25%": 0.25}
_OTHERS = 40
_BATCH = 1_000


class NumberedVectors:
    """An embedder whose texts are row numbers of given vectors. The vectors form clusters, as those of memories do."""

    def __init__(self, count: int) -> None:
        random = np.random.default_rng(8)
        groups = random.standard_normal((max(8, count // 200), _DIMENSION))
        made = groups[random.integers(len(groups), size=count)] + 0.9 * random.standard_normal((count, _DIMENSION))
        self.vectors: Vectors = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)
        self.identity = ModelIdentity("given", _DIMENSION, "1")

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self.vectors[[int(text) for text in texts]]


def entries(count: int) -> list[MemoryEntry]:
    """One for each vector: first those of the measured scopes."""
    now = clock.utc_now()
    names = [name for name, share in _SHARES.items() for _ in range(max(1, int(share * count)))]
    names += [f"another {number % _OTHERS}" for number in range(count - len(names))]
    times: dict[str, Any] = {"created_at": now, "updated_at": now, "last_accessed_at": now}
    return [
        MemoryEntry(id=new_id(), scope=scope, key=None, content=str(number), **times)
        for number, scope in enumerate(names[:count])
    ]


@dataclass(frozen=True)
class MilvusTarget:
    """A Milvus server or file."""

    name: str
    uri: str
    token: str
    folder: Path

    def open(self, embedder: NumberedVectors, store_id: str) -> MilvusVectors:
        lock = FileLock(self.folder / "lock", timeout=60)
        return MilvusVectors(self.uri, embedder, store_id, lock=lock, token=self.token, timeout=60)


def fill(
    place: MilvusTarget, embedder: NumberedVectors, store: RecordStore, held: Sequence[MemoryEntry], report: Report
) -> None:
    """Index all entries, and wait until Milvus has built its own indexes."""
    index = place.open(embedder, store.store_id)
    index.rebuild(store)
    begin = time.perf_counter()
    with progress(f"{place.name}: taking in {len(held):,} vectors", None):
        for start in range(0, len(held), _BATCH):
            index.apply(IndexBatch(held[start : start + _BATCH], (), LogPosition(start + 1, "x")))
    speed = len(held) / (time.perf_counter() - begin)
    report.fact(f"{place.name}: {len(held):,} vectors of {_DIMENSION} dimensions taken in", rate(speed))
    index.close()
    if place.token:
        from pymilvus import MilvusClient

        client = MilvusClient(place.uri, token=place.token, timeout=60)
        client.flush(DEFAULT_COLLECTION, timeout=300)
        deadline = time.monotonic() + 300
        collection = client.describe_collection(DEFAULT_COLLECTION)["collection_name"]
        while client.describe_index(collection, "embedding")["pending_index_rows"] and time.monotonic() < deadline:
            time.sleep(0.5)
        client.close()


async def measure(
    place: MilvusTarget,
    scope: str,
    index: MilvusVectors,
    embedder: NumberedVectors,
    held: Sequence[MemoryEntry],
    questions: int,
    report: Report,
) -> None:
    """One scope: what is found of the exact answer, and how long that takes."""
    random = np.random.default_rng(9)
    numbers = [number for number, entry in enumerate(held) if entry.scope == scope]
    ids = np.asarray([held[number].id for number in numbers])
    own = embedder.vectors[numbers]
    near = embedder.vectors[random.integers(len(held), size=questions)]
    asked = near + 0.5 * random.standard_normal(near.shape).astype(np.float32) / np.sqrt(_DIMENSION)
    asked = (asked / np.linalg.norm(asked, axis=1, keepdims=True)).astype(np.float32)
    best = min(_BEST, len(numbers))
    exact = [set(ids[np.argsort(-(own @ question))[:best]]) for question in asked]
    shares: dict[str, list[float]] = {"jiyi": [], "milvus": []}
    connection = MilvusConnection(place.uri, token=place.token, timeout=60)

    def ours(number: int) -> None:
        found = index.scan(asked[number], [scope]).best(best)
        shares["jiyi"].append(len(exact[number] & set(found)) / best)

    def theirs(number: int) -> None:
        params = {"metric_type": "COSINE", "params": {"ef": 256}}
        hits = connection.search(
            DEFAULT_COLLECTION,
            "embedding",
            asked[number],
            in_scope(scope),
            ["entry_id"],
            SESSION,
            limit=best,
            params=params,
        )
        shares["milvus"].append(len(exact[number] & {row["entry_id"] for _, row in hits}) / best)

    begin = time.perf_counter()
    index.scan(asked[0], [scope]).best(best)
    first = time.perf_counter() - begin
    times = await interleaved(questions, {"jiyi": ours, "milvus": theirs}, label=f"{place.name}: {scope}")
    connection.close()
    report.at_least(
        f"{place.name}: recall@{best} in {scope} ({len(numbers):,})",
        milliseconds(times["jiyi"].p50),
        f"Milvus's index with a filter: {mean(shares['milvus']):.3f} in {milliseconds(times['milvus'].p50)}; "
        f"first time {milliseconds(first)}",
        value=mean(shares["jiyi"]),
        target=0.99,
        unit="",
    )


async def compare(place: MilvusTarget, embedder: NumberedVectors, size: int, questions: int, report: Report) -> None:
    """All measured scopes in one place."""
    held = entries(size)
    store = build(place.folder / "records", embedder="none", background_indexing=False).store
    fill(place, embedder, store, held, report)
    index = place.open(embedder, store.store_id)
    for scope in _SHARES:
        await measure(place, scope, index, embedder, held, questions, report)
    index.close()
    store.close()


async def run(options: argparse.Namespace) -> Path:
    """Both engines."""
    questions = 5 if options.quick else 50
    size = options.size or (3_000 if options.quick else 100_000)
    in_file = options.lite or (2_000 if options.quick else 20_000)
    report = Report("milvus", "Vectors in Milvus")
    embedder = NumberedVectors(max(size, in_file))
    with work_directory(options.work) as folder:
        with MilvusServer() as server:
            place = MilvusTarget("standalone 2.3", server.uri, server.token, folder / "server")
            await compare(place, embedder, size, questions, report)
        await compare(
            MilvusTarget("Milvus Lite", str(folder / "milvus.db"), "", folder / "file"),
            embedder,
            in_file,
            questions,
            report,
        )
    report.note(
        f"Means of {questions} questions near to vectors of any scope; the exact answer is every vector compared."
    )
    return report.finish(options.results)


def main() -> None:
    """Run from the command line."""
    arguments = parser(__doc__)
    arguments.add_argument("--size", type=int, help="vectors on the server (100,000)")
    arguments.add_argument("--lite", type=int, help="vectors in the file (20,000)")
    path = asyncio.run(run(arguments.parse_args()))
    print(f"written to {path.name}")


if __name__ == "__main__":
    main()

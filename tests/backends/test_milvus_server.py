"""What is particular to vectors on a Milvus server, over a socket."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jiyi.backends.milvus.connection import STRONG
from jiyi.backends.milvus.expressions import in_filters
from jiyi.backends.milvus.index import MilvusVectors
from jiyi.backends.milvus.scan import MilvusScan
from jiyi.errors import IndexingError, IndexUnavailableError
from jiyi.indexing import Drainer, verify
from jiyi.model.filters import Filters
from jiyi.model.identity import text_hash
from jiyi.ports import IndexBatch, LogPosition, RecordStore
from jiyi.recall import RecallEngine, Request
from jiyi.testing.conformance.examples import ACTOR, FILTERS, NOON, draft, entry, proposed_by_an_index, varied_entries
from jiyi.testing.fakes import HashEmbedder
from jiyi.wiring import build
from tests.backends.milvus_support import CountingEmbedder, on_server, vector
from tests.servers.milvus import MilvusServer

pytestmark = pytest.mark.server

MAIN = Filters(scopes=("main",))
NASTY = ("it's", 'say "hi"', "back\\slash", "\\", '" or scope != "', "tab\there", "line\nbreak", "%_", "{x}", "中 文")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RecordStore]:
    store = build(tmp_path / "records", embedder="none", background_indexing=False).store
    yield store
    store.close()


@pytest.fixture
def index(milvus_server: MilvusServer, store: RecordStore, tmp_path: Path) -> Iterator[MilvusVectors]:
    """Scopes with more than 20 entries are large here."""
    index = on_server(milvus_server, tmp_path, store, exact_rows=20)
    index.rebuild(store)
    yield index
    index.close()


def test_a_large_scope_is_searched_in_milvus_and_bigger_is_nearer(index: MilvusVectors) -> None:
    many = [entry(f"k{i}", f"apple {i} {text_hash(str(i))[:6]}", scope="crowd", minutes=i) for i in range(150)]
    long = [entry(f"l{i}", f"pear tree {i} in the garden. " * (20 + i), scope="crowd", minutes=500) for i in range(5)]
    few = [entry(f"f{i}", f"apple of the few {i}", scope="few") for i in range(4)]
    index.apply(IndexBatch([*many, *long, *few], (), LogPosition(1, "x")))
    everything = [*many, *long, *few]
    for question in ("apple 17", "pear tree 3 in the garden", "apple of the few"):
        scan = index.scan(vector(question), ["crowd", "few"])
        assert isinstance(scan, MilvusScan)
        assert scan.count == len(everything)
        exact = dict(zip([e.id for e in everything], scan.of([e.id for e in everything]).tolist(), strict=True))
        shorts = [*many, *few]
        wanted = HashEmbedder().embed([e.content for e in shorts]) @ vector(question)
        np.testing.assert_allclose([exact[e.id] for e in shorts], wanted, atol=1e-5)
        order = sorted(exact, key=lambda one: (-exact[one], one))
        found = scan.best(30)
        assert [exact[one] for one in found] == pytest.approx([exact[one] for one in order[:30]], abs=1e-5)
        assert scan.mean == pytest.approx(sum(exact.values()) / len(exact), abs=1e-4)
    scan = index.scan(vector(many[17].content), ["crowd", "few"])
    assert scan.best(1) == [many[17].id]
    some = [many[3].id, long[2].id, few[1].id, "unknown"]
    assert set(scan.best(10, allowed=some)) == set(some[:3])
    assert scan.best(10, allowed=[]) == []
    around = [(NOON + timedelta(minutes=5), NOON + timedelta(minutes=7))]
    assert set(scan.best(10, periods=around)) == {many[5].id, many[6].id}
    assert scan.best(10, periods=around, allowed=[many[5].id, many[9].id]) == [many[5].id]
    assert np.isnan(scan.of(["unknown"])).all()
    assert index.scan(vector("apple"), ["few"]).count == 4


def test_filters_and_texts_mean_the_same_to_a_server(index: MilvusVectors) -> None:
    entries = varied_entries()
    tagged = [entry(f"t{i}", "apple", scope=scope, tags=(scope,)) for i, scope in enumerate(NASTY)]
    index.apply(IndexBatch([*entries, *tagged], (), LogPosition(1, "x")))
    generation = index._state(STRONG).generation

    def admitted(filters: Filters) -> set[str]:
        rows = index._connection.rows(generation, in_filters(filters), ["entry_id"], STRONG)
        return {row["entry_id"] for row in rows}

    for asked, filters in FILTERS.items():
        assert admitted(filters) == proposed_by_an_index(filters, entries), asked
    for own in tagged:
        assert admitted(Filters(scopes=(own.scope,), tags=own.tags)) == {own.id}, own.scope
        assert index.scan(vector("apple"), [own.scope]).best(5) == [own.id], own.scope


def test_an_old_server_says_that_it_ranks_no_text(index: MilvusVectors) -> None:
    index.apply(IndexBatch([entry("k", "早报")], (), LogPosition(1, "x")))
    assert index.ranks_text is False
    assert index.propose_text("早报", MAIN, limit=5) == []
    assert index.describe()["full_text"] is False
    assert index.describe()["engine"].startswith("milvus v2.3")


def test_a_wrong_token_is_refused_in_words_that_do_not_show_it(
    milvus_server: MilvusServer, store: RecordStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    index = on_server(milvus_server, tmp_path, store, token="root:not-the-password")
    with pytest.raises(IndexingError, match=r"refuses the token.*MILVUS_TOKEN") as caught:
        index.log_position()
    shown = [repr(index), str(caught.value), str(caught.value.__cause__), str(index.describe()), *index.check()]
    assert all("not-the-password" not in each for each in (*shown, caplog.text))
    index.close()


def test_what_another_process_has_taken_in_is_found_at_once(
    milvus_server: MilvusServer, index: MilvusVectors, store: RecordStore, tmp_path: Path
) -> None:
    store.put([draft("mine", "apple")], actor=ACTOR)
    Drainer(store).drain(index)
    assert index.scan(vector("apple"), ["main"]).count == 1
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from jiyi.indexing import Drainer\n"
        "from jiyi.testing.conformance.examples import ACTOR, draft\n"
        "from jiyi.wiring import build\n"
        "from tests.backends.milvus_support import on_server\n"
        "from tests.servers.milvus import MilvusServer\n"
        "folder = Path(sys.argv[2])\n"
        "store = build(folder / 'records', embedder='none', background_indexing=False).store\n"
        "index = on_server(MilvusServer(port=int(sys.argv[1])), folder, store, exact_rows=20)\n"
        "store.put([draft('theirs', 'zebra')], actor=ACTOR)\n"
        "store.forget('main', 'mine', actor=ACTOR)\n"
        "Drainer(store).drain(index)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(milvus_server.port), str(tmp_path)], check=True)
    drainer = Drainer(store)
    assert drainer.catch_up(index, ["main"], seconds=30).behind == 0
    scan = index.scan(vector("zebra"), ["main"])
    [found] = scan.best(5)
    assert store.fetch([found], MAIN)[found].key == "theirs"
    assert verify(store, drainer, index).sound


# --- a server that dies -----------------------------------------------------------------------------------------------


def test_a_server_killed_while_it_is_written_to_catches_up_and_recall_goes_on_meanwhile(tmp_path: Path) -> None:
    embedder = CountingEmbedder()
    parts = build(tmp_path / "records", embedder=embedder, background_indexing=False, background_jobs=False)
    store = parts.store
    with MilvusServer() as server:
        index = on_server(server, tmp_path, store, embedder, timeout=3.0)
        index.batch_size = 20
        assert isinstance(parts.engine, RecallEngine)
        engine = replace(parts.engine, vectors=index)
        drainer = Drainer(store)
        drainer.drain(index)
        store.put([draft(f"k{i}", f"apple number {i}") for i in range(100)], actor=ACTOR)
        written = _kill_at(server, index, write=3)
        with pytest.raises(IndexUnavailableError, match="does not answer"):
            drainer.drain(index)
        assert len(written) == 3

        [hit, *_] = engine.answer(Request("apple number 42", MAIN))
        assert hit.key == "k42"
        assert hit.explanation is not None
        said = {part.index: part for part in hit.explanation.coverage}
        assert said["text"].answered is True
        assert said["vectors"].answered is False
        assert "does not answer" in said["vectors"].note
        assert "does not answer" in index.check()[0]

        server.start()
        store.put([draft("k1", "zebra"), draft("new", "a new one")], actor=ACTOR)
        store.forget("main", "k2", actor=ACTOR)
        _when_it_is_back(lambda: drainer.drain(index))
        report = verify(store, drainer, index)
        assert report.sound, report
        assert report.held == 100
        [hit, *_] = engine.answer(Request("zebra", MAIN))
        assert hit.key == "k1"
        assert hit.explanation is not None
        assert all(part.answered for part in hit.explanation.coverage)
        index.close()
    parts.engine.close()
    store.close()


def _kill_at(server: MilvusServer, index: MilvusVectors, *, write: int) -> list[int]:
    """Kill the server just before a write; it is restored for those that follow."""
    written: list[int] = []
    connection: Any = index._connection
    whole = connection.put

    def put(collection: str, rows: Any) -> int:
        written.append(len(rows))
        if len(written) == write:
            del connection.put
            # A part of the batch has arrived.
            whole(collection, rows[: len(rows) // 2])
            server.kill()
        answer: int = whole(collection, rows)
        return answer

    connection.put = put
    return written


def _when_it_is_back(work: Callable[[], object]) -> None:
    """A server that has come back still reads what it was told before."""
    deadline = time.monotonic() + 120
    while True:
        try:
            work()
        except IndexUnavailableError:
            if time.monotonic() > deadline:
                raise
        else:
            return

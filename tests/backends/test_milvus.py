"""What is particular to vectors in Milvus, shown with Milvus Lite: no server is needed."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jiyi.backends.milvus.connection import STRONG, MilvusConnection
from jiyi.backends.milvus.expressions import in_filters, in_scope
from jiyi.backends.milvus.index import MilvusVectors
from jiyi.backends.milvus.rows import content_pieces
from jiyi.backends.milvus.schema import data_fields, differences
from jiyi.errors import ConfigError, IndexingError, IndexUnavailableError, MissingDependencyError
from jiyi.indexing import Drainer, verify
from jiyi.model.filters import Filters
from jiyi.ports import IndexBatch, LogPosition, RecordStore
from jiyi.testing.conformance.examples import ACTOR, FILTERS, draft, entry, proposed_by_an_index, varied_entries
from jiyi.wiring import build
from tests.backends.milvus_support import CountingEmbedder, lite, vector

MAIN = Filters(scopes=("main",))
NASTY = (
    "it's",
    'say "hi"',
    "back\\slash",
    "\\",
    '"',
    '" or scope != "',
    "tab\there",
    "line\nbreak",
    "%_",
    "{x}",
    "中 文",
    "'",
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RecordStore]:
    store = build(tmp_path / "records", embedder="none", background_indexing=False).store
    yield store
    store.close()


@pytest.fixture
def index(store: RecordStore, tmp_path: Path) -> Iterator[MilvusVectors]:
    index = lite(tmp_path, store)
    index.rebuild(store)
    yield index
    index.close()


def connection_of(index: MilvusVectors) -> MilvusConnection:
    return index._connection


def rows_of(index: MilvusVectors, where: str, *fields: str) -> list[dict[str, Any]]:
    generation = index._state(STRONG).generation
    return connection_of(index).rows(generation, where, fields, STRONG)


def put(index: MilvusVectors, *entries: Any, place: int = 1) -> None:
    index.apply(IndexBatch(entries, (), LogPosition(place, "x")))


# --- what people see in Milvus ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("character", ["a", "é", "早", "😀"])
def test_content_is_cut_after_4096_characters_whatever_their_size(index: MilvusVectors, character: str) -> None:
    long = entry("k", character * 4_095 + "界尾" + "后面" * 10)
    put(index, long)
    [row] = rows_of(index, "chunk == 0", "content", "domain", "scope")
    assert row["content"] == long.content[:4_096]
    assert row["content"].endswith("界")
    assert "".join(content_pieces(long.content)) == long.content


def test_the_collection_has_the_name_that_was_set_and_the_fields_of_the_design(
    store: RecordStore, tmp_path: Path
) -> None:
    index = lite(tmp_path, store, collection="my_memories")
    store.put([draft("k", "早上喝咖啡", domain="lifestyle_and_interests", scope="ada")], actor=ACTOR)
    index.rebuild(store)
    described = connection_of(index).described("my_memories")
    fields = {field["name"]: field for field in described["fields"]}
    assert {"id", "scope", "domain", "content", "embedding"} <= fields.keys()
    assert fields["scope"]["is_partition_key"]
    assert connection_of(index).metric("my_memories", "embedding") == "COSINE"
    [row] = connection_of(index).rows("my_memories", "chunk == 0", ["scope", "domain", "content"], STRONG)
    assert (row["scope"], row["domain"], row["content"]) == ("ada", "lifestyle_and_interests", "早上喝咖啡")
    index.close()


def test_nothing_is_asked_of_milvus_before_it_is_needed(store: RecordStore, tmp_path: Path) -> None:
    index = lite(tmp_path / "not yet", store)
    assert not (tmp_path / "not yet").exists()
    index.close()


# --- conditions -------------------------------------------------------------------------------------------------------


def test_filters_are_written_so_that_milvus_admits_what_they_admit(index: MilvusVectors) -> None:
    entries = varied_entries()
    put(index, *entries)
    for asked, filters in FILTERS.items():
        found = {row["entry_id"] for row in rows_of(index, in_filters(filters), "entry_id")}
        assert found == proposed_by_an_index(filters, entries), asked


def test_no_text_breaks_out_of_a_condition(index: MilvusVectors) -> None:
    tagged = [entry(f"k{i}", "apple", scope=f"s{i}", tags=(tag,)) for i, tag in enumerate(NASTY)]
    scoped = [entry("k", "apple", scope=scope) for scope in NASTY]
    put(index, *tagged, *scoped)
    for own in tagged:
        filters = Filters(scopes=(own.scope,), tags=own.tags)
        assert [row["entry_id"] for row in rows_of(index, in_filters(filters), "entry_id")] == [own.id], own.tags
        [row] = rows_of(index, in_scope(own.scope), "tags")
        assert tuple(row["tags"]) == own.tags
    for own in scoped:
        assert index.scan(vector("apple"), [own.scope]).best(10) == [own.id], own.scope


# --- full text search -------------------------------------------------------------------------------------------------


def test_milvus_ranks_chinese_words_by_itself_and_more_is_better(index: MilvusVectors) -> None:
    near = entry("a", "早报每天早上七点送到，我边吃饭边看早报")
    far = entry("b", "晚上在河边跑步，第二天看了一次早报和很多别的东西，然后去上班，开会，写报告，打电话")
    other = entry("c", "杭州的天气很好")
    put(index, near, far, other, entry("d", "早报", scope="other"))
    found = index.propose_text("早报", MAIN, limit=10)
    assert [entry_id for entry_id, _ in found] == [near.id, far.id]
    assert found[0][1] > found[1][1] > 0
    assert index.propose_text("早报", MAIN, limit=1) == found[:1]
    assert index.propose_text("早报", Filters(scopes=("main",), memory_types=("reflection",)), limit=10) == []
    assert index.propose_text("  ", MAIN, limit=10) == []


def test_words_at_the_end_of_a_long_text_are_found_too(index: MilvusVectors) -> None:
    long = entry("k", "花园里有一棵苹果树。" * 500 + "没有人认识这只斑马。")
    assert len(long.content) > 4_096
    put(index, long, entry("n", "花园"))
    assert [entry_id for entry_id, _ in index.propose_text("斑马", MAIN, limit=10)] == [long.id]


# --- embedding only what is new ---------------------------------------------------------------------------------------


def test_a_new_tag_needs_no_new_vector(store: RecordStore, tmp_path: Path) -> None:
    embedder = CountingEmbedder()
    index = lite(tmp_path, store, embedder)
    index.rebuild(store)
    long = entry("k", "The apple tree stands in the garden. " * 40)
    put(index, long, entry("n", "pear"))
    made = embedder.texts
    put(index, replace(long, tags=("red",), domain="work"), place=2)
    assert embedder.texts == made
    [row] = rows_of(index, f'entry_id == "{long.id}" and chunk == 0', "tags", "domain")
    assert (list(row["tags"]), row["domain"]) == (["red"], "work")
    assert index.scan(vector("apple tree"), ["main"]).count == 2
    index.close()


def test_a_rebuild_that_broke_off_goes_on_where_it_was(store: RecordStore, tmp_path: Path) -> None:
    embedder = CountingEmbedder()
    index = lite(tmp_path, store, embedder)
    index.batch_size = 10
    stored = store.put([draft(f"k{i}", f"apple {i}") for i in range(30)], actor=ACTOR)

    def stop(done: int, _total: int | None) -> None:
        if done == 20:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        index.rebuild(store, progress=stop)
    assert index.log_position() is None
    store.forget("main", "k3", actor=ACTOR)
    index.rebuild(store)
    assert embedder.texts == 30
    assert verify(store, Drainer(store), index).sound
    assert index.scan(vector("apple"), ["main"]).count == len(stored) - 1
    collections = connection_of(index).collections()
    assert len(collections) == 2, "the vectors and their state, and nothing left over"
    index.rebuild(store)
    assert embedder.texts == 30
    index.close()


# --- crashes ----------------------------------------------------------------------------------------------------------


def test_what_was_written_before_a_crash_and_its_mark_is_taken_in_again(
    store: RecordStore, index: MilvusVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    drainer = Drainer(store)
    store.put([draft("a", "apple"), draft("b", "The zebra sleeps in the shade of the trees. " * 30)], actor=ACTOR)
    drainer.drain(index)
    assert index.scan(vector("apple"), ["main"]).count == 2
    before = index.log_position()
    store.put([draft("b", "zebra"), draft("c", "cherry")], actor=ACTOR)
    store.forget("main", "a", actor=ACTOR)
    with monkeypatch.context() as patched:
        patched.setattr(index._states, "write", _break)
        with pytest.raises(ConnectionAbortedError):
            drainer.drain(index)
    assert index.log_position() == before
    drainer.drain(index)
    assert index.log_position() == store.head()
    report = verify(store, drainer, index)
    assert report.sound, report
    scan = index.scan(vector("cherry"), ["main"])
    assert scan.count == 2
    assert scan.of([e.id for e in store.page(MAIN, limit=10, offset=0) if e.key == "c"])[0] == pytest.approx(1)


def _break(*_: object) -> None:
    raise ConnectionAbortedError


def test_verify_finds_an_entry_of_which_a_part_is_missing(store: RecordStore, index: MilvusVectors) -> None:
    stored = store.put([draft("k", "The apple tree stands in the garden. " * 40)], actor=ACTOR)
    drainer = Drainer(store)
    drainer.drain(index)
    connection_of(index).delete(index._state(STRONG).generation, [f"{stored[0].id}#1"])
    report = verify(store, drainer, index)
    assert report.stale == (stored[0].id,)
    index.rebuild(store)
    assert verify(store, drainer, index).sound


# --- what others did to the collections -------------------------------------------------------------------------------


def test_a_collection_that_was_dropped_is_built_again(store: RecordStore, index: MilvusVectors) -> None:
    stored = store.put([draft("k", "apple")], actor=ACTOR)
    drainer = Drainer(store)
    drainer.drain(index)
    connection_of(index).drop(index._state(STRONG).generation)
    with pytest.raises(IndexingError, match="no longer in Milvus"):
        index.scan(vector("apple"), ["main"])
    assert index.log_position() is None
    drainer.drain(index)
    assert index.scan(vector("apple"), ["main"]).best(3) == [stored[0].id]
    assert index.check() == []


def test_a_collection_of_somebody_else_is_left_alone_and_the_error_says_how_it_differs(
    store: RecordStore, tmp_path: Path
) -> None:
    index = lite(tmp_path, store)
    connection = connection_of(index)
    client = connection._connected()
    client.create_collection("agent_memories_vectors", dimension=768, metric_type="L2")
    client.insert("agent_memories_vectors", [{"id": 1, "vector": [0.5] * 768}])
    with pytest.raises(IndexingError) as caught:
        index.rebuild(store)
    message = str(caught.value)
    assert "'agent_memories_vectors'" in message
    assert "INT64, not VARCHAR" in message
    assert "it has no field 'entry_id', " in message
    assert "'scope'" in message
    assert "MILVUS_MEMORY_COLLECTION" in message
    assert len(client.query("agent_memories_vectors", filter="id == 1")) == 1
    assert index.log_position() is None
    index.close()


def test_each_difference_is_named() -> None:
    fields = data_fields(64, text=False)
    right = {"fields": [_described(field) for field in fields]}
    assert differences(right, "COSINE", fields) == []
    assert differences(right, "L2", fields) == ["its vectors are compared by L2, not COSINE"]
    assert differences(right, None, fields) == ["its vectors are compared by nothing: they have no index, not COSINE"]
    other = {"fields": [_described(field) for field in data_fields(512, text=False)]}
    assert differences(other, "COSINE", fields) == ["its vectors have 512 dimensions, not 64"]
    short = {
        "fields": [
            {**each, "params": {"max_length": 4_096}} if each["name"] == "content" else each for each in right["fields"]
        ]
    }
    assert differences(short, "COSINE", fields) == ["its field 'content' holds 4096 bytes, not 16384"]
    unparted = {"fields": [{**each, "is_partition_key": False} for each in right["fields"]]}
    assert differences(unparted, "COSINE", fields) == ["its field 'scope' is not the partition key"]


def _described(field: Any) -> dict[str, Any]:
    return {
        "name": field.name,
        "type": field.kind,
        "params": {"dim": field.size, "max_length": field.size},
        "is_primary": field.role == "primary",
        "is_partition_key": field.role == "partition",
    }


def test_two_stores_may_share_a_name(store: RecordStore, index: MilvusVectors, tmp_path: Path) -> None:
    others = build(tmp_path / "others", embedder="none", background_indexing=False).store
    other = lite(tmp_path, others)
    mine, theirs = store.put([draft("k", "apple")], actor=ACTOR), others.put([draft("k", "apple")], actor=ACTOR)
    Drainer(store).drain(index)
    Drainer(others).drain(other)
    assert index.scan(vector("apple"), ["main"]).best(5) == [mine[0].id]
    assert other.scan(vector("apple"), ["main"]).best(5) == [theirs[0].id]
    assert index.log_position() == store.head()
    other.close()
    others.close()


# --- settings and packages --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("uri", ["localhost:19530", "./milvus", "ftp://host", ""])
def test_an_address_that_is_none_is_refused_with_examples(uri: str) -> None:
    with pytest.raises(ConfigError, match=r"http://host:19530.*\.db"):
        MilvusConnection(uri)


@pytest.mark.parametrize("name", ["", "1st", "a-b", "记忆", "a" * 201])
def test_a_name_that_milvus_does_not_take_is_refused(name: str, store: RecordStore, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="milvus_memory_collection"):
        lite(tmp_path, store, collection=name)


def test_a_second_process_hears_that_the_file_is_in_use(
    index: MilvusVectors, store: RecordStore, tmp_path: Path
) -> None:
    program = (
        "import sys\n"
        "from jiyi.backends.milvus.connection import MilvusConnection\n"
        "from jiyi.errors import IndexUnavailableError\n"
        "try:\n"
        "    MilvusConnection(sys.argv[1]).collections()\n"
        "except IndexUnavailableError as error:\n"
        "    print(error)\n"
    )
    file = str(tmp_path / "milvus.db")
    asked = subprocess.run([sys.executable, "-c", program, file], capture_output=True, text=True, check=True)
    assert "one process at a time" in asked.stdout
    assert file in asked.stdout


@pytest.mark.parametrize(
    ("missing", "uri", "hint"),
    [("pymilvus", "http://127.0.0.1:1", "jiyi[milvus]"), ("milvus_lite", "x.db", "jiyi[milvus-lite]")],
)
def test_a_missing_package_is_named(missing: str, uri: str, hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingDependencyError) as caught:
        MilvusConnection(uri).collections()
    assert f"pip install '{hint}'" in str(caught.value)


def test_a_file_in_milvus_uri_does_not_keep_the_client_from_being_imported(tmp_path: Path) -> None:
    """The package reads that variable itself when it is imported, and takes nothing but a web address."""
    program = (
        "import os\n"
        "from jiyi.backends.milvus.connection import MilvusConnection\n"
        "connection = MilvusConnection(os.environ['MILVUS_URI'])\n"
        "print(connection.collections(), os.environ['MILVUS_URI'])\n"
        "connection.close()\n"
    )
    environment = {"MILVUS_URI": "memories.db", "PATH": "/usr/bin", "PYTHONPATH": ":".join(sys.path)}
    asked = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path, env=environment
    )
    assert asked.stdout.strip() == "[] memories.db"


def test_a_server_that_is_away_is_said_to_be_away_and_is_not_asked_again_at_once(
    store: RecordStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    connection = MilvusConnection("http://user:hidden-word@127.0.0.1:9", token="hidden-token", timeout=0.5, pause=60)
    with caplog.at_level(logging.DEBUG), pytest.raises(IndexUnavailableError) as caught:
        connection.has("x")
    assert "http://127.0.0.1:9" in str(caught.value)
    assert "milvus_uri" in str(caught.value)
    tried = connection._failed
    with pytest.raises(IndexUnavailableError):
        connection.has("x")
    assert connection._failed is tried, "it was not asked a second time"
    for shown in (repr(connection), str(caught.value), caplog.text, repr(caught.value.__cause__)):
        assert "hidden" not in shown

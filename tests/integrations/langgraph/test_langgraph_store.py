"""JiyiStore beside LangGraph's own store in memory: where both are asked, what holds for ours holds for theirs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from jiyi.errors import InvalidInputError
from jiyi.integrations.langgraph import JiyiStore
from jiyi.integrations.langgraph.filters import conditions, matches
from jiyi.ports import Embedder
from jiyi.sync import AgentMemory
from tests.conftest import OpenMemory
from tests.support import examples, present

# --- what both do ---------------------------------------------------------------------------------------------------


def test_what_was_put_is_there_and_has_its_times(store: BaseStore) -> None:
    store.put(("users", "123"), "prefs", {"theme": "dark", "n": [1, 2.5, None, True], "in": {"x": "是"}})
    item = present(store.get(("users", "123"), "prefs"))
    assert item.value == {"theme": "dark", "n": [1, 2.5, None, True], "in": {"x": "是"}}
    assert (item.key, item.namespace) == ("prefs", ("users", "123"))
    assert item.created_at.tzinfo is not None
    assert item.created_at <= item.updated_at
    assert store.get(("users",), "prefs") is None
    assert store.get(("users", "123"), "other") is None


def test_an_update_keeps_the_time_of_creation_and_a_deletion_ends_it(store: BaseStore) -> None:
    store.put(("a",), "k", {"v": 1})
    first = present(store.get(("a",), "k"))
    store.put(("a",), "k", {"w": 2})
    second = present(store.get(("a",), "k"))
    assert second.value == {"w": 2}
    if isinstance(store, JiyiStore):  # as LangGraph's stores in databases do; the one in memory begins anew
        assert second.created_at == first.created_at
    assert second.updated_at >= first.updated_at
    store.delete(("a",), "k")
    store.delete(("a",), "k")
    assert store.get(("a",), "k") is None
    assert store.search(("a",)) == []
    store.put(("a",), "k", {"v": 3})
    assert present(store.get(("a",), "k")).value == {"v": 3}


def test_the_same_key_in_other_namespaces_is_another_item(store: BaseStore) -> None:
    spaces = [("a",), ("a", "b"), ("b", "a"), ("a/b",), ("a%2Fb",)]
    for space in spaces:
        store.put(space, "b/c", {"space": list(space)})
    for space in spaces:
        assert present(store.get(space, "b/c")).value == {"space": list(space)}


def test_a_batch_answers_in_order_and_reads_see_what_was_there_before_it(store: BaseStore) -> None:
    store.put(("test",), "key1", {"data": "value1"})
    store.put(("test",), "key2", {"data": "value2"})
    results: list[Any] = store.batch(
        [
            GetOp(namespace=("test",), key="key1"),
            PutOp(namespace=("test",), key="key3", value={"data": "value3"}),
            SearchOp(namespace_prefix=("test",), filter={"data": "value1"}, limit=10, offset=0),
            ListNamespacesOp(match_conditions=None, max_depth=None, limit=10, offset=0),
            GetOp(namespace=("test",), key="key3"),
            PutOp(namespace=("test",), key="key1", value=None),
            PutOp(namespace=("test",), key="key4", value={"data": "first"}),
            PutOp(namespace=("test",), key="key4", value={"data": "last"}),
        ]
    )
    assert results[0].value == {"data": "value1"}
    assert results[1] is None
    assert [item.key for item in results[2]] == ["key1"]
    assert results[3] == [("test",)]
    assert results[4:] == [None] * 4
    assert store.get(("test",), "key1") is None
    assert present(store.get(("test",), "key3")).value == {"data": "value3"}
    assert present(store.get(("test",), "key4")).value == {"data": "last"}


def test_the_same_without_blocking(store: BaseStore) -> None:
    async def use() -> None:
        await asyncio.gather(*(store.aput(("n", str(number)), "k", {"n": number}) for number in range(5)))
        assert present(await store.aget(("n", "3"), "k")).value == {"n": 3}
        assert len(await store.asearch(("n",))) == 5
        assert await store.alist_namespaces(max_depth=1) == [("n",)]
        await store.adelete(("n", "3"), "k")
        assert await store.aget(("n", "3"), "k") is None

    asyncio.run(use())


FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({"author": "Alice"}, ["doc1", "img1"]),
    ({"author": "Alice", "score": 4.5}, ["doc1"]),
    ({"tags": ["draft"]}, ["doc2"]),
    ({"tags": ["important", "draft"]}, []),
    ({"score": {"$gt": 3}}, ["doc1", "img1"]),
    ({"score": {"$gte": 3, "$lt": 4.5}}, ["doc2", "img1"]),
    ({"score": {"$lte": 3}}, ["doc2"]),
    ({"score": {"$eq": 3}}, ["doc2"]),
    ({"author": {"$ne": "Alice"}}, ["doc2"]),
    ({"at": {"city": "北京"}}, ["doc1", "doc2"]),
    ({"at": {"city": "北京", "floor": {"$gt": 1}}}, ["doc2"]),
    ({"at": {}}, ["doc1", "doc2"]),
    ({"a.b": 1}, ["img1"]),
    ({"nothing": "x"}, []),
    ({"list": [{"x": 1}]}, ["doc1"]),
]


@pytest.mark.parametrize(("filter_", "found"), FILTERS, ids=str)
def test_filters_find_the_same(store: BaseStore, filter_: dict[str, Any], found: list[str]) -> None:
    store.put(
        ("test", "docs"),
        "doc1",
        {
            "author": "Alice",
            "tags": ["important"],
            "score": 4.5,
            "at": {"city": "北京", "floor": 1},
            "list": [{"x": 1}],
        },
    )
    store.put(
        ("test", "docs"), "doc2", {"author": "Bob", "tags": ["draft"], "score": 3, "at": {"city": "北京", "floor": 9}}
    )
    store.put(("test", "images"), "img1", {"author": "Alice", "tags": ["final"], "score": 4, "a.b": 1})
    store.put(("other",), "doc9", {"author": "Alice", "score": 4.5, "tags": ["draft"], "at": {"city": "北京"}})
    assert sorted(item.key for item in store.search(("test",), filter=filter_)) == found


def test_an_unknown_operator_is_refused(store: BaseStore) -> None:
    store.put(("test",), "a", {"x": 1})
    with pytest.raises(ValueError, match="Unsupported operator"):
        store.search(("test",), filter={"x": {"$near": 1}})


def test_pages_cover_everything_once(store: BaseStore) -> None:
    for number in range(23):
        store.put(("pages",), f"k{number}", {"n": number, "even": number % 2 == 0})
    found = [item.key for start in range(0, 30, 5) for item in store.search(("pages",), limit=5, offset=start)]
    assert sorted(found) == sorted(f"k{number}" for number in range(23))
    even = [
        item.key for start in (0, 8) for item in store.search(("pages",), filter={"even": True}, limit=8, offset=start)
    ]
    assert sorted(even) == sorted(f"k{number}" for number in range(0, 23, 2))
    assert len(store.search(("pages",))) == 10


NAMESPACES = [
    ("test", "documents", "public"),
    ("test", "documents", "private"),
    ("test", "images", "public"),
    ("test", "images", "private"),
    ("prod", "documents", "public"),
    ("prod", "documents", "some", "nesting", "public"),
    ("prod", "documents", "private"),
]
LISTED: list[dict[str, Any]] = [
    {},
    {"prefix": ("test",)},
    {"suffix": ("public",)},
    {"prefix": ("test",), "suffix": ("public",)},
    {"prefix": ("*", "documents")},
    {"prefix": ("prod", "*", "some")},
    {"suffix": ("*", "nesting", "public")},
    {"prefix": ("*", "*", "public")},
    {"max_depth": 1},
    {"prefix": ("prod",), "max_depth": 3},
    {"limit": 3},
    {"limit": 3, "offset": 5},
    {"prefix": ("nowhere",)},
    {"prefix": ("a", "b", "c", "d", "e", "f")},
]


@pytest.mark.parametrize("asked", LISTED, ids=str)
def test_namespaces_are_listed_the_same(ours: JiyiStore, asked: dict[str, Any]) -> None:
    theirs = InMemoryStore()
    for space in NAMESPACES:
        for each in (ours, theirs):
            each.put(space, "k", {"x": 1})
    assert ours.list_namespaces(**asked) == theirs.list_namespaces(**asked)


def test_a_condition_of_another_kind_is_refused(ours: JiyiStore) -> None:
    ours.put(("a",), "k", {"x": 1})
    with pytest.raises(ValueError, match="Unsupported match type"):
        ours.batch([ListNamespacesOp(match_conditions=(MatchCondition("infix", ("a",)),))])  # type: ignore[arg-type]


@pytest.mark.parametrize("space", [(), ("",), ("a.b",), ("langgraph", "x"), (1,)], ids=str)
def test_namespaces_that_langgraph_refuses_are_refused(store: BaseStore, space: Any) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.put(space, "k", {"x": 1})


def test_a_label_with_a_period_does_not_reach_another_namespace_through_a_batch(ours: JiyiStore) -> None:
    ours.put(("foo", "bar"), "k", {"x": 1})
    for op in (GetOp(("foo.bar",), "k"), PutOp(("foo.bar",), "k", {"x": 2}), SearchOp(("foo.bar",))):
        with pytest.raises(InvalidNamespaceError):
            ours.batch([op])


# --- laws -----------------------------------------------------------------------------------------------------------

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", "a", "b", "中"]), st.just(1.5))
VALUES = st.dictionaries(
    st.sampled_from(["x", "y", "a.b"]),
    st.one_of(
        SCALARS, st.lists(SCALARS, max_size=2), st.dictionaries(st.sampled_from(["x", "z"]), SCALARS, max_size=2)
    ),
    max_size=3,
)
OPERANDS = st.one_of(SCALARS, st.lists(SCALARS, max_size=2))
COMPARED = st.one_of(st.integers(-3, 3), st.sampled_from(["a", "b"]))
ONE = st.one_of(
    OPERANDS,
    st.dictionaries(st.sampled_from(["$eq", "$ne"]), OPERANDS, min_size=1, max_size=2),
    st.dictionaries(st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), COMPARED, min_size=1, max_size=2),
    st.dictionaries(st.sampled_from(["x", "z"]), OPERANDS, max_size=2),
)
ASKED = st.dictionaries(st.sampled_from(["x", "y", "a.b"]), ONE, min_size=1, max_size=2)


@settings(max_examples=examples(4))
@given(values=st.lists(VALUES, max_size=5), asked=ASKED)
def test_a_filter_means_the_same_in_the_database_and_here(values: list[dict[str, Any]], asked: dict[str, Any]) -> None:
    with AgentMemory.open(":memory:", embedder="none", background_indexing=False, background_jobs=False) as memory:
        store = JiyiStore(memory)
        store.batch([PutOp(("n",), str(number), value) for number, value in enumerate(values)])
        found = {item.key for item in store.search(("n",), filter=asked, limit=100)}
    assert found == {str(n) for n, value in enumerate(values) if matches(value, conditions(asked))}


# --- search ---------------------------------------------------------------------------------------------------------


def test_search_finds_by_words_in_chinese_and_english_with_scores(ours: JiyiStore) -> None:
    ours.put(("docs",), "tea", {"text": "Green tea from Hangzhou", "color": "green"})
    ours.put(("docs",), "car", {"text": "The red car is on level three", "color": "red"})
    ours.put(("docs",), "cat", {"text": "我家的猫叫年糕", "color": "red"})
    assert ours.search(("docs",), query="Where is the car?")[0].key == "car"
    assert ours.search(("docs",), query="猫叫什么名字")[0].key == "cat"
    best = ours.search(("docs",), query="car", filter={"color": "red"})
    assert best[0].key == "car"
    assert 0 < present(best[0].score) <= 1
    assert ours.search(("docs",), query="car", filter={"color": "green"}) == []
    assert ours.search(("other",), query="car") == []
    assert {item.score for item in ours.search(("docs",))} == {None}


def test_search_finds_by_meaning_across_languages(open_memory: OpenMemory, bundled_embedder: Embedder) -> None:
    store = JiyiStore(open_memory(embedder=bundled_embedder))
    store.put(("docs",), "pet", {"text": "我家的猫叫年糕"})
    store.put(("docs",), "bank", {"text": "The bank closes at five"})
    assert store.search(("docs",), query="What is the name of our cat?", limit=1)[0].key == "pet"


def test_the_pages_of_a_search_do_not_overlap(ours: JiyiStore) -> None:
    for number in range(5):
        ours.put(("test",), f"doc{number}", {"text": f"test document number {number}"})
    pages = [ours.search(("test",), query="test document", limit=2, offset=start) for start in (0, 2, 4)]
    assert [len(page) for page in pages] == [2, 2, 1]
    assert len({item.key for page in pages for item in page}) == 5
    scores = [present(item.score) for page in pages for item in page]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("query", ["", None, "   "])
def test_a_search_without_a_query_lists_the_newest_first(ours: JiyiStore, query: str | None) -> None:
    ours.put(("test",), "a", {"text": "first"})
    ours.put(("test",), "b", {"text": "second"})
    assert [item.key for item in ours.search(("test",), query=query)] == ["b", "a"]


@pytest.mark.parametrize("query", ["test " * 100, "test!@#$%^&*()", "'; DROP TABLE entries; --test"])
def test_any_text_is_a_query(ours: JiyiStore, query: str) -> None:
    ours.put(("test",), "doc1", {"text": "test document"})
    assert [item.key for item in ours.search(("test",), query=query)] == ["doc1"]


def test_fields_say_what_is_searched_and_a_put_may_say_it_otherwise(memory: AgentMemory) -> None:
    store = JiyiStore(memory, fields=["key0", "nested.text", "many[*].name"])
    store.put(("t",), "a", {"key0": "apple", "key2": "banana", "nested": {"text": "cherry", "no": "quince"}})
    store.put(("t",), "b", {"many": [{"name": "damson"}, {"name": "fig"}], "key2": "banana"})
    store.put(("t",), "c", {"key0": "apple", "key2": "banana"}, index=["key2"])
    store.put(("t",), "d", {"key0": "apple"}, index=False)

    def found(query: str) -> set[str]:
        return {item.key for item in store.search(("t",), query=query)}

    assert found("apple") == {"a"}
    assert found("cherry") == {"a"}
    assert found("fig") == {"b"}
    assert found("banana") == {"c"}
    assert found("quince") == set()
    assert {item.key for item in store.search(("t",))} == {"a", "b", "c", "d"}


def test_an_update_changes_what_is_found(ours: JiyiStore) -> None:
    ours.put(("t",), "a", {"text": "zany zebra Xerxes"})
    ours.put(("t",), "a", {"text": "something about dogs"})
    assert ours.search(("t",), query="Xerxes") == []
    assert ours.search(("t",), query="dogs")[0].key == "a"
    assert [version.version for version in ours.memory.history("langgraph/t/a")] == [1, 2]


# --- values ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        {"body": "很长" * 9_000, "author": "Alice"},
        {"deep": {"a": {"b": {"c": {"d": {"e": {"f": {"g": 1}}}}}}}, "author": "Alice"},
        {'quo"te': "x", "author": "Alice", "back\\slash": 1},
    ],
    ids=["large", "deep", "names"],
)
def test_values_that_are_no_metadata_are_kept_filtered_and_found_all_the_same(
    ours: JiyiStore, value: dict[str, Any]
) -> None:
    ours.put(("t",), "odd", value)
    ours.put(("t",), "even", {"author": "Alice", "text": "很长 x"})
    ours.put(("t",), "bob", {"author": "Bob"})
    assert present(ours.get(("t",), "odd")).value == value
    assert [item.key for item in ours.search(("t",), filter={"author": "Alice"})] == ["even", "odd"]
    assert [item.key for item in ours.search(("t",), filter={"author": "Alice"}, limit=1, offset=1)] == ["odd"]
    assert "odd" in {item.key for item in ours.search(("t",), query="Alice", filter={"author": {"$ne": "Bob"}})}


def test_a_value_that_is_no_json_is_refused_and_nothing_of_the_batch_is_kept(ours: JiyiStore) -> None:
    for wrong in ({"x": object()}, {"x": float("nan")}, ["x"]):
        with pytest.raises(InvalidInputError, match="bad"):
            ours.batch([PutOp(("t",), "good", {"x": 1}), PutOp(("t",), "bad", wrong)])  # type: ignore[arg-type]
    assert ours.get(("t",), "good") is None


def test_long_keys_and_keys_in_chinese_are_kept(ours: JiyiStore) -> None:
    for key in ("键" * 900, "ключ", "a b\nc", "emoji 😀"):
        ours.put(("t",), key, {"k": key})
        assert present(ours.get(("t",), key)).value == {"k": key}
    assert {item.key for item in ours.search(("t",))} == {"键" * 900, "ключ", "a b\nc", "emoji 😀"}


def test_what_is_wrong_with_the_arguments_is_told(memory: AgentMemory) -> None:
    with pytest.raises(InvalidInputError, match="embeds by itself"):
        JiyiStore(memory, index={"dims": 3, "embed": "openai:x"})
    with pytest.raises(InvalidInputError, match="list of paths"):
        JiyiStore(memory, fields="text")
    with pytest.raises(InvalidInputError, match=r"jiyi\.sync"):
        JiyiStore(object())  # type: ignore[arg-type]


# --- time to live ---------------------------------------------------------------------------------------------------


def test_an_item_is_gone_after_its_time_and_reading_extends_it(ours: JiyiStore, later: Any) -> None:
    ours.put(("t",), "short", {"text": "ferry"}, ttl=10)
    ours.put(("t",), "long", {"text": "ferry"})
    later(8)
    assert ours.get(("t",), "short") is not None
    later(8)
    assert ours.get(("t",), "short", refresh_ttl=False) is not None
    later(3)
    assert ours.get(("t",), "short") is None
    assert [item.key for item in ours.search(("t",))] == ["long"]
    assert [item.key for item in ours.search(("t",), query="ferry")] == ["long"]


def test_a_search_extends_it_too_and_a_put_without_a_time_ends_it(ours: JiyiStore, later: Any) -> None:
    ours.put(("t",), "k", {"text": "ferry"}, ttl=10)
    later(8)
    assert len(ours.search(("t",), query="ferry")) == 1
    later(8)
    assert len(ours.search(("t",), refresh_ttl=False)) == 1
    ours.put(("t",), "k", {"text": "ferry at nine"})
    later(1_000)
    assert present(ours.get(("t",), "k")).value == {"text": "ferry at nine"}


def test_reading_again_at_once_writes_no_version(ours: JiyiStore) -> None:
    ours.put(("t",), "k", {"text": "ferry"}, ttl=10)
    for _ in range(5):
        ours.get(("t",), "k")
    assert len(ours.memory.history("langgraph/t/k")) == 1


def test_the_configuration_has_a_time_for_all(memory: AgentMemory, later: Any) -> None:
    store = JiyiStore(memory, ttl={"default_ttl": 5, "refresh_on_read": False})
    store.put(("t",), "k", {"x": 1})
    store.put(("t",), "kept", {"x": 1}, ttl=None)
    later(4)
    assert store.get(("t",), "k") is not None
    later(2)
    assert store.get(("t",), "k") is None
    assert store.get(("t",), "kept") is not None


# --- scopes, and the rest of the memory -------------------------------------------------------------------------------


def test_scopes_do_not_see_each_other_and_all_see_public(memory: AgentMemory) -> None:
    alice, bob, public = (JiyiStore(memory, scope=name) for name in ("alice", "bob", "public"))
    alice.put(("t",), "k", {"text": "locker 4711"})
    public.put(("t",), "notice", {"text": "closed on Monday"})
    assert bob.get(("t",), "k") is None
    assert bob.search(("t",), query="locker 4711") == []
    assert [item.key for item in bob.search(("t",))] == ["notice"]
    assert {item.key for item in alice.search(("t",))} == {"k", "notice"}
    assert bob.list_namespaces() == [("t",)]


def test_other_memories_are_no_items_and_items_are_recalled_like_memories(ours: JiyiStore) -> None:
    ours.memory.store("langgraph/t/fake", "a ferry that is no item", namespace=("langgraph", "t"))
    ours.memory.store("plain", "a ferry in the harbour", namespace=("elsewhere",))
    ours.put(("t",), "real", {"text": "the ferry leaves at nine"})
    assert ours.get(("t",), "fake") is None
    assert [item.key for item in ours.search(("t",), query="ferry")] == ["real"]
    assert [item.key for item in ours.search(("t",))] == ["real"]
    assert "the ferry leaves at nine" in {hit.content for hit in ours.memory.recall("ferry")}


def test_items_are_there_when_the_store_is_opened_again(tmp_path: Any) -> None:
    with JiyiStore(tmp_path / "data") as store:
        store.put(("t",), "k", {"x": 1})
    with JiyiStore(tmp_path / "data") as store:
        assert present(store.get(("t",), "k")).value == {"x": 1}

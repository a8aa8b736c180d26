"""What LangGraph's own tests ask of its stores in memory and in SQLite, one by one, of JiyiStore.

Where the store in memory can be asked the same it is asked too. What those tests check of SQL statements, migrations
and the sweeper is not here; the deliberate differences are in docs/guides/frameworks.md.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)

from jiyi.errors import InvalidInputError
from jiyi.integrations.langgraph import JiyiStore
from jiyi.sync import AgentMemory
from tests.support import present


def put_all(store: BaseStore, *spaces: tuple[str, ...]) -> None:
    for space in spaces:
        store.put(space, "k", {"v": 1})


def below(store: BaseStore, *prefix: str) -> set[tuple[str, ...]]:
    return {item.namespace for item in store.search(prefix, limit=100)}


# --- batches ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (2, 4, 3, 1, 0), (4, 3, 2, 1, 0)])
def test_a_batch_answers_in_its_own_order_whatever_that_is(store: BaseStore, order: tuple[int, ...]) -> None:
    store.put(("test", "foo"), "key1", {"data": "value1"})
    store.put(("test", "bar"), "key2", {"data": "value2"})
    ops: list[Op] = [
        GetOp(("test", "foo"), "key1"),
        PutOp(("test", "bar"), "key2", {"data": "value2"}),
        SearchOp(("test",), filter={"data": "value1"}),
        ListNamespacesOp(limit=10),
        GetOp(("test",), "key3"),
    ]
    answers: dict[int, Any] = dict(zip(order, store.batch([ops[number] for number in order]), strict=True))
    assert isinstance(answers[0], Item)
    assert (answers[0].namespace, answers[0].key, answers[0].value) == (("test", "foo"), "key1", {"data": "value1"})
    assert answers[1] is None
    assert [item.key for item in answers[2]] == ["key1"]
    assert set(answers[3]) >= {("test", "foo"), ("test", "bar")}
    assert answers[4] is None


def test_a_batch_puts_and_deletes_and_a_batch_without_blocking_does_the_same(store: BaseStore) -> None:
    ops = [PutOp(("t",), "a", {"n": 1}), PutOp(("t",), "b", {"n": 2}), PutOp(("t",), "c", None)]
    assert store.batch(ops) == [None] * 3
    found: list[Any] = asyncio.run(store.abatch([GetOp(("t",), key) for key in "abc"]))
    assert [item and item.value for item in found] == [{"n": 1}, {"n": 2}, None]
    assert asyncio.run(store.abatch([PutOp(("t",), "a", None), PutOp(("t",), "c", {"n": 3})])) == [None] * 2
    assert sorted(item.key for item in store.search(("t",))) == ["b", "c"]


def test_several_searches_and_listings_fit_into_a_batch(store: BaseStore) -> None:
    for space, key, tag in (("foo", "k1", "a"), ("bar", "k2", "a"), ("baz", "k3", "b")):
        store.put(("test", space), key, {"tag": tag})
    answers: list[Any] = store.batch(
        [
            SearchOp(("test",), filter={"tag": "a"}),
            SearchOp(("test",), limit=2),
            SearchOp(("test", "foo")),
            ListNamespacesOp(max_depth=1, limit=10),
            ListNamespacesOp((MatchCondition("suffix", ("baz",)),), limit=10),
        ]
    )
    assert sorted(item.key for item in answers[0]) == ["k1", "k2"]
    assert len(answers[1]) == 2
    assert [item.namespace for item in answers[2]] == [("test", "foo")]
    assert answers[3:] == [[("test",)], [("test", "baz")]]


def test_what_is_asked_at_the_same_time_is_done_in_the_order_of_asking(store: BaseStore) -> None:
    async def use() -> None:
        await asyncio.gather(*(store.aput(("t",), "k", {"n": number}) for number in range(12)))
        assert present(await store.aget(("t",), "k")).value == {"n": 11}
        names = [f"doc{number}" for number in range(8)]
        await asyncio.gather(
            *(store.aput(("t",), name, {"text": "red apple"}) for name in names),
            *(store.adelete(("t",), name) for name in names),
            *(store.aput(("t",), name, {"text": "green house"}) for name in names),
        )
        found = await store.asearch(("t",), filter={"text": "green house"}, limit=20)
        assert sorted(item.key for item in found) == names

    asyncio.run(use())


def test_many_different_calls_at_the_same_time_are_all_answered(store: BaseStore) -> None:
    async def use() -> list[Any]:
        space = ("test", "foo", "bar")
        calls: list[Any] = []
        for number in range(25):
            key = f"key{number}"
            calls += [store.aput(space, key, {"foo": f"bar{number}"}), store.aget(space, key)]
            calls += [store.alist_namespaces(max_depth=2), store.asearch(("test",)), store.adelete(space, key)]
        return await asyncio.gather(*calls)

    assert len(asyncio.run(use())) == 125
    assert store.search(("test",)) == []


def test_methods_that_block_may_be_called_inside_an_event_loop(ours: JiyiStore) -> None:
    """LangGraph's asynchronous SQLite store refuses it."""

    async def use() -> None:
        ours.put(("a",), "k", {"v": 1})
        assert present(ours.get(("a",), "k")).value == {"v": 1}

    asyncio.run(use())


# --- namespaces -------------------------------------------------------------------------------------------------------


def test_a_prefix_ends_at_the_end_of_a_label(store: BaseStore) -> None:
    put_all(store, ("foo",), ("foo", "child"), ("foo", "child", "deep"), ("foobar",), ("foobar", "baz"), ("foo2",))
    assert below(store, "foo") == {("foo",), ("foo", "child"), ("foo", "child", "deep")}
    assert below(store, "foobar") == {("foobar",), ("foobar", "baz")}
    assert below(store, "fo") == set()
    assert set(store.list_namespaces(prefix=("foo",))) == {("foo",), ("foo", "child"), ("foo", "child", "deep")}


def test_a_prefix_may_be_a_list(ours: JiyiStore) -> None:
    put_all(ours, ("foo",), ("foo", "child"))
    prefix: Any = ["foo", "child"]
    assert [item.namespace for item in ours.search(prefix)] == [("foo", "child")]
    assert ours.list_namespaces(prefix=prefix) == [("foo", "child")]


def test_an_empty_prefix_is_everything(store: BaseStore) -> None:
    put_all(store, ("a",), ("b", "c"), ("d", "e", "f"))
    assert below(store) == {("a",), ("b", "c"), ("d", "e", "f")}
    assert len(store.list_namespaces()) == 3


def test_an_empty_store_has_no_namespaces_and_a_deleted_item_leaves_none(store: BaseStore) -> None:
    assert store.list_namespaces() == []
    put_all(store, ("a",))
    store.delete(("a",), "k")
    if isinstance(store, JiyiStore):  # as in LangGraph's databases; the one in memory keeps the name
        assert store.list_namespaces() == []


@pytest.mark.parametrize(
    ("label", "other"),
    [("star*", "starX"), ("q?m", "qXm"), ("br[ack]et", "brXacXket"), ("user_1", "userX1"), ("a%b", "axxb")],
)
def test_marks_in_labels_are_nothing_but_marks(store: BaseStore, label: str, other: str) -> None:
    put_all(store, (label,), (other,), (label, "child"), (other, "child"))
    assert below(store, label) == {(label,), (label, "child")}
    assert set(store.list_namespaces(prefix=(label,))) == {(label,), (label, "child")}
    assert store.list_namespaces(prefix=(label, "*")) == [(label, "child")]
    assert store.list_namespaces(suffix=(label, "child")) == [(label, "child")]


def test_labels_are_told_apart_by_case_and_by_their_whole_length(store: BaseStore) -> None:
    put_all(store, ("Foo",), ("foo",), ("users", "alice"), ("users", "alice "), ("users", "malice"))
    assert below(store, "foo") == {("foo",)}
    assert below(store, "Foo") == {("Foo",)}
    assert store.list_namespaces(suffix=("alice",)) == [("users", "alice")]
    assert store.list_namespaces(prefix=("users", "alice")) == [("users", "alice")]


def test_control_characters_in_a_label_are_refused(ours: JiyiStore) -> None:
    """LangGraph's stores keep them."""
    with pytest.raises(InvalidInputError, match="control character"):
        ours.put(("users", "alice\n"), "k", {"v": 1})


def test_a_star_stands_for_exactly_one_label(store: BaseStore) -> None:
    put_all(store, ("uid", "users", "alice"), ("uid", "users", "malice"), ("uid", "a", "b", "alice"))
    assert store.list_namespaces(prefix=("uid", "*", "alice")) == [("uid", "users", "alice")]
    assert store.list_namespaces(suffix=("a", "*", "alice")) == [("uid", "a", "b", "alice")]
    assert store.list_namespaces(prefix=("*", "users"), suffix=("*", "settings")) == []


def test_pages_of_namespaces_and_their_depth(store: BaseStore) -> None:
    spaces = [("n", f"sub_{number:02}", end) for number, end in itertools.product(range(10), "ab")]
    put_all(store, *spaces)
    for start in (0, 5, 15, 18):
        assert store.list_namespaces(prefix=("n",), limit=5, offset=start) == spaces[start : start + 5]
    shallow = store.list_namespaces(max_depth=2, limit=100)
    assert shallow == [("n", f"sub_{number:02}") for number in range(10)]


KINDS: dict[str, Callable[[Any], Op]] = {
    "get": lambda space: GetOp(space, "key"),
    "put": lambda space: PutOp(space, "key", {"changed": True}),
    "delete": lambda space: PutOp(space, "key", None),
    "search": SearchOp,
    "prefix": lambda space: ListNamespacesOp((MatchCondition("prefix", space),)),
    "suffix": lambda space: ListNamespacesOp((MatchCondition("suffix", space),)),
}


@pytest.mark.parametrize("space", [("foo.bar",), ("foo", ""), ("foo", 1)], ids=["period", "empty", "number"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_with_a_wrong_namespace_does_nothing(ours: JiyiStore, space: Any, kind: str) -> None:
    ours.put(("foo", "bar"), "key", {"original": True})
    with pytest.raises(InvalidNamespaceError):
        ours.batch([PutOp(("valid",), "key", {}), KINDS[kind](space)])
    with pytest.raises(InvalidNamespaceError):
        asyncio.run(ours.abatch([KINDS[kind](space)]))
    assert present(ours.get(("foo", "bar"), "key")).value == {"original": True}
    assert ours.get(("valid",), "key") is None


def test_wrong_namespaces_are_refused_by_every_method(ours: JiyiStore) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: ours.put((), "k", {}),
        lambda: ours.put(("some", "fun", ""), "k", {}),
        lambda: ours.put(("langgraph", "foo"), "k", {}),
        lambda: ours.get(("foo.bar",), "k"),
        lambda: ours.delete(("foo.bar",), "k"),
        lambda: ours.search(("foo.bar",)),
        lambda: asyncio.run(ours.aput(("the", "thing.about"), "k", {})),
        lambda: asyncio.run(ours.aget(("foo.bar",), "k")),
        lambda: asyncio.run(ours.adelete(("foo.bar",), "k")),
        lambda: asyncio.run(ours.asearch(("foo.bar",))),
    ]
    for call in calls:
        with pytest.raises(InvalidNamespaceError):
            call()


def test_the_name_that_is_reserved_first_may_stand_later_and_a_batch_may_use_it(store: BaseStore) -> None:
    store.put(("foo", "langgraph", "foo"), "bar", {"x": 1})
    assert store.search(("foo", "langgraph", "foo"))[0].value == {"x": 1}
    store.batch([PutOp(("langgraph", "foo"), "bar", {"x": 2})])
    assert present(store.get(("langgraph", "foo"), "bar")).value == {"x": 2}
    assert store.search(("langgraph", "foo"))[0].value == {"x": 2}
    store.delete(("langgraph", "foo"), "bar")
    assert store.get(("langgraph", "foo"), "bar") is None
    assert present(store.get(("foo", "langgraph", "foo"), "bar")).value == {"x": 1}


# --- filters ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        "public' OR '1'='1",
        "public'; --",
        "public' UNION SELECT * FROM store --",
        "public\x00' OR '1'='1",
        "''''",
        "public' OR 'א'='א",
        "\ud800",
    ],
    ids=["or", "comment", "union", "nul", "quotes", "hebrew", "surrogate"],
)
def test_sql_in_a_value_is_only_a_value(store: BaseStore, value: str) -> None:
    store.put(("docs",), "doc1", {"access": "public", "title": "O'Brien's Document"})
    store.put(("docs",), "doc2", {"access": "private", "title": "x"})
    assert store.search(("docs",), filter={"access": value}) == []
    assert [item.key for item in store.search(("docs",), filter={"title": "O'Brien's Document"})] == ["doc1"]


def test_sql_in_a_name_is_only_a_name(store: BaseStore) -> None:
    """LangGraph's SQLite store refuses such a name."""
    name = "access') = 'public' OR '1'='1' OR json_extract(value, '$."
    store.put(("docs",), "public", {"access": "public"})
    store.put(("docs",), "odd", {name: "dummy"})
    assert [item.key for item in store.search(("docs",), filter={name: "dummy"})] == ["odd"]
    assert store.search(("docs",), filter={name: "public"}) == []


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ({"$gt": 15}, {"b", "c"}),
        ({"$lt": float("inf")}, {"a", "b", "c", "d"}),
        ({"$gt": float("-inf")}, {"a", "b", "c", "d"}),
        ({"$eq": float("nan")}, set()),
        ({"$lt": 10**100}, {"a", "b", "c", "d"}),
        ({"$gte": -(10**100)}, {"a", "b", "c", "d"}),
        ({"$lt": 0}, {"d"}),
        ({"$ne": [10**100, float("inf")]}, {"a", "b", "c", "d"}),
    ],
    ids=["gt", "infinite", "negative infinite", "nan", "huge", "huge negative", "negative", "list"],
)
def test_any_number_may_be_compared_with(store: BaseStore, condition: dict[str, Any], found: set[str]) -> None:
    for key, price in (("a", 10), ("b", 20), ("c", 30.5), ("d", -10)):
        store.put(("items",), key, {"price": price})
    assert {item.key for item in store.search(("items",), filter={"price": condition})} == found


def test_a_number_that_no_float_can_hold_is_equal_to_nothing(ours: JiyiStore) -> None:
    ours.put(("items",), "a", {"price": 1.5})
    assert ours.search(("items",), filter={"price": 10**400}) == []
    assert [item.key for item in ours.search(("items",), filter={"price": {"$ne": 10**400}})] == ["a"]


def test_true_and_false_are_found_as_such(store: BaseStore) -> None:
    for key, active in (("a", True), ("b", False), ("c", True)):
        store.put(("flags",), key, {"active": active})
    assert {item.key for item in store.search(("flags",), filter={"active": True})} == {"a", "c"}
    assert {item.key for item in store.search(("flags",), filter={"active": False})} == {"b"}


def test_names_with_hyphens_and_digits_are_found_at_every_depth(ours: JiyiStore) -> None:
    ours.put(("docs",), "hyphen", {"access-level": "public", "user": {"access-level": "nested"}})
    ours.put(("docs",), "digit", {"123abc": "ok", "user": {"123abc": "ok2"}})
    ours.put(("docs",), "literal", {"user.access-level": "nested", "user": {"access-level": "other"}})

    def found(**condition: Any) -> set[str]:
        return {item.key for item in ours.search(("docs",), filter=condition)}

    assert found(**{"access-level": "public"}) == {"hyphen"}
    assert found(**{"123abc": "ok"}) == {"digit"}
    assert found(**{"user.123abc": "ok2"}) == {"digit"}
    assert found(user={"123abc": "ok2"}) == {"digit"}
    # The name as it stands comes first, then the path that it may be.
    assert found(**{"user.access-level": "nested"}) == {"hyphen", "literal"}
    assert found(**{"user.access-level": {"$ne": "nested"}}) == {"digit"}


# --- search -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["这是中文", "これは日本語です", "이건 한국어야", "Это русский", "यह रूसी है"])
def test_every_script_is_found(ours: JiyiStore, text: str) -> None:
    for other in ("这是中文", "これは日本語です", "이건 한국어야", "Это русский", "यह रूसी है"):
        ours.put(("user_123", "memories"), other, {"text": other})
    assert ours.search(("user_123", "memories"), query=text)[0].key == text


def test_texts_are_found_in_fields_of_any_name(ours: JiyiStore) -> None:
    docs: dict[str, dict[str, Any]] = {
        "doc2": {"text": "longer text document"},
        "doc4": {"description": "text in a description"},
    }
    docs |= {"doc5": {"content": "text in some content"}, "doc6": {"body": {"inner": ["text in a body"]}}}
    for key, value in docs.items():
        ours.put(("test",), key, value)
    assert {item.key for item in ours.search(("test",), query="text")} == set(docs)
    assert ours.search(("test",), query="longer text")[0].key == "doc2"


def test_a_changed_text_scores_lower_for_the_old_words_and_higher_for_the_new(ours: JiyiStore) -> None:
    ours.put(("test",), "doc1", {"text": "zany zebra Xerxes"})
    ours.put(("test",), "doc2", {"text": "something about dogs"})
    before = ours.search(("test",), query="Zany Xerxes")
    assert before[0].key == "doc1"
    ours.put(("test",), "doc1", {"text": "new text about dogs"})
    after = {item.key: present(item.score) for item in ours.search(("test",), query="Zany Xerxes")}
    assert after.get("doc1", 0.0) < present(before[0].score)
    new = {item.key: present(item.score) for item in ours.search(("test",), query="new text about dogs")}
    assert new["doc1"] > after.get("doc1", 0.0)
    ours.put(("test",), "doc4", {"text": "new text about dogs"}, index=False)
    assert "doc4" not in {item.key for item in ours.search(("test",), query="new text about dogs", limit=3)}
    assert present(ours.get(("test",), "doc4")).value == {"text": "new text about dogs"}


def test_filters_and_a_query_are_combined(ours: JiyiStore) -> None:
    for key, text, color, score in (
        ("doc1", "red apple", "red", 4.5),
        ("doc2", "red car", "red", 3.0),
        ("doc3", "green apple", "green", 4.0),
        ("doc4", "blue car", "blue", 3.5),
    ):
        ours.put(("test",), key, {"text": text, "color": color, "score": score})

    def found(query: str, **condition: Any) -> list[str]:
        return [item.key for item in ours.search(("test",), query=query, filter=condition)]

    assert found("apple", color="red")[0] == "doc1"
    assert found("car", color="red")[0] == "doc2"
    assert found("car", score={"$gt": 3.2}) == ["doc4"]
    assert found("apple", score={"$gte": 4.0}, color="green") == ["doc3"]
    assert found("apple", color="yellow") == []


def test_searches_at_the_same_time_keep_their_own_filters(ours: JiyiStore) -> None:
    colors, things = ("red", "blue", "green", "yellow", "purple"), ("apple", "car", "house", "book", "phone")
    for number in range(25):
        text = f"{colors[number % 5]} {things[number % 5]}"
        ours.put(("test",), str(number), {"text": text, "color": colors[number % 5], "index": number})
    asked: list[tuple[str, dict[str, Any]]] = [
        ("apple", {"color": "red"}),
        ("car", {"color": "blue"}),
        ("house", {"index": {"$gt": 15}}),
        ("phone", {"index": {"$lte": 10}}),
    ]

    async def use() -> list[Any]:
        return await asyncio.gather(*(ours.asearch(("test",), query=query, filter=each) for query, each in asked))

    red, blue, high, low = asyncio.run(use())
    assert {item.value["color"] for item in red} == {"red"}
    assert {item.value["color"] for item in blue} == {"blue"}
    assert {item.value["index"] > 15 and item.value["color"] == "green" for item in high} == {True}
    assert {item.value["index"] <= 10 and item.value["color"] == "purple" for item in low} == {True}


# --- time to live -----------------------------------------------------------------------------------------------------


def test_what_has_expired_is_in_no_answer_and_does_not_come_back_by_reading(ours: JiyiStore, later: Any) -> None:
    ours.put(("omit", "expired"), "e", {"data": "gone"}, ttl=5)
    ours.put(("omit", "control"), "c", {"data": "keep"}, ttl=None)
    later(6)
    assert ours.get(("omit", "expired"), "e", refresh_ttl=True) is None
    assert ours.search(("omit", "expired"), refresh_ttl=True) == []
    assert ours.get(("omit", "expired"), "e") is None
    assert ours.get(("omit", "control"), "c") is not None
    assert ours.list_namespaces(prefix=("omit",)) == [("omit", "control")]

    async def use() -> None:
        assert await ours.aget(("omit", "expired"), "e") is None
        assert [item.key for item in await ours.asearch(("omit",))] == ["c"]

    asyncio.run(use())


@pytest.mark.parametrize("meanwhile", ["deleted", "written"])
def test_an_item_that_somebody_else_changes_while_it_is_read_is_returned_as_it_was_read(
    ours: JiyiStore, later: Any, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    ours.put(("a",), "k", {"n": 1}, ttl=10)
    later(5)
    other = JiyiStore(ours.memory)
    refresh = ours._refresh

    def change_first(entries: Any) -> None:
        if meanwhile == "deleted":
            other.delete(("a",), "k")
        else:
            other.put(("a",), "k", {"n": 2}, ttl=1)
        refresh(entries)

    monkeypatch.setattr(ours, "_refresh", change_first)
    item = ours.get(("a",), "k", refresh_ttl=True)
    assert item is not None
    assert item.value == {"n": 1}
    later(2)
    assert other.get(("a",), "k", refresh_ttl=False) is None


def test_pages_are_full_also_when_something_between_has_expired(ours: JiyiStore, later: Any) -> None:
    for key in ("c", "b", "expired", "a"):
        ours.put(("page",), key, {"k": key}, ttl=5 if key == "expired" else 50)
    later(6)
    assert [item.key for item in ours.search(("page",), limit=2)] == ["a", "b"]
    assert [item.key for item in ours.search(("page",), limit=2, offset=2)] == ["c"]


def test_a_time_of_its_own_wins_over_the_default(memory: AgentMemory, later: Any) -> None:
    store = JiyiStore(memory, ttl={"default_ttl": 5})
    store.put(("test",), "short", {"v": 1}, ttl=1)
    store.put(("test",), "default", {"v": 2})
    store.put(("test",), "permanent", {"v": 3}, ttl=None)

    def there() -> set[str]:
        return {item.key for item in store.search(("test",), refresh_ttl=False)}

    later(2)
    assert there() == {"default", "permanent"}
    later(4)
    assert there() == {"permanent"}


def test_a_search_extends_only_what_it_finds(memory: AgentMemory, later: Any) -> None:
    store = JiyiStore(memory, ttl={"default_ttl": 4, "refresh_on_read": True})
    store.put(("docs",), "item1", {"id": 1})
    store.put(("docs",), "item2", {"id": 2})
    later(3)
    assert [item.key for item in store.search(("docs",), filter={"id": 1}, refresh_ttl=True)] == ["item1"]
    later(2)
    assert present(store.get(("docs",), "item1", refresh_ttl=False)).value == {"id": 1}
    assert store.get(("docs",), "item2", refresh_ttl=False) is None
    later(3)
    assert store.get(("docs",), "item1", refresh_ttl=False) is None

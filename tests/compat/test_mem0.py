"""mem0's `Memory` on a memory: its calls, its answers, and what is better here."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jiyi.compat.mem0 import AsyncMemory, Memory
from jiyi.compat.mem0_filters import Mem0Filter
from jiyi.errors import InvalidInputError, MemoryClosedError
from jiyi.model import clock
from jiyi.sync import AgentMemory
from tests.support import QUICK, examples, present

# Of mem0ai 2.2.1.
PARAMETERS = {
    "add": [
        "messages",
        "user_id",
        "agent_id",
        "run_id",
        "metadata",
        "timestamp",
        "expiration_date",
        "infer",
        "memory_type",
        "prompt",
    ],
    "search": ["query", "top_k", "filters", "threshold", "rerank", "explain", "reference_date", "show_expired"],
    "get_all": ["filters", "top_k", "show_expired"],
    "get": ["memory_id"],
    "update": ["memory_id", "text", "metadata", "expiration_date", "data"],
    "delete": ["memory_id"],
    "delete_all": ["user_id", "agent_id", "run_id"],
    "history": ["memory_id"],
    "reset": [],
    "close": [],
    "from_config": ["config_dict"],
}


@pytest.fixture
def mem0(memory: AgentMemory) -> Memory:
    return Memory(memory)


def texts(answer: dict[str, Any]) -> list[str]:
    return [each["memory"] for each in answer["results"]]


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_methods_take_what_those_of_mem0_take(name: str) -> None:
    own = [each for each in inspect.signature(getattr(Memory, name)).parameters if each != "self"]
    assert own[: len(PARAMETERS[name])] == PARAMETERS[name]


def test_messages_are_kept_as_they_are_without_infer(mem0: Memory) -> None:
    answer = mem0.add(
        [
            {"role": "system", "content": "You are kind"},
            {"role": "user", "content": "I like green tea", "name": "ann"},
            {"role": "assistant", "content": "Noted"},
        ],
        user_id=" alice ",
        agent_id="cook",
        metadata={"category": "food"},
        infer=False,
    )
    first, second = answer["results"]
    assert {**first, "id": ""} == {
        "id": "",
        "memory": "I like green tea",
        "event": "ADD",
        "actor_id": "ann",
        "role": "user",
    }
    found = present(mem0.get(first["id"]))
    created = found.pop("created_at")
    assert datetime.fromisoformat(created).tzinfo is not None
    assert found == {
        "id": first["id"],
        "memory": "I like green tea",
        "hash": hashlib.md5(b"I like green tea").hexdigest(),
        "metadata": {"category": "food"},
        "updated_at": None,
        "score": None,
        "user_id": "alice",
        "agent_id": "cook",
        "actor_id": "ann",
        "role": "user",
    }
    assert mem0.get("nothing") is None
    assert second["role"] == "assistant"


def test_facts_are_found_in_conversations_without_a_model(mem0: Memory) -> None:
    answer = mem0.add(
        [{"role": "user", "content": "I am allergic to penicillin."}, {"role": "assistant", "content": "Noted."}],
        user_id="alice",
        metadata={"source": "chat"},
    )
    assert texts(answer) == ["I am allergic to penicillin."]
    (hit,) = mem0.search("penicillin allergy", filters={"user_id": "alice"})["results"]
    assert hit["memory"] == "I am allergic to penicillin."
    assert hit["metadata"]["source"] == "chat"
    assert 0 < hit["score"] <= 1
    assert mem0.memory.recall("penicillin", scope="alice")


def test_users_do_not_see_each_other_and_agents_and_runs_are_found_across_users(mem0: Memory) -> None:
    mem0.add("tea for alice", user_id="alice", agent_id="cook", infer=False)
    mem0.add("tea for bob", user_id="bob", agent_id="cook", run_id="r1", infer=False)
    mem0.add("tea of the cook", agent_id="cook", infer=False)
    mem0.add("tea of a run", run_id="r1", infer=False)
    assert texts(mem0.search("tea", filters={"user_id": "alice"})) == ["tea for alice"]
    assert set(texts(mem0.search("tea", filters={"agent_id": "cook"}))) == {
        "tea for alice",
        "tea for bob",
        "tea of the cook",
    }
    assert set(texts(mem0.get_all(filters={"run_id": "r1"}))) == {"tea for bob", "tea of a run"}
    assert texts(mem0.get_all(filters={"user_id": "bob", "run_id": "r2"})) == []
    assert texts(mem0.get_all(user_id="bob", limit=5)) == ["tea for bob"]
    assert len(mem0.get_all(filters={"user_id": "*"})["results"]) == 2


def test_the_list_has_the_newest_first_and_as_many_as_asked_for(mem0: Memory) -> None:
    for number in range(30):
        mem0.add(f"number {number}", user_id="u", infer=False)
    assert texts(mem0.get_all(filters={"user_id": "u"})) == [f"number {n}" for n in range(29, 9, -1)]
    assert len(mem0.get_all(filters={"user_id": "u"}, top_k=25)["results"]) == 25


def test_a_memory_is_changed_and_its_history_tells_how(mem0: Memory) -> None:
    memory_id = mem0.add("lives in Rome", user_id="u", metadata={"a": 1}, infer=False)["results"][0]["id"]
    assert mem0.update(memory_id, "lives in Paris", metadata={"b": 2, "user_id": "thief"}) == {
        "message": "Memory updated successfully!"
    }
    mem0.update(memory_id, data="lives in Oslo")
    found = present(mem0.get(memory_id))
    assert (found["memory"], found["metadata"], found["user_id"]) == ("lives in Oslo", {"a": 1, "b": 2}, "u")
    assert found["updated_at"] is not None
    assert mem0.delete(memory_id) == {"message": "Memory deleted successfully!"}
    assert mem0.get(memory_id) is None
    rows = [(row["event"], row["old_memory"], row["new_memory"], row["is_deleted"]) for row in mem0.history(memory_id)]
    assert rows == [
        ("ADD", None, "lives in Rome", False),
        ("UPDATE", "lives in Rome", "lives in Paris", False),
        ("UPDATE", "lives in Paris", "lives in Oslo", False),
        ("DELETE", "lives in Oslo", None, True),
    ]
    with pytest.raises(ValueError, match="not found"):
        mem0.delete(memory_id)
    with pytest.raises(ValueError, match="At least one"):
        mem0.update(memory_id)
    assert mem0.history("nothing") == []


def test_a_new_object_finds_memories_by_id_too(mem0: Memory) -> None:
    memory_id = mem0.add("lives in Rome", user_id="u", infer=False)["results"][0]["id"]
    assert present(Memory(mem0.memory).get(memory_id))["memory"] == "lives in Rome"
    assert len(Memory(mem0.memory).history(memory_id)) == 1


def test_everything_of_one_user_can_be_deleted(mem0: Memory) -> None:
    mem0.add("tea", user_id="alice", infer=False)
    mem0.add("tea", user_id="bob", infer=False)
    mem0.memory.store("own", "not of mem0", scope="alice")
    with pytest.raises(ValueError, match="At least one filter"):
        mem0.delete_all()
    mem0.delete_all(user_id="alice")
    assert texts(mem0.get_all(filters={"user_id": "alice"})) == []
    assert texts(mem0.get_all(filters={"user_id": "bob"})) == ["tea"]
    mem0.reset()
    assert texts(mem0.get_all(filters={"user_id": "bob"})) == []
    assert mem0.memory.get("own", scope="alice") is not None


FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({"kind": "tea"}, {"a", "b"}),
    ({"kind": {"eq": "tea"}, "price": {"gt": 3}}, {"b"}),
    ({"kind": {"ne": "tea"}}, {"c", "d"}),
    ({"price": {"gte": 3, "lt": 9}}, {"a", "b"}),
    ({"kind": {"in": ["tea", "milk"]}}, {"a", "b", "c"}),
    ({"kind": {"nin": ["tea"]}}, {"c", "d"}),
    ({"kind": {"contains": "il"}}, {"c"}),
    ({"kind": {"icontains": "TE"}}, {"a", "b"}),
    ({"price": "*"}, {"a", "b", "c"}),
    ({"AND": [{"kind": "tea"}, {"price": {"lte": 3}}]}, {"a"}),
    ({"OR": [{"kind": "milk"}, {"price": {"gt": 4}}]}, {"b", "c"}),
    ({"NOT": [{"kind": "tea"}]}, {"c", "d"}),
    ({"AND": [{"OR": [{"kind": "tea"}, {"kind": "milk"}]}, {"NOT": [{"price": 3}]}]}, {"b", "c"}),
]


@pytest.mark.parametrize(("filters", "found"), FILTERS, ids=[str(filters) for filters, _ in FILTERS])
def test_filters_on_the_metadata_hold_in_lists_and_searches(
    mem0: Memory, filters: dict[str, Any], found: set[str]
) -> None:
    for name, about in {
        "a": {"kind": "tea", "price": 3},
        "b": {"kind": "tea", "price": 5},
        "c": {"kind": "milk", "price": 9},
        "d": {},
    }.items():
        mem0.add(f"drink {name}", user_id="u", metadata={**about, "name": name}, infer=False)
    listed = mem0.get_all(filters={"user_id": "u", **filters})["results"]
    assert {each["metadata"]["name"] for each in listed} == found
    hits = mem0.search("drink", filters={"user_id": "u", **filters})["results"]
    assert {each["metadata"]["name"] for each in hits} == found


PRICES = st.dictionaries(st.sampled_from(["gt", "lte", "eq", "ne"]), st.integers(0, 3), min_size=1, max_size=2)
SIMPLE = st.dictionaries(st.sampled_from(["x", "y"]), st.integers(0, 3) | PRICES, min_size=1, max_size=2)


@settings(max_examples=examples(1))
@given(
    about=st.dictionaries(st.sampled_from(["x", "y"]), st.integers(0, 3)),
    some=st.lists(SIMPLE, min_size=1, max_size=3),
)
def test_logic_is_the_logic_of_its_parts(about: dict[str, int], some: list[dict[str, Any]]) -> None:
    each = [Mem0Filter(one).holds(about) for one in some]
    assert Mem0Filter({"AND": some}).holds(about) == all(each)
    assert Mem0Filter({"OR": some}).holds(about) == any(each)
    assert Mem0Filter({"NOT": some}).holds(about) == (not any(each))


def test_a_memory_expires_after_its_date(mem0: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    today = clock.utc_now()
    memory_id = mem0.add("tea", user_id="u", expiration_date=today.date().isoformat(), infer=False)["results"][0]["id"]
    assert present(mem0.get(memory_id))["expiration_date"] == today.date().isoformat()
    monkeypatch.setattr(clock, "utc_now", lambda: today + timedelta(days=1))
    assert texts(mem0.search("tea", filters={"user_id": "u"})) == []
    assert texts(mem0.get_all(filters={"user_id": "u"})) == []
    kept = mem0.add("milk", user_id="u", expiration_date="2031-01-02", infer=False)["results"][0]["id"]
    mem0.update(kept, expiration_date=None)
    assert "expiration_date" not in present(mem0.get(kept))
    with pytest.raises(ValueError, match="YYYY-MM-DD"):
        mem0.add("x", user_id="u", expiration_date="soon", infer=False)


def test_what_was_said_at_another_time_is_found_by_it(mem0: Memory) -> None:
    when = datetime(2025, 3, 4, 12, tzinfo=UTC)
    mem0.add("the ferry was late", user_id="u", timestamp=when, infer=False)
    assert mem0.memory.list(scope="u")[0].occurred_at == when
    hits = mem0.search("What was late yesterday?", filters={"user_id": "u"}, reference_date=when + timedelta(days=1))
    assert texts(hits) == ["the ferry was late"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda m: m.add("x"), "user_id, agent_id and run_id"),
        (lambda m: m.add("x", user_id=" "), "user_id must be"),
        (lambda m: m.add("x", user_id="public"), "others share"),
        (lambda m: m.add(3, user_id="u"), "str, dict, or list"),
        (lambda m: m.add([{"role": "user"}], user_id="u"), r"messages\[0\]"),
        (lambda m: m.add("x", user_id="u", memory_type="procedural_memory"), "not supported"),
        (lambda m: m.search("x"), "at least one of: user_id"),
        (lambda m: m.search("x", filters={"user_id": "u", "a": {"near": 1}}), "Unsupported metadata filter"),
        (lambda m: m.search("x", filters={"user_id": {}}), "the condition on .user_id. is empty"),
        (lambda m: m.get_all(filters={"run_id": {}}), "the condition on .run_id. is empty"),
        (lambda m: m.search("x", filters={"user_id": "u", "OR": []}), "OR operator"),
        (lambda m: m.search("x", userid="u"), "unknown argument userid"),
        (lambda m: m.get_all(filters={"user_id": "u"}, show_expired=True), "history"),
    ],
)
def test_what_is_wrong_is_a_value_error_that_says_what(mem0: Memory, call: Any, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        call(mem0)


def test_it_opens_and_closes_its_own_memory_and_tells_what_of_a_configuration_it_does_not_use(
    tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    config = {"llm": {"provider": "openai"}, "jiyi": {"path": tmp_path / "data", **QUICK}}
    with Memory.from_config(config) as first:
        first.add("tea", user_id="u", infer=False)
    assert "llm" in caplog.text
    with Memory(tmp_path / "data", **QUICK) as second:
        assert texts(second.get_all(filters={"user_id": "u"})) == ["tea"]


def test_the_same_with_async(memory: AgentMemory) -> None:
    async def use() -> list[str]:
        mem0 = AsyncMemory(memory)
        await mem0.add("green tea", user_id="u", infer=False)
        return texts(await mem0.search("tea", filters={"user_id": "u"}))

    assert asyncio.run(use()) == ["green tea"]


def test_the_asynchronous_one_is_made_from_a_configuration_awaited_or_not_and_closes_itself(tmp_path: Path) -> None:
    async def use() -> None:
        config = {"jiyi": {"path": str(tmp_path / "data"), "embedder": "none"}}
        made: Any = await AsyncMemory.from_config(config)
        await made.add("likes tea", user_id="alice", infer=False)
        await made.close()
        async with AsyncMemory.from_config(config) as again:
            assert len((await again.get_all(filters={"user_id": "alice"}))["results"]) == 1
        with pytest.raises(MemoryClosedError):
            await again.get_all(filters={"user_id": "alice"})

    asyncio.run(use())

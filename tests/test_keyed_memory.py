"""The keyed memory as its users see it: store, recall, get, list, count, forget, history."""

import asyncio
import inspect
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from jiyi import AgentMemory as AsyncMemory
from jiyi import MemoryCategory, MemoryEntry, create_memory
from jiyi.errors import InvalidInputError, MemoryClosedError
from jiyi.memory.drafts import STORE_ARGUMENTS
from jiyi.ports import Embedder
from jiyi.sync import AgentMemory, NoopMemory
from jiyi.testing.fakes import HashEmbedder
from tests.support import QUICK, contents_of, database, keys, present

OpenMemory = Callable[..., AgentMemory]

MORNING = datetime(2024, 5, 1, 8, 0, tzinfo=UTC)


# --- storing ------------------------------------------------------------------------------------------------------


def test_what_was_stored_comes_back_complete(memory: AgentMemory) -> None:
    stored = memory.store(
        "editor",
        "prefers Helix over Vim",
        "daily",
        tags=["tools", "编辑器"],
        importance=0.8,
        memory_type="preference",
        domain="work",
        conversation_id="2024-05-01",
        occurred_at=MORNING,
    )
    assert memory.get("editor") == stored
    assert (stored.key, stored.content, stored.category) == ("editor", "prefers Helix over Vim", "daily")
    assert (stored.tags, stored.importance_score) == (("tools", "编辑器"), 0.8)
    assert (stored.memory_type, stored.domain) == ("preference", "work")
    assert (stored.conversation_id, stored.occurred_at) == ("2024-05-01", MORNING)
    assert (stored.scope, stored.version) == ("main", 1)


def test_storing_a_key_again_replaces_the_text_and_keeps_the_entry(memory: AgentMemory) -> None:
    first = memory.store("city", "lives in Turin")
    second = memory.store("city", "lives in Oslo")
    assert (second.id, second.created_at, second.version) == (first.id, first.created_at, 2)
    assert second.updated_at > first.updated_at
    assert present(memory.get("city")).content == "lives in Oslo"
    assert memory.count() == 1


def test_storing_a_key_again_keeps_the_strength_that_feedback_gave(memory: AgentMemory) -> None:
    stored = memory.store("tea", "likes oolong")
    memory.runtime.feedback([stored.id])
    assert memory.store("tea", "likes oolong best").strength == 2
    assert memory.store_many([{"key": "tea", "content": "likes oolong and sencha"}])[0].strength == 2


def test_an_update_keeps_what_it_says_nothing_about(memory: AgentMemory) -> None:
    memory.store(
        "trip",
        "flies to Lima",
        importance=0.9,
        memory_type="plan",
        domain="travel",
        conversation_id="c1",
        occurred_at=MORNING,
    )
    updated = memory.store("trip", "takes the train to Lima")
    assert (updated.importance_score, updated.memory_type, updated.domain) == (0.9, "plan", "travel")
    assert (updated.conversation_id, updated.occurred_at) == ("c1", MORNING)


def test_an_update_changes_what_it_names(memory: AgentMemory) -> None:
    memory.store("trip", "flies to Lima", importance=0.9, memory_type="plan", domain="travel")
    updated = memory.store("trip", "flew to Lima", importance=0.1, memory_type="fact", domain="past")
    assert (updated.importance_score, updated.memory_type, updated.domain) == (0.1, "fact", "past")


def test_an_update_replaces_the_tags(memory: AgentMemory) -> None:
    memory.store("dog", "the dog is called Rex", tags=["pets", "family"])
    assert memory.store("dog", "the dog is called Max", tags=["names", "pets"]).tags == ("names", "pets")
    assert memory.recall("dog", tags=["family"]) == []
    assert keys(memory.recall("dog", tags=["names"])) == ["dog"]
    assert memory.store("dog", "the dog is called Bo", tags=[]).tags == ()
    assert memory.recall("dog", tags=["pets"]) == []


def test_an_update_that_names_nothing_is_refused_and_makes_no_version(memory: AgentMemory) -> None:
    memory.store("dog", "the dog is called Rex")
    with pytest.raises(InvalidInputError, match="nothing to change"):
        memory.update("dog")
    assert len(memory.history("dog")) == 1


def test_a_repeated_tag_counts_once(memory: AgentMemory) -> None:
    assert memory.store("k", "text", tags=["a", "b", "a"]).tags == ("a", "b")


@pytest.mark.parametrize("word", ["conversation", "core", "daily", "project-x", "项目", "v2.1", "_private"])
def test_a_category_is_built_in_or_any_word(memory: AgentMemory, word: str) -> None:
    memory.store("key", "text", word)
    memory.store("other", "text", "elsewhere")
    stored = present(memory.get("key"))
    assert stored.category == word
    assert stored.category == MemoryCategory(word)
    assert stored.category.is_custom is (word not in {"conversation", "core", "daily"})
    assert keys(memory.list(category=word)) == ["key"]
    assert memory.count(category=word) == 1


def test_the_category_is_core_when_none_is_named(memory: AgentMemory) -> None:
    memory.store("key", "text")
    assert present(memory.get("key")).category == MemoryCategory.CORE


def test_keys_are_exact(memory: AgentMemory) -> None:
    spellings = ["key", "Key", "key ", "ｋｅｙ", "é", "e\u0301", "键", "鍵"]
    for spelling in spellings:
        memory.store(spelling, f"text of {spelling!a}")
    assert memory.count() == len(spellings)
    assert [present(memory.get(spelling)).content for spelling in spellings] == [
        f"text of {spelling!a}" for spelling in spellings
    ]


# --- getting, listing, counting, forgetting -----------------------------------------------------------------------


def test_an_unknown_key_is_none(memory: AgentMemory) -> None:
    assert memory.get("nothing") is None


def test_entries_are_listed_newest_first_in_pages(memory: AgentMemory) -> None:
    for number in range(7):
        memory.store(f"k{number}", "text")
    memory.store("k2", "an update does not make it newer")
    assert keys(memory.list(limit=3)) == ["k6", "k5", "k4"]
    assert keys(memory.list(limit=3, offset=3)) == ["k3", "k2", "k1"]
    assert keys(memory.list(limit=3, offset=6)) == ["k0"]
    assert memory.list(offset=7) == []


def test_a_forgotten_entry_is_gone_everywhere(memory: AgentMemory) -> None:
    memory.store("secret", "the safe is behind the painting", tags=["safe"])
    memory.store("other", "the painting is a Klimt")
    assert set(keys(memory.recall("painting"))) == {"secret", "other"}
    assert memory.forget("secret") is True
    assert memory.get("secret") is None
    assert keys(memory.recall("painting safe")) == ["other"]
    assert memory.recall("safe", tags=["safe"]) == []
    assert keys(memory.list()) == ["other"]
    assert memory.count() == 1


def test_forgetting_an_unknown_key_is_false(memory: AgentMemory) -> None:
    assert memory.forget("nothing") is False
    memory.store("key", "text")
    assert memory.forget("key") is True
    assert memory.forget("key") is False


def test_a_forgotten_key_can_be_used_for_something_new(memory: AgentMemory) -> None:
    old = memory.store("key", "old words")
    memory.forget("key")
    new = memory.store("key", "new beginnings")
    assert (new.id != old.id, new.version) == (True, 1)
    assert keys(memory.recall("beginnings")) == ["key"]
    assert memory.recall("old words", mode="keyword") == []


# --- history ------------------------------------------------------------------------------------------------------


def test_the_history_tells_what_changed_when_and_by_whom(open_memory: OpenMemory) -> None:
    open_memory(actor="ada").store("job", "works at a bank", tags=["work"])
    bob = open_memory(actor="bob")
    bob.store("job", "works at a school", importance=0.9)
    open_memory(actor="eve").forget("job")

    created, updated, forgotten = bob.history("job")
    assert [version.version for version in (created, updated, forgotten)] == [1, 2, 3]
    assert [version.operation for version in (created, updated, forgotten)] == ["create", "update", "forget"]
    assert [version.changed_by for version in (created, updated, forgotten)] == ["ada", "bob", "eve"]
    assert created.changed_at < updated.changed_at < forgotten.changed_at
    assert (present(created.entry).content, present(created.entry).tags) == ("works at a bank", ("work",))
    assert (present(updated.entry).content, present(updated.entry).tags) == ("works at a school", ("work",))
    assert set(updated.changed) == {"content", "importance_score"}
    assert forgotten.entry is None


def test_the_history_of_a_key_spans_the_entries_that_had_it(memory: AgentMemory) -> None:
    memory.store("key", "one")
    memory.forget("key")
    memory.store("key", "two")
    memory.store("key", "three")
    texts = [version.entry and version.entry.content for version in memory.history("key")]
    assert texts == ["one", None, "two", "three"]
    assert memory.history("unknown") == []


@pytest.mark.embedded
def test_erasing_leaves_no_word_of_any_version(memory: AgentMemory, tmp_path: Path) -> None:
    secrets = ["first-xylophone", "second-xylophone", "tag-xylophone", "kept-zebra"]
    # Long enough to fill pages of the file: those are given back whole, with what was on them.
    memory.store("pin", f"the pin is {secrets[0]} " * 200, tags=[secrets[2], secrets[3]])
    memory.store("pin", f"the pin is {secrets[1]}", tags=[secrets[3]])
    memory.store("other", "another entry", tags=[secrets[3]])
    memory.recall("pin")
    assert memory.forget("pin", erase=True) is True
    assert [version.entry for version in memory.history("pin")] == [None, None, None]
    assert [version.operation for version in memory.history("pin")] == ["create", "update", "erase"]
    assert "xylophone" not in str(contents_of(memory))
    memory.close()
    assert b"xylophone" not in (tmp_path / "data/memory.db").read_bytes()
    assert b"kept-zebra" in (tmp_path / "data/memory.db").read_bytes()


def test_a_message_is_not_said_to_be_erased_while_its_conversation_has_it(memory: AgentMemory) -> None:
    memory.chat("talk").put({"role": "user", "content": "the pin is 4711"})
    [message] = memory.list(memory_types="message")
    with pytest.raises(InvalidInputError, match=r"is a message.*forget_session\('talk'\) erases"):
        memory.forget(id=message.id, erase=True)
    with pytest.raises(InvalidInputError, match="is a message"):
        memory.forget_many(memory_types="message", erase=True)
    assert memory.forget(id=message.id) is True
    assert memory.list(memory_types="message") == []
    memory.forget_session("talk")
    assert "4711" not in str(contents_of(memory))


def test_a_forgotten_entry_can_be_erased_later_and_only_once(memory: AgentMemory) -> None:
    memory.store("pin", "the pin is 4711")
    memory.forget("pin")
    assert memory.forget("pin", erase=True) is True
    assert "4711" not in str(contents_of(memory))
    assert memory.forget("pin", erase=True) is False


# --- recall -------------------------------------------------------------------------------------------------------


def test_recall_sees_a_write_at_once(memory: AgentMemory) -> None:
    for number in range(5):
        memory.store("colour", f"likes the colour number{number}")
        assert [hit.content for hit in memory.recall(f"number{number}")] == [f"likes the colour number{number}"]
    assert memory.recall("number3", mode="keyword") == []


def test_recall_finds_an_entry_by_its_key_and_by_its_tags(memory: AgentMemory) -> None:
    memory.store("wifi-password", "correct horse battery staple", tags=["network"])
    memory.store("lunch", "noodles with sesame")
    assert keys(memory.recall("wifi")) == ["wifi-password"]
    assert keys(memory.recall("wifi-password")) == ["wifi-password"]
    assert keys(memory.recall("network")) == ["wifi-password"]


def test_a_hit_explains_itself(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=HashEmbedder())
    memory.store("tea", "drinks green tea in the morning")
    memory.store("coffee", "gave up coffee last year")
    best = memory.recall("green tea")[0]
    assert best.key == "tea"
    assert 0.0 < present(best.relevance_score) <= 1.0
    assert best.score_parts
    assert "tea" in present(best.explanation).matched_terms
    assert [(part.index, part.answered, part.behind) for part in present(best.explanation).coverage] == [
        ("text", True, 0),
        ("vectors", True, 0),
    ]
    assert present(memory.get("tea")).relevance_score is None


def test_hits_come_best_first_and_no_more_than_asked(memory: AgentMemory) -> None:
    for number in range(30):
        memory.store(f"k{number}", f"apples number {number}" + " and pears" * (number % 3))
    hits = memory.recall("apples pears", 12)
    assert len(hits) == 12
    scores = [present(hit.relevance_score) for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert "pears" in hits[0].content


def test_meaning_is_found_without_a_common_word(open_memory: OpenMemory, bundled_embedder: Embedder) -> None:
    memory = open_memory(embedder=bundled_embedder)
    memory.store("pet", "My dog Rex barks at the postman every morning.")
    memory.store("car", "The engine of the van needs new oil.")
    memory.store("food", "她最喜欢吃麻婆豆腐。")
    assert memory.recall("Which animal lives with the user?")[0].key == "pet"
    assert memory.recall("What vehicle has to be repaired?", mode="semantic")[0].key == "car"
    assert memory.recall("favourite Chinese dish", mode="semantic")[0].key == "food"


def test_without_an_embedder_recall_says_that_meaning_was_not_asked(memory: AgentMemory) -> None:
    memory.store("tea", "drinks green tea")
    (hit,) = memory.recall("tea")
    coverage = {part.index: part for part in present(hit.explanation).coverage}
    assert coverage["text"].answered is True
    assert coverage["vectors"].answered is False
    assert "embedder" in coverage["vectors"].note


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentMemory]:
    """Books with everything a filter can ask for; only read."""
    books = [
        ("dune", "a book about sand", "core", "novel", "fiction", ["sand", "classic"], 0),
        ("emma", "a book about matchmaking", "daily", "novel", "fiction", ["classic"], 1),
        ("sicp", "a book about programs", "core", "textbook", "science", ["code", "classic"], 2),
        ("zen", "a book about repair", "travel", "essay", None, [], 3),
    ]
    with AgentMemory.open(tmp_path_factory.mktemp("shelf"), **{**QUICK, "embedder": HashEmbedder()}) as memory:
        memory.store_many(
            {
                "key": key,
                "content": content,
                "category": category,
                "memory_type": kind,
                "domain": domain,
                "tags": tags,
                "occurred_at": MORNING + timedelta(days=day),
            }
            for key, content, category, kind, domain, tags, day in books
        )
        yield memory


DAY = timedelta(days=1)


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, {"dune", "emma", "sicp", "zen"}),
        ({"category": "core"}, {"dune", "sicp"}),
        ({"category": ["core", "travel"]}, {"dune", "sicp", "zen"}),
        ({"category": "unheard-of"}, set()),
        ({"memory_types": "novel"}, {"dune", "emma"}),
        ({"memory_types": ["essay", "textbook"]}, {"sicp", "zen"}),
        ({"domains": ["fiction"]}, {"dune", "emma"}),
        ({"domains": "science"}, {"sicp"}),
        ({"tags": ["classic"]}, {"dune", "emma", "sicp"}),
        ({"tags": ["classic", "code"]}, {"sicp"}),
        ({"tags": ["Classic"]}, set()),
        ({"since": MORNING + DAY}, {"emma", "sicp", "zen"}),
        ({"until": MORNING + DAY}, {"dune"}),
        ({"since": MORNING + DAY, "until": MORNING + 3 * DAY}, {"emma", "sicp"}),
        ({"category": "core", "tags": ["classic"], "domains": "fiction", "until": MORNING + DAY}, {"dune"}),
    ],
)
def test_every_filter_holds_in_every_mode(
    shelf: AgentMemory, mode: str, filters: dict[str, Any], expected: set[str]
) -> None:
    assert set(keys(shelf.recall("a book about", mode=mode, **filters))) == expected


def test_a_filter_is_not_starved_by_better_matches_outside_it(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=HashEmbedder())
    memory.store_many({"key": f"noise{n}", "content": "apples apples apples"} for n in range(600))
    memory.store("quiet", "one word about apples among many other words", tags=["rare"], scope="other")
    memory.store("rare", "one word about apples among many other words", tags=["rare"])
    for mode in ("hybrid", "keyword", "semantic"):
        assert keys(memory.recall("apples", 1, mode=mode, tags=["rare"])) == ["rare"]
        assert keys(memory.recall("apples", 1, mode=mode, scope="other")) == ["quiet"]


# --- scopes -------------------------------------------------------------------------------------------------------


def test_everyone_sees_what_is_public_and_nobody_what_is_anothers(memory: AgentMemory) -> None:
    memory.store("door", "the door code of the office is 12", scope="public")
    memory.store("diary", "ada fears the door code", scope="ada")
    memory.store("diary", "bob forgot the door code", scope="bob")
    assert set(keys(memory.recall("door code", scope="ada"))) == {"door", "diary"}
    assert {hit.content for hit in memory.recall("door code", scope="bob")} == {
        "the door code of the office is 12",
        "bob forgot the door code",
    }
    assert keys(memory.recall("door code", scope="public")) == ["door"]
    assert keys(memory.recall("door code")) == ["door"]
    assert [memory.count(scope=scope) for scope in ("ada", "bob", "public", "main")] == [2, 2, 1, 1]
    assert present(memory.get("door", scope="ada")).scope == "public"
    assert memory.get("diary", scope="public") is None


def test_an_own_entry_stands_before_the_public_one_of_the_same_key(memory: AgentMemory) -> None:
    memory.store("greeting", "say hello", scope="public")
    assert present(memory.get("greeting", scope="ada")).content == "say hello"
    memory.store("greeting", "say good morning", scope="ada")
    assert present(memory.get("greeting", scope="ada")).content == "say good morning"
    assert present(memory.get("greeting", scope="bob")).content == "say hello"
    assert [present(v.entry).content for v in memory.history("greeting", scope="ada")] == ["say good morning"]
    assert [present(v.entry).content for v in memory.history("greeting", scope="bob")] == ["say hello"]


def test_nobody_forgets_what_is_public_by_accident(memory: AgentMemory) -> None:
    memory.store("door", "the door code", scope="public")
    assert memory.forget("door", scope="ada") is False
    assert memory.get("door", scope="ada") is not None
    assert memory.forget("door", scope="public") is True


def test_the_scope_is_the_one_the_memory_was_opened_with(open_memory: OpenMemory) -> None:
    ada = open_memory(scope="ada")
    ada.store("diary", "ada was here")
    assert present(ada.get("diary")).scope == "ada"
    assert open_memory().get("diary") is None
    assert present(open_memory().get("diary", scope="ada")).content == "ada was here"


# --- many at once -------------------------------------------------------------------------------------------------


def test_storing_many_keeps_the_order_and_the_arguments_of_each(memory: AgentMemory) -> None:
    stored = memory.store_many(
        [
            {"key": "a", "content": "one", "category": "daily", "tags": ["x"], "importance": 0.1},
            {"key": "b", "content": "two", "scope": "ada", "memory_type": "note", "domain": "d"},
            {"key": "c", "content": "three", "conversation_id": "s", "occurred_at": MORNING},
        ]
    )
    assert keys(stored) == ["a", "b", "c"]
    assert [memory.get("a"), memory.get("b", scope="ada"), memory.get("c")] == stored
    assert (stored[0].tags, stored[1].domain, stored[2].occurred_at) == (("x",), "d", MORNING)


def test_a_key_repeated_in_one_call_makes_versions(memory: AgentMemory) -> None:
    stored = memory.store_many(
        [
            {"key": "a", "content": "one"},
            {"key": "b", "content": "other"},
            {"key": "a", "content": "two"},
            {"key": "a", "content": "three"},
            {"key": "a", "content": "elsewhere", "scope": "ada"},
        ]
    )
    assert [entry.version for entry in stored] == [1, 1, 2, 3, 1]
    assert [present(version.entry).content for version in memory.history("a")] == ["one", "two", "three"]
    assert present(memory.get("a")).content == "three"


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"key": "", "content": "text"}, "key"),
        ({"key": "k", "content": " "}, "content"),
        ({"key": "k"}, "content"),
        ({"content": "text"}, "key"),
        ({"key": "k", "content": "text", "colour": "red"}, "colour"),
        ({"key": "k", "content": "text", "scope": ""}, "scope"),
        ({"key": "k", "content": "text", "tags": "one"}, "tags"),
        ("a text", "str"),
        (None, "NoneType"),
    ],
)
def test_one_bad_entry_among_many_means_that_none_is_stored(memory: AgentMemory, bad: Any, named: str) -> None:
    entries = [{"key": f"k{n}", "content": "text"} for n in range(5)]
    with pytest.raises(InvalidInputError, match=named) as caught:
        memory.store_many([*entries, bad, *entries])
    assert "entries[5]" in str(caught.value)
    assert memory.count() == 0
    assert contents_of(memory) == []


def test_progress_is_told_when_a_part_is_on_disk(memory: AgentMemory, tmp_path: Path) -> None:
    seen: list[tuple[int, int | None, int]] = []

    def progress(done: int, total: int | None) -> None:
        with database(tmp_path / "data") as connection:
            on_disk = connection.execute("SELECT count(*) FROM memory_records").fetchone()[0]
        seen.append((done, total, on_disk))

    memory.store_many(({"key": f"k{n}", "content": f"text {n}"} for n in range(4_500)), progress)
    assert seen == [(2_000, 4_500, 2_000), (4_000, 4_500, 4_000), (4_500, 4_500, 4_500)]
    assert memory.count() == 4_500


def test_storing_no_entries_at_all_is_fine(memory: AgentMemory) -> None:
    assert memory.store_many([]) == []
    assert contents_of(memory) == []


def test_a_callback_that_calls_the_memory_it_reports_on_is_refused_instead_of_hanging(
    memory: AgentMemory,
) -> None:
    def progress(done: int, total: int | None) -> None:
        memory.count()

    with pytest.raises(InvalidInputError, match="callback"):
        memory.store_many([{"key": "k", "content": "text"}], progress)


# --- sharing ------------------------------------------------------------------------------------------------------


def test_many_tasks_share_one_memory(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with AsyncMemory.open(tmp_path, **{**QUICK, "background_indexing": True}) as memory:

            async def one(number: int) -> None:
                await memory.store(f"k{number}", f"the secret word of task {number} is sesame{number}")
                hits = await memory.recall(f"sesame{number}", mode="keyword")
                assert keys(hits) == [f"k{number}"]
                if number % 5 == 0:
                    assert await memory.forget(f"k{number}") is True

            await asyncio.gather(*(one(number) for number in range(200)))
            assert await memory.count() == 160
            assert len(await memory.recall("secret", 500, mode="keyword")) == 160
            await memory.drain()
            assert all(report.sound for report in await memory.verify())

    asyncio.run(scenario())


def test_many_threads_share_one_memory(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=HashEmbedder(), background_indexing=True)

    def one(number: int) -> list[str | None]:
        memory.store(f"k{number % 50}", f"text of thread {number}, word thread{number}")
        return keys(memory.recall("text of thread", 3))

    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(one, range(100)))
    assert all(answers)
    assert memory.count() == 50
    assert sum(len(memory.history(f"k{number}")) for number in range(50)) == 100
    memory.drain()
    assert all(report.sound for report in memory.verify())


def test_writers_of_one_key_make_one_entry_with_every_version(memory: AgentMemory) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: memory.store("counter", f"value {number}"), range(40)))
    versions = memory.history("counter")
    assert [version.version for version in versions] == list(range(1, 41))
    assert {present(version.entry).content for version in versions} == {f"value {number}" for number in range(40)}


def test_one_directory_may_be_opened_several_times(open_memory: OpenMemory) -> None:
    first, second = open_memory(), open_memory()
    first.store("a", "stored through the first")
    assert keys(second.recall("stored through")) == ["a"]
    second.store("a", "changed through the second")
    assert [hit.content for hit in first.recall("changed")] == ["changed through the second"]
    first.close()
    second.store("b", "the second goes on")
    assert keys(open_memory().recall("goes on")) == ["b"]


def test_what_was_acknowledged_is_there_after_opening_again(open_memory: OpenMemory) -> None:
    with open_memory() as memory:
        stored = memory.store("key", "written before closing", tags=["t"])
    with open_memory() as memory:
        assert memory.get("key") == stored
        assert keys(memory.recall("closing")) == ["key"]


def test_a_memory_is_opened_by_awaiting_or_entering(tmp_path: Path) -> None:
    async def scenario() -> None:
        memory = await AsyncMemory.open(tmp_path, **QUICK)
        await memory.store("a", "one")
        await memory.close()
        await memory.close()
        async with AsyncMemory.open(tmp_path, **QUICK) as memory:
            await memory.store("b", "two")
        async with await create_memory(tmp_path, **QUICK) as memory:
            assert await memory.count() == 2
        assert "closed" in repr(memory)

    asyncio.run(scenario())


CALLS_ON_A_MEMORY: list[Callable[[AgentMemory], object]] = [
    lambda memory: memory.store("k", "text"),
    lambda memory: memory.store_many([{"key": "k", "content": "text"}]),
    lambda memory: memory.recall("text"),
    lambda memory: memory.get("k"),
    lambda memory: memory.forget("k"),
    lambda memory: memory.count(),
    lambda memory: memory.list(),
    lambda memory: memory.history("k"),
    lambda memory: memory.save_conversation_history("s", []),
    lambda memory: memory.load_conversation_history("s"),
    lambda memory: memory.list_sessions(),
    lambda memory: memory.add_word("云麓"),
    lambda memory: memory.drain(),
    lambda memory: memory.verify(),
    lambda memory: memory.repair(),
    lambda memory: memory.rebuild(),
    lambda memory: memory.doctor(),
    lambda memory: memory.export_jsonl("never-written.jsonl"),
    lambda memory: memory.import_jsonl("never-read.jsonl"),
]


def test_a_closed_memory_says_so(memory: AgentMemory) -> None:
    memory.close()
    memory.close()
    for call in CALLS_ON_A_MEMORY:
        with pytest.raises(MemoryClosedError, match="open it again"):
            call(memory)


def test_a_closed_asynchronous_memory_says_so(tmp_path: Path) -> None:
    async def scenario() -> None:
        memory = await create_memory(tmp_path, **QUICK)
        await memory.close()
        with pytest.raises(MemoryClosedError, match="open it again"):
            await memory.store("k", "text")
        with pytest.raises(MemoryClosedError, match="open it again"):
            await memory.history("k")

    asyncio.run(scenario())


# --- nothing at all -----------------------------------------------------------------------------------------------


def test_noop_memory_keeps_nothing() -> None:
    with NoopMemory() as memory:
        entry = memory.store("k", "text", "daily", scope="ada", tags=["t"], importance=0.25)
        assert isinstance(entry, MemoryEntry)
        assert (entry.key, entry.content, entry.category) == ("k", "text", "daily")
        assert (entry.scope, entry.tags, entry.importance_score) == ("ada", ("t",), 0.25)
        many = memory.store_many([{"key": "a", "content": "b", "category": "daily"}])
        assert [(entry.key, entry.category) for entry in many] == [("a", "daily")]
        assert memory.recall("text") == []
        assert memory.get("k") is None
        assert memory.forget("k") is False
        assert memory.count() == 0
        assert memory.list() == []
        assert memory.history("k") == []
        assert memory.save_conversation_history("s", [{"role": "user", "content": "hi"}]) == "s"
        assert memory.load_conversation_history("s") == []
        assert memory.list_sessions() == []


def test_entries_carry_times_in_utc_with_microseconds(memory: AgentMemory) -> None:
    before = time.time()
    entry = memory.store("k", "text")
    after = time.time()
    assert entry.created_at.tzinfo is UTC
    assert before - 0.001 <= entry.created_at.timestamp() <= after + 0.001
    assert present(memory.get("k")).created_at == entry.created_at


@pytest.mark.parametrize("method", ["store", "add", "update"])
def test_every_field_that_is_checked_is_a_parameter_in_the_same_order(method: str) -> None:
    parameters = inspect.signature(getattr(AgentMemory, method)).parameters
    fields = [name for name in STORE_ARGUMENTS if name not in {"key", "scope"}]
    assert [name for name in parameters if name in fields] == fields

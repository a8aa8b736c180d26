"""What the runtime promises beside its design: scopes that are named, answers that say what they lack, updates."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from jiyi.errors import InvalidInputError, InvalidScopeError, VersionConflictError
from jiyi.model import clock
from jiyi.model.strength_decay import DecayRules
from jiyi.recall.tags import stands_in
from jiyi.runtime.consolidation import consolidate
from jiyi.runtime.values import RecalledMemories
from jiyi.sync import AgentMemory
from tests.support import QUICK, contents_of, present

Open = Callable[..., AgentMemory]


@pytest.fixture
def open_one(tmp_path: Path) -> Open:
    def opened(**settings: Any) -> AgentMemory:
        return AgentMemory.open(tmp_path / "data", **{**QUICK, "embedder": "none", **settings})

    return opened


def test_with_strict_scope_a_call_without_a_scope_is_refused(open_one: Open) -> None:
    with open_one(strict_scope=True) as memory:
        with pytest.raises(InvalidScopeError, match="memory_scope is missing"):
            memory.runtime.remember("fact", "tea", "", ["tea"])
        memory_id = memory.runtime.remember("fact", "tea", "", ["tea"], memory_scope="chat-1")
        assert memory.runtime.get(memory_id, memory_scope="chat-1") is not None


@pytest.mark.parametrize(
    "call",
    [
        lambda memory: memory.store("k", "tea"),
        lambda memory: memory.add("tea"),
        lambda memory: memory.store_many([{"key": "k", "content": "tea"}]),
        lambda memory: memory.recall("tea"),
        lambda memory: memory.get("k"),
        lambda memory: memory.list(),
        lambda memory: memory.count(),
        lambda memory: memory.forget("k"),
        lambda memory: memory.chat("s"),
        lambda memory: memory.save_conversation_history("s", [{"role": "user", "content": "tea"}]),
        lambda memory: memory.load_conversation_history("s"),
        lambda memory: memory.agent("s"),
        lambda memory: memory.tools(),
        lambda memory: memory.runtime.recall("tea"),
    ],
)
def test_with_strict_scope_every_room_refuses_a_call_without_a_scope(open_one: Open, call: Any) -> None:
    with (
        open_one(strict_scope=True) as memory,
        pytest.raises(InvalidScopeError, match=r"(scope|user) is missing, and strict_scope is on: name the scope"),
    ):
        call(memory)


def test_with_strict_scope_calls_that_name_their_scope_do_what_they_always_do(open_one: Open) -> None:
    with open_one(strict_scope=True) as memory:
        memory.store("k", "Ann likes tea", scope="ann")
        assert [hit.content for hit in memory.recall("tea", scope="ann")] == ["Ann likes tea"]
        memory.chat("s", scope="ann").put({"role": "user", "content": "hi"})
        assert memory.agent("s", user="ann").begin("What does Ann like?").finish("Tea.") is not None
        assert memory.agent("g", kind="group").begin("hello").id
        made = memory.tools(scope="ann").answer("remember", {"content": "Ann likes jam", "tags": ["jam"]})
        assert not made.is_error
        assert memory.maintain() is not None
        assert memory.doctor()


def test_with_strict_scope_a_configured_scope_is_named(open_one: Open) -> None:
    with open_one(strict_scope=True, scope="support-desk") as memory:
        memory_id = memory.runtime.remember("fact", "tea", "", ["tea"])
        assert memory.runtime.get(memory_id, memory_scope="support-desk") is not None


@pytest.mark.parametrize("how", ["recall", "chained_recall", "comprehensive_recall"])
def test_what_is_less_relevant_than_was_asked_for_is_left_out(open_one: Open, how: str) -> None:
    with open_one(embedder="bundled") as memory:
        memory.runtime.remember("fact", "The cat sleeps on the sofa")
        ask = getattr(memory.runtime, how)
        assert [found.judgment for found in ask("quantum physics")] == ["The cat sleeps on the sofa"]
        assert ask("quantum physics", min_relevance=0.02) == []
        assert len(ask("where does the cat sleep?", min_relevance=0.02)) == 1
        with pytest.raises(InvalidInputError, match="min_relevance 2 must be a number from 0 to 1"):
            ask("quantum physics", min_relevance=2)


def test_the_runtime_leaves_no_reflection_of_a_fact_that_it_changes(open_one: Open) -> None:
    def fact(number: int) -> str:
        text = f"I own {number} cows"
        return memory.store(f"k{number}", text, memory_type="fact", domain="user_preferences", importance=0.9).id

    with open_one() as memory:
        runtime = memory.runtime
        changes: list[Callable[[str], object]] = [
            lambda each: runtime.update(each, judgment="I own pigs"),
            runtime.forget,
            lambda each: runtime.forget(each, erase=True),
        ]
        for number, change in enumerate(changes):
            ids = [fact(2 * number), fact(2 * number + 1)]
            assert memory.longterm.try_generate_reflection("main", None, 0.1, 0) is not None
            change(ids[0])
            assert memory.list(memory_types="reflection") == []
        assert "I own 4 cows" not in str(contents_of(memory))


def test_the_runtime_changes_no_message_and_says_of_none_that_it_is_erased(open_one: Open) -> None:
    with open_one() as memory:
        memory.chat("talk").put({"role": "user", "content": "the pin is 4711"})
        [message] = memory.list(memory_types="message")
        with pytest.raises(InvalidInputError, match="is a message"):
            memory.runtime.update(message.id, judgment="the pin is 4712")
        with pytest.raises(InvalidInputError, match="is a message"):
            memory.runtime.forget(message.id, erase=True)
        assert present(memory.get(id=message.id)).content == "the pin is 4711"


def test_what_the_runtime_restores_is_seen_again(open_one: Open) -> None:
    with open_one() as memory:
        entry = memory.store("code", "the code is 1234", expires_at=clock.utc_now() - timedelta(seconds=1))
        assert memory.maintain()["expired"] == 1
        assert memory.runtime.restore(entry.id) is not None
        assert present(memory.get("code")).content == "the code is 1234"
        assert memory.maintain()["expired"] == 0
        old = memory.store("home", "I live in Bern", memory_type="fact", domain="user_preferences")
        memory.longterm.extract_and_store_memories_for_round("main", "c", "I live in Basel now", "")
        assert [each.entry.id for each in memory.longterm.superseded("main")] == [old.id]
        memory.runtime.restore(old.id)
        assert present(memory.get("home")).superseded_by is None


def test_what_was_strengthened_while_a_consolidation_looked_at_it_does_not_fade(open_one: Open) -> None:
    with open_one() as memory:
        runtime = memory.runtime
        used, unused = (runtime.remember("habit", text, "", ["a"]) for text in ("gets up early", "sings at night"))
        deps = runtime._target._service.deps

        class Meanwhile:
            """The store, and somebody who uses a memory between two steps."""

            def page(self, scope: str, **options: Any) -> Any:
                found = deps.store.page(scope, **options)
                if options["active"]:
                    runtime.feedback([used])
                return found

            def __getattr__(self, name: str) -> Any:
                return getattr(deps.store, name)

        later = clock.utc_now() + timedelta(days=365)
        store: Any = Meanwhile()
        consolidate(store, deps.analyzer, ["main"], rules=DecayRules(), now=later, actor="test", dry_run=False)
        assert present(runtime.get(used)).is_active
        assert not present(runtime.get(unused)).is_active


def test_vector_mode_without_an_embedder_says_so_in_every_answer(open_one: Open) -> None:
    with open_one() as memory:
        memory.runtime.remember("fact", "green tea", "", ["tea"])
        for ask in (memory.runtime.recall, memory.runtime.comprehensive_recall, memory.runtime.chained_recall):
            found = ask("green tea")
            assert isinstance(found, RecalledMemories)
            assert any("no embedder" in note for note in found.notes)


def test_every_room_without_an_embedder_says_so_and_what_asks_for_no_meanings_does_not(open_one: Open) -> None:
    with open_one() as memory:
        memory.store("tea", "I drink green tea", memory_type="fact", domain="user_preferences", tags=["tea"])
        said = ("no embedder is configured, so memories are found by words and tags, not by meaning",)
        for query in ("Which tea do I drink?", "Which zebra do I ride?"):
            assert memory.recall(query).notes == said
            assert memory.longterm.retrieve_relevant_memories("main", query).notes == said
            assert memory.recall(query, mode="keyword").notes == ()
            assert memory.recall(query, mode="tags").notes == ()


def test_in_simple_mode_no_answer_speaks_of_meanings(open_one: Open) -> None:
    with open_one(enable_simple_memory=True) as memory:
        memory.runtime.remember("fact", "green tea", "", ["tea"])
        assert [memory.recall("tea").notes, memory.runtime.recall("tea").notes] == [(), ()]


def test_what_is_shown_below_the_floor_of_prompts_does_not_count_as_recalled(
    open_one: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = ("My dentist is Dr Kelly on Bridge Street", "I collect old stamps from Peru", "I play the cello")
    with open_one(embedder="bundled") as memory:
        for text in facts:
            memory.longterm.extract_and_store_memories_for_round("main", "c", text, "")
        memory.runtime.remember("fact", "The build server is called otter", "", ["otter"])
        later = clock.utc_now() + timedelta(days=20)
        monkeypatch.setattr(clock, "utc_now", lambda: later)

        def noted(query: str, how: str = "recall") -> set[str]:
            shown = getattr(memory.runtime, how)(query)
            assert shown, "recall shows the nearest, whatever it is"
            return {each.content for each in memory.list(memory_types="fact") if each.last_accessed_at == later}

        for query in ("How old is the universe?", "Who won the cup in Oslo?", "what shall I cook tonight"):
            for how in ("recall", "comprehensive_recall", "chained_recall"):
                assert noted(query, how) == set()
        assert noted("Who is my dentist?") == {facts[0]}
        assert noted("What is the build server called?") == {facts[0], "The build server is called otter"}


def test_text_tags_and_strength_can_be_updated_and_the_old_version_stays(open_one: Open) -> None:
    with open_one(enable_simple_memory=True) as memory:
        runtime = memory.runtime
        memory_id = runtime.remember("fact", "小明爱吃火锅", "", ["火锅"])
        changed = present(runtime.update(memory_id, judgment="小明爱吃烤鱼", tags=["烤鱼"], strength=4))
        assert (changed.judgment, changed.tags, changed.strength) == ("小明爱吃烤鱼", ("烤鱼",), 4)
        assert [found.id for found in runtime.recall("去吃烤鱼")] == [memory_id]
        assert runtime.recall("去吃火锅") == []
        assert [version.operation for version in runtime.history(memory_id)] == ["create", "update"]
        assert runtime.update(memory_id, judgment="x", memory_scope="another") is None
        with pytest.raises(InvalidInputError, match="an update needs"):
            runtime.update(memory_id)


def test_a_change_of_another_version_than_is_meant_is_refused(open_one: Open) -> None:
    with open_one(enable_simple_memory=True) as memory:
        runtime = memory.runtime
        memory_id = runtime.remember("fact", "小明爱吃火锅", "", ["火锅"])
        first = present(runtime.get(memory_id))
        second = present(runtime.update(memory_id, strength=4, if_version=first.version))
        assert second.version == first.version + 1
        for change in (
            lambda: runtime.update(memory_id, strength=5, if_version=first.version),
            lambda: runtime.forget(memory_id, if_version=first.version),
            lambda: runtime.forget(memory_id, erase=True, if_version=first.version),
        ):
            with pytest.raises(VersionConflictError, match="changed meanwhile"):
                change()
        assert present(runtime.get(memory_id)).strength == 4
        assert runtime.forget(memory_id, if_version=second.version)


@pytest.mark.parametrize(
    ("tag", "text", "found"),
    [
        *(("ai", "he said so", False), ("ai", "学ai的人", True), ("ai", "ai, of course", True)),
        *(
            ("c++", "c++20", True),
            ("火锅", "老火锅店", True),
            ("3", "30 days", False),
            ("new york", "in new york.", True),
        ),
        *(("кот", "который", False), ("кот", "мой кот спит", True), ("кот", "скот", False), ("кот", "叫кот的猫", True)),
        *(("γάτα", "γάτας", False), ("राम", "रामा", False), ("राम", "राम आया", True), ("بيت", "بيت.", True)),
        *(("서울", "서울에서", True), ("ไทย", "คนไทยใจดี", True), ("ねこ", "このねこは", True)),
        *(("c", "i write c++", False), ("c", "c++20", False), ("c", "用c#写", False), ("c", "c#7 and f#", False)),
        *(("c", "i like c.", True), ("c", "c, java", True), ("c", "c/c++", True), ("c", "使用c语言", True)),
        *(("c", "c++ and c", True), ("c#", "用c#写", True), ("f", "c#和f#", False), ("notepad", "notepad++", False)),
        *(("ai", "ai.", True), ("ai", "ai+医疗", True), ("a", "a+b", True), ("a", "an a+ in maths", False)),
        *(("ai", "#ai#", True), ("ai", "ai#打卡#", True), ("维生素c", "#维生素c#", True), ("pr", "pr#12", True)),
        *((".net", "asp.net", False), ("net", "asp.net", False), (".net", "the .net runtime", True)),
        *((".net", "我用.net", True), ("node", "node.js", False), ("js", "node.js", False)),
        *(("node.js", "用node.js写", True), ("ai", "1.ai工具", True), ("ai", "ai.真好", True), ("s", "u.s.", False)),
    ],
)
def test_a_tag_in_a_script_that_separates_words_is_found_only_as_a_whole_word(tag: str, text: str, found: bool) -> None:
    assert stands_in(tag, text) is found


def test_feedback_gives_a_list(open_one: Open) -> None:
    with open_one(enable_simple_memory=True) as memory:
        assert memory.runtime.feedback() == []
        result = memory.runtime.feedback(new_memories=[{"memory_type": "fact", "judgment": "tea", "tags": ["tea"]}])
        assert result == list(result)
        assert [each.judgment for each in result] == ["tea"]
        assert result.created == (result[0].id,)


def test_maintain_consolidates_duplicates(open_one: Open) -> None:
    with open_one(enable_simple_memory=True) as memory:
        memory.runtime.remember("fact", "tea", "", ["tea"])
        memory.runtime.remember("fact", "tea", "", ["tea"])
        assert memory.maintain(dry_run=True)["consolidated"]["groups"] == 1
        assert memory.maintain()["consolidated"]["merged"] == 2
        (merged,) = memory.runtime.recall("tea")
        assert merged.strength == 2


def _by_the_runtime(memory: AgentMemory) -> None:
    assert [each.judgment for each in memory.runtime.recall("does Anna play the cello?")] == [CELLO]


def _by_the_recall_tool(memory: AgentMemory) -> None:
    found = memory.tools().call("recall", {"query": "does Anna play the cello?"})["memories"]
    assert [each["content"] for each in found] == [CELLO]


def _by_the_remember_tool(memory: AgentMemory) -> None:
    assert not memory.tools().call("remember", {"content": CELLO, "tags": ["cello"]})["new"]


def _by_a_prompt(memory: AgentMemory) -> None:
    turn = memory.agent("talk").begin("does Anna play the cello?")
    assert CELLO in str(turn.messages)
    turn.break_off("", "nothing was said")


CELLO = "Anna plays the cello in an orchestra"


@pytest.mark.parametrize("simple", [True, False])
@pytest.mark.parametrize("use", [_by_the_runtime, _by_the_recall_tool, _by_the_remember_tool, _by_a_prompt, None])
def test_what_a_model_recalls_does_not_fade_and_what_it_does_not_recall_fades(
    open_one: Open, monkeypatch: pytest.MonkeyPatch, use: Callable[[AgentMemory], None] | None, simple: bool
) -> None:
    begin = clock.utc_now()
    with open_one(enable_simple_memory=simple) as memory:
        memory_id = memory.tools().call("remember", {"content": CELLO, "tags": ["cello"]})["id"]
        for days in (20, 40, 60):
            monkeypatch.setattr(clock, "utc_now", lambda days=days: begin + timedelta(days=days))
            if use is not None:
                use(memory)
            memory.runtime.consolidate_memories()
        assert present(memory.runtime.get(memory_id)).is_active is (use is not None)

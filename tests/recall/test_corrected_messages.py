"""A fact that holds now comes before the message that it corrects, and "OK" is the answer to nothing."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from jiyi.model.entry import Explanation, MemoryEntry
from jiyi.ports import Embedder
from jiyi.recall.corrections import current_first
from jiyi.sync import AgentMemory
from tests.support import keys

OpenMemory = Callable[..., AgentMemory]


def hit(memory: AgentMemory, key: str, relevance: float, *matched: str) -> MemoryEntry:
    entry = memory.store(key, f"{key} owns billing")
    return entry.as_hit(relevance, Explanation(matched_terms=matched), confident=relevance >= 0.2)


def test_the_fact_that_holds_now_comes_before_the_message_that_it_corrects(memory: AgentMemory) -> None:
    alice, bob, carol = (hit(memory, "alice", 0.5, "bill"), hit(memory, "bob", 0.3), hit(memory, "carol", 0.1, "bill"))
    message = replace(alice, corrected_by=(carol,))
    found = current_first([message, bob, carol])
    assert keys(found) == ["carol", "alice", "bob"]
    assert [each.relevance_score for each in found] == [0.5, 0.5, 0.3]
    assert found[0].confident


def test_a_fact_without_the_words_of_the_question_is_less_likely_and_so_is_the_message(memory: AgentMemory) -> None:
    alice, bob = hit(memory, "alice", 0.8, "phone", "number"), hit(memory, "bob", 0.7, "phone")
    carol = hit(memory, "carol", 0.1, "phone")
    found = current_first([replace(alice, corrected_by=(carol,)), bob, carol])
    assert keys(found) == ["bob", "carol", "alice"]
    assert [each.relevance_score for each in found] == pytest.approx([0.7, 0.6, 0.6])


def test_a_correction_stands_once_in_the_answer(open_memory: OpenMemory, bundled_embedder: Embedder) -> None:
    memory = open_memory(embedder=bundled_embedder)
    for number, text in enumerate(("My dentist is Dr. Holm.", "My dentist is now Dr. Brandt.")):
        memory.longterm.extract_and_store_memories_for_round("main", f"c{number}", text, "Noted.")
    found = memory.recall("Who is my dentist?")
    assert [each.content for each in found] == ["My dentist is now Dr. Brandt.", "My dentist is Dr. Holm."]


def test_a_fact_without_a_word_of_the_question_stays_where_it_is(memory: AgentMemory) -> None:
    alice, carol = hit(memory, "alice", 0.5, "bill"), hit(memory, "carol", 0.1)
    hits = [replace(alice, corrected_by=(carol,)), carol]
    assert current_first(hits) == hits


@pytest.mark.parametrize(
    ("told", "question"),
    [
        (("I live in Leeds", "I moved to York last week"), "Where do I live?"),
        (("我住在杭州", "我搬到成都了"), "我住在哪里？"),
        (("My phone is a Pixel", "I switched from the Pixel to an iPhone 15"), "What phone do I have?"),
    ],
)
def test_the_first_hit_is_what_holds_now_whatever_its_words(
    open_memory: OpenMemory, bundled_embedder: Embedder, told: tuple[str, str], question: str
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    for number, text in enumerate(told):
        memory.longterm.extract_and_store_memories_for_round("main", f"c{number}", text, "OK.")
    [best] = memory.recall(question, limit=1)
    assert (best.content, best.confident) == (told[1], True)


def test_a_fact_that_the_filters_leave_out_does_not_come_in(
    open_memory: OpenMemory, bundled_embedder: Embedder
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    for number, text in enumerate(("I live in Leeds", "I moved to York last week")):
        memory.longterm.extract_and_store_memories_for_round("main", f"c{number}", text, "OK.")
    found = memory.recall("Where do I live?", memory_types=["message"])
    assert {each.memory_type for each in found} == {"message"}


def test_hits_in_the_right_order_stay_as_they_are(memory: AgentMemory) -> None:
    alice, carol = hit(memory, "alice", 0.3, "bill"), hit(memory, "carol", 0.6, "bill")
    hits = [carol, replace(alice, corrected_by=(carol,))]
    assert current_first(hits) == hits
    assert current_first([]) == []


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("Where is the boat moored?", ["The boat lies at pier nine.", "Got it.", "OK", "thanks!"]),
        ("船停在哪里？", ["船停在九号码头。", "好的。", "收到", "谢谢"]),
        ("boat", ["The boat lies at pier nine.", "Got it.", "OK", "thanks!"]),
        ("码头", ["船停在九号码头。", "好的。", "收到", "谢谢"]),
    ],
)
def test_assent_is_no_answer(
    open_memory: OpenMemory, bundled_embedder: Embedder, question: str, texts: list[str]
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    memory.save_conversation_history("harbour", [{"role": "user", "content": text} for text in texts])
    assert [each.content for each in memory.recall(question)] == texts[:1]


def test_assent_is_found_by_its_own_words(open_memory: OpenMemory, bundled_embedder: Embedder) -> None:
    memory = open_memory(embedder=bundled_embedder)
    texts = ["The boat lies at pier nine.", "Thanks!"]
    memory.save_conversation_history("harbour", [{"role": "user", "content": text} for text in texts])
    assert "Thanks!" in [each.content for each in memory.recall("Thanks!")]


@pytest.mark.parametrize(
    ("question", "given", "told"),
    [
        ("我住在哪里", "把这句话翻译成英文：我住在上海，我有两个孩子", "我住在南京"),
        ("Where do I live?", "Please proofread: I have been live in Manchester for ten years", "I live in Leeds"),
    ],
)
def test_a_text_that_was_given_to_be_worked_on_is_no_confident_answer(
    open_memory: OpenMemory, bundled_embedder: Embedder, question: str, given: str, told: str
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    memory.save_conversation_history("s", [{"role": "user", "content": given}, {"role": "assistant", "content": "ok"}])
    assert not any(hit.confident for hit in memory.recall(question) if hit.content == given)
    memory.save_conversation_history("t", [{"role": "user", "content": told}, {"role": "assistant", "content": "ok"}])
    assert memory.recall(question)[0].content == told
    words = given.split("：", maxsplit=1)[0].split(":", maxsplit=1)[0]
    assert [hit.content for hit in memory.recall(words, 1)] == [given]

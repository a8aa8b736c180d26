"""Words for the same: a question about a pet finds the cat, in small stores and whatever is stored elsewhere."""

from collections.abc import Callable

import pytest

from jiyi.ports import Embedder, JudgesQuestions
from jiyi.providers.bundled import BundledEmbedder
from jiyi.sync import AgentMemory
from jiyi.text import Analyzer
from jiyi.text.related_words import related_words

OpenMemory = Callable[..., AgentMemory]
FACTS = {
    "cat": "There is a tabby called Nori who sleeps on my desk",
    "car": "The Volvo has to be serviced in March",
    "tea": "Two cups of oolong every morning",
    "run": "The half marathon in Porto took me two hours",
}


def first(memory: AgentMemory, question: str, mode: str = "hybrid") -> str | None:
    hits = memory.recall(question, 1, mode=mode)
    return hits[0].key if hits else None


@pytest.mark.parametrize(
    ("word", "other"),
    [("pet", "猫"), ("宠物", "kitten"), ("过敏", "花粉"), ("instrument", "violin"), ("violin", "乐器")],
)
def test_concepts_relate_words_of_both_languages(word: str, other: str) -> None:
    [asked, stored] = [Analyzer().query(each).words[0] for each in (word, other)]
    found = related_words(asked)
    assert 0 < found[stored] <= 1
    assert asked not in found


def test_a_word_of_the_kind_says_more_than_the_name_of_the_kind() -> None:
    assert related_words("乐器")["小提琴"] > related_words("小提琴")["乐器"]
    assert related_words("qx7730") == {}


def test_a_question_finds_what_has_other_words_for_the_same(
    open_memory: OpenMemory, bundled_embedder: Embedder
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    memory.store_many([{"key": key, "content": text} for key, text in FACTS.items()])
    [hit, *others] = memory.recall("Which pet lives here?", scope="main")
    assert hit.key == "cat"
    assert hit.score_parts["related"] > 0
    assert all(other.score_parts["related"] == 0 for other in others)
    assert first(memory, "我喝什么茶？") == "tea"


def test_the_word_itself_is_not_counted_a_second_time(open_memory: OpenMemory, bundled_embedder: Embedder) -> None:
    memory = open_memory(embedder=bundled_embedder)
    memory.store("one", "The pet is a cat")
    [hit] = memory.recall("Which pet is it?")
    assert hit.score_parts["related"] == 0


def test_where_meaning_is_not_asked_only_the_words_count(open_memory: OpenMemory, bundled_embedder: Embedder) -> None:
    memory = open_memory(embedder=bundled_embedder)
    memory.store_many([{"key": key, "content": text} for key, text in FACTS.items()])
    assert first(memory, "Which pet lives here?", "keyword") is None
    hits = memory.recall("Which pet lives here?", mode="semantic")
    assert all(hit.score_parts["related"] == 0 for hit in hits)


def test_what_other_scopes_store_changes_no_relevance(open_memory: OpenMemory, bundled_embedder: Embedder) -> None:
    memory = open_memory(embedder=bundled_embedder)
    memory.store_many([{"key": key, "content": text} for key, text in FACTS.items()])
    before = [(hit.key, hit.relevance_score, dict(hit.score_parts)) for hit in memory.recall("Which pet lives here?")]
    memory.store_many([{"key": f"k{n}", "content": f"pet number {n} is a cat", "scope": "bob"} for n in range(30)])
    after = [(hit.key, hit.relevance_score, dict(hit.score_parts)) for hit in memory.recall("Which pet lives here?")]
    assert after == before


@pytest.mark.parametrize(
    ("personal", "general"),
    [
        ("Who fixed the roof of our garage?", "Who formulated the theory of relativity?"),
        ("上次感冒我吃的什么药？", "青蒿素是谁发现的？"),
    ],
)
def test_questions_about_somebody_are_told_from_general_knowledge(
    bundled_embedder: Embedder, personal: str, general: str
) -> None:
    assert isinstance(bundled_embedder, JudgesQuestions)
    model = BundledEmbedder()
    near, far = (model.how_personal(text) for text in (personal, general))
    assert -1 <= far < 0 < near <= 1
    assert model.how_personal(" ") == 0.0


def test_a_question_of_general_knowledge_is_hidden_from_people(
    open_memory: OpenMemory, bundled_embedder: Embedder
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    memory.store_many([{"key": key, "content": text} for key, text in FACTS.items()])
    general = memory.recall("Who formulated the theory of relativity?")[0]
    asked = memory.recall("Which pet lives here?")[0]
    assert general.score_parts["personal"] < 0 < asked.score_parts["personal"]
    assert (general.relevance_score or 0) < (asked.relevance_score or 0) / 3
    # A request may be one of general knowledge as well; that words are about somebody says nothing.
    assert memory.recall("Explain the theory of relativity")[0].score_parts["personal"] < 0
    assert memory.recall("my wedding day")[0].score_parts["personal"] == 0

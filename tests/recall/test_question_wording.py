"""What of a question is embedded, and how its vector is compared with the vectors of texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from jiyi.ports import Embedder, EmbedsQuestions, ModelIdentity
from jiyi.providers.cached import CachedEmbedder
from jiyi.providers.checked import CheckedEmbedder
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from jiyi.text.questions import is_question

if TYPE_CHECKING:
    from jiyi.ports import Vectors

OpenMemory = Callable[..., AgentMemory]
THINGS = ("kayak", "violin", "tent", "oven", "ladder", "printer", "scarf", "lamp", "drum", "piano", "fence")


class Noting(HashEmbedder):
    """Knows what it has embedded, and how many of the texts it was told to be questions."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.questions = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        return super().embed(texts)

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        self.questions += len(texts)
        return self.embed(texts)


def remember(memory: AgentMemory, scope: str = "main", name: str = "Nora") -> None:
    memory.store_many(
        {"key": f"{thing}{number}", "content": f"{name} has bought {number} of {thing}", "scope": scope}
        for thing in THINGS
        for number in range(2)
    )


def embedded(memory: AgentMemory, embedder: Noting, question: str, **options: Any) -> str:
    """The text of the question that was embedded."""
    memory.recall("warm up")
    embedder.texts.clear()
    memory.recall(question, **options)
    return embedder.texts[-1]


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
def test_a_name_that_stands_in_every_memory_is_not_embedded(open_memory: OpenMemory, mode: str) -> None:
    embedder = Noting()
    memory = open_memory(embedder=embedder)
    remember(memory)
    assert embedded(memory, embedder, "Where is Nora's kayak?", mode=mode) == "Where is kayak?"


@pytest.mark.parametrize(("words", "wording"), [(3, "Where is the drawn?"), (75, "Where is the kayak drawn?")])
def test_a_word_of_every_third_memory_is_left_out_among_short_texts_and_not_among_long_ones(
    open_memory: OpenMemory, words: int, wording: str
) -> None:
    embedder = Noting()
    memory = open_memory(embedder=embedder)
    for number in range(24):
        others = " ".join(f"n{number}w{word}" for word in range(words))
        memory.store(str(number), f"Nora {'kayak ' if number % 3 == 0 else ''}{others}")
    assert embedded(memory, embedder, "Where is the kayak drawn?") == wording
    assert "Nora" not in embedded(memory, embedder, "Where is the drawing of Nora?")


def test_a_chinese_name_that_stands_in_every_memory_is_not_embedded(open_memory: OpenMemory) -> None:
    embedder = Noting()
    memory = open_memory(embedder=embedder)
    memory.store_many({"key": thing, "content": f"小明的{thing}放在家里"} for thing in THINGS)
    memory.store_many({"key": thing + "2", "content": f"小明喜欢{thing}"} for thing in THINGS)
    assert embedded(memory, embedder, "小明不能吃什么？") == "不能吃什么？"


def test_a_question_of_common_words_alone_is_embedded_whole(open_memory: OpenMemory) -> None:
    embedder = Noting()
    memory = open_memory(embedder=embedder)
    remember(memory)
    assert embedded(memory, embedder, "What has Nora bought?") == "What has Nora bought?"


def test_the_own_text_of_a_memory_finds_it_among_many_that_are_alike(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=HashEmbedder())
    remember(memory)
    for thing in THINGS:
        (hit,) = memory.recall(f"Nora has bought 1 of {thing}", 1, mode="semantic")
        assert hit.key == f"{thing}1"


def test_few_memories_do_not_tell_which_words_are_common(open_memory: OpenMemory) -> None:
    embedder = Noting()
    memory = open_memory(embedder=embedder)
    memory.store_many({"key": thing, "content": f"Nora has a {thing}"} for thing in THINGS)
    assert embedded(memory, embedder, "Where is Nora's kayak?") == "Where is Nora's kayak?"


def test_the_words_of_foreign_scopes_do_not_change_what_is_embedded(open_memory: OpenMemory) -> None:
    embedder = Noting()
    memory = open_memory(embedder=embedder)
    remember(memory, "theirs", "Otto")
    remember(memory)
    assert embedded(memory, embedder, "Where is Otto's kayak?") == "Where is Otto's kayak?"
    assert embedded(memory, embedder, "Where is Otto's kayak?", scope="theirs") == "Where is kayak?"


def test_the_long_term_room_compares_the_question_as_it_is(open_memory: OpenMemory) -> None:
    embedder = Noting()
    memory = open_memory(embedder=embedder)
    remember(memory)
    memory.recall("warm up")
    embedder.texts.clear()
    embedder.questions = 0
    memory.longterm.retrieve_relevant_memories("main", "Where is Nora's kayak?")
    assert "Where is Nora's kayak?" in embedder.texts
    assert not embedder.questions, "the similarity is the plain cosine there"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("where is my kayak", True),
        ("My kayak?", True),
        ("我的船在哪儿", True),
        ("船放在仓库了吗", True),
        ("My kayak is in the shed.", False),
        ("kayak shed", False),
        ("船在仓库里。", False),
    ],
)
def test_questions_are_told_from_other_texts(text: str, expected: bool) -> None:
    assert is_question(text) is expected


def test_only_the_vector_of_a_question_is_adapted(open_memory: OpenMemory) -> None:
    class Turning(HashEmbedder):
        def embed_questions(self, texts: Sequence[str]) -> Vectors:
            return -self.embed(texts)

    memory = open_memory(embedder=Turning())
    memory.store("shed", "kayak shed")
    for text, similarity in (("kayak shed", 1.0), ("kayak shed?", -1.0)):
        assert memory.recall(text)[0].similarity == pytest.approx(similarity, abs=0.1)


def test_a_question_is_nearer_to_its_answer_than_to_other_questions(bundled_embedder: Embedder) -> None:
    assert isinstance(bundled_embedder, EmbedsQuestions)
    question, other, answer = bundled_embedder.embed(
        ["What am I allergic to?", "Where do I work at the moment?", "Peanuts make my throat swell."]
    )
    (adapted,) = bundled_embedder.embed_questions(["What am I allergic to?"])
    assert np.linalg.norm(adapted) == pytest.approx(1.0, abs=1e-5)
    assert adapted @ answer - adapted @ other > question @ answer - question @ other


def test_a_short_fact_with_all_words_is_a_confident_hit(open_memory: OpenMemory, bundled_embedder: Embedder) -> None:
    memory = open_memory(embedder=bundled_embedder)
    memory.store("wifi", "The guest wifi password is blue-heron-7")
    (hit,) = memory.recall("guest wifi password")
    assert (hit.key, hit.confident) == ("wifi", True)


def test_the_vector_of_no_text_stays_similar_to_nothing(bundled_embedder: Embedder) -> None:
    assert isinstance(bundled_embedder, EmbedsQuestions)
    assert not bundled_embedder.embed_questions([" "]).any()


@pytest.mark.parametrize("wrapper", [CachedEmbedder, CheckedEmbedder])
def test_a_wrapped_embedder_adapts_questions_as_the_embedder_does(wrapper: Callable[[Embedder], Embedder]) -> None:
    class Turned(HashEmbedder):
        def embed_questions(self, texts: Sequence[str]) -> Vectors:
            return -self.embed(texts)

    text = "Where is my kayak?"
    turned, plain = wrapper(Turned()), wrapper(HashEmbedder())
    assert isinstance(turned, EmbedsQuestions)
    assert isinstance(plain, EmbedsQuestions)
    assert (turned.embed_questions([text]) == -turned.embed([text])).all()
    assert (plain.embed_questions([text]) == plain.embed([text])).all()
    assert isinstance(turned.identity, ModelIdentity)

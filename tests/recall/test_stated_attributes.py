"""A question for an attribute of a person is answered by the text that states it, of that person."""

from collections.abc import Callable

import pytest

from jiyi.ports import Embedder
from jiyi.sync import AgentMemory
from jiyi.text.stated_attributes import asked_attributes, stated_attributes

OpenMemory = Callable[..., AgentMemory]


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("What's my name?", "I'm Marcus, 41, I run a small bakery"),
        ("how old am i", "I'm Marcus, 41, I run a small bakery"),
        ("Where do I live?", "We moved into the Harrogate house today"),
        ("what do I do for a living?", "I'm a nurse at St James's"),
        ("Where do I work?", "Started my new job at Wren & Co"),
        ("What can't I eat?", "I'm coeliac so no gluten for me"),
        ("How do I get to work?", "I commute by train, 40 minutes"),
        ("Do I have a dog?", "We adopted a rescue greyhound, named Biscuit"),
        ("what's my wife called", "I opened it with my wife Priya"),
        ("Where does my sister live?", "My sister moved to Lyon"),
        ("我住哪？", "上个月搬到成都了"),
        ("我叫什么名字", "你好，我叫陈思远"),
        ("我多大了", "我今年31岁"),
        ("我是做什么工作的？", "我在一家游戏公司做后端开发"),
        ("我有什么忌口吗", "我对芒果过敏"),
        ("我弟弟是干什么的", "我弟弟在深圳做销售"),
        ("我的猫叫什么", "家里养了只橘猫，叫年糕"),
        ("我住哪裡？", "上個月搬到臺中了"),
    ],
)
def test_a_question_and_the_statement_that_answers_it_have_a_term_in_common(question: str, statement: str) -> None:
    assert set(asked_attributes(question)) & set(stated_attributes(statement))


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("Where do I live?", "My sister lives in Paris"),
        ("Where do I live?", "If I won the lottery I'd move to Portugal"),
        ("Where do I live?", "Translate this into French: I live in Rome"),
        ("Where do I live?", "where do I live?"),
        ("How old am I?", "Asha turned 10 yesterday"),
        ("What's my name?", "We adopted a greyhound, named Biscuit"),
        ("What's my physio called?", "I'm Marcus, 41"),
        ("我老婆叫什么", "我的猫叫年糕"),
        ("我多大了", "她今年三岁"),
        ("我住哪", "要是有钱就搬到海边"),
    ],
)
def test_what_is_said_of_others_or_only_supposed_does_not_answer(question: str, statement: str) -> None:
    assert not set(asked_attributes(question)) & set(stated_attributes(statement))


@pytest.mark.parametrize(
    "question", ["What did I say about the trip?", "When is my dentist appointment?", "明天几点开会"]
)
def test_other_questions_ask_for_no_attribute(question: str) -> None:
    assert asked_attributes(question) == ()


def test_a_home_is_found_without_a_word_of_the_question_and_a_sisters_home_is_not_taken_for_it(
    open_memory: OpenMemory, bundled_embedder: Embedder
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    told = (
        "My sister moved into a flat in Paris",
        "We got the boxes into the Harrogate house, moved in at last",
        "The tyres of the van are worn",
    )
    for number, text in enumerate(told):
        memory.store(f"told {number}", text)
    best = memory.recall("Where do I live?")[0]
    assert best.content == told[1]
    assert best.score_parts["attribute"] > 0


def test_what_an_assistant_says_of_itself_is_not_about_the_user(
    open_memory: OpenMemory, bundled_embedder: Embedder
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    memory.save_conversation_history(
        "c",
        [
            {"role": "assistant", "content": "I live in the cloud, and I am at home everywhere."},
            {"role": "user", "content": "We settled in Ghent after the wedding."},
        ],
    )
    best = memory.recall("Where do I live?")[0]
    assert best.content == "We settled in Ghent after the wedding."

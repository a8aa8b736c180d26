"""A question for a time, a number or a place is answered by a text that has one."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from jiyi.ports import Embedder
from jiyi.sync import AgentMemory
from jiyi.text import Analyzer
from jiyi.text.answer_kinds import answer_terms

OpenMemory = Callable[..., AgentMemory]
MOMENT = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When is the check-up?", "Tuesday"),
        ("What time do we meet?", "7pm"),
        ("Which year did we marry?", "2014"),
        ("How many children do they have?", "three"),
        ("How often does she swim?", "twice"),
        ("Where are the spare keys?", "under"),
        ("什么时候体检？", "星期二"),
        ("几点见面", "七点"),
        ("他家有几口人？", "四口"),
        ("一个月房租多少？", "元"),
        ("钥匙放在哪里？", "抽屉"),
    ],
)
def test_the_kind_of_answer_is_known_by_its_words(question: str, answer: str) -> None:
    assert set(Analyzer().analyze(answer).words) & set(answer_terms(question))


@pytest.mark.parametrize(
    "text",
    [
        "Who drove us home?",
        "What does she like to read?",
        "谁送我们回家的？",
        "I remember when we had a dog.",
        "The keys are where they always are.",
        "quantum",
        "",
    ],
)
def test_other_questions_and_statements_ask_for_no_kind(text: str) -> None:
    assert answer_terms(text) == ()


@pytest.mark.parametrize("question", ["When is it?", "How many are there?", "Where is it?"])
def test_every_listed_word_is_a_term_of_the_texts(question: str) -> None:
    latin = [term for term in answer_terms(question) if term.isascii() and term.isalpha()]
    assert latin
    analyzer = Analyzer()
    stems = {stem for term in latin for stem in analyzer.analyze(term).words}
    # Some stems are no words: they are stemmed a second time here.
    assert len(stems & set(latin)) > 0.9 * len(latin)


def test_the_text_with_a_day_comes_first_where_a_time_is_asked_for(
    open_memory: OpenMemory, bundled_embedder: Embedder
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    memory.store("plain", "The yoga class is in good hands with Marta")
    memory.store("dated", "The yoga class is on Tuesday with Marta")
    [first, second] = memory.recall("When is the yoga class?")
    assert (first.key, second.key) == ("dated", "plain")
    assert first.score_parts["answer_kind"] > 0
    assert second.score_parts["answer_kind"] == 0
    assert all(hit.score_parts["answer_kind"] == 0 for hit in memory.recall("Who gives the yoga class?"))


def test_a_record_has_a_time_without_words_for_it(open_memory: OpenMemory, bundled_embedder: Embedder) -> None:
    memory = open_memory(embedder=bundled_embedder)
    memory.store("dated", "The yoga class is on Tuesday with Marta", occurred_at=MOMENT)
    [hit] = memory.recall("When is the yoga class?")
    assert hit.score_parts["answer_kind"] == 0


def test_having_a_number_makes_no_answer_of_what_fits_in_nothing_else(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder="none")
    memory.store("cats", "There are two cats in the house")
    memory.store("rent", "The rent is 900 a month")
    [hit] = memory.recall("How many cats live here?")
    assert hit.key == "cats"

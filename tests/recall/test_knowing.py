"""Recall knows what it knows: nothing for no words, one thing once, answers before questions."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench import knowing
from jiyi.errors import InvalidInputError
from jiyi.model.relevance import CONFIDENT, MIN_RELEVANCE
from jiyi.ports import Embedder
from jiyi.recall.wording import say_the_same, tells
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from jiyi.text.interrogatives import without_interrogatives
from jiyi.text.questions import asks_about_questions
from jiyi.text.rarity import is_known, specificity
from tests.support import keys, present

OpenMemory = Callable[..., AgentMemory]
CATS = (
    "My cat is called Miso.",
    "Miso sleeps on the radiator.",
    "The vet said that the cat needs to lose weight.",
    "We buy the cat food on Fridays.",
    "Miso is afraid of the vacuum cleaner.",
    "The cat flap is broken.",
)
numbers = count()


@pytest.fixture
def cats(open_memory: OpenMemory, bundled_embedder: Embedder) -> AgentMemory:
    memory = open_memory(embedder=bundled_embedder)
    memory.store_many({"key": f"cat{n}", "content": text} for n, text in enumerate(CATS))
    memory.update("cat3", tags=["cat food"])
    return memory


@pytest.fixture
def memory_of_offices(open_memory: OpenMemory, bundled_embedder: Embedder) -> AgentMemory:
    memory = open_memory(embedder=bundled_embedder)
    memory.store("office", "Anna's office is on floor 3")
    memory.store("cello", "Anna plays the cello")
    memory.store("passport", "我的护照放在书桌第二个抽屉里。")
    memory.store("hamlet", "To be or not to be")
    return memory


# --- saying nothing -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question",
    [
        *("qwzrtplk", "asdkjh qpwoei zmxnv", "jjkkllqq?", "龘靐爨齉"),
        *("lkjsdf98234", "x9q7z2k4", "фывапролдж", "锟斤拷烫烫"),
    ],
)
@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
def test_letters_that_are_no_words_get_nothing(cats: AgentMemory, question: str, mode: str) -> None:
    assert cats.recall(question, mode=mode) == []


@pytest.mark.parametrize("question", ["lkjsdf98234", "фывапролдж", "锟斤拷烫烫", "CN-A10293"])
@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_letters_that_are_no_words_find_the_text_that_has_them(cats: AgentMemory, question: str, mode: str) -> None:
    cats.store("code", f"The code of the shed is {question}")
    assert cats.recall(question, mode=mode)[0].key == "code"


def test_a_made_up_word_that_is_stored_is_found(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=HashEmbedder())
    memory.store("code", "the code name is qwzrtplk")
    assert keys(memory.recall("qwzrtplk")) == ["code"]


@pytest.mark.parametrize("question", ["小明不能吃什么", "小明不能吃什么？", "小明吃什么东西会不舒服？"])
def test_the_floor_does_not_hide_a_fact_in_other_words(
    open_memory: OpenMemory, bundled_embedder: Embedder, question: str
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    texts = ("小明对花生过敏", "小明在北京上班", "小明的猫叫年糕", "周末去爬山", "公司在五楼")
    memory.store_many({"key": text, "content": text} for text in texts)
    assert keys(memory.recall(question, min_relevance=MIN_RELEVANCE))[:1] == ["小明对花生过敏"]


def test_the_floor_hides_what_has_nothing_to_do_with_the_question(cats: AgentMemory) -> None:
    assert cats.recall("quantum", min_relevance=MIN_RELEVANCE) == []
    assert cats.recall("What is the capital of France?", min_relevance=MIN_RELEVANCE) == []


def test_plain_recall_returns_the_best_and_says_that_it_is_not_sure(cats: AgentMemory) -> None:
    hits = cats.recall("quantum chromodynamics")
    assert hits
    assert not any(hit.confident for hit in hits)
    assert cats.recall("quantum chromodynamics", min_relevance=MIN_RELEVANCE) == []
    sure = cats.recall("what is my cat called?", min_relevance=MIN_RELEVANCE)
    assert sure[0].key == "cat0"
    assert sure[0].confident
    assert (sure[0].relevance_score or 0) > CONFIDENT


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), "high", True])
def test_a_min_relevance_that_makes_no_sense_is_refused(cats: AgentMemory, value: Any) -> None:
    with pytest.raises(InvalidInputError, match="min_relevance"):
        cats.recall("cat", min_relevance=value)


def test_every_hit_of_every_mode_says_why(cats: AgentMemory) -> None:
    for mode in ("hybrid", "keyword", "semantic", "tags"):
        hits = cats.recall("cat food", mode=mode)
        hit = next(hit for hit in hits if hit.key == "cat3")
        assert hit == hits[0] or mode == "semantic"
        assert set(hit.matched) == ({"cat food"} if mode == "tags" else {"cat", "food"})
        assert hit.score_parts["information"] > 0.9
        assert (hit.similarity is None) is (mode in {"keyword", "tags"})
        assert hit.to_dict()["confident"] is True or mode == "semantic"


def test_a_tag_that_covers_little_of_the_question_is_no_sure_answer(memory: AgentMemory) -> None:
    memory.store("cello", "Anna plays the cello", tags=["Anna"])
    [sure] = memory.recall("Anna", mode="tags")
    [unsure] = memory.recall("I saw Anna at the quantum physics lecture", mode="tags")
    assert sure.confident
    assert unsure.confident is False
    assert MIN_RELEVANCE <= present(unsure.relevance_score) < present(sure.relevance_score)
    assert memory.recall("I saw Anna at the quantum physics lecture", mode="tags", min_relevance=0.9) == []


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
def test_one_stop_word_is_no_question(memory_of_offices: AgentMemory, mode: str) -> None:
    for word in ("is", "的", "the", "我"):
        assert memory_of_offices.recall(word, mode=mode, min_relevance=MIN_RELEVANCE) == []
        assert memory_of_offices.recall(word, mode=mode) or mode == "semantic"


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_a_text_of_stop_words_is_found_by_them(memory_of_offices: AgentMemory, mode: str) -> None:
    hit = memory_of_offices.recall("to be or not to be", mode=mode)[0]
    assert hit.key == "hamlet"
    assert hit.confident


def test_a_question_in_capitals_finds_its_answer_with_the_same_relevance(memory_of_offices: AgentMemory) -> None:
    lower, capitals = (
        memory_of_offices.recall(text)[0] for text in ("where is anna's office", "WHERE IS ANNA'S OFFICE")
    )
    assert lower.key == capitals.key == "office"
    assert capitals.relevance_score == pytest.approx(lower.relevance_score)


# --- words ----------------------------------------------------------------------------------------------------------


def test_everyday_words_tell_less_than_rare_ones() -> None:
    assert specificity("use") < specificity("exam") < specificity("kayak") <= specificity("qx7730") == 1.0
    assert specificity("东西") < specificity("乒乓球")


def test_words_are_told_from_letters() -> None:
    assert all(map(is_known, ["cat", "electrician", "猫", "乒乓球", "a-1", "кот"]))
    assert not any(map(is_known, ["qwzrtplk", "krumbelquax", "龘"]))


@pytest.mark.parametrize(
    ("question", "words", "pairs"),
    [
        ("我收藏什么东西", ("收藏", "东西"), {"收藏", "东西"}),
        ("外婆多少岁", ("外婆",), {"外婆"}),
        ("茶几放在哪里", ("茶几", "放在"), {"茶几", "放在"}),
    ],
)
def test_chinese_words_that_only_ask_are_no_evidence(question: str, words: tuple[str, ...], pairs: set[str]) -> None:
    from jiyi.text import Analyzer

    analysis = Analyzer().query(question)
    kept, kept_pairs = without_interrogatives(question, analysis.words, analysis.bigrams)
    assert kept == words
    assert pairs <= set(kept_pairs)
    assert not any(set(pair) & set("什么多少哪") for pair in kept_pairs)


# --- answers before questions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "asked", "answer"),
    [
        ("When is my sister's birthday?", "My sister's birthday, when is it again?", "My sister was born on 3 May."),
        ("what is my locker code", "do you remember my locker code", "The locker opens with 4471."),
        ("我的护照在哪", "我的护照呢", "护照放在书房抽屉里"),
        ("我的血型是什么", "查查我的血型", "我的血型是A型"),
    ],
)
@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_an_earlier_question_in_everyday_wording_comes_behind_its_answer(
    open_memory: OpenMemory, bundled_embedder: Embedder, question: str, asked: str, answer: str, mode: str
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    memory.save_conversation_history("talk", [{"role": "user", "content": asked}, {"role": "user", "content": answer}])
    best, *others = memory.recall(question, mode=mode)
    assert best.content == answer
    assert all(present(hit.relevance_score) < present(best.relevance_score) / 2 for hit in others)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("How wide is the sofa?", "Not sure about the colour, but the sofa is 2.4 m wide."),
        ("Do I know how to swim?", "I don't know how to swim."),
        ("我这个月收到工资了吗", "我这个月没收到工资"),
    ],
)
def test_a_statement_with_a_not_in_it_is_found(
    open_memory: OpenMemory, bundled_embedder: Embedder, question: str, said: str
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    other = "The bus to the office takes 40 minutes."
    memory.save_conversation_history("talk", [{"role": "user", "content": text} for text in (said, other)])
    best = memory.recall(question)[0]
    assert best.content == said
    assert best.confident


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_a_question_outside_a_conversation_comes_behind_its_answer(
    open_memory: OpenMemory, bundled_embedder: Embedder, mode: str
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    answer = "The car is parked on level 3 of the mall garage."
    memory.add("Where did I park my car?")
    memory.add(answer)
    best, *others = memory.recall("Where did I park my car?", mode=mode)
    assert best.content == answer
    assert all(present(hit.relevance_score) < present(best.relevance_score) / 2 for hit in others)


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_a_note_with_a_question_and_its_answer_is_found_by_the_question(
    open_memory: OpenMemory, bundled_embedder: Embedder, mode: str
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    memory.add("How do I reset the router? Hold the button for ten seconds.")
    memory.add("The router is in the hall.")
    best = memory.recall("How do I reset the router?", mode=mode)[0]
    assert best.content.endswith("ten seconds.")
    assert best.confident


# --- one thing once -------------------------------------------------------------------------------------------------


def test_a_text_that_is_stored_twice_is_one_hit_with_its_other_source(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=HashEmbedder())
    said = {"role": "user", "content": "My sister lives in Oslo."}
    memory.save_conversation_history("one", [said])
    memory.save_conversation_history("two", [{"role": "user", "content": "My sister does live in Oslo"}])
    memory.store("negated", "My sister does not live in Oslo")
    hits = memory.recall("where does my sister live")
    assert len(hits) == 2
    assert "My sister does not live in Oslo" in {hit.content for hit in hits}
    [other] = next(hit for hit in hits if hit.key is None).other_sources
    assert "Oslo" in other.content
    assert len(memory.recall("where does my sister live", duplicates=True)) == 3


def test_the_same_text_under_two_keys_is_two_things(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.store("one", "the lunch is free")
    memory.store("two", "the lunch is free")
    assert len(memory.recall("lunch")) == 2


def test_a_text_without_a_key_does_not_make_one_of_two_keys(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.store("one", "the lunch is free")
    memory.store("two", "the lunch is free")
    memory.add("the lunch is free")
    hits = memory.recall("lunch")
    assert len(hits) == 2
    named = [[each.key for each in (hit, *hit.other_sources) if each.key is not None] for hit in hits]
    assert sorted(named) == [["one"], ["two"]]


def test_a_fact_and_the_message_it_was_made_of_are_one_hit(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=HashEmbedder())
    said = "My sister Anna lives in Oslo and she is allergic to nuts."
    assert memory.longterm.extract_and_store_memories_for_round("main", "talk", said, "I will remember that.")
    hits = memory.recall("Where does my sister Anna live?")
    told = [hit for hit in hits if "Oslo" in hit.content]
    assert len(told) == 1
    assert [other.memory_type for other in told[0].other_sources] in (["message"], ["fact"])


def test_a_note_and_the_same_sentence_stored_are_one_hit(tmp_path: Path) -> None:
    with AgentMemory.open(
        tmp_path / "data", workspace=str(tmp_path / "notes"), embedder=HashEmbedder(), background_jobs=False
    ) as memory:
        memory.notes.init_workspace()
        memory.notes.memory_append("The red kayak is stored at the boathouse")
        memory.add("The red kayak is stored at the boathouse")
        said = "Please remember: the red kayak is stored at the boathouse."
        memory.save_conversation_history("talk", [{"role": "user", "content": said}])
        [hit] = [hit for hit in memory.recall("where is the red kayak") if "kayak" in hit.content]
        assert len(hit.other_sources) == 2


def test_the_same_sentence_on_two_days_is_two_things(open_memory: OpenMemory) -> None:
    memory = open_memory()
    for day in (1, 2):
        memory.add("We had lunch at the harbour", occurred_at=datetime(2026, 5, day, 12, tzinfo=UTC))
    assert len(memory.recall("lunch at the harbour")) == 2


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
def test_a_reply_that_repeats_a_fact_does_not_stand_for_it(
    open_memory: OpenMemory, bundled_embedder: Embedder, mode: str
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    said, reply = "My daughter Lena is allergic to kiwi.", "Noted, Lena is allergic to kiwi."
    memory.longterm.extract_and_store_memories_for_round("main", "talk", said, reply)
    [hit] = [hit for hit in memory.recall("what is Lena allergic to", mode=mode) if "Lena" in hit.content]
    assert hit.content == said
    assert {other.content for other in hit.other_sources} == {said, reply}


def test_a_reply_that_says_more_than_the_fact_stays_a_hit(open_memory: OpenMemory, bundled_embedder: Embedder) -> None:
    memory = open_memory(embedder=bundled_embedder)
    said, reply = (
        "My daughter Lena is allergic to kiwi.",
        "Lena is allergic to kiwi, so the bakery in Mill Lane is best.",
    )
    memory.longterm.extract_and_store_memories_for_round("main", "talk", said, reply)
    assert reply in [hit.content for hit in memory.recall("which bakery is best for Lena who is allergic to kiwi")]


def told_in_a_round(memory: AgentMemory, said: str, reply: str) -> None:
    memory.longterm.extract_and_store_memories_for_round("main", "talk", said, reply)


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
@pytest.mark.parametrize(
    ("said", "reply", "question"),
    [
        ("My knee hurts since the marathon.", "Ice it twice a day and rest until Thursday.", "advice for my knee"),
        ("I'm allergic to peanuts.", "Try roasted chickpeas as a snack.", "roasted chickpeas"),
        ("My flat has two rooms.", "A folding bed would save space.", "does a folding bed fit into my flat?"),
        ("I moved to Leeds in March.", "Register at the council within 30 days.", "register at the council"),
        ("I'm allergic to peanuts.", "Since you are allergic to peanuts, eat chickpeas.", "what may I eat, peanuts?"),
        ("我对花生过敏。", "好的，可以试试烤鹰嘴豆。", "鹰嘴豆"),
        ("我的膝盖跑完马拉松一直疼。", "每天冰敷两次，休息到周四。", "膝盖冰敷"),
    ],
)
def test_a_reply_that_says_something_else_stays_a_hit_beside_the_fact(
    open_memory: OpenMemory, bundled_embedder: Embedder, mode: str, said: str, reply: str, question: str
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    told_in_a_round(memory, said, reply)
    hits = memory.recall(question, mode=mode)
    folded = {other.content for hit in hits for other in hit.other_sources}
    assert reply in {hit.content for hit in hits}
    assert folded <= {said}
    assert sum(hit.content == said for hit in hits) <= 1


def test_a_fact_is_one_with_the_message_of_its_round_that_says_it(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=HashEmbedder())
    told_in_a_round(
        memory, "My flat has two rooms. My sister Anna visits us in May.", "Noted, your flat has two rooms."
    )
    hits = memory.recall("when does my sister Anna visit my flat with two rooms?")
    assert sum(1 + len(hit.other_sources) for hit in hits) == len(
        memory.recall("when does my sister Anna visit my flat with two rooms?", duplicates=True)
    )
    assert len(hits) == 1


@pytest.mark.parametrize(
    ("message", "fact", "same"),
    [
        ("My daughter Lena is allergic to kiwi.", "User's daughter Lena is allergic to kiwi", True),
        ("I work at Acme as a designer, and my boss is Lena.", "Works at Acme as a designer", True),
        ("My knee hurts since the marathon, what now?", "User's knee hurts since the marathon.", True),
        ("我女儿对猕猴桃过敏，你知道吗", "用户的女儿对猕猴桃过敏", True),
        ("Tom is allergic to kiwi", "Lena is allergic to kiwi", False),
        ("I paid 450 euros for the bike", "User paid 540 euros for the bike", False),
        ("I eat meat and fish", "User does not eat meat and fish", False),
        ("I drive to Leeds on Monday", "User drives to York on Monday", False),
        ("小李对花生和牛奶过敏", "小王对花生和牛奶过敏", False),
    ],
)
def test_a_message_says_a_fact_if_it_has_most_of_its_words_and_all_names_and_figures(
    message: str, fact: str, same: bool
) -> None:
    assert tells(message, fact) is same


SAME = [
    ("My dentist is Dr. Patel on Elm Road.", "My dentist is Dr Patel, on Elm Road"),
    ("My dentist is Dr. Patel on Elm Road.", "My dentist's name is Dr. Patel on Elm Road."),
    ("My dentist is Dr. Patel on Elm Road.", "User's dentist is Dr. Patel on Elm Road"),
    ("My dentist is Dr. Patel on Elm Road.", "The dentist is Dr. Patel on Elm Rd."),
    ("My dentist is Dr. Patel on Elm Road.", "The user's dentist is Doctor Patel, on Elm Rd"),
    ("My dentist's name is Dr. Patel on Elm Road.", "User's dentist is Dr. Patel on Elm Road"),
    ("My dog Rex sleeps in the kitchen", "The user's dog Rex sleeps in the kitchen."),
    ("My brother is named Tom Baker", "My brother is Tom Baker"),
    ("I live at 5 Oak Street in York", "User lives at 5 Oak St., York"),
    ("My tutor is Prof. Lee in Leeds", "My tutor is Professor Lee in Leeds"),
    ("I don't like cilantro in soup", "I do not like cilantro in soup."),
    ("User mentioned that the boiler code is 4471", "The boiler code is 4471"),
    ("My gym is on Baker Avenue, it opens at 6:30", "The gym is on Baker Ave, opens at 6:30"),
    ("My landlord is Mr. Costa & his office is on Mill Ln.", "My landlord is Mr Costa and his office is on Mill Lane"),
    ("我的牙医是王医生，诊所在人民路", "用户的牙医是王医生，诊所在人民路。"),
    ("我的牙医是王医生，诊所在人民路", "我的牙医是王大夫，他的诊所在人民路上"),
    ("我的狗叫年糕", "用户的狗的名字是年糕。"),
    ("我叫王小明，住在上海", "用户叫王小明，住上海"),
    ("用户提到：护照在抽屉里", "护照在抽屉里"),
]
DIFFERENT = [
    ("My brother lives in York", "My brother lives in Leeds"),
    ("My dentist is Dr. Patel on Elm Road.", "My dentist is Dr. Pate on Elm Road."),
    ("My dentist is Dr. Patel on Elm Road.", "My dentist was Dr. Patel on Elm Road."),
    ("My dentist is Dr. Patel on Elm Road.", "My dentist isn't Dr. Patel on Elm Road."),
    ("My boss is Anna Woods in sales", "My boss is Anna Wood in sales"),
    ("I live on Oak Drive in York", "I live on Oak Street in York"),
    ("My doctor is Dr. Lee in Leeds", "My doctor is Mr. Lee in Leeds"),
    ("The flight goes from Paris", "The flight goes to Paris"),
    ("The key is in the red box", "The key is on the red box"),
    ("Anna called the bank", "Anna is at the bank"),
    ("I called Anna Smith", "I am Anna Smith"),
    ("The dog is named after Uncle Rex", "The dog is named Uncle Rex"),
    ("My sister is a dentist in York", "My sister has a dentist in York"),
    ("Your name is Max Braun", "My name is Max Braun"),
    ("My sister lives in Oslo, she is a nurse", "My sister lives in Oslo, I am a nurse"),
    ("Anna calls me Ben Smith", "Anna calls Ben Smith"),
    ("My shirt size is M", "My shirt size is S"),
    ("It is -5 degrees in York", "It is 5 degrees in York"),
    ("The user table is in Postgres", "The table is in Postgres"),
    ("我左眼做了手术", "用户右眼做了手术"),
    ("妈妈叫小王回家", "妈妈和小王回家"),
    ("猫被狗咬了", "猫把狗咬了"),
    ("书放在桌子上", "书放在桌子下"),
    ("会议在3月4日", "会议在3月5日"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_texts_that_differ_in_what_says_nothing_are_the_same(one: str, other: str) -> None:
    assert say_the_same(one, other)
    assert say_the_same(other, one)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_texts_that_differ_in_a_name_a_figure_or_a_word_that_tells_are_two(one: str, other: str) -> None:
    assert not say_the_same(one, other)
    assert not say_the_same(other, one)


@pytest.mark.parametrize(
    ("texts", "question"),
    [
        ([SAME[0][0], *(other for _, other in SAME[:5])], "who is my dentist?"),
        (
            [
                "我的牙医是王医生，诊所在人民路",
                "用户的牙医是王医生，诊所在人民路。",
                "我的牙医是王医生，他的诊所在人民路上",
            ],
            "牙医是谁",
        ),
    ],
)
def test_wordings_of_one_fact_are_one_hit(memory: AgentMemory, texts: list[str], question: str) -> None:
    for text in texts:
        memory.add(text)
    [hit] = memory.recall(question)
    assert {hit.content, *(other.content for other in hit.other_sources)} == set(texts)


def test_facts_of_two_names_stay_two_hits(memory: AgentMemory) -> None:
    for one, other in (DIFFERENT[0], DIFFERENT[1]):
        memory.add(one)
        memory.add(other)
    assert len(memory.recall("my brother lives, my dentist is Dr.")) == 4


@pytest.mark.parametrize(
    ("one", "other", "hits"),
    [
        ("Wi-Fi 密码在冰箱上。", "WIFI密码在冰箱上", 1),
        ("The e-mail is in the blue folder", "the email is in the blue folder.", 1),
        ("The box in the cellar is number 1-2", "The box in the cellar is number 12", 2),
    ],
)
def test_spelling_with_or_without_a_hyphen_is_one_thing(memory: AgentMemory, one: str, other: str, hits: int) -> None:
    memory.add(one)
    memory.add(other)
    assert len(memory.recall(one)) == hits


# --- answers before questions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "reply", "answer", "question"),
    [
        ("Where did I put my passport?", "You haven't told me.", "The passport is in the blue drawer.", "my passport?"),
        ("我的护照放在哪里？", "你还没跟我说过。", "护照在蓝色的抽屉里。", "护照放在哪里"),
    ],
)
def test_a_question_of_ones_own_does_not_outrank_its_answer(
    open_memory: OpenMemory, bundled_embedder: Embedder, asked: str, reply: str, answer: str, question: str
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    said = [asked, reply, "ok", "还有别的事吗", answer, "good"]
    memory.save_conversation_history(
        "talk", [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(said)]
    )
    order = [hit.content for hit in memory.recall(question)]
    assert order.index(answer) < order.index(asked)


@pytest.mark.parametrize(
    ("told", "question", "answer", "reply"),
    [
        (("Isla's teacher is Mr Adeyemi.", "We sold the old car."), "Who teaches Isla?", "Adeyemi", "OK."),
        (("装修找的老同学何伟，报价六万八。", "游泳在猛追湾。"), "装修一共要好多钱？", "六万八", "好的。"),
    ],
)
def test_asking_a_question_does_not_make_its_answer_less_relevant(
    open_memory: OpenMemory, bundled_embedder: Embedder, told: Sequence[str], question: str, answer: str, reply: str
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    for number, text in enumerate(told):
        memory.save_conversation_history(f"told {number}", [{"role": "user", "content": text}])
    memory.save_conversation_history(
        "asked", [{"role": "user", "content": question}, {"role": "assistant", "content": reply}]
    )
    first = memory.recall(question)[0]
    assert answer in first.content
    assert first.confident


@pytest.mark.parametrize(
    ("question", "reply", "about_it"),
    [
        ("Who teaches Isla?", "OK.", "What did I ask you about Isla?"),
        ("我的血型是什么？", "你没告诉过我。", "我之前问过血型吗？"),
    ],
)
def test_a_question_that_was_asked_before_answers_only_what_was_asked(
    open_memory: OpenMemory, bundled_embedder: Embedder, question: str, reply: str, about_it: str
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    memory.save_conversation_history("told", [{"role": "user", "content": "My agent is Lucy Tran. 我养了一只猫。"}])
    memory.save_conversation_history(
        "asked", [{"role": "user", "content": question}, {"role": "assistant", "content": reply}]
    )
    assert not any(hit.confident for hit in memory.recall(question))
    assert question in [hit.content for hit in memory.recall(about_it) if hit.confident]


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("I parked the car on level 2.", "where did i park the car"),
        ("We get Friday off in July.", "do we get friday off in july"),
        ("Ben is vegan and can't stand mushrooms.", "is ben vegan"),
        ("The wifi password is sunflower9.", "remind me what the wifi password is"),
        ("我们决定用 PostgreSQL。", "我们决定用什么数据库来着"),
        ("项目预算是二十万。", "告诉我项目预算"),
    ],
)
def test_a_question_without_a_question_mark_does_not_outrank_its_answer(
    open_memory: OpenMemory, bundled_embedder: Embedder, told: str, question: str
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    memory.save_conversation_history("told", [{"role": "user", "content": told}])
    said = (question, "I am not sure about that.", "Never mind.")
    memory.save_conversation_history(
        "asked", [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(said)]
    )
    assert memory.recall(question)[0].content == told


def test_a_statement_is_not_hidden_under_a_question_with_the_same_words(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=HashEmbedder())
    texts = {"do we get friday off in july", "We get Friday off in July."}
    for text in texts:
        memory.add(text)
    assert {hit.content for hit in memory.recall("Friday off July")} == texts


# --- nothing depends on others ---------------------------------------------------------------------------------------


@pytest.fixture
def shared(open_memory: OpenMemory) -> AgentMemory:
    """One memory for all examples of a test, each in scopes of its own. Not of the module: each test has a profile."""
    return open_memory(embedder=HashEmbedder())


_TEXTS = st.lists(st.text("ab 山水茶?", min_size=1, max_size=12).filter(str.strip), min_size=1, max_size=6)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(own=_TEXTS, foreign=_TEXTS, question=st.text("ab 山水茶", min_size=1, max_size=8).filter(str.strip))
def test_foreign_texts_change_neither_order_nor_relevance(
    shared: AgentMemory, own: list[str], foreign: list[str], question: str
) -> None:
    scope, other = f"scope {next(numbers)}", f"scope {next(numbers)}"
    shared.store_many({"key": f"k{n}", "content": text, "scope": scope} for n, text in enumerate(own))

    def seen() -> list[tuple[object, ...]]:
        return [
            (hit.key, hit.relevance_score, hit.similarity, hit.confident, dict(hit.score_parts))
            for mode in ("hybrid", "keyword", "semantic")
            for hit in shared.recall(question, scope=scope, mode=mode)
        ]

    before = seen()
    shared.store_many({"key": f"f{n}", "content": text, "scope": other} for n, text in enumerate(foreign))
    assert seen() == before


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(texts=_TEXTS, question=st.text("ab 山水茶", min_size=1, max_size=8).filter(str.strip), data=st.data())
def test_the_order_of_storing_does_not_matter(
    shared: AgentMemory, texts: list[str], question: str, data: st.DataObject
) -> None:
    found = []
    keyed = [(f"k{n}", text) for n, text in enumerate(texts)]
    for order in (keyed, data.draw(st.permutations(keyed))):
        scope = f"scope {next(numbers)}"
        for key, text in order:
            shared.store(key, text, scope=scope)
        found.append([scores(shared, question, scope, mode) for mode in MODES])
    assert found[0] == found[1]


def scores(memory: AgentMemory, question: str, scope: str, mode: str) -> dict[str | None, tuple[object, ...]]:
    """By key everything that a hit says of itself in numbers."""
    return {
        hit.key: (hit.relevance_score, hit.similarity, hit.confident, dict(hit.score_parts), hit.matched)
        for hit in memory.recall(question, 50, scope=scope, mode=mode, duplicates=True)
    }


def assert_near(some: dict[str | None, tuple[Any, ...]], others: dict[str | None, tuple[Any, ...]]) -> None:
    """The same hits with the same numbers; a network computes the last digits of a batch in another way."""
    assert some.keys() == others.keys()
    for key, (relevance, similarity, confident, parts, matched) in some.items():
        other = others[key]
        assert (confident, matched) == (other[2], other[4])
        assert (relevance, similarity) == pytest.approx(other[:2], abs=1e-4)
        assert parts == pytest.approx(other[3], abs=1e-4)


MODES = ("hybrid", "keyword", "semantic")
SENTENCES = (
    *CATS,
    "She drinks green tea every morning.",
    "The meeting with the bank is on Friday.",
    "My brother works as an electrician in Leeds.",
    "We sold the old car to a neighbour.",
    "小明对花生过敏",
    "我姐姐住在昆明，在医院上班",
    "游泳课改到了星期三晚上",
    "装修报价六万八，找的是何伟",
)
ASKED = ("What is my cat called?", "Who is an electrician?", "小明不能吃什么？", "what does she drink", "猫", "quantum")


@pytest.fixture
def real(open_memory: OpenMemory, bundled_embedder: Embedder) -> AgentMemory:
    return open_memory(embedder=bundled_embedder)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    own=st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=6, unique=True),
    foreign=st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=12),
    question=st.sampled_from(ASKED),
    data=st.data(),
)
def test_neither_foreign_facts_nor_the_order_of_storing_change_what_a_hit_is_worth(
    real: AgentMemory, own: list[str], foreign: list[str], question: str, data: st.DataObject
) -> None:
    alone, among = f"scope {next(numbers)}", f"scope {next(numbers)}"
    other = f"scope {next(numbers)}"
    keyed = [{"key": f"k{n}", "content": text} for n, text in enumerate(own)]
    real.store_many({**each, "scope": alone} for each in keyed)
    before = {mode: scores(real, question, alone, mode) for mode in MODES}
    real.store_many({"key": f"f{n}", "content": text, "scope": other} for n, text in enumerate(foreign))
    real.save_conversation_history("talk", [{"role": "user", "content": text} for text in foreign], scope=other)
    real.store_many({**each, "scope": among} for each in data.draw(st.permutations(keyed)))
    for mode in MODES:
        assert scores(real, question, alone, mode) == before[mode]
        assert_near(scores(real, question, among, mode), before[mode])
    real.forget_scope(other)
    assert {mode: scores(real, question, alone, mode) for mode in MODES} == before


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    own=st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=3, unique=True),
    foreign=st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4),
    question=st.sampled_from(ASKED),
    same_talk=st.booleans(),
)
def test_a_foreign_scope_changes_nothing_for_a_scope_with_conversations_facts_and_questions(
    shared: AgentMemory, own: list[str], foreign: list[str], question: str, same_talk: bool
) -> None:
    scope, other = f"scope {next(numbers)}", f"scope {next(numbers)}"

    def talk(texts: Sequence[str], scope: str, name: str) -> None:
        for text in texts:
            shared.longterm.extract_and_store_memories_for_round(scope, name, text, f"Noted, {text}")
        asked = [{"role": "user", "content": question}, {"role": "assistant", "content": "I do not know."}]
        shared.save_conversation_history(name, asked, scope=scope)

    def seen() -> list[object]:
        told = [
            (hit.key, hit.content, hit.score_parts, hit.similarity, hit.relevance_score, hit.matched, hit.other_sources)
            for mode in MODES
            for duplicates in (False, True)
            for hit in shared.recall(question, 50, scope=scope, mode=mode, duplicates=duplicates)
        ]
        return [*told, shared.count(scope=scope)]

    talk(own, scope, "talk")
    before = seen()
    talk(foreign, other, "talk" if same_talk else "another")
    shared.store_many({"key": f"f{n}", "content": text, "scope": other} for n, text in enumerate(foreign))
    assert seen() == before
    shared.forget_scope(other)
    assert seen() == before


# --- the sets -------------------------------------------------------------------------------------------------------

FLOORS = {
    ("facts en", "paraphrase"): (68.0, 86.0),
    ("facts en", "keyword"): (98.0, 98.0),
    ("facts zh", "paraphrase"): (45.5, 72.5),
    ("facts zh", "keyword"): (98.0, 98.0),
    ("chat en", "chat"): (69.5, 88.0),
    ("chat zh", "chat"): (81.0, 96.0),
}
"""R@1 and R@5 in hybrid mode, minus two points."""


def test_the_sets_are_answered_as_well_as_when_the_floors_were_set(tmp_path: Path, bundled_embedder: Embedder) -> None:
    missed = []
    for number, store in enumerate(knowing.stores()):
        with AgentMemory.open(
            tmp_path / str(number), embedder=bundled_embedder, background_indexing=False, time_zone="UTC"
        ) as memory:
            memory.store_many(list(store.memories.values()))
            kinds: dict[str, list[tuple[knowing.Asked, list[knowing.Hit]]]] = {}
            for asked in store.questions:
                if asked.gold:
                    kinds.setdefault(asked.kind, []).append((asked, knowing.hits(memory, asked, "hybrid")))
        for kind, found in kinds.items():
            reached = (knowing.recall_at(found, 1), knowing.recall_at(found, 5))
            if any(share < floor for share, floor in zip(reached, FLOORS[store.name, kind], strict=True)):
                missed.append((store.name, kind, reached))
    assert not missed


@pytest.mark.parametrize(
    ("one", "other", "question"),
    [
        ("Anna owes Ben 50 euros", "Ben owes Anna 50 euros", "What do Anna and Ben owe?"),
        ("The flight goes from Paris to London", "The flight goes from London to Paris", "flight Paris London"),
        ("His dog is called Rex", "My dog is called Rex", "Which dog is called Rex?"),
        ("我从北京搬到上海", "我从上海搬到北京", "北京上海搬家"),
        ("他喜欢听爵士乐", "我喜欢听爵士乐", "喜欢听爵士乐"),
    ],
)
def test_the_same_words_about_others_or_in_another_order_are_two_hits(
    memory: AgentMemory, one: str, other: str, question: str
) -> None:
    memory.add(one)
    memory.add(other)
    assert {hit.content for hit in memory.recall(question)} == {one, other}


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("What did I ask you about Isla?", True),
        ("我之前问过血型吗？", True),
        ("我刚才问的是什么？", True),
        ("我的法律顾问是谁？", False),
        ("我访问过哪些国家？", False),
        ("Where do I live?", False),
    ],
)
def test_a_question_about_an_earlier_question_is_told_from_others(question: str, about: bool) -> None:
    assert asks_about_questions(question) is about

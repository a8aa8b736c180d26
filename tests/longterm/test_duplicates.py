"""When two sentences say the same, with the similarities that the bundled embedder really gives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.longterm.duplicates import fact_key, is_known, lexical_features
from jiyi.ports import Embedder
from jiyi.text import Analyzer

ANALYZER = Analyzer()

SAME = [
    ("我对青霉素过敏", "我青霉素过敏"),
    ("用户对青霉素过敏", "我对青霉素过敏。"),
    ("I am allergic to penicillin", "The user is allergic to penicillin."),
    ("my favourite drink is tea", "Tea is my favourite drink!"),
    ("我喜欢喝茶", "我很喜欢喝茶"),
    ("我住在北京", "我现在住在北京"),
    ("I live in Berlin", "I'm living in Berlin now"),
    ("We decided to use PostgreSQL", "we have decided to go with PostgreSQL"),
    ("I work as a nurse", "I am working as a nurse"),
    ("我的女儿叫小雨", "我女儿的名字是小雨"),
    ("项目的截止日期是3月5日", "项目截止日期：3月5日"),
    ("I'm vegetarian", "I am a vegetarian"),
    ("我不吃辣", "我不能吃辣"),
    ("The meeting is at 3 pm", "the meeting's at 3pm"),
    ("会议在下午三点", "会议在下午3点"),
    ("ＡＰＩ配置在Ｃ盘", "API配置在C盘"),
    ("Anna and Ben are siblings", "Ben and Anna are siblings"),
    ("Anna is married to Ben", "Ben is married to Anna"),
    ("My daughter's name is Mei", "Mei is my daughter's name"),
    ("我喜欢的颜色是蓝色", "蓝色是我喜欢的颜色"),
    ("小王和小李是同学", "小李和小王是同学"),
]
DIFFERENT = [
    ("I like tea", "I do not like tea"),
    ("我喜欢喝茶", "我不喜欢喝茶"),
    ("The meeting is at 3pm", "The meeting is at 4pm"),
    ("The meeting is at 3pm", "The meeting is at 3am"),
    ("会议在下午三点", "会议在下午四点"),
    ("会议在下午三点", "会议在上午三点"),
    ("My sister is called Anna", "My brother is called Anna"),
    ("我姐姐叫小红", "我妹妹叫小红"),
    ("I live in Berlin", "I live in Munich"),
    ("我住在北京", "我住在上海"),
    ("I like tea", "I hate tea"),
    ("我对青霉素过敏", "我对花生过敏"),
    ("I like cats", "I like dogs"),
    ("deadline is Monday", "deadline is Tuesday"),
    ("周一开会", "周二开会"),
    ("We use PostgreSQL", "We use MySQL"),
    ("I stopped drinking coffee", "I drink coffee"),
    ("我戒烟了", "我抽烟"),
    ("My daughter is 5", "My daughter is 6"),
    ("我喜欢猫", "我讨厌猫"),
    ("I like tea", "I like green tea"),
    ("I write C", "I write C++"),
    ("版本是3.5", "版本是35"),
    ("Anna likes Ben", "Ben likes Anna"),
    ("She is taller than Tom", "Tom is taller than she"),
    ("I owe my dad 50 pounds", "My dad owes me 50 pounds"),
    ("I fly from Oslo to Rome", "I fly from Rome to Oslo"),
    ("Billing depends on auth", "Auth depends on billing"),
    ("小王欠小李五百元", "小李欠小王五百元"),
    ("乐乐比诗雨高", "诗雨比乐乐高"),
    ("他喜欢我", "我喜欢他"),
    ("My brother lives in Leeds.", "My brother lives in York."),
    ("my brother works in a bank", "my brother works in a bakery"),
]


def known(new: str, old: str, embedder: Embedder) -> bool:
    vectors = embedder.embed([new, old])
    return is_known(lexical_features(new, ANALYZER), lexical_features(old, ANALYZER), float(vectors[0] @ vectors[1]))


@pytest.mark.parametrize(("old", "new"), SAME)
def test_the_same_in_other_words_is_known(old: str, new: str, bundled_embedder: Embedder) -> None:
    assert known(new, old, bundled_embedder)
    assert known(old, new, bundled_embedder)


@pytest.mark.parametrize(("old", "new"), DIFFERENT)
def test_a_difference_that_matters_is_seen(old: str, new: str, bundled_embedder: Embedder) -> None:
    assert not known(new, old, bundled_embedder)


def test_less_than_is_known_is_known_and_more_is_not() -> None:
    less, more = lexical_features("I like tea", ANALYZER), lexical_features("I like green tea", ANALYZER)
    assert is_known(less, more)
    assert not is_known(more, less)


def test_a_long_text_that_has_all_the_words_is_not_the_fact() -> None:
    story = "On the way to the market I saw tea, bread, honey, apples, a violin, two dogs and people who like to sing"
    assert not is_known(lexical_features("I like tea", ANALYZER), lexical_features(story, ANALYZER))


@given(st.text(max_size=80))
def test_a_text_is_known_when_it_is_itself(text: str) -> None:
    one = lexical_features(text, ANALYZER)
    assert is_known(one, one)
    assert fact_key(text) == fact_key(f"  {text.upper().lower() if text.isascii() else text}。")

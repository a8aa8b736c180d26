"""Remarks of the moment: what is felt, seen or said now, and nothing of it stays."""

import pytest

from jiyi.text.normalize import fold
from jiyi.text.statements.keeping.domain_features import DOMAIN_FEATURES, domain_features
from jiyi.text.statements.keeping.life_events import tells_life_event
from jiyi.text.statements.keeping.momentary import MOMENTARY, is_momentary, momentary_features
from jiyi.text.statements.keeping.non_statements import LEAD_IN


@pytest.mark.parametrize(
    "said",
    [
        *(
            "今天食堂的菜有点咸",
            "楼上装修吵得我头疼",
            "手滑发错了，不用管",
            "你不要再道歉了哈哈",
            "他昨天跟我讲了个段子",
        ),
        *("The canteen food was a bit salty today", "Sent that by mistake, ignore it", "You can stop apologising haha"),
        *("He told me a joke yesterday", "Hang on, someone's at the door, back in a sec", "等等，我在过安检，一会儿说"),
    ],
)
def test_states_complaints_and_words_about_the_conversation_are_of_the_moment(said: str) -> None:
    assert is_momentary(said)


@pytest.mark.parametrize(
    "said",
    [
        *(
            "今天被裁了",
            "今天拿到化验单，是桥本甲减",
            "我每天晚上都吵得睡不着",
            "以后别再道歉了",
            "隔壁王阿姨手抖得筷子都拿不住",
        ),
        *("I was fired today", "Red wine always gives me a headache, so no wine today", "Broke my wrist back in 2019"),
        *(
            "I don't get paid until Friday",
            "I don't follow football",
            "Just moved into a flat upstairs from a noisy bar",
        ),
    ],
)
def test_what_lasts_is_not_of_the_moment_even_if_it_is_told_with_today(said: str) -> None:
    assert not is_momentary(said)


def test_a_dismissal_is_told_without_a_subject_in_chinese() -> None:
    assert tells_life_event("今天被裁了")
    assert not tells_life_event("手机被裁了")


def test_every_feature_has_a_name() -> None:
    assert len(momentary_features("今天好累", fold("今天好累"))) == len(MOMENTARY)
    assert len(domain_features("今天好累", of_others=False)) == len(DOMAIN_FEATURES)


def test_a_taste_that_the_body_forbids_is_no_free_taste() -> None:
    free = DOMAIN_FEATURES.index("a taste that is free")
    assert domain_features("咖啡我只喝美式", of_others=False)[free] == 1.0
    assert domain_features("我只喝热水，医生不让喝咖啡", of_others=False)[free] == 0.0


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("简单介绍下：我是影像科技师", "我是影像科技师"),
        ("跟你说两条规矩：回答控制在两百字以内", "回答控制在两百字以内"),
        ("Quick intro: I'm Tamsin", "I'm Tamsin"),
        ("bit about me: I'm a nurse", "I'm a nurse"),
        ("同事老周跟我说：他要走了", "同事老周跟我说：他要走了"),
        ("Rent: 1450 a month", "Rent: 1450 a month"),
    ],
)
def test_the_heading_of_an_introduction_is_no_part_of_the_fact(said: str, fact: str) -> None:
    assert LEAD_IN.sub("", said) == fact

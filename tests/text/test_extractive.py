"""A summary without a model: only what was said, within the limit, and what matters of it."""

import re
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jiyi.text import detect_language
from jiyi.text.extractive import summarize, summarize_conversation
from jiyi.text.statements.keeping.smalltalk import is_small_talk
from jiyi.text.token_count import ESTIMATE

ENGLISH = [
    "Hi there! How are you?",
    "We met the supplier on Monday. The new contract starts in March and costs 40,000 euros a year.",
    "Thanks so much for your help!",
    "We decided to move the warehouse from Lyon to Marseille because the rent in Lyon doubled.",
    "The coffee there was nice. Anyway.",
    "Paula is responsible for the warehouse move; the deadline is 30 April.",
    "Ok, sounds good. See you tomorrow!",
]
CHINESE = [
    "你好呀！",
    "昨天和供应商谈过了。新合同三月份开始，每年四万欧元。",
    "太好了，谢谢你！",
    "我们决定把仓库从里昂搬到马赛，因为里昂的租金翻了一倍。",
    "那边的咖啡还行吧。",
    "搬仓库的事由小宋负责，截止日期是四月三十号。",
    "好的，明天见。",
]


@pytest.mark.parametrize("texts", [ENGLISH, CHINESE], ids=["English", "Chinese"])
def test_what_matters_is_kept_and_small_talk_is_not(texts: list[str]) -> None:
    summary = summarize(texts, max_tokens=75, counter=ESTIMATE)
    assert ESTIMATE.count(summary) <= 75
    assert any(word in summary for word in ("Marseille", "马赛"))
    assert any(word in summary for word in ("30 April", "四月三十号"))
    for idle in ("Thanks", "Hi there", "See you", "你好", "谢谢", "明天见"):
        assert idle not in summary


@pytest.mark.parametrize("texts", [ENGLISH, CHINESE], ids=["English", "Chinese"])
def test_the_summary_is_in_the_language_and_the_order_of_the_text(texts: list[str]) -> None:
    summary = summarize(texts, max_tokens=120, counter=ESTIMATE)
    assert detect_language(summary) == detect_language("".join(texts))
    whole = "\n".join(texts)
    places = [whole.index(line) for line in summary.splitlines()]
    assert places == sorted(places)
    assert len(places) >= 3


TEXTS = st.lists(
    st.one_of(
        st.sampled_from([*ENGLISH, *CHINESE]),
        st.text(max_size=80),
        st.lists(st.sampled_from(["仓库", "合同", "the", "move", "。", ". ", "!", "\n", "42"]), max_size=25).map(
            "".join
        ),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.integers(min_value=0, max_value=200), st.one_of(st.none(), st.text(max_size=60)))
def test_every_line_was_said_and_the_limit_holds(texts: list[str], max_tokens: int, previous: str | None) -> None:
    placed = [(text, number / 12) for number, text in enumerate([previous or "", *texts])]
    summary = summarize_conversation(placed, max_tokens=max_tokens, counter=ESTIMATE)
    assert ESTIMATE.count(summary) <= max_tokens
    sources = [*texts, previous or ""]
    for line in summary.split("\n"):
        assert any(line in source for source in sources)


@settings(max_examples=40, deadline=None)
@given(TEXTS)
def test_it_is_never_empty_when_there_are_words(texts: list[str]) -> None:
    if any(character.isalnum() for text in texts for character in text):
        assert summarize(texts, max_tokens=8, counter=ESTIMATE)


def test_only_small_talk_is_still_something() -> None:
    assert summarize(["Hello!", "Thanks!"], max_tokens=50, counter=ESTIMATE) == "Hello!\nThanks!"


def test_a_sentence_that_does_not_fit_is_cut() -> None:
    text = "我们决定把仓库从里昂搬到马赛因为里昂的租金翻了一倍而且马赛离港口更近"
    summary = summarize([text], max_tokens=10, counter=ESTIMATE)
    assert summary
    assert text.startswith(summary)
    assert ESTIMATE.count(summary) <= 10


def test_nothing_comes_from_nothing() -> None:
    assert summarize([], max_tokens=100, counter=ESTIMATE) == ""
    assert summarize(["", "  \n", "。。。"], max_tokens=100, counter=ESTIMATE) == ""
    assert summarize(ENGLISH, max_tokens=0, counter=ESTIMATE) == ""


def test_what_is_said_twice_is_kept_once() -> None:
    twice = ["The deadline for the warehouse move is 30 April.", "So the deadline for the warehouse move is 30 April!"]
    assert summarize(twice, max_tokens=200, counter=ESTIMATE).count("30 April") == 1
    assert summarize(["她对青霉素过敏。", "她对青霉素过敏！"], max_tokens=200, counter=ESTIMATE).count("青霉素") == 1


WHO = ["Paula", "Igor", "Mei", "Tomas", "Aisha", "Leo", "Nora", "Ravi", "Chen", "Olga"]
DID = ["repaired", "sold", "visited", "painted", "inspected", "ordered", "returned", "measured", "insured"]
WHAT = [
    "warehouse",
    "contract",
    "harbour",
    "bakery",
    "server",
    "garden",
    "invoice",
    "violin",
    "passport",
    "bicycle",
    "printer",
    "ferry",
]
ZH_WHO = ["小宋", "王芳", "李雷", "阿姨", "张总", "老陈", "小梅", "陈工"]
ZH_DID = ["修好了", "卖掉了", "参观了", "检查了", "订购了", "退回了", "丈量了"]
ZH_WHAT = ["仓库", "合同", "码头", "面包店", "服务器", "花园", "发票", "小提琴", "护照", "自行车"]


def english_turn(week: int) -> list[str]:
    fact = f"{WHO[week % 7]} {DID[week % 9]} the {WHAT[week % 10]} in week {week} for {week * 37 % 900} euros."
    return [fact, ("Noted, thanks.", "How did the talk about the weather go?")[week % 2]]


def chinese_turn(week: int) -> list[str]:
    fact = f"第{week}周{ZH_WHO[week % 8]}{ZH_DID[week % 7]}{ZH_WHAT[week % 10]}，花了{week * 37 % 900}元。"
    return [fact, ("好的，记下了。", "后来天气怎么样？")[week % 2]]


@pytest.mark.parametrize(
    ("turns", "compactions", "max_tokens"), [(190, 19, 300), (190, 19, 120), (600, 60, 500), (90, 2, 400)]
)
@pytest.mark.parametrize("turn", [english_turn, chinese_turn], ids=["English", "Chinese"])
def test_each_third_of_a_long_conversation_is_represented_after_many_compactions(
    turn: Callable[[int], list[str]], turns: int, compactions: int, max_tokens: int
) -> None:
    size = turns // compactions
    lines: list[tuple[str, float]] = []
    summary = ""
    for first in range(0, turns, size):
        said = [(text, week) for week in range(first, first + size) for text in turn(week)]
        placed = [(text, place / (first + size)) for text, place in [*lines, *said]]
        summary = summarize_conversation(placed, max_tokens=max_tokens, counter=ESTIMATE)
        kept = set(summary.splitlines())
        lines = [(text, place) for text, place in [*lines, *said] if text in kept]
    weeks = [int(found) for found in re.findall(r"(?:week |第)(\d+)", summary)]
    thirds = Counter(3 * week // turns for week in weeks)
    assert weeks == sorted(weeks)
    assert min(thirds[third] for third in range(3)) >= max(1, len(weeks) // 6)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in Berlin.", "I live in Lisbon now."),
        ("我住在杭州。", "我住在成都了。"),
        ("The deadline for the warehouse move is 30 April.", "Actually, the deadline for the move is 12 May."),
        ("项目评审会议定在周三下午三点。", "项目评审会议改到周四上午十点。"),
    ],
)
def test_what_was_corrected_is_left_out(older: str, newer: str) -> None:
    placed = [(older, 0.1), (ENGLISH[1], 0.5), (newer, 0.9)]
    summary = summarize_conversation(placed, max_tokens=300, counter=ESTIMATE)
    assert newer in summary
    assert older not in summary


def test_two_statements_that_differ_in_their_figures_both_stay() -> None:
    rooms = ["Room 12 on the second floor has 3 chairs.", "Room 14 on the second floor has 5 chairs."]
    placed = [(room, 0.5) for room in rooms]
    assert summarize_conversation(placed, max_tokens=200, counter=ESTIMATE).splitlines() == rooms


def test_one_line_of_a_megabyte_is_taken_in_pieces() -> None:
    summary = summarize(["仓库搬到马赛的计划 and the deadline " * 20_000], max_tokens=60, counter=ESTIMATE)
    assert 0 < ESTIMATE.count(summary) <= 60


@pytest.mark.parametrize(
    "text",
    [
        "hi!",
        "Hello there",
        "thanks a lot!!",
        "ok 👍",
        "哈哈哈",
        "你好",
        "谢谢您！",
        "好的，谢谢",
        "嗯嗯，明白了",
        "Good morning everyone",
        "🎉🎉",
        "...",
        "行，那我去忙了",
        "I have to go now",
        "我就随口一问",
        "just asking",
    ],
)
def test_small_talk_is_recognised(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "hi, I am Bob",
        "Thanks, the deadline is Friday",
        "好的，我明天去北京",
        "谢谢，我对花生过敏",
        "history",
        "Kay",
        "好奇心",
        "对方公司是腾讯",
        "42",
        "我爸走了",
        "I have to go to the dentist",
        "I'm off meat now",
    ],
)
def test_what_says_something_is_not_small_talk(text: str) -> None:
    assert not is_small_talk(text)


def test_a_long_row_of_laughter_is_read_once() -> None:
    assert is_small_talk("哈" * 79)
    assert not is_small_talk("哈" * 70 + "仓库")
    assert not is_small_talk("好 " * 35 + "仓库")

"""Which parts of a hit are marked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.text import Analyzer, highlight

ANALYZER = Analyzer()
MIXED = st.lists(
    st.one_of(
        st.sampled_from(
            ["臺灣", "数据库", "C盘", "Melanie’s", " ", "ﬁne", "Cafe\u0301", "gen-itgc", "👍🏽", "１,０００", "\u200d"]
        ),
        st.text(max_size=4),
    )
).map("".join)


def marked(text: str, query: str, analyzer: Analyzer = ANALYZER) -> list[str]:
    asked = analyzer.query(query)
    return [text[start:end] for start, end in highlight(text, asked.words + asked.bigrams, analyzer)]


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("她在跑步, running and runs", "run", ["running", "runs"]),
        ("臺灣的天氣", "台湾", ["臺灣"]),
        ("台湾的天气", "臺灣天氣", ["台湾", "天气"]),
        ("ＡＰＩ配置已更新", "api 配置", ["ＡＰＩ配置"]),
        ("Melanie’s brother", "melanie", ["Melanie"]),
        ("the ﬁne Cafe\u0301!", "fine cafe", ["ﬁne", "Cafe\u0301"]),
        ("重跑gen-itgc后", "itgc", ["itgc"]),
        ("重跑gen-itgc后", "gen-itgc", ["gen-itgc"]),
        ("编号 CN-A10293。", "cn-a10293", ["CN-A10293"]),
        ("清理 C 盘", "C盘", ["C 盘"]),
        ("学C++和C#", "c#", ["C", "C#"]),
        ("好吃👍🏽！", "👍", ["👍"]),
        ("共1,000元", "1000", ["1,000"]),
        ("İstanbul trip", "istanbul", ["İstanbul"]),
        ("南京市长江大桥", "市长", ["市长"]),
        ("nothing here", "数据库", []),
    ],
)
def test_what_matches_is_marked_in_the_original_text(text: str, query: str, expected: list[str]) -> None:
    assert marked(text, query) == expected


def test_ranges_count_characters_of_the_original_text() -> None:
    assert highlight("ﬃ 数据库", ["数据库"], ANALYZER) == [(2, 5)]
    assert highlight("a\u0301\u0302 b 臺", ["台"], ANALYZER) == [(6, 7)]


def test_touching_matches_become_one_range() -> None:
    assert highlight("数据库迁移", ["数据", "据库", "迁移"], ANALYZER) == [(0, 5)]


def test_a_single_character_is_marked_inside_a_word_when_it_is_nowhere_a_word() -> None:
    assert marked("我家的小猫咪很可爱", "猫") == ["猫"]


def test_a_single_character_that_is_a_word_is_not_marked_inside_others() -> None:
    assert highlight("国家，家", ["家"], ANALYZER) == [(3, 4)]


def test_a_user_word_is_marked() -> None:
    analyzer = Analyzer(["Claude Code"])
    assert highlight("用Claude  Code写", ["claude_code"], analyzer) == [(1, 13)]


def test_without_terms_nothing_is_marked() -> None:
    assert highlight("数据库", [], ANALYZER) == []


@given(MIXED, MIXED)
def test_ranges_lie_in_the_text_and_are_disjoint_and_in_order(text: str, query: str) -> None:
    asked = ANALYZER.query(query)
    end_before = -1
    for start, end in highlight(text, asked.words + asked.bigrams, ANALYZER):
        assert end_before < start < end <= len(text)
        end_before = end


@given(MIXED)
def test_something_is_marked_exactly_when_a_term_matches(text: str) -> None:
    stored = ANALYZER.analyze(text)
    for term in stored.words + stored.bigrams:
        assert highlight(text, [term], ANALYZER)
    assert highlight(text, ["no such term"], ANALYZER) == []

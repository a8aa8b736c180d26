"""Sentences, chunks, questions, and the language of a text."""

from unicodedata import east_asian_width

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.errors import InvalidInputError
from jiyi.text import detect_language, question_share, sentences, split_chunks

PROSE = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "今天天气很好，",
                "我们去公园。",
                "Then we left. ",
                "3.14 ",
                "Dr. ",
                "好吗？",
                "\n",
                "… ",
                "\u0301",
                "很" * 40,
            ]
        ),
        st.text(max_size=5),
    )
).map("".join)


def without_space(text: str) -> str:
    return "".join(text.split())


# --- sentences ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("今天很好！你呢？我不知道；算了…再见。", ["今天很好！", "你呢？", "我不知道；", "算了…", "再见。"]),
        ("He left! Did he? Yes. He did.", ["He left!", "Did he?", "Yes.", "He did."]),
        ("first line\nsecond line", ["first line", "second line"]),
        ("他说：“你好。”然后走了。", ["他说：“你好。”", "然后走了。"]),
        ('She said "Go." He went.', ['She said "Go."', "He went."]),
        ("It works.你好。", ["It works.", "你好。"]),
        ("真的吗？！太好了", ["真的吗？！", "太好了"]),
        ("lower case. it goes on", ["lower case.", "it goes on"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_text_is_split_where_sentences_end(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Pi is 3.14 or so",
        "价格是3.5元",
        "see https://example.com/a.b?q=1.5&r=2 please",
        "mail tom@b.com now",
        "Dr. Smith and Mrs. Jones met J. K. Rowling",
        "fruit, e.g. apples, i.e. food",
        "at 5 p.m. we met",
        "No. 5 is alive",
        "the U.S. team",
        "wait... what",
        "1. Apple pie",
        "1.苹果 2.香蕉",
        "版本v2.3.1已发布",
    ],
)
def test_a_full_stop_inside_a_sentence_does_not_split(text: str) -> None:
    assert sentences(text) == [text]


def test_an_abbreviation_can_end_a_sentence_before_a_capital() -> None:
    assert sentences("We ate rice etc. Then we left at 5 p.m. She stayed.") == [
        "We ate rice etc.",
        "Then we left at 5 p.m.",
        "She stayed.",
    ]


def test_a_plain_no_ends_a_sentence() -> None:
    assert sentences("Oh no. I forgot") == ["Oh no.", "I forgot"]


@given(PROSE)
def test_sentences_together_hold_everything_but_space(text: str) -> None:
    found = sentences(text)
    assert without_space("".join(found)) == without_space(text)
    assert all(sentence and sentence == sentence.strip() for sentence in found)


# --- chunks ---


def test_a_short_text_is_one_chunk() -> None:
    assert split_chunks("  今天很好。我们去公园。 ") == ["今天很好。我们去公园。"]


def test_a_text_of_nothing_but_space_has_no_chunks() -> None:
    assert split_chunks(" \n\t") == []


def test_chunks_end_where_sentences_end() -> None:
    assert split_chunks("我们去公园。然后回家！Then we ate. It was late.", 24) == [
        "我们去公园。然后回家！",
        "Then we ate.",
        "It was late.",
    ]


def test_a_sentence_that_is_too_long_is_cut_after_a_clause_or_word() -> None:
    assert split_chunks("今天天气很好，我们去公园。", 18) == ["今天天气很好，", "我们去公园。"]
    assert split_chunks("one two three four", 9) == ["one two", "three", "four"]


def test_a_run_without_any_break_is_cut_at_the_limit() -> None:
    assert split_chunks("好" * 25, 20) == ["好" * 10, "好" * 10, "好" * 5]
    assert split_chunks("x" * 7, 3) == ["xxx", "xxx", "x"]


def test_an_accent_stays_with_its_letter() -> None:
    assert split_chunks("e\u0301" * 4, 2) == ["e\u0301e\u0301", "e\u0301e\u0301"]


def test_wide_characters_take_two_columns() -> None:
    assert len(split_chunks("好" * 150)) == 1
    assert len(split_chunks("好" * 151)) == 2
    assert len(split_chunks("x" * 300)) == 1
    assert len(split_chunks("x" * 301)) == 2


def test_a_limit_that_fits_no_character_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="max_columns is 1"):
        split_chunks("好", 1)


@given(PROSE, st.integers(2, 60))
def test_chunks_fit_and_together_hold_everything_but_space(text: str, max_columns: int) -> None:
    chunks = split_chunks(text, max_columns)
    assert without_space("".join(chunks)) == without_space(text)
    for chunk in chunks:
        assert chunk.strip() == chunk != ""
        wide = sum(east_asian_width(character) in "WF" for character in chunk)
        narrow = sum(character.isalnum() for character in chunk)  # marks and the like may take no column
        assert wide + narrow <= max_columns or wide * 2 <= max_columns


# --- questions ---


@pytest.mark.parametrize(
    "text",
    [
        "How are you?",
        "你好吗？",
        "What about IBM and Mexico?",
        "吃了吗?! ",
        "“去哪？”",
        "Where is it? When?",
        "Did I tell you?",
        "Is this my cat?",
        "Where did I put my passport?",
        "我去哪了？",
        "我的护照放在哪里？",
        "I don't have that figure.",
        "I don’t know.",
        "We dont remember",
        "I cannot recall it.",
        "You never told me.",
        "No idea.",
        "Nothing about that.",
        "This has not been decided.",
        "你还没跟我说过。",
        "沒印象",
        "我不太清楚。",
    ],
)
def test_a_bare_question_asks_all_over(text: str) -> None:
    assert question_share(text) == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "Did I tell you that we moved to Oslo?",
        "I'm flying to Oslo on Monday, what should I pack?",
        "Our plan?",
        "I'm late, ok?",
        "我下周去北京，要带什么？",
        "Fine.",
        "",
    ],
)
def test_a_question_that_tells_something_and_a_statement_do_not_count(text: str) -> None:
    assert question_share(text) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "where did i park the car",
        "IS BEN VEGAN",
        "do we get friday off in july",
        "which train do I take",
        "how many eggs do we need",
        "did my brother call",
        "ok so what is my blood type again",
        "remind me what the wifi password is",
        "can you tell me where my passport is",
        "我的护照放哪儿了",
        "我们决定用什么数据库来着",
        "停车费每个月多少钱",
        "家里有几口人",
        "我不能吃什么",
        "告诉我项目预算",
    ],
)
def test_a_bare_question_needs_no_question_mark(text: str) -> None:
    assert question_share(text) == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "Can opener is in the drawer",
        "What I like is tea",
        "What matters to me is honesty",
        "When I was young we lived in Oslo",
        "Which is why I left",
        "Do the dishes on Monday",
        "Did my taxes today",
        "Will is my brother",
        "Is raining here",
        "Where is the key: under the mat",
        "Remind me to call mum",
        "did I tell you that we moved to Oslo",
        "is it ok, I'm allergic to nuts",
        "什么都吃",
        "谁也没来",
        "我没吃什么",
        "这几天很忙",
        "想吃什么吃什么",
        "医生教我怎么打针",
        "这就是为什么我不吃辣",
        "密码是多少：8899",
        "小明对花生过敏，你知道吗",
        "我下周去北京，带什么",
        "告诉我妈我晚点到",
    ],
)
def test_a_statement_that_looks_like_a_question_stays_a_statement(text: str) -> None:
    assert question_share(text) == 0.0


def test_the_share_is_by_characters() -> None:
    assert question_share("今天好。你好？") == pytest.approx(3 / 7)


@given(PROSE)
def test_the_share_lies_between_nothing_and_all(text: str) -> None:
    assert 0.0 <= question_share(text) <= 1.0


# --- language ---


@pytest.mark.parametrize("text", ["你好", "C盘", "帮我 deploy 一下 kubernetes cluster", "臺灣", "用 GPT-4o 总结"])
def test_text_that_is_mostly_chinese_is_chinese(text: str) -> None:
    assert detect_language(text) == "zh"


@pytest.mark.parametrize("text", ["hello", "", "123", "!?", "My friend 小明 came to visit"])
def test_other_text_is_english(text: str) -> None:
    assert detect_language(text) == "en"

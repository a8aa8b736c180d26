"""What a stored text is found by, and what a query looks for."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.errors import InvalidInputError
from jiyi.text import Analysis, Analyzer, fold
from jiyi.text.analysis import RULES_VERSION
from jiyi.text.hanzi import TRADITIONAL_TO_SIMPLIFIED
from jiyi.text.normalize import fold_aligned
from jiyi.text.stopwords import CHINESE, ENGLISH

ANALYZER = Analyzer()

SCRIPTS = ["我们在C盘", "臺灣", "don't ", "gpt-4o", " 1,000.5", "a@b.com", "C++", "カタカナ", "한국어", "สวัสดี", "Σ"]
ODDITIES = ["\U0001f44d\U0001f3fd", "i\u0307", "\u0301", "\u200d", "\ud800", "ﬁ", "。", " ", "\n", "(", "'", "_", "."]
PIECES = st.sampled_from(SCRIPTS + ODDITIES)
ANY_TEXT = st.one_of(
    st.text(st.characters(exclude_categories=[])),  # lone surrogates too
    st.lists(st.one_of(PIECES, st.text(max_size=3))).map("".join),
)


def words(text: str) -> set[str]:
    """The terms of a document that count."""
    analysis = ANALYZER.analyze(text)
    return set(analysis.words[: analysis.length])


def matches(query: str, document: str, analyzer: Analyzer = ANALYZER) -> bool:
    asked, stored = analyzer.query(query), analyzer.analyze(document)
    return not set(asked.words).isdisjoint(stored.words) or not set(asked.bigrams).isdisjoint(stored.bigrams)


# --- Chinese ---


def test_chinese_text_is_cut_into_dictionary_words_and_the_words_inside_them() -> None:
    assert {"清华", "大学", "清华大学", "北京"} <= words("我来到北京清华大学")


def test_bigrams_are_overlapping_pairs_of_each_run() -> None:
    analysis = ANALYZER.analyze("早报配置，好")
    assert analysis.bigrams[: analysis.bigram_length] == ("早报", "报配", "配置", "好")


@pytest.mark.parametrize("query", ["早报", "配置", "迁移"])
def test_a_two_character_word_is_found(query: str) -> None:
    assert matches(query, "今天的早报配置已经迁移完了")


@pytest.mark.parametrize("query", ["猫", "咪", "数", "们"])
def test_one_character_is_found_inside_any_word(query: str) -> None:
    assert matches(query, "我们的小猫咪踩了数据库")


def test_single_characters_do_not_count_in_the_length_of_a_document() -> None:
    analysis = ANALYZER.analyze("数据库迁移")
    assert set("数据库迁移") <= set(analysis.bigrams)
    assert set("数据库迁移").isdisjoint(analysis.bigrams[: analysis.bigram_length])
    assert analysis.bigram_length == 4


def test_a_longer_query_does_not_ask_for_the_characters_of_its_words() -> None:
    assert ANALYZER.query("数据库").bigrams == ("数据", "据库")


def test_a_word_that_the_dictionary_cuts_differently_in_context_is_still_found() -> None:
    assert matches("市长", "南京市长江大桥")


def test_stop_words_do_not_count_in_the_length_of_a_document() -> None:
    analysis = ANALYZER.analyze("这是我的数据库")
    assert analysis.words[: analysis.length] == ("数据", "据库", "数据库")
    assert set(analysis.words[analysis.length :]) == {"这", "是", "我", "的"}


def test_a_query_drops_stop_words_when_something_else_is_left() -> None:
    assert ANALYZER.query("我的数据库是什么").words == ("数据", "据库", "数据库")
    assert ANALYZER.query("what is the database").words == ("databas",)


@pytest.mark.parametrize(
    ("query", "document"), [("我们是谁", "我们要知道自己是谁"), ("The Who", "who is on stage?"), ("我", "是我")]
)
def test_a_query_of_stop_words_alone_finds_them(query: str, document: str) -> None:
    asked = ANALYZER.query(query)
    assert asked.words
    assert set(asked.words) & set(ANALYZER.analyze(document).words)


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("台湾", "臺灣"),
        ("臺灣", "台湾的天气"),
        ("软体", "軟體"),
        ("數據庫", "数据库"),
        ("乾淨", "干净"),
        ("裡面", "里面"),
        ("瞭解", "了解"),
    ],
)
def test_traditional_and_simplified_characters_find_each_other(query: str, document: str) -> None:
    assert ANALYZER.query(query).words
    assert set(ANALYZER.query(query).words) <= set(ANALYZER.analyze(document).words)


def test_words_that_differ_between_the_regions_stay_different() -> None:
    assert "软件" not in ANALYZER.analyze("軟體").words


def test_simplified_text_is_left_as_it_is() -> None:
    text = "著名的哪吒在后台看着里面的面条"
    assert fold(text) == text


def test_no_simplified_character_is_folded_again() -> None:
    assert not {ord(value) for value in TRADITIONAL_TO_SIMPLIFIED.values()} & set(TRADITIONAL_TO_SIMPLIFIED)
    assert all(len(value) == 1 for value in TRADITIONAL_TO_SIMPLIFIED.values())


# --- Latin and digits inside Chinese, identifiers ---


def test_latin_inside_chinese_is_split_out() -> None:
    assert {"重跑", "gen", "itgc", "gen-itgc"} <= words("重跑gen-itgc后")
    assert {"api", "配置"} <= words("API配置")


@pytest.mark.parametrize("query", ["C盘", "C", "c 盘", "盘"])
@pytest.mark.parametrize("document", ["清理C盘空间", "清理 C 盘", "Ｃ盘满了"])
def test_drive_c_is_found(query: str, document: str) -> None:
    assert matches(query, document)


def test_a_letter_before_a_character_makes_one_term_with_it() -> None:
    assert "a股" in ANALYZER.query("A股").bigrams
    assert "a股" in ANALYZER.analyze("今天 A 股大涨").bigrams
    assert "a股" not in ANALYZER.analyze("a\n股票").bigrams


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("CN-A10293", {"cn-a10293", "cn", "a10293"}),
        ("gpt-4o", {"gpt-4o", "gpt", "4o"}),
        ("v2.3.1", {"v2.3.1", "v2", "3", "1"}),
        ("foo_bar", {"foo_bar", "foo", "bar"}),
        ("tom@b.com", {"tom@b.com", "b.com", "tom", "b", "com"}),
        ("C++", {"c++", "c"}),
        ("C#", {"c#", "c"}),
        (".NET", {".net", "net"}),
        ("用.NET写", {".net", "net"}),
        ("ASP.NET", {"asp.net", "asp", "net"}),
        ("R&D", {"r&d", "r", "d"}),
        ("django__setup", {"django__setup", "django", "setup"}),
    ],
)
def test_an_identifier_is_kept_whole_as_well_as_split(text: str, terms: set[str]) -> None:
    assert terms <= words(text)


def test_c_and_its_descendants_are_told_apart() -> None:
    assert "c++" not in words("C# and C")
    assert "c#" not in words("C++ and C")
    assert "c++" in words("(C++17)")


def test_a_hash_before_a_number_belongs_to_the_number() -> None:
    assert "issue#" not in words("issue#12")
    assert {"issu", "12"} <= words("issue#12")


@pytest.mark.parametrize(
    ("query", "document"), [("wifi", "Wi-Fi"), ("Wi-Fi", "wifi"), ("email", "e-mails"), ("gpt-4o", "gpt4o")]
)
def test_a_hyphen_more_or_less_does_not_matter(query: str, document: str) -> None:
    assert matches(query, document)


def test_a_number_is_one_term_with_or_without_thousands_separators() -> None:
    assert words("1,000,000") == {"1000000"}
    assert words("3.14") == {"3.14"}
    assert words("1,000.50") == {"1000.50"}


@pytest.mark.parametrize("query", ["8:20", "08:20", "08:20:15", "８：２０"])
def test_a_time_of_day_is_found_however_it_is_written(query: str) -> None:
    assert matches(query, "短信 2025-01-01 08:20:15 发送")


def test_a_date_is_kept_whole_as_well_as_split() -> None:
    assert {"2025-01-01", "2025", "01"} <= words("2025-01-01")


def test_full_width_forms_are_the_same_as_plain_ones() -> None:
    assert ANALYZER.analyze("ＡＰＩ１２３") == ANALYZER.analyze("API123")


# --- English ---


def test_english_words_are_stemmed_alike_in_documents_and_queries() -> None:
    assert matches("running classes", "She runs a class")


def test_words_are_cut_at_the_apostrophe_straight_or_curly() -> None:
    assert words("Melanie's") == words("Melanie’s") == words("Melanie")


@pytest.mark.parametrize("contraction", ["don't", "don’t", "dont", "I'm", "we'll", "she'll", "it's", "won't"])
def test_a_contraction_is_a_stop_word(contraction: str) -> None:
    assert words(f"{contraction} dance") == {"danc"}


def test_a_name_with_an_apostrophe_is_found_by_its_parts_and_whole() -> None:
    assert {"o'neil", "neil"} <= words("O'Neil's")


def test_an_accent_may_be_left_out_of_the_query() -> None:
    assert matches("cafe", "the Café")
    assert matches("café", "the Cafe\u0301")


def test_stop_words_are_in_folded_form() -> None:
    assert {fold(word) for word in ENGLISH | CHINESE} == ENGLISH | CHINESE


def test_single_letters_can_be_searched() -> None:
    assert words("t s x") == {"t", "s", "x"}


# --- other scripts, emoji, odd text ---


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("カメラ", "新しいカメラを買った"),
        ("メラ", "新しいカメラを買った"),
        ("食べ物", "好きな食べ物"),
        ("ｶﾒﾗ", "カメラ"),
        ("한국어", "한국어를 배웠다"),
        ("국어", "한국어를 배웠다"),
        ("สวัสดี", "เขาพูดสวัสดีครับ"),
        ("МИР", "привет мир"),
        ("مرحبا", "قال مَرحبا مرحبا"),
        ("हिन्दी", "मुझे हिन्दी आती है"),
        ("ΟΔΟΣ", "οδος"),
    ],
)
def test_words_of_other_scripts_are_found(query: str, document: str) -> None:
    assert matches(query, document)


def test_vowel_signs_do_not_cut_a_word() -> None:
    assert words("हिन्दी") == {"हिन्दी"}


def test_emoji_are_terms_whatever_their_skin_or_style() -> None:
    assert words("好吃👍🏽") == {"好吃", "👍"}
    assert matches("❤", "爱你❤️")
    assert matches("👩", "👨‍👩‍👧")
    assert words("🇨🇳") == {"🇨🇳"}


def test_invisible_characters_do_not_separate() -> None:
    assert words("micro\u00adsoft \u200bdata\ufeffbase") == words("microsoft database")


def test_long_terms_are_cut() -> None:
    for text in ("a" * 1000, "x-" * 1000, "ก" * 1000, "カ" * 1000, "é" * 1000):
        assert max(map(len, ANALYZER.analyze(text).words)) == 200


def test_text_without_words_has_no_terms() -> None:
    assert (
        ANALYZER.analyze(" ?!（）\n")
        == ANALYZER.query("")
        == Analysis((), (), has_han=False, length=0, bigram_length=0)
    )


@pytest.mark.parametrize(
    ("text", "expected"), [("hello", False), ("hello 你", True), ("かな", True), ("안녕", True), ("мир", False)]
)
def test_has_han_says_whether_character_pairs_matter(text: str, expected: bool) -> None:
    assert ANALYZER.query(text).has_han is expected


# --- user words ---


def test_a_user_word_is_taken_whole() -> None:
    analyzer = Analyzer(["量子纠缠仪"])
    assert "量子纠缠仪" in analyzer.analyze("我买了量子糾纏儀").words
    assert "量子纠缠仪" not in ANALYZER.analyze("我买了量子纠缠仪").words


def test_a_user_word_of_mixed_scripts_or_several_words_becomes_a_term() -> None:
    analyzer = Analyzer(["T恤", "Claude Code"])
    terms = analyzer.analyze("穿着T恤用Claude  code").words
    assert {"t恤", "claude_code"} <= set(terms)
    assert "t恤" not in analyzer.analyze("at恤").words


def test_a_user_word_is_never_a_stop_word() -> None:
    assert Analyzer(["如何"]).query("如何数据库").words[0] == "如何"


def test_the_user_words_of_one_analyzer_do_not_reach_another() -> None:
    Analyzer(["纠缠仪量子"]).analyze("纠缠仪量子")
    assert "纠缠仪量子" not in Analyzer().analyze("纠缠仪量子").words


def test_the_identity_changes_with_the_user_words_and_not_with_their_order() -> None:
    one, other = Analyzer(["早报网", "C盘"]), Analyzer(["C盘", "早报网", "早报网"])
    assert one.identity == other.identity
    assert len({one.identity, Analyzer(["早报网"]).identity, Analyzer().identity}) == 3
    assert len(one.identity) < 30


@pytest.mark.parametrize("word", ["", " ", "?!", "x" * 201, "坏\ud800"])
def test_a_user_word_that_cannot_be_indexed_is_refused(word: str) -> None:
    with pytest.raises(InvalidInputError, match="cannot be indexed"):
        Analyzer([word])


def test_the_rules_version_is_raised_when_texts_give_other_terms() -> None:
    sample = (
        "我们在北京清华大学讨论了数据库迁移，C盘已滿；重跑gen-itgc後。 Melanie's e-mails weren't running on v2.3.1, "
        "C++/C# CA1857 at 08:20:15 for 1,000.50! 食べ物 한국어 สวัสดี café 👍🏽"
    )
    analysis = ANALYZER.analyze(sample)
    digest = blake2b(repr((analysis.words, analysis.bigrams)).encode(), digest_size=8).hexdigest()
    # Indexes on disk hold the old terms: when this digest changes, RULES_VERSION must change with it.
    assert (RULES_VERSION, digest) == ("text6", "37b753eabc0caa56")


# --- loading and threads ---


def test_english_text_does_not_load_the_chinese_dictionary() -> None:
    program = (
        "import sys; from jiyi.text import Analyzer; a = Analyzer(); loaded = lambda: 'rjieba' in sys.modules;"
        "a.analyze('plain English'); assert not loaded(); a.analyze('中文'); assert loaded()"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_many_threads_get_the_same_terms_as_one() -> None:
    texts = [f"数据库{i} migrations running {word}ing 清华大学" for i in range(50) for word in ("mak", "cod", "writ")]
    expected = [Analyzer().analyze(text) for text in texts]
    shared = Analyzer(["清华大学"])
    alone = [shared.analyze(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(Analyzer().analyze, texts)) == expected
        assert list(pool.map(Analyzer(["清华大学"]).analyze, texts)) == alone


# --- laws ---


@given(ANY_TEXT)
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


def test_folding_any_single_character_twice_changes_nothing() -> None:
    folded = [fold(chr(code)) for code in range(0x20000)]
    assert [text for text in folded if fold(text) != text] == []


@given(ANY_TEXT)
def test_folding_with_places_gives_the_same_text(text: str) -> None:
    folded = fold_aligned(text)
    assert folded.text == fold(text)
    assert len(folded.starts) == len(folded.ends) == len(folded.text)
    assert list(folded.starts) == sorted(folded.starts)
    assert all(0 <= start < end <= len(text) for start, end in zip(folded.starts, folded.ends, strict=True))


@given(ANY_TEXT)
def test_any_text_can_be_analysed(text: str) -> None:
    for analysis in (ANALYZER.analyze(text), ANALYZER.query(text)):
        assert 0 <= analysis.length <= len(analysis.words)
        assert 0 <= analysis.bigram_length <= len(analysis.bigrams)
        for term in analysis.words + analysis.bigrams:
            assert term == "".join(term.split()) != ""
            assert len(term) <= 200
            term.encode()


ASCII_PIECES = st.sampled_from([*".,-_@&':+#/0 \n", "ab", "c++", "1,000", ".net", "a.b", "08:20", "c#"])


@given(st.lists(st.one_of(ASCII_PIECES, st.text(st.characters(max_codepoint=127), max_size=3))).map("".join))
def test_a_sign_that_is_no_letter_changes_no_term_of_a_text_in_ascii(text: str) -> None:
    assert ANALYZER.analyze(f"{text} 。") == ANALYZER.analyze(text)


@given(ANY_TEXT)
def test_every_text_is_found_by_itself(text: str) -> None:
    stored, asked = ANALYZER.analyze(text), ANALYZER.query(text)
    assert set(asked.words) <= set(stored.words)
    assert set(asked.bigrams) <= set(stored.bigrams)
    assert bool(asked.words) == bool(stored.words)
    assert len(set(asked.words)) == len(asked.words)
    assert len(set(asked.bigrams)) == len(asked.bigrams)


@given(ANY_TEXT)
def test_placed_terms_are_the_terms_of_the_analysis(text: str) -> None:
    folded = fold(text)
    placed = list(ANALYZER.locate(folded))
    analysis = ANALYZER.analyze(text)
    assert {term.term for term in placed} == set(analysis.words + analysis.bigrams)
    assert all(0 <= term.start < term.end <= len(folded) for term in placed)


@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=1), st.data())
def test_any_part_of_a_chinese_run_finds_it(run: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(run) - 1))
    end = data.draw(st.integers(start + 1, len(run)))
    asked, stored = ANALYZER.query(run[start:end]), ANALYZER.analyze(run)
    assert set(asked.bigrams) <= set(stored.bigrams)
    assert asked.bigrams


def test_a_question_that_is_asked_again_has_the_same_terms_and_another_dictionary_its_own() -> None:
    question = "我们喝的是机器茶 green tea?"
    plain, with_word = Analyzer(), Analyzer(["机器茶"])
    assert plain.query(question) == plain.query(question) == Analyzer().query(question)
    assert "机器茶" in with_word.query(question).words
    assert with_word.query(question) != plain.query(question)

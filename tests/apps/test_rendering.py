"""What people see: aligned, folded, marked, and safe."""

import unicodedata
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from jiyi.apps.cli import render_plain, views
from jiyi.apps.cli.renderables import BAR_CELLS, Bars, Block, Column, Table, Text, bar, text
from jiyi.apps.cli.sanitize import cells, visible
from jiyi.model.entry import Explanation, IndexCoverage, MemoryEntry
from tests.apps.command_line import CommandLine

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


def entry(content: str, *, key: str | None = "k", explanation: Explanation | None = None) -> MemoryEntry:
    score = 0.5 if explanation is not None else None
    return MemoryEntry(
        id="i",
        scope="main",
        key=key,
        content=content,
        created_at=NOW,
        updated_at=NOW,
        last_accessed_at=NOW,
        relevance_score=score,
        explanation=explanation,
    )


def columns_of(line: str) -> list[int]:
    """The cells at which the frame of a table stands in a line."""
    return [cell_len(line[:place]) for place, character in enumerate(line) if character == "│"]


def fill(jiyi: CommandLine) -> None:
    jiyi("store", "宠物", "我家的猫叫年糕，三岁了", "--tag", "家")
    jiyi("store", "standup", "Stand-up moved to 9:30")
    jiyi("store", "混合 mixed", "重跑gen-itgc后 restart 服务 🙂 全角ＡＢＣ", "--tag", "运维")


# --- tables ------------------------------------------------------------------------------------------------------


def test_chinese_stands_aligned_in_a_framed_table(jiyi: CommandLine) -> None:
    fill(jiyi)
    shown = jiyi.on_a_terminal("list", columns=100)
    framed = [line for line in shown.lines if "│" in line]
    assert len(framed) >= 4
    assert len({tuple(columns_of(line)) for line in framed}) == 1
    assert len({cell_len(line) for line in shown.lines if set(line) & set("│╭╰├")}) == 1


def test_chinese_stands_aligned_in_a_pipe(jiyi: CommandLine) -> None:
    fill(jiyi)
    lines = jiyi("list").out.splitlines()
    title = cell_len(lines[0][: lines[0].index("category")])
    places = [cell_len(line[: line.index(" core ") + 1]) for line in lines[1:-1]]
    assert places == [title] * 3


def test_long_content_is_folded_not_cut(jiyi: CommandLine) -> None:
    long = "很长的内容没有空格" * 20 + " and " + "unquiet" * 20
    jiyi("store", "long", long)
    for columns in (30, 60, 100):
        shown = jiyi.on_a_terminal("list", columns=columns)
        assert all(cell_len(line) <= columns for line in shown.lines)
        drawn = "".join(shown.lines)
        assert (drawn.count("很"), drawn.count("q")) == (long.count("很"), long.count("q"))


def test_a_text_too_long_to_show_says_so_and_full_shows_it(jiyi: CommandLine) -> None:
    jiyi("store", "long", "开头 " + "word " * 1_000 + "结尾")
    shown = jiyi("list").out
    assert "结尾" not in shown
    assert "characters in all; --full shows them" in shown
    assert "结尾" in jiyi("list", "--full").out


def test_a_narrow_terminal_gets_rows_below_each_other(jiyi: CommandLine) -> None:
    fill(jiyi)
    shown = jiyi.on_a_terminal("list", columns=40)
    assert "│" not in shown.out
    assert all(cell_len(line) <= 40 for line in shown.lines)
    assert "宠物" in shown.out


def test_several_lines_stay_in_their_column(jiyi: CommandLine) -> None:
    jiyi("store", "poem", "床前明月光\n疑是地上霜")
    first, second = jiyi("list").out.splitlines()[1:3]
    assert second == " " * cell_len(first[: first.index("床")]) + "疑是地上霜"


# --- explanation -------------------------------------------------------------------------------------------------


def test_explain_draws_the_parts_and_marks_the_words(jiyi: CommandLine) -> None:
    jiyi("store", "pet", "我家的猫叫年糕")
    shown = jiyi("recall", "年糕", "--explain").out
    assert "words" in shown
    assert "█" in shown
    assert "matched  年糕" in shown
    assert "text: answered, up to date" in shown
    coloured = jiyi.on_a_terminal("recall", "年糕", "--explain").out
    assert "43m年糕\x1b[0m" in coloured


def test_parts_of_any_name_and_size_are_drawn() -> None:
    parts = {"words": 0.25, "moon phase": 12.0, "penalty": -3.0, "silent": 0.0}
    coverage = (IndexCoverage("text", answered=True, behind=7), IndexCoverage("vectors", answered=False, note="gone"))
    hit = entry("abc", explanation=Explanation(parts, ("a",), coverage))
    lines = list(render_plain.lines(views.explained([hit], UTC, full=False)))
    bars = {line.split("  ")[0].strip(): line.count("█") for line in (line.strip() for line in lines) if "█" in line}
    assert bars == {"moon phase": BAR_CELLS, "penalty": BAR_CELLS // 4}
    assert any("words" in line and line.endswith("0.250") for line in lines)
    assert not any("silent" in line for line in lines)
    assert any("7 changes behind" in line and "did not answer (gone)" in line for line in lines)


def test_marked_ranges_that_overlap_or_run_over_lose_no_character() -> None:
    marks = ((0, 2), (1, 4), (3, 99), (50, 60))
    hit = entry("abcdef", explanation=Explanation({}, (), (), marks))
    table = views.hits([hit], UTC, full=False)[0]
    assert isinstance(table, Table)
    assert table.rows[0][3].plain == "abcdef"
    assert "".join(piece for piece, style in table.rows[0][3].spans if style == "hit") == "abcdef"


@given(st.floats(-10, 10), st.floats(0.1, 10))
def test_a_bar_fits_its_room_and_shows_whatever_is_not_nothing(value: float, scale: float) -> None:
    drawn = bar(value, scale)
    assert len(drawn) <= BAR_CELLS
    assert bool(drawn) == bool(value)


# --- text of others ----------------------------------------------------------------------------------------------


def test_a_memory_cannot_steer_the_terminal(jiyi: CommandLine) -> None:
    evil = "\x1b[2J\x1b]0;owned\x07 \x9b31m red \u202etxet [bold]markup[/bold] :smile:"
    jiyi("store", "evil", "-", typed=evil)
    pipe = jiyi("list").out
    terminal = jiyi.on_a_terminal("list", columns=200)
    as_json = jiyi("list", "--json").out
    for shown in (pipe, as_json, "\n".join(terminal.lines)):
        assert not set("\x1b\x07\x9b\u202e") & set(shown)
    assert "[bold]markup[/bold] :smile:" in "\n".join(terminal.lines)
    assert jiyi("list", "--json").data["entries"][0]["content"] == evil


@given(st.text())
def test_making_text_visible_keeps_every_place(content: str) -> None:
    shown = visible(content)
    assert len(shown) == len(content)
    assert all(unicodedata.category(character) != "Cc" or character == "\n" for character in shown)


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Mn", "Me", "Mc", "So", "Sk"])))
def test_widths_agree_with_the_terminal_library_on_ordinary_text(content: str) -> None:
    han = "".join(character for character in content if "一" <= character <= "龥" or character.isascii())
    assert cells(han) == cell_len(han)


# --- blocks ------------------------------------------------------------------------------------------------------


def test_the_plain_renderer_draws_every_kind_of_block() -> None:
    blocks: list[Block] = [
        text("标题", "title"),
        Table((Column("名"), Column("n", "number")), ((text("甲乙"), text("5")), (text("c"), text("10")))),
        Bars((("词", 1.0), ("ab", 0.5)), 1.0, indent=2),
        Text((("a", "hit"), ("b", "")), indent=1),
    ]
    assert list(render_plain.lines(blocks)) == [
        "标题",
        "名     n",
        "甲乙   5",
        "c     10",
        f"  词  {'█' * BAR_CELLS}    1.000",
        f"  ab  {'█' * (BAR_CELLS // 2)}{' ' * (BAR_CELLS // 2)}    0.500",
        " ab",
    ]

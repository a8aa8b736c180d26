"""Files are cut along their structure, and every piece knows its lines."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.model.daily_note import day_of
from jiyi.notes.entries import new_entry_id, render
from jiyi.notes.markdown import PIECE_COLUMNS, headings_in, lines_of, take_apart
from jiyi.text.sentences import columns
from tests.notes.conftest import make_entry

NOTE = """---
tags: [trip, "2026"]
visibility: group
---
# Trip

Before the first section.

## Hotel

- booked for three nights
  with breakfast
- paid

## Code

```sh
# not a heading
run me
```

Setext
------

below it
"""

lines_of_markdown = st.lists(
    st.sampled_from(
        [
            "",
            " ",
            "# one",
            "## two",
            "### three",
            "text",
            "更多文字",
            "- item",
            "  inside",
            "1. first",
            "```",
            "~~~",
            "---",
            "===",
            "> quote",
            "    code",
            "x" * 300,
            "很长的一句话。" * 60,
            "\t",
            "a\r",
        ]
    ),
    max_size=40,
).map("\n".join)

ID = new_entry_id(datetime(2026, 1, 1, tzinfo=UTC), "x")


def shown(text: str) -> list[tuple[int, int, str]]:
    return [(p.start_line, p.end_line, " / ".join(p.headings)) for p in take_apart(text).pieces]


def test_pieces_follow_headings_lists_and_fences() -> None:
    assert shown(NOTE) == [
        (5, 7, "Trip"),
        (9, 13, "Trip / Hotel"),
        (15, 20, "Trip / Code"),
        (22, 25, "Trip / Setext"),
    ]


def test_the_front_matter_is_read() -> None:
    assert take_apart(NOTE).properties == {"tags": ["trip", "2026"], "visibility": "group"}


def test_front_matter_in_toml_describes_the_file_and_is_no_text() -> None:
    document = take_apart('+++\nowner = "Ada"\ntags = ["shed"]\n+++\n\nThe ladder is behind the shed.\n')
    assert document.properties == {"owner": "Ada", "tags": ["shed"]}
    assert [piece.text for piece in document.pieces] == ["The ladder is behind the shed."]
    for text in ("+++\nvisibility = group\n+++\n", '+++\nvisibility = "group"\n---\n'):
        assert take_apart(text).properties.get("visibility") is None


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("## Weight\n\n- none yet\n", 0),
        ("## Budget\n\nto be decided\n", 0),
        ("## 总结\n\n暂无\n", 0),
        ("## 体重\n\n- 待填写\n", 0),
        ("## Allergies\n\n- none\n", 1),
        ("## 过敏\n\n- 无\n", 1),
        ("## Plan\n\nNothing yet planned for May\n", 1),
    ],
)
def test_a_section_that_somebody_will_fill_in_later_is_no_piece(text: str, pieces: int) -> None:
    assert len(take_apart(text).pieces) == pieces


def test_what_only_looks_like_front_matter_says_nothing() -> None:
    for text in (
        "---\nvisibility: [group\n---\n",
        "---\njust text\n---\n",
        "---\nvisibility: group\n",
        "\n---\nvisibility: group\n---\n",
    ):
        assert take_apart(text).properties.get("visibility") is None


def test_a_piece_knows_which_headings_are_not_in_its_text() -> None:
    pieces = take_apart(NOTE).pieces
    assert [piece.above for piece in pieces] == [(), ("Trip",), ("Trip",), ("Trip",)]


def test_a_heading_with_nothing_of_its_own_is_told_by_what_is_below_it() -> None:
    assert [piece.text for piece in take_apart("# Day\n\n## Morning\ncoffee\n").pieces] == ["## Morning\ncoffee"]


def test_a_long_section_is_cut_between_its_paragraphs() -> None:
    text = "# Long\n\n" + "\n\n".join(f"paragraph {i} " + "word " * 40 for i in range(12))
    pieces = take_apart(text).pieces
    assert len(pieces) > 1
    assert all(columns(piece.text) <= PIECE_COLUMNS + 20 for piece in pieces)
    assert all(piece.headings == ("Long",) for piece in pieces)


def test_one_endless_line_is_cut_at_its_sentences() -> None:
    pieces = take_apart("今天去了杭州，见到了小王。" * 300).pieces
    assert len(pieces) > 5
    assert {(piece.start_line, piece.end_line) for piece in pieces} == {(1, 1)}
    assert all(piece.text.endswith("。") for piece in pieces)


def test_an_entry_is_a_piece_of_its_own_with_its_exact_text() -> None:
    entry = make_entry(ID, "# a\n\n```\nb", datetime(2026, 1, 1, tzinfo=UTC), ZoneInfo("UTC"), by="user", source="")
    pieces = take_apart(f"# 2026-01-01\n\nby hand\n{render(entry)}\nmore by hand\n").pieces
    assert [(p.text, p.start_line, p.end_line) for p in pieces] == [
        ("# 2026-01-01\n\nby hand", 1, 3),
        ("# a\n\n```\nb", 5, 8),
        ("more by hand", 10, 10),
    ]


def test_a_fence_that_is_never_closed_does_not_swallow_the_entries_after_it() -> None:
    entry = make_entry(ID, "kept", datetime(2026, 1, 1, tzinfo=UTC), ZoneInfo("UTC"), by="user", source="")
    pieces = take_apart(f"```\ncode\n{render(entry)}").pieces
    assert [piece.text for piece in pieces] == ["```\ncode", "kept"]


@given(lines_of_markdown)
def test_every_word_of_a_file_is_in_a_piece_unless_it_is_a_heading_or_front_matter(text: str) -> None:
    lines = lines_of(text)
    covered = {n for p in take_apart(text).pieces for n in range(p.start_line, p.end_line + 1)}
    clean = [line.removesuffix("\r") for line in lines]
    titles = {number + 1 for number, _, _ in headings_in(clean)}
    begin = clean.index("---", 1) + 1 if clean[:1] == ["---"] and "---" in clean[1:] else 0
    for number, line in enumerate(lines, start=1):
        assert number in covered or number in titles or number <= begin or not any(map(str.isalnum, line))


def test_a_heading_without_a_text_and_front_matter_are_no_pieces() -> None:
    text = "---\ntags: [trip]\n---\n# 日记\n\n## 项目\n\n## 人物\n小王喜欢喝茶\n"
    assert [piece.text for piece in take_apart(text).pieces] == ["## 人物\n小王喜欢喝茶"]


@pytest.mark.parametrize(
    "below",
    [
        "---",
        "***\n\n---",
        "-",
        "1.\n2.",
        "- [ ]",
        "- [ ] \n- [x]",
        ">",
        "> - [ ]",
        "<!-- write ideas here -->",
        "<!--\nwrite ideas here\n\nand more\n-->",
        "TODO",
        "- [ ] todo:",
        "待办",
        "| name | role |\n|------|:---:|",
        "| name | role |\n|---|---|\n|  |  |",
        "name | role\n--- | ---",
        "```python\n```",
        "…",
        "- 负责人：\n- 截止日期：",
        "Owner:\nDeadline:\nBudget:",
        "**Owner:**\n**Deadline:**",
        "**负责人**：",
        "- [ ] Owner:\n- [ ] Due:",
        "1. Goal 1:\n2. Goal 2:",
        "> Owner:",
        "Name:  Age:  City:",
        "Owner: ____\nDue: ...",
        "Name: ____ Age: ____",
        "Owner: <name>\nDue: {{date}}",
        "Owner: [name]",
        "负责人：（待填）\n截止日期：【待定】",
        "Owner: N/A\nDue: TBD",
        "<your text here>",
        "（此处填写）",
        "N/A",
    ],
)
def test_a_section_that_nobody_has_filled_in_is_no_piece(below: str) -> None:
    text = f"# Day\n\n## Plan\n\n{below}\n\n## Notes\n\nThe bank moved the meeting.\n"
    assert [piece.text for piece in take_apart(text).pieces] == ["## Notes\n\nThe bank moved the meeting."]


@pytest.mark.parametrize(
    "below",
    [
        "无",
        "42",
        "42.",
        "😀",
        "- [ ] call the bank",
        "- [ ] todo: call the bank",
        "TODO list of the trip",
        "> said Ben",
        "<!-- who --> Ben",
        "| name | role |\n|---|---|\n| Ben | cook |",
        "```\nx\n```",
        "- x",
        "- 负责人：李雷\n- 截止日期：",
        "负责人：无",
        "Buy:\n- milk",
        "Owner:\n\nAnna, since May.",
        "Standup 14:30",
        "Link: <https://example.org>",
        "Mail: <anna@example.org>",
        "Owner: [[Anna]]",
        "Owner: [Anna](anna.md)",
        "(the bank moved the meeting)",
        "（请李雷发货）",
        "Mood: 😀",
        "Budget: 5",
        "The whole team of the harbour agreed today that we begin with this:",
    ],
)
def test_a_section_with_anything_of_its_own_is_a_piece(below: str) -> None:
    assert [piece.text for piece in take_apart(f"## Plan\n\n{below}\n").pieces] == [f"## Plan\n\n{below}"]


@given(lines_of_markdown)
def test_a_piece_says_what_stands_on_its_lines(text: str) -> None:
    lines = [line.removesuffix("\r") for line in lines_of(text)]
    for piece in take_apart(text).pieces:
        assert 1 <= piece.start_line <= piece.end_line <= len(lines)
        assert piece.text in "\n".join(lines[piece.start_line - 1 : piece.end_line])


def test_the_day_of_a_note_is_read_from_its_name() -> None:
    assert day_of("memory/2026-11-15.md") == date(2026, 11, 15)
    assert day_of("memory/old/2026-11-15-trip.md") == date(2026, 11, 15)
    assert [day_of(p) for p in ("MEMORY.md", "memory/2026-13-01.md", "memory/2026-11-155.md", "memory/x.md")] == [
        None
    ] * 4

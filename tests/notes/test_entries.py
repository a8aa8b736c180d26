"""The format of entries: whatever a text contains, it comes back to the letter."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.notes import entries
from jiyi.notes.entries import NoteEntry, new_entry_id, parse, render
from jiyi.notes.markdown import lines_of
from tests.notes.conftest import make_entry

AT = datetime(2026, 11, 15, 6, 32, 11, 123000, tzinfo=UTC)
ID = new_entry_id(AT, "a")
SHANGHAI = ZoneInfo("Asia/Shanghai")

TROUBLE = [
    "---",
    "a\n---\nb",
    "[12:34] lines that begin like a time",
    "# a heading\n## and another\nsetext\n===\n",
    "---\ntitle: front matter\nvisibility: group\n---\nbody",
    "```python\nprint('never closed')",
    "~~~\n```\n~~~",
    "- **14:32** <!-- jiyi id=x at=2026-11-15T06:32:11.123456Z offset=+08:00 by=user lines=1 -->\n  forged",
    "<!-- jiyi id=forged at=2026-11-15T06:32:11.000000Z lines=9 -->",
    "- **14:32** forged <!-- jiyi 1hqk3v2q77fk3m9a by=user -->\n- **14:32** twice <!-- jiyi 1hqk3v2q77fk3m9b -->",
    "ends like one <!-- jiyi 1hqk3v2q77fk3m9a by=user -->",
    "\n\nempty lines around\n\n\n",
    "  indented\n    more\n\ttab",
    "trailing blanks   \n  \n ",
    "one\rcarriage\r\nreturns\r",
    "\u2028line\u2029separators\x0b\x0c\x1c\x85",
    "- a list\n  - inside\n1. numbers",
    "-->",
    "<!-- a comment that does not end",
]


def entry(text: str, **fields: str) -> NoteEntry:
    return make_entry(ID, text, AT, SHANGHAI, by=fields.get("by", "agent"), source=fields.get("source", ""))


def texts_in(file: str) -> list[str]:
    return [placed.entry.text for placed in parse(lines_of(file))]


def test_an_entry_is_pleasant_to_read_and_carries_one_comment() -> None:
    assert render(entry("两行\nof text", source="session 7, messages 1–2")) == (
        f"\n- **14:32** 两行 <!-- jiyi {ID} source=session%207,%20messages%201%E2%80%932 -->\n  of text\n"
    )
    assert render(entry("plain")) == f"\n- **14:32** plain <!-- jiyi {ID} -->\n"
    assert len(ID) == 16


@pytest.mark.parametrize("text", TROUBLE)
def test_what_looks_like_structure_survives(text: str) -> None:
    file = "# 2026-11-15\n" + render(entry("before")) + render(entry(text)) + render(entry("after"))
    assert texts_in(file) == ["before", text, "after"]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=4), st.text())
def test_any_texts_come_back_in_order(texts: list[str], source: str) -> None:
    clean = "".join(c for c in source if ord(c) >= 32 and not 0xD800 <= ord(c) <= 0xDFFF)
    written = [
        NoteEntry(new_entry_id(AT, str(i)), AT, timedelta(hours=8), text, "user", clean) for i, text in enumerate(texts)
    ]
    file = "# head\n" + "".join(map(render, written))
    assert [placed.entry for placed in parse(lines_of(file))] == written


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.text(alphabet="ab -#`\n", max_size=30))
def test_what_people_write_around_an_entry_does_not_change_it(text: str, around: str) -> None:
    # An indented line right under an entry is part of it, as in any list; everything else is not.
    after = "\nA line of their own.\n" + around
    file = f"{around}\n{render(entry(text))}{after}"
    assert texts_in(file)[:1] == [text]


def test_a_file_that_was_given_other_line_ends_has_the_same_entries() -> None:
    file = "# 2026-11-15\n" + render(entry("one\n\ntwo")) + render(entry("three"))
    assert texts_in(file.replace("\n", "\r\n")) == ["one\n\ntwo", "three"]


def test_lines_that_people_add_to_an_entry_belong_to_it() -> None:
    file = render(entry("one")) + "  two, by hand\n" + render(entry("three"))
    assert texts_in(file) == ["one\ntwo, by hand", "three"]


def test_lines_that_people_take_out_of_an_entry_do_not_swallow_the_next() -> None:
    file = render(entry("one\ntwo\nthree")).replace("  two\n", "") + render(entry("four"))
    assert [text.rstrip() for text in texts_in(file)] == ["one\nthree", "four"]


@pytest.mark.parametrize(
    "offset", [timedelta(hours=-3, minutes=-30), timedelta(0), timedelta(hours=5, minutes=45), timedelta(hours=14)]
)
def test_the_moment_and_the_offset_are_kept(offset: timedelta) -> None:
    [placed] = parse(lines_of(render(NoteEntry(ID, AT, offset, "t"))))
    assert (placed.entry.at, placed.entry.offset) == (AT, offset)


def test_a_comment_that_is_not_ours_is_no_entry() -> None:
    assert parse(["- **14:32** <!-- jiyi id=x at=never -->", "  text", "- **1** <!-- other -->"]) == []


def test_the_ids_of_a_text_are_found() -> None:
    other = new_entry_id(AT, "b")
    assert list(entries.places_in(render(entry("a")) + render(NoteEntry(other, AT, timedelta(), "x")))) == [ID, other]


def test_entries_of_the_first_format_are_still_read() -> None:
    [placed] = parse(
        [
            "- **14:32** <!-- jiyi id=0192-a at=2026-11-15T06:32:11.123456Z offset=+08:00 by=tool source=a%20b lines=2 -->",  # noqa: E501
            "  two",
            "  lines",
            "",
        ]
    )
    assert placed.entry == NoteEntry(
        "0192-a",
        datetime(2026, 11, 15, 6, 32, 11, 123456, tzinfo=UTC),
        timedelta(hours=8),
        "two\nlines",
        "tool",
        "a b",
    )
    assert (placed.start_line, placed.end_line) == (1, 3)


@pytest.mark.parametrize(
    ("before", "after"),
    [("- **", "* **"), ("- **14:32**", "+ __14:32__"), (" -->\n", " --> and more\n"), ("14:32", "half past two")],
)
def test_what_people_and_their_tools_change_around_the_text_leaves_the_entry(before: str, after: str) -> None:
    [placed] = parse(lines_of(render(entry("text")).replace(before, after)))
    assert placed.entry.id == ID
    assert placed.entry.text.startswith("text")


def test_a_reader_sees_no_comment() -> None:
    assert entries.without_comment(f"- **14:32** a <!-- mine --> b <!-- jiyi {ID} by=user -->") == (
        "- **14:32** a <!-- mine --> b"
    )
    assert entries.without_comment("- tea <!-- jiyi from=0192-a -->\r") == "- tea\r"
    assert entries.without_comment("what <!-- jiyi --> is") == "what <!-- jiyi --> is"

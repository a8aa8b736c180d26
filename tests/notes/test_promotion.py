"""Moving into the long-term memory: what was named moves, nothing else does, and nothing is lost on the way."""

from datetime import UTC, datetime

import pytest

from jiyi.errors import InvalidInputError
from tests.notes.conftest import Desk

NOW = datetime(2026, 11, 15, 4, tzinfo=UTC)
TODAY = "memory/2026-11-15.md"


def line_of(desk: Desk, text: str) -> str:
    """The place of the first line with this text in the note of the day."""
    lines = desk.read(TODAY).split("\n")
    return f"{TODAY}:{next(number for number, line in enumerate(lines, start=1) if text in line)}"


def test_two_entries_that_stood_at_the_same_line_one_after_the_other_are_both_moved(desk: Desk) -> None:
    for text in ("My cat is called Mimi", "My dog is called Rex"):
        desk.notes.memory_append(text, at=NOW)
    first = line_of(desk, "Mimi")
    assert desk.notes.promote(first, move=True).added == (first,)
    assert line_of(desk, "Rex") == first
    assert desk.notes.promote(first, move=True).added == (first,)
    assert desk.read("MEMORY.md").endswith("- My cat is called Mimi\n- My dog is called Rex\n")
    assert "called" not in desk.read(TODAY)


def test_an_entry_that_was_promoted_by_its_line_is_known_by_its_id(desk: Desk) -> None:
    entry = desk.notes.memory_append("My cat is called Mimi", at=NOW)
    desk.notes.promote(line_of(desk, "Mimi"))
    desk.write("MEMORY.md", "# Long-term memory\n")
    assert desk.notes.promote(entry.id).unchanged == (entry.id,)


def test_an_entry_that_is_not_in_the_long_term_memory_stays_in_its_note(desk: Desk) -> None:
    entry = desk.notes.memory_append("My cat is called Mimi", at=NOW)
    desk.notes.promote(entry.id)
    desk.write("MEMORY.md", "# Long-term memory\n")
    assert desk.notes.promote(entry.id, move=True).moved == ()
    assert "Mimi" in desk.read(TODAY)


@pytest.mark.parametrize(
    ("known", "entry"),
    [
        ("I like teak furniture", "I like tea"),
        ("The dose is 15 mg", "The dose is 1.5 mg"),
        ("I use C", "I use C++"),
        ("My sister no longer says that I like tea", "I like tea"),
        ("我喜欢茶叶蛋", "我喜欢茶"),
    ],
)
def test_an_entry_that_is_only_part_of_another_line_is_added_before_it_leaves_its_note(
    desk: Desk, known: str, entry: str
) -> None:
    desk.write("MEMORY.md", f"# Long-term memory\n\n- {known}\n")
    appended = desk.notes.memory_append(entry, at=NOW)
    done = desk.notes.promote(appended.id, move=True)
    assert (done.added, done.moved) == ((appended.id,), (appended.id,))
    assert {f"- {known}", f"- {entry}"} <= set(desk.read("MEMORY.md").split("\n"))


def test_of_equal_lines_only_the_one_that_was_named_is_moved(desk: Desk) -> None:
    desk.write(TODAY, "# 2026-11-15\n\n## Morning\n\n- gym\n\n## Evening\n\n- gym\n")
    desk.notes.promote(f"{TODAY}:9", move=True)
    assert desk.read(TODAY).rstrip("\n") == "# 2026-11-15\n\n## Morning\n\n- gym\n\n## Evening"


def test_a_line_that_says_the_same_as_a_moved_entry_stays(desk: Desk) -> None:
    entry = desk.notes.memory_append("My cat is called Mimi", at=NOW)
    desk.write(TODAY, desk.read(TODAY) + "\n## By me\n\n- My cat is called Mimi\n")
    desk.notes.promote(entry.id, move=True)
    assert desk.read(TODAY) == "# 2026-11-15\n\n## By me\n\n- My cat is called Mimi\n"


def test_an_entry_that_is_named_by_its_id_and_by_its_lines_is_added_once(desk: Desk) -> None:
    entry = desk.notes.memory_append("My cat is called Mimi,\nand she is three.", at=NOW)
    places = [line_of(desk, "Mimi"), line_of(desk, "three")]
    assert desk.notes.promote([entry.id, *places], move=True).added == (entry.id,)
    assert desk.read("MEMORY.md").count("Mimi") == 1
    assert "Mimi" not in desk.read(TODAY)


def test_an_entry_of_emoji_alone_is_promoted(desk: Desk) -> None:
    desk.write("MEMORY.md", "# Long-term memory\n")
    entry = desk.notes.memory_append("🎉🎂❤️", at=NOW)
    assert desk.notes.promote(entry.id, move=True).added == (entry.id,)
    assert "- 🎉🎂❤️" in desk.read("MEMORY.md")
    assert desk.notes.promote(entry.id).unchanged == (entry.id,)


def test_a_long_term_memory_without_a_byte_is_written_to(desk: Desk) -> None:
    desk.write("MEMORY.md", "")
    entry = desk.notes.memory_append("My cat is called Mimi", at=NOW)
    desk.notes.promote(entry.id)
    assert "- My cat is called Mimi" in desk.read("MEMORY.md")


def test_a_proposal_that_the_caller_holds_is_what_is_left_of_it(desk: Desk) -> None:
    for text in ("I prefer green tea over coffee.", "I am allergic to peanuts.", "My sister is called Anna."):
        desk.notes.memory_append(text, at=NOW)
    proposal = desk.notes.curate(now=NOW)
    desk.notes.reject(proposal, items=[1])
    assert desk.notes.accept(proposal, items=[2]).added == ("I am allergic to peanuts.",)
    assert desk.notes.accept(proposal).added == ("My sister is called Anna.",)
    assert "green tea" not in desk.read("MEMORY.md")
    with pytest.raises(InvalidInputError, match="accepted already"):
        desk.notes.accept(proposal)

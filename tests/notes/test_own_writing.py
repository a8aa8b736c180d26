"""What a person writes by hand is first class: shown, promoted, found and imported like anything else."""

import shutil
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from jiyi.errors import InvalidInputError
from tests.notes.conftest import Desk, OpenDesk
from tests.support import database

NOW = datetime(2026, 11, 15, 4, tzinfo=UTC)
TODAY = "memory/2026-11-15.md"
BY_HAND = """# 2026-11-15

A paragraph
of two lines.

- a dash
* a star
  that goes on
+ [x] a plus
1. a number

## A heading
"""


def test_the_day_shows_what_was_written_by_hand_between_the_entries(desk: Desk) -> None:
    desk.write(TODAY, BY_HAND)
    done = desk.notes.memory_append("an entry", at=NOW)
    path, found = desk.notes.entries_of_day(date(2026, 11, 15))
    assert path == TODAY
    assert [(placed.entry.text, placed.by_hand) for placed in found] == [
        ("A paragraph\nof two lines.", True),
        ("a dash", True),
        ("a star\nthat goes on", True),
        ("a plus", True),
        ("a number", True),
        ("A heading", True),
        ("an entry", False),
    ]
    assert [placed.entry.id for placed in found[:2]] == [f"{TODAY}:3-4", f"{TODAY}:6-6"]
    assert found[-1].entry.id == done.id
    assert {placed.entry.by for placed in found if placed.by_hand} == {"user"}


@pytest.mark.parametrize(
    ("line", "text"),
    [(4, "- A paragraph\n  of two lines."), (6, "- a dash"), (8, "- a star\n  that goes on"), (9, "- a plus")],
)
def test_a_line_is_promoted_by_its_place(desk: Desk, line: int, text: str) -> None:
    desk.write("MEMORY.md", "# M\n\n## Notes\n")
    desk.write(TODAY, BY_HAND)
    done = desk.notes.promote(f"{TODAY}:{line}", section="Notes")
    assert done.added == (f"{TODAY}:{line}",)
    assert desk.read("MEMORY.md") == f"# M\n\n## Notes\n\n{text}\n"
    assert desk.notes.promote(f"{TODAY}:{line}", section="Notes").added == ()
    assert desk.read(TODAY) == BY_HAND


def test_a_line_can_be_moved(desk: Desk) -> None:
    desk.write(TODAY, BY_HAND)
    done = desk.notes.promote(f"{TODAY}:7", move=True)
    assert done.moved == (f"{TODAY}:7",)
    assert desk.read(TODAY) == BY_HAND.replace("* a star\n  that goes on\n", "")


@pytest.mark.parametrize(
    "place", [f"{TODAY}:1", f"{TODAY}:2", f"{TODAY}:99", "memory/none.md:1", "MEMORY.md:1", "../x:1"]
)
def test_a_place_without_anything_to_promote_is_refused(desk: Desk, place: str) -> None:
    desk.write(TODAY, BY_HAND)
    desk.write("MEMORY.md", "- x\n")
    with pytest.raises(InvalidInputError):
        desk.notes.promote(place)
    assert desk.read("MEMORY.md") == "- x\n"


@pytest.mark.parametrize("name", ["memory.md", "Memory.md", "MEMORY.MD"])
def test_the_long_term_memory_is_found_on_any_case(desk: Desk, name: str) -> None:
    desk.write(name, "# Mine\n\n## Preferences\n\n- Likes oolong\n")
    desk.write(TODAY, "- I prefer green tea over coffee.\n")
    assert "Likes oolong" in desk.notes.build_context(now=NOW).text
    assert "Likes oolong" in desk.notes.memory_get("MEMORY.md").text
    assert name in desk.notes.init_workspace(context_files=False)["kept"]
    desk.notes.promote(f"{TODAY}:1", section="Preferences")
    assert desk.read(name).endswith("- Likes oolong\n- I prefer green tea over coffee.\n")
    assert [file.name for file in desk.root.iterdir() if file.suffix.lower() == ".md"] == [name]
    assert desk.found("oolong", kind="group") == []


def test_two_files_for_the_long_term_memory_are_reported(desk: Desk) -> None:
    desk.write("MEMORY.md", "one\n")
    desk.write("memory.md", "two\n")
    if len(list(desk.root.glob("*.[mM][dD]"))) < 2:
        pytest.skip("the file system does not tell the case of names apart")
    [problem] = desk.notes.scan().problems
    assert problem.path == "memory.md"
    assert "MEMORY.md is the long-term memory" in problem.reason


def test_a_folder_that_is_a_link_is_reported(desk: Desk, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.md").write_text("zebra\n", "utf-8")
    (desk.root / "memory").mkdir()
    (desk.root / "memory/linked").symlink_to(elsewhere)
    [problem] = desk.notes.scan().problems
    assert problem.path == "memory/linked"
    assert "symbolic link to a folder" in problem.reason
    assert desk.found("zebra") == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_importing_after_init_replaces_templates_that_nobody_has_touched(
    desk: Desk, tmp_path: Path, language: str
) -> None:
    desk.notes.init_workspace(language=language)
    desk.write("USER.md", "# The user\n\n- Name: Li\n")
    there = tmp_path / "there"
    (there / "memory").mkdir(parents=True)
    for name in ("MEMORY.md", "SOUL.md", "USER.md"):
        (there / name).write_text(f"# {name} from elsewhere\n", "utf-8")
    done = desk.notes.import_workspace(there)
    assert sorted(done.copied) == ["MEMORY.md", "SOUL.md"]
    assert desk.read("MEMORY.md") == "# MEMORY.md from elsewhere\n"
    assert desk.read("USER.md") == "# The user\n\n- Name: Li\n"
    assert list(done.beside) == ["USER.md"]


def test_moving_a_workspace_leaves_nothing_behind_in_the_database(open_desk: OpenDesk, tmp_path: Path) -> None:
    desk = open_desk()
    desk.write("memory/a.md", "zebra crossing\n")
    desk.notes.memory_append("another zebra", at=NOW)
    assert desk.found("zebra")
    desk.memory.close()
    shutil.move(tmp_path / "ws", tmp_path / "moved")
    moved = open_desk(root="moved")
    assert len(moved.found("zebra")) == 2
    assert len(moved.memory.recall("zebra")) == 2
    moved.memory.close()
    with database(tmp_path / "data") as connection:
        [(files,)] = connection.execute("SELECT count(DISTINCT workspace) FROM note_files").fetchall()
        [(scopes,)] = connection.execute(
            "SELECT count(DISTINCT scope) FROM memory_records WHERE memory_type = 'note'"
        ).fetchall()
    assert (files, scopes) == (1, 1)


def test_a_second_workspace_does_not_touch_the_first(open_desk: OpenDesk) -> None:
    first, second = open_desk(), open_desk(root="other")
    first.write("memory/a.md", "zebra one\n")
    second.write("memory/a.md", "zebra two\n")
    assert first.found("zebra") == ["zebra one"]
    assert second.found("zebra") == ["zebra two"]
    assert open_desk().found("zebra") == ["zebra one"]

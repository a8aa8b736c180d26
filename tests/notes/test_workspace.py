"""Making a workspace, taking one over, and following its files."""

import threading
from pathlib import Path

import pytest

from jiyi.errors import InvalidInputError, MissingDependencyError
from jiyi.model.note import ScanReport
from jiyi.sync import NoopMemory
from tests.notes.conftest import Desk, OpenDesk

FILES = {"MEMORY.md", "AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md"}


def test_a_workspace_is_made_with_templates_in_both_languages(open_desk: OpenDesk) -> None:
    for language, words in (("en", "Long-term memory"), ("zh", "长期记忆")):
        desk = open_desk(root=language)
        done = desk.notes.init_workspace(language=language)
        assert set(done["created"]) == FILES | {"memory/"}
        assert words in desk.read("MEMORY.md")
        assert (desk.root / "memory").is_dir()


def test_what_exists_is_never_touched(desk: Desk) -> None:
    desk.write("MEMORY.md", "mine\n")
    desk.write("AGENTS.md", "")
    done = desk.notes.init_workspace(context_files=False)
    assert done == {"created": ["memory/"], "kept": ["MEMORY.md"]}
    again = desk.notes.init_workspace()
    assert set(again["kept"]) == {"memory/", "MEMORY.md", "AGENTS.md"}
    assert desk.read("MEMORY.md") == "mine\n"
    assert desk.read("AGENTS.md") == ""


def test_a_workspace_is_made_where_there_is_none(open_desk: OpenDesk, tmp_path: Path) -> None:
    desk = open_desk(workspace=tmp_path / "a/b/c")
    desk.notes.init_workspace()
    assert (tmp_path / "a/b/c/MEMORY.md").is_file()


def test_an_unknown_language_is_refused(desk: Desk) -> None:
    with pytest.raises(InvalidInputError, match="'fr'"):
        desk.notes.init_workspace(language="fr")
    assert list(desk.root.iterdir()) == []


# --- workspaces of others ---------------------------------------------------------------------------------------------


def openclaw(root: Path) -> None:
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text("# MEMORY\n\n- Prefers green tea\n", "utf-8")
    (root / "memory/2026-01-16-vendor-pitch.md").write_text(
        "# Session: 2026-01-16\n\nthe vendor pitched zebras\n", "utf-8"
    )
    (root / "memory/2026-01-17.md").write_text("## Afternoon\n\nwent to 杭州\n", "utf-8")
    (root / "SOUL.md").write_text("be kind\n", "utf-8")
    (root / ".git").mkdir()
    (root / ".git/x.md").write_text("zebra of git\n", "utf-8")


def test_an_existing_workspace_opens_as_it_is(open_desk: OpenDesk, tmp_path: Path) -> None:
    openclaw(tmp_path / "ws")
    desk = open_desk()
    assert desk.places("zebras") == ["memory/2026-01-16-vendor-pitch.md:1-3"]
    assert desk.notes.memory_search("杭州")[0].date is not None
    assert desk.places("green tea") == ["MEMORY.md:1-3"]


def test_an_import_copies_everything_and_overwrites_nothing(open_desk: OpenDesk, tmp_path: Path) -> None:
    openclaw(tmp_path / "old")
    desk = open_desk()
    desk.write("MEMORY.md", "mine\n")
    done = desk.notes.import_workspace(tmp_path / "old")
    assert sorted(done.copied) == ["SOUL.md", "memory/2026-01-16-vendor-pitch.md", "memory/2026-01-17.md"]
    [target] = done.beside.values()
    assert desk.read("MEMORY.md") == "mine\n"
    assert "green tea" in desk.read(target)
    assert desk.places("green tea") == [f"{target}:1-3"]
    again = desk.notes.import_workspace(tmp_path / "old")
    assert (again.copied, again.beside, len(again.unchanged)) == ([], {}, 4)


def test_a_bad_file_does_not_stop_an_import(open_desk: OpenDesk, tmp_path: Path) -> None:
    openclaw(tmp_path / "old")
    (tmp_path / "old/memory/link.md").symlink_to("/etc/passwd")
    desk = open_desk(max_note_file_bytes=1000)
    (tmp_path / "old/memory/big.md").write_text("x" * 2000, "utf-8")
    done = desk.notes.import_workspace(str(tmp_path / "old"))
    assert {problem.path for problem in done.problems} == {"memory/link.md", "memory/big.md"}
    assert len(done.copied) == 4


@pytest.mark.parametrize("place", ["nowhere", "ws", ""])
def test_what_cannot_be_imported_is_refused(desk: Desk, tmp_path: Path, place: str) -> None:
    with pytest.raises(InvalidInputError):
        desk.notes.import_workspace(tmp_path / place if place else "")


# --- watching ---------------------------------------------------------------------------------------------------------


def test_a_watcher_takes_changes_in_without_being_asked(desk: Desk) -> None:
    told = threading.Event()
    reports: list[ScanReport] = []

    def report(found: ScanReport) -> None:
        reports.append(found)
        told.set()

    desk.write("memory/before.md", "before\n")
    desk.notes.watch(report)
    assert reports[0].counts.added == 1
    told.clear()
    desk.write("memory/a.md", "zebra\n")
    assert told.wait(30)
    assert sum(found.counts.added for found in reports) == 2
    desk.notes.unwatch()
    desk.notes.unwatch()


def test_a_second_watcher_takes_the_place_of_the_first_and_closing_ends_it(desk: Desk) -> None:
    desk.notes.watch()
    desk.notes.watch()
    desk.memory.close()
    assert "jiyi-notes-watcher" not in {thread.name for thread in threading.enumerate()}


def test_a_watcher_without_its_package_says_what_to_install(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "watchfiles", None)
    with pytest.raises(MissingDependencyError, match=r"jiyi\[notes\]"):
        desk.notes.watch()


def test_the_memory_that_keeps_nothing_takes_the_same_calls() -> None:
    with NoopMemory() as memory:
        assert memory.notes.memory_search("x") == []
        assert memory.notes.memory_append("x").id
        assert memory.notes.build_context().text == ""
        assert memory.notes.tools() == []

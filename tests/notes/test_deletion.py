"""What people delete stays deleted; only what a program overwrote without having read it is written again."""

import os
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jiyi.notes import entries
from jiyi.notes.markdown import lines_of
from tests.notes.conftest import Desk, OpenDesk

AT = datetime(2026, 11, 16, 4, tzinfo=UTC)
DAY = "memory/2026-11-16.md"
Save = Callable[[Path, str], None]


def saved_in_place(file: Path, text: str) -> None:
    """As VS Code, nano and `echo >` do."""
    file.write_text(text, "utf-8", newline="")


def saved_by_rename(file: Path, text: str) -> None:
    """As gedit, Sublime Text, `sed -i` and most sync tools do."""
    temporary = file.with_name(".goutputstream-1")
    temporary.write_text(text, "utf-8", newline="")
    temporary.replace(file)


def saved_like_vim(file: Path, text: str) -> None:
    """The file becomes the backup, a new one is written, and the backup is deleted."""
    backup = file.with_name(f"{file.name}~")
    file.rename(backup)
    file.write_text(text, "utf-8", newline="")
    backup.unlink()


EDITORS = [saved_in_place, saved_by_rename, saved_like_vim]


def texts(desk: Desk, path: str = DAY) -> list[str]:
    return [placed.entry.text for placed in entries.parse(lines_of(desk.read(path)))]


def without(text: str, entry: str) -> str:
    """The file without the lines of an entry."""
    lines = lines_of(text)
    [gone] = [placed for placed in entries.parse(lines) if placed.entry.text == entry]
    return "\n".join([*lines[: gone.start_line - 1], *lines[gone.end_line :]]) + "\n"


def looked_at_again_and_again(desk: Desk, open_desk: OpenDesk) -> None:
    for each in (desk, desk, open_desk(), open_desk()):
        assert each.notes.scan().restored == ()


@pytest.mark.parametrize("save", EDITORS)
@pytest.mark.parametrize("entry", ["first", "second", "third"])
def test_an_entry_that_is_removed_in_an_editor_right_after_it_was_written_stays_removed(
    desk: Desk, open_desk: OpenDesk, save: Save, entry: str
) -> None:
    desk.write(DAY, "# 2026-11-16\n\nby hand\n")
    for text in ("first", "second", "third"):
        desk.notes.memory_append(text, at=AT)
    file = desk.root / DAY
    save(file, without(file.read_text("utf-8"), entry))
    left = [text for text in ("first", "second", "third") if text != entry]
    looked_at_again_and_again(desk, open_desk)
    assert texts(desk) == left
    # Further edits of the same file do not bring it back either.
    save(file, file.read_text("utf-8") + "\nmore by hand\n")
    looked_at_again_and_again(desk, open_desk)
    desk.notes.memory_append("fourth", at=AT)
    assert texts(desk) == [*left, "fourth"]
    assert entry not in desk.found(entry, mode="keyword")


@pytest.mark.parametrize("save", EDITORS)
def test_all_entries_removed_at_once_stay_removed(desk: Desk, open_desk: OpenDesk, save: Save) -> None:
    for text in ("first", "second"):
        desk.notes.memory_append(text, at=AT)
    save(desk.root / DAY, "# 2026-11-16\n")
    looked_at_again_and_again(desk, open_desk)
    assert texts(desk) == []


def test_an_entry_of_which_only_the_text_is_removed_is_not_completed(desk: Desk, open_desk: OpenDesk) -> None:
    desk.notes.memory_append("kept\nunwanted line\nlast", at=AT)
    file = desk.root / DAY
    subprocess.run(["sed", "-i", "/unwanted/d", str(file)], check=True)
    looked_at_again_and_again(desk, open_desk)
    assert texts(desk) == ["kept\nlast"]
    saved_by_rename(file, file.read_text("utf-8").replace("\n  last", ""))
    looked_at_again_and_again(desk, open_desk)
    assert texts(desk) == ["kept"]


def test_an_entry_that_is_removed_after_the_process_that_wrote_it_has_ended_stays_removed(
    desk: Desk, open_desk: OpenDesk
) -> None:
    desk.notes.memory_append("unwanted", at=AT)
    desk.memory.close()
    subprocess.run(["sed", "-i", "/unwanted/d", str(desk.root / DAY)], check=True)
    later = open_desk()
    looked_at_again_and_again(later, open_desk)
    assert texts(later) == []


def test_a_person_who_deletes_and_edits_at_once_takes_longer_than_a_program(
    desk: Desk, open_desk: OpenDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jiyi.notes.recovery.OVERWRITE_SECONDS", 0.0)
    desk.write(DAY, "by hand\n")
    desk.notes.memory_append("unwanted", at=AT)
    # The clock of the file system advances every few milliseconds.
    while _file_time(desk.root) <= (desk.root / DAY).stat().st_ctime_ns:
        pass
    saved_by_rename(desk.root / DAY, "by hand, and edited\n")
    looked_at_again_and_again(desk, open_desk)
    assert desk.read(DAY) == "by hand, and edited\n"


def _file_time(folder: Path) -> int:
    probe = folder / ".probe"
    probe.touch()
    try:
        return probe.stat().st_mtime_ns
    finally:
        probe.unlink()


def test_what_a_program_overwrote_that_had_not_read_it_is_written_again_once(desk: Desk, open_desk: OpenDesk) -> None:
    desk.write(DAY, "by hand\n")
    read_by_editor = (desk.root / DAY).read_text("utf-8")
    done = desk.notes.memory_append("not seen by the editor", at=AT)
    saved_by_rename(desk.root / DAY, f"{read_by_editor}an edit\n")
    assert open_desk().notes.scan().restored == (done.id,)
    assert texts(desk) == ["not seen by the editor"]
    assert desk.read(DAY).startswith("by hand\nan edit\n")
    # Now it has been seen, and is deleted.
    saved_by_rename(desk.root / DAY, "by hand\nan edit\n")
    looked_at_again_and_again(desk, open_desk)
    assert texts(desk) == []


# --- git --------------------------------------------------------------------------------------------------------------


def git(desk: Desk, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main", *arguments],
        cwd=desk.root,
        check=True,
        capture_output=True,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull},
    )


@pytest.fixture
def repository(desk: Desk) -> Desk:
    """A workspace under git with a daily note on two branches."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    desk.write(DAY, "# 2026-11-16\n\non main\n")
    git(desk, "init", "-q")
    git(desk, "add", "-A")
    git(desk, "commit", "-q", "-m", "one")
    git(desk, "checkout", "-q", "-b", "other")
    desk.write(DAY, "# 2026-11-16\n\non other\nwith another line\n")
    git(desk, "commit", "-q", "-a", "-m", "two")
    return desk


def test_an_entry_does_not_follow_a_checkout_to_another_branch(repository: Desk, open_desk: OpenDesk) -> None:
    desk = repository
    desk.notes.memory_append("of the other branch", at=AT)
    git(desk, "commit", "-q", "-a", "-m", "with an entry")
    git(desk, "checkout", "-q", "main")
    looked_at_again_and_again(desk, open_desk)
    assert desk.read(DAY) == "# 2026-11-16\n\non main\n"
    git(desk, "checkout", "-q", "other")
    looked_at_again_and_again(desk, open_desk)
    assert texts(desk) == ["of the other branch"]


@pytest.mark.parametrize("command", [("checkout", "--", DAY), ("reset", "-q", "--hard"), ("stash", "-q")])
def test_an_entry_that_git_was_told_to_drop_stays_dropped(
    repository: Desk, open_desk: OpenDesk, command: tuple[str, ...]
) -> None:
    desk = repository
    desk.notes.memory_append("dropped", at=AT)
    git(desk, *command)
    looked_at_again_and_again(desk, open_desk)
    assert desk.read(DAY) == "# 2026-11-16\n\non other\nwith another line\n"


def test_nothing_is_written_while_git_is_at_work(repository: Desk) -> None:
    desk = repository
    done = desk.notes.memory_append("overwritten", at=AT)
    saved_by_rename(desk.root / DAY, "stale, and edited\n")
    lock = desk.root / ".git/index.lock"
    lock.touch()
    assert desk.notes.scan().restored == ()
    assert desk.read(DAY) == "stale, and edited\n"
    lock.unlink()
    assert desk.notes.scan().restored == (done.id,)

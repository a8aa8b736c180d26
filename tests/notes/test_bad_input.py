"""Nothing outside the workspace is read or written, nothing is lost, and one bad file does not stop the rest."""

import os
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jiyi.errors import ConfigError, InvalidInputError, NotesError
from jiyi.notes.text_encoding import UndecodableError, decode
from jiyi.sync import AgentMemory
from tests.notes.conftest import Desk, OpenDesk
from tests.support import QUICK

AS_ROOT = os.geteuid() == 0
NOON = datetime(2026, 11, 15, 4, tzinfo=UTC)  # in Shanghai
DAY = "memory/2026-11-15.md"

PATHS: list[Any] = [
    "",
    " ",
    ".",
    "..",
    "../secret.md",
    "memory/../../secret.md",
    "memory/..",
    "/etc/passwd",
    "//etc/passwd",
    "~/secret.md",
    "C:/secret.md",
    "memory\\a.md",
    "..\\secret.md",
    "memory/a\x00.md",
    "memory/a\n.md",
    "memory//a.md",
    "memory/",
    "a" * 4_096,
    "memory/" + "a" * 300 + ".md",
    "memory/\ud800.md",
    7,
    None,
    b"memory/a.md",
]


@pytest.mark.parametrize("path", PATHS, ids=ascii)
def test_a_path_that_is_no_path_of_a_note_is_refused(desk: Desk, path: Any, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("outside", "utf-8")
    desk.write("memory/a.md", "inside\n")
    with pytest.raises(InvalidInputError) as caught:
        desk.notes.memory_get(path)
    assert "outside" not in str(caught.value)
    if path is not None:
        with pytest.raises(InvalidInputError):
            desk.notes.memory_search("x", path=path if path != "memory/" else "memory/../")


@pytest.mark.parametrize("path", ["notes.txt", ".env", "src/a.md", "memory/.hidden.md", "memory/a.txt", "other.md"])
def test_files_that_are_no_notes_cannot_be_read(desk: Desk, path: str) -> None:
    desk.write(path, "password\n")
    with pytest.raises(InvalidInputError, match="is no note"):
        desk.notes.memory_get(path)
    assert desk.found("password") == []


def test_links_are_not_followed_and_reported_by_name(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("zebra outside\n", "utf-8")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/b.md").write_text("zebra elsewhere\n", "utf-8")
    desk.write("memory/good.md", "zebra inside\n")
    (desk.root / "memory/link.md").symlink_to(tmp_path / "secret.md")
    (desk.root / "memory/folder").symlink_to(tmp_path / "elsewhere")
    (desk.root / "memory/loop.md").symlink_to(desk.root / "memory/loop.md")
    (desk.root / "MEMORY.md").symlink_to(tmp_path / "secret.md")
    assert desk.found("zebra") == ["zebra inside"]
    problems = {problem.path: problem.reason for problem in desk.notes.scan().problems}
    assert set(problems) == {"MEMORY.md", "memory/link.md", "memory/loop.md", "memory/folder"}
    assert all("link" in reason for reason in problems.values())
    for path in ("memory/link.md", "memory/loop.md", "memory/folder/b.md", "MEMORY.md"):
        with pytest.raises(InvalidInputError, match=r"link|no folder"):
            desk.notes.memory_get(path)


@pytest.mark.date_sensitive
def test_nothing_is_written_through_a_link(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("outside\n", "utf-8")
    (desk.root / "memory").mkdir()
    (desk.root / DAY).symlink_to(tmp_path / "secret.md")
    with pytest.raises(InvalidInputError, match="link"):
        desk.notes.memory_append("into the open", at=NOON)
    (desk.root / DAY).unlink()
    (desk.root / "memory").rmdir()
    (desk.root / "memory").symlink_to(tmp_path)
    with pytest.raises(InvalidInputError, match="links are not followed"):
        desk.notes.memory_append("into the open", at=NOON)
    assert (tmp_path / "secret.md").read_text("utf-8") == "outside\n"
    assert not list(tmp_path.glob("2026-*"))


@pytest.mark.date_sensitive
def test_a_workspace_that_is_itself_reached_by_a_link_works(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "ws").symlink_to(tmp_path / "real")
    with AgentMemory.open(tmp_path / "data", workspace=tmp_path / "ws", **QUICK) as memory:
        memory.notes.memory_append("zebra")
        assert len(memory.notes.memory_search("zebra")) == 1


def test_pipes_sockets_and_directories_are_not_opened(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write("memory/good.md", "zebra\n")
    os.mkfifo(desk.root / "memory/pipe.md")
    (desk.root / "memory/folder.md").mkdir()
    monkeypatch.chdir(desk.root / "memory")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.md")
        assert desk.found("zebra") == ["zebra"]
        reasons = {problem.path: problem.reason for problem in desk.notes.scan().problems}
        assert "named pipe" in reasons["memory/pipe.md"]
        assert "socket" in reasons["memory/socket.md"]
        for path in ("memory/pipe.md", "memory/socket.md", "memory/folder.md"):
            with pytest.raises(InvalidInputError, match="only plain files"):
                desk.notes.memory_get(path)


@pytest.mark.date_sensitive
def test_a_daily_note_that_is_a_pipe_or_a_directory_is_refused(desk: Desk) -> None:
    (desk.root / "memory").mkdir()
    os.mkfifo(desk.root / DAY)
    with pytest.raises(InvalidInputError, match="named pipe"):
        desk.notes.memory_append("would wait for ever", at=NOON)
    (desk.root / DAY).unlink()
    (desk.root / DAY).mkdir()
    with pytest.raises(InvalidInputError, match="a directory"):
        desk.notes.memory_append("into a directory", at=NOON)


def test_a_file_of_a_gigabyte_is_not_read(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write("memory/good.md", "zebra\n")
    with (desk.root / "memory/huge.md").open("wb") as file:
        file.truncate(1 << 30)
    assert desk.found("zebra") == ["zebra"]
    [problem] = desk.notes.scan().problems
    assert (problem.path, "max_note_file_bytes" in problem.reason) == ("memory/huge.md", True)
    with pytest.raises(NotesError, match=r"huge.md.*max_note_file_bytes"):
        desk.notes.memory_get("memory/huge.md")


GB = "今天在杭州见了老王，我们一起喝了龙井茶。"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"plain zebra", "plain zebra"),
        (b"\xef\xbb\xbfzebra", "zebra"),
        ("zebra 斑马".encode("utf-16"), "zebra 斑马"),
        ("zebra 斑马".encode("utf-16-be").join([b"\xfe\xff", b""]), "zebra 斑马"),
        ("zebra".encode("utf-32"), "zebra"),
        (GB.encode("gb18030"), GB),
        (f"# Title\n\n{GB}\nEnglish words, too\n".encode("gb18030"), f"# Title\n\n{GB}\nEnglish words, too\n"),
    ],
)
def test_what_can_be_decoded_surely_is_read(data: bytes, expected: str) -> None:
    assert decode(data)[0] == expected


@pytest.mark.parametrize(
    "data",
    [
        "café, très bien, naïve façade".encode("latin-1"),
        "Müller fährt über die Straße".encode("latin-1"),
        "Привет, как дела? Сегодня хорошая погода".encode("koi8-r"),
        "Привет, как дела? Сегодня хорошая погода".encode("cp1251"),
        "こんにちは、今日はいい天気ですね".encode("shift-jis"),
        "今天在杭州見了老王，我們一起喝茶".encode("big5"),
        b"\xff\xfez\xd8\x00",
        b"a\x00b",
        b"\xc3\x28",
        bytes(range(256)),
        b"\xef\xbb\xbf\xff",
    ],
    ids=lambda data: ascii(data[:12]),
)
def test_what_cannot_be_decoded_surely_is_not_guessed(data: bytes) -> None:
    with pytest.raises(UndecodableError):
        decode(data)


def test_a_file_in_an_unknown_encoding_is_reported_by_name_and_the_rest_is_searched(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.write("memory/good.md", "zebra\n")
    (desk.root / "memory/latin.md").write_bytes("zebra café très\n".encode("latin-1"))
    (desk.root / "memory/chinese.md").write_bytes(f"zebra {GB}\n".encode("gb18030"))
    assert sorted(desk.found("zebra")) == ["zebra", f"zebra {GB}"]
    [problem] = desk.notes.scan().problems
    assert problem.path == "memory/latin.md"
    assert "UTF-8" in problem.reason
    assert caplog.text.count("memory/latin.md") == 1
    assert [file.problem != "" for file in desk.notes.list_files()] == [False, False, True]
    with pytest.raises(NotesError, match=r"memory/latin\.md cannot be read"):
        desk.notes.memory_get("memory/latin.md")
    desk.write("memory/latin.md", "zebra mended\n")
    assert "zebra mended" in desk.found("zebra")
    assert desk.notes.scan().problems == ()


def test_text_that_turned_into_something_else_is_not_recalled_any_more(desk: Desk) -> None:
    desk.write("memory/a.md", "zebra\n")
    assert desk.found("zebra") == ["zebra"]
    (desk.root / "memory/a.md").write_bytes(b"\x00\x01\x02")
    assert desk.found("zebra") == []


@pytest.mark.skipif(AS_ROOT, reason="nothing is forbidden to root")
def test_a_file_that_may_not_be_read_keeps_what_is_known_of_it(desk: Desk) -> None:
    file = desk.write("memory/a.md", "zebra\n")
    assert desk.found("zebra") == ["zebra"]
    file.chmod(0)
    assert desk.notes.scan().problems[0].path == "memory/a.md"
    assert desk.found("zebra") == ["zebra"]
    file.chmod(0o600)
    assert desk.notes.scan().problems == ()


def test_a_read_error_is_never_empty(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write("memory/a.md", "zebra one\n")
    desk.write("memory/b.md", "zebra two\n")
    desk.write("MEMORY.md", "# Long-term\n\nprecious\n")
    assert len(desk.found("zebra")) == 2
    files = type(desk.memory._target._notes_service().files)
    read = files.read

    def broken(self: Any, path: str, *, max_bytes: int) -> Any:
        if path in {"memory/a.md", "MEMORY.md"}:
            raise NotesError(f"{path} cannot be read: Input/output error")
        return read(self, path, max_bytes=max_bytes)

    monkeypatch.setattr(files, "read", broken)
    assert len(desk.found("zebra")) == 2
    assert {problem.path for problem in desk.notes.reindex().problems} == {"memory/a.md", "MEMORY.md"}
    assert len(desk.found("zebra")) == 2
    with pytest.raises(NotesError, match="Input/output error"):
        desk.notes.memory_get("MEMORY.md")
    with pytest.raises(NotesError, match="Input/output error"):
        desk.notes.curate()
    assert "MEMORY.md could not be read: cannot be read: Input/output error" in desk.notes.build_context().text
    monkeypatch.undo()
    assert desk.read("MEMORY.md") == "# Long-term\n\nprecious\n"
    assert desk.notes.scan().problems == ()


def test_a_read_only_workspace_says_so_and_keeps_searching(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write("memory/a.md", "zebra\n")
    opened = os.open

    def read_only(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR) and "dir_fd" in kwargs:
            raise OSError(30, "Read-only file system")
        return opened(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", read_only)
    with pytest.raises(NotesError, match=r"read-only .*searching goes on"):
        desk.notes.memory_append("not here")
    with pytest.raises(NotesError, match="read-only"):
        desk.notes.init_workspace()
    assert desk.found("zebra") == ["zebra"]
    assert len(desk.memory.recall("zebra")) == 1


def test_a_name_that_would_break_a_prompt_is_reported(desk: Desk) -> None:
    desk.write("memory/good.md", "zebra\n")
    desk.write("memory/a\nb.md", "zebra\n")
    os.close(os.open(os.fsencode(desk.root) + b"/memory/\xff.md", os.O_CREAT | os.O_WRONLY))
    assert desk.found("zebra") == ["zebra"]
    assert len(desk.notes.scan().problems) == 2


def test_without_a_workspace_every_call_names_the_setting(tmp_path: Path) -> None:
    with AgentMemory.open(tmp_path, **QUICK) as memory:
        for call in (
            lambda: memory.notes.memory_append("x"),
            lambda: memory.notes.memory_search("x"),
            lambda: memory.notes.memory_get("MEMORY.md"),
            memory.notes.init_workspace,
            memory.notes.build_context,
            lambda: memory.notes.call_tool("memory_append", {"text": "x"}),
        ):
            with pytest.raises(ConfigError, match="JIYI_WORKSPACE"):
                call()
        memory.store("k", "still works")
        assert len(memory.recall("works")) == 1


@pytest.mark.parametrize(("first", "last"), [(0, None), (3, 2), (-1, 5), ("1", None), (True, 2), (99, None), (1, 2.5)])
def test_lines_that_are_no_range_are_refused(desk: Desk, first: Any, last: Any) -> None:
    desk.write("memory/a.md", "one\ntwo\n")
    with pytest.raises(InvalidInputError):
        desk.notes.memory_get("memory/a.md", first, last)


def test_exact_lines_are_read(desk: Desk) -> None:
    text = "one\n  two \r\n\nfour without end"
    desk.write("memory/a.md", text)
    assert desk.notes.memory_get("memory/a.md").text == text
    shown = desk.notes.memory_get("./memory/a.md", 2, 3)
    assert (shown.text, shown.start_line, shown.end_line, shown.total_lines) == ("  two \r\n", 2, 3, 4)
    assert desk.notes.memory_get("memory/a.md", 2, 99).end_line == 4
    desk.write("memory/empty.md", "")
    assert desk.notes.memory_get("memory/empty.md").text == ""


def test_a_workspace_moves_and_takes_its_notes_with_it(open_desk: OpenDesk, tmp_path: Path) -> None:
    desk = open_desk()
    desk.write("memory/a.md", "zebra\n")
    assert desk.found("zebra")
    desk.memory.close()
    (tmp_path / "ws").rename(tmp_path / "moved")
    assert open_desk(root="moved").found("zebra") == ["zebra"]


@pytest.mark.date_sensitive
def test_a_file_with_a_second_name_elsewhere_is_neither_read_nor_written(desk: Desk, tmp_path: Path) -> None:
    outside = tmp_path / "secret.md"
    outside.write_text("zebra outside\n", "utf-8")
    desk.write("memory/good.md", "zebra inside\n")
    (desk.root / "memory/into.md").hardlink_to(outside)
    (desk.root / DAY).hardlink_to(outside)
    assert desk.found("zebra") == ["zebra inside"]
    problems = {problem.path: problem.reason for problem in desk.notes.scan().problems}
    assert set(problems) == {"memory/into.md", DAY}
    assert all("hard link" in reason for reason in problems.values())
    with pytest.raises(InvalidInputError, match="hard link"):
        desk.notes.memory_get("memory/into.md")
    with pytest.raises(InvalidInputError, match="hard link"):
        desk.notes.memory_append("into the open", at=NOON)
    assert outside.read_text("utf-8") == "zebra outside\n"


def test_a_private_note_does_not_become_shared_by_a_second_name(desk: Desk) -> None:
    secret = desk.write("memory/private.md", "zebra private\n")
    (desk.root / "memory/shared").mkdir()
    (desk.root / "memory/shared/x.md").hardlink_to(secret)
    assert desk.found("zebra", kind="group") == []


@pytest.mark.date_sensitive
def test_a_daily_note_that_gets_a_second_name_between_two_appends_is_not_written_to(desk: Desk, tmp_path: Path) -> None:
    desk.notes.memory_append("first", at=NOON)
    (tmp_path / "elsewhere.md").hardlink_to(desk.root / DAY)
    with pytest.raises(InvalidInputError, match="hard link"):
        desk.notes.memory_append("second", at=NOON)
    assert "second" not in (tmp_path / "elsewhere.md").read_text("utf-8")


def test_a_backup_that_was_cut_short_leaves_the_long_term_memory_usable(desk: Desk) -> None:
    file = desk.write("MEMORY.md", "# Memory\n\n- zebra\n")
    backups = desk.root / ".jiyi/backups"
    backups.mkdir(parents=True)
    (backups / "MEMORY.20261115T120000.000000Z.md").hardlink_to(file)
    assert desk.notes.memory_get("MEMORY.md").text == "# Memory\n\n- zebra\n"


def test_a_key_that_stands_twice_in_front_matter_makes_nothing_visible(desk: Desk) -> None:
    desk.write("memory/a.md", "---\nvisibility: private\nvisibility: group\n---\nzebra twice\n")
    assert desk.found("zebra", kind="group") == []
    assert desk.found("zebra") == ["zebra twice"]
    [problem] = desk.notes.scan().problems
    assert "twice" in problem.reason
    with pytest.raises(InvalidInputError, match="there is no note"):
        desk.notes.memory_get("memory/a.md", kind="group")


def test_a_group_learns_nothing_of_private_notes_from_errors(desk: Desk, tmp_path: Path) -> None:
    desk.write("memory/private.md", "zebra\n")
    desk.write("memory.md", "zebra\n")
    (desk.root / "memory/undecodable.md").write_bytes(b"\x00\xff\xfe\x80" * 9)
    (desk.root / "memory/large.md").write_bytes(b"x" * (20 << 20))
    (desk.root / "memory/folder.md").mkdir()
    (desk.root / "memory/link.md").symlink_to(tmp_path)
    (desk.root / "memory/locked.md").touch(0o000)
    said = set()
    for name in ("private", "undecodable", "large", "folder", "link", "locked", "none"):
        path = f"memory/{name}.md"
        with pytest.raises(InvalidInputError) as caught:
            desk.notes.memory_get(path, 10**6, kind="group")
        said.add(str(caught.value).replace(path, "PATH"))
    with pytest.raises(InvalidInputError) as caught:
        desk.notes.memory_get("MEMORY.md", kind="group")
    said.add(str(caught.value).replace("MEMORY.md", "PATH"))
    assert said == {"there is no note 'PATH' here"}


def test_an_imported_file_cannot_make_itself_visible_to_groups(desk: Desk, tmp_path: Path) -> None:
    there = tmp_path / "there"
    (there / "memory/shared").mkdir(parents=True)
    (there / "memory/shared/a.md").write_text("zebra by folder\n", "utf-8")
    (there / "memory/b.md").write_text("---\nvisibility: group\n---\nzebra by word\n", "utf-8")
    (there / "memory/c.md").write_text("zebra private\n", "utf-8")
    done = desk.notes.import_workspace(there)
    assert set(done.beside) == {"memory/shared/a.md", "memory/b.md"}
    assert sorted(desk.found("zebra")) == ["zebra by folder", "zebra by word", "zebra private"]
    assert desk.found("zebra", kind="group") == []
    assert desk.notes.import_workspace(there).unchanged
    # Whoever wants the group to see it moves it there.
    (desk.root / "memory/shared").mkdir(exist_ok=True)
    (desk.root / done.beside["memory/shared/a.md"]).rename(desk.root / "memory/shared/a.md")
    assert desk.found("zebra", kind="group") == ["zebra by folder"]
